// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SharedMemory.h"

using namespace sparsec;

bool sparsec::usesStagedStore(const Schedule &schedule, int64_t blockRows, int64_t outputBytes) {
  // Products of streams are transposed: 64 of their rows are columns of the result.
  int64_t rows = schedule.walk == TileWalk::Streams ? StreamShape::productRows : infoOf(schedule.instruction).m;
  return schedule.copy == CopyMethod::Tma && outputBytes == 2 && blockRows % rows == 0;
}

bool sparsec::usesStagedStore(const Schedule &schedule, const ProblemDescription &problem) {
  return problem.storesInBoxes && usesStagedStore(schedule, problem.blockRows, problem.outputBytes);
}

SharedMemoryLayout sparsec::sharedMemoryLayout(const Schedule &schedule, int64_t blockColumns, int64_t elementBytes,
                                               bool stagedStore) {
  // Tiles of wgmma are multiples of 64 rows of 128 bytes, others of 16 x 16 elements: every slot starts at a multiple
  // of 1024 bytes (where the 128-byte swizzle begins again) or of 128 bytes without padding.
  SharedMemoryLayout layout = {};
  bool hasTwoRings = schedule.walk != TileWalk::Blocks;
  int64_t aSlots = hasTwoRings ? schedule.blockStages : schedule.stages;
  layout.aSlotBytes = schedule.tileM * schedule.tileK * elementBytes;
  if (schedule.walk == TileWalk::Windows)
    layout.aSlotBytes /= schedule.consumersM;
  if (schedule.walk == TileWalk::Streams) {
    layout.aSlotBytes = StreamShape::chunkProducts * StreamShape::productRows * blockColumns * elementBytes;
    aSlots *= schedule.consumersM;
  }
  layout.xOffset = aSlots * layout.aSlotBytes;
  layout.xSlotBytes = schedule.tileK * schedule.tileN * elementBytes;
  layout.stagingOffset = layout.xOffset + schedule.stages * layout.xSlotBytes;
  if (stagedStore) {
    // Slots so large that a ring of four does not fit leave little room beside them, and so do two rings.
    bool isRoomy = schedule.stages >= 4 && !hasTwoRings;
    layout.stagingColumns = isRoomy ? 64 : 32;
    layout.stagingBuffers = isRoomy ? 2 : 1;
    layout.stagingBytes = schedule.consumersM * schedule.consumersN * layout.stagingBuffers *
                          infoOf(schedule.instruction).m * layout.stagingColumns * 2;
  }
  layout.barrierOffset = layout.stagingOffset + layout.stagingBytes;
  layout.aBarrierOffset = layout.barrierOffset;
  layout.barrierBytes = hasProducer(schedule) ? 16 * schedule.stages : 0;
  if (hasTwoRings) {
    // With windows, consumers skip positions: full barriers are twice as many.
    int64_t bytesOfSlot = schedule.walk == TileWalk::Windows ? 24 : 16;
    layout.aBarrierOffset = layout.barrierOffset + bytesOfSlot * schedule.stages;
    layout.barrierBytes = bytesOfSlot * (schedule.stages + aSlots);
  }
  layout.total = layout.barrierOffset + layout.barrierBytes;
  return layout;
}

SharedMemoryLayout sparsec::sharedMemoryLayout(const Schedule &schedule, const ProblemDescription &problem) {
  return sharedMemoryLayout(schedule, problem.blockColumns, bytesOf(problem.elementType),
                            usesStagedStore(schedule, problem));
}
