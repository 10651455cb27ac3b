// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SharedMemory.h"

using namespace sparsec;

// Where the 128-byte swizzle of tensor copies begins again.
static constexpr int64_t tileAlignment = 1024;
static constexpr int64_t barrierBytes = 8, messageBytes = 8, issuerBytes = 8, scaleBytes = 4;

static int64_t roundUp(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

/// Buffers of wgmma are multiples of 64 rows of 128 bytes, others of 16 x 16 elements: every slot starts at a multiple
/// of 1024 bytes or of 128 bytes without padding. Scales end anywhere, and staging begins behind them where the swizzle
/// begins again.
SharedMemoryPlaces sparsec::placeSharedMemory(const SharedMemoryNeeds &needs) {
  SharedMemoryPlaces places;
  int64_t end = 0;
  auto place = [&](int64_t bytes) {
    int64_t begin = end;
    end += bytes;
    return begin;
  };
  for (const RingNeeds &ring : needs.rings) {
    RingPlace &ringPlace = places.rings.emplace_back();
    for (int64_t bytes : ring.bufferBytes)
      ringPlace.buffers.push_back(place(ring.slots * bytes));
  }
  if (needs.stagingBytes > 0 && needs.slices == 1) {
    end = roundUp(end, tileAlignment);
    places.staging = place(needs.stagingBytes);
  }
  for (size_t i = 0; i < needs.rings.size(); ++i) {
    const RingNeeds &ring = needs.rings[i];
    places.rings[i].barriers = place(barrierBytes * ring.barriers + (ring.hasMessages ? messageBytes * ring.slots : 0));
  }
  const int64_t parts = needs.tiles * needs.slices;
  places.tileBytes = parts > 1 ? roundUp(end, tileAlignment) : end;
  places.issuer = parts * places.tileBytes;
  places.total = places.issuer + (needs.tiles > 1 ? issuerBytes : 0);
  if (needs.slices > 1) {
    places.staging = places.total;
    places.sums = places.staging + needs.stagingBytes;
    places.total = places.sums + (needs.slices - 1) * needs.sumsBytes;
  }
  if (needs.onesBytes > 0) {
    places.ones = roundUp(places.total, tileAlignment);
    places.total = places.ones + needs.onesBytes;
  }
  return places;
}

StagingShape sparsec::stagingShape(const Schedule &schedule) {
  // A group waits for its tensor stores, which are behind the loads of the next tile. Windows, whose tiles may be
  // short, therefore have 8 KB for each group: as two buffers or, with three groups, as one, which was faster.
  if (schedule.walk == TileWalk::Windows)
    return schedule.consumersM <= 2 ? StagingShape{32, 2} : StagingShape{64, 1};
  // Slots so large that a ring of four does not fit leave little room beside them, and so do two rings.
  bool isRoomy = schedule.stages >= 4 && schedule.walk == TileWalk::Blocks;
  return isRoomy ? StagingShape{std::min<int64_t>(schedule.tileN / schedule.consumersN, 64), 2} : StagingShape{32, 1};
}

int64_t sparsec::stagingBytes(const Schedule &schedule) {
  constexpr int64_t elementBytes = 2;
  StagingShape shape = stagingShape(schedule);
  return schedule.consumersM * schedule.consumersN * shape.buffers * infoOf(schedule.instruction).m * shape.columns *
         elementBytes;
}

int64_t sparsec::bytesOfSums(const Schedule &schedule) {
  constexpr int64_t sumBytes = 4;
  return schedule.slices > 1 && hasProducer(schedule) ? schedule.tileM * schedule.tileN * sumBytes : 0;
}

bool sparsec::usesStagedStore(const Schedule &schedule, int64_t blockRows, int64_t outputBytes) {
  // Products of wgmma by streams are transposed: 64 of their rows are columns of the result.
  bool isStreams = schedule.walk == TileWalk::Streams;
  int64_t rows = isStreams ? productRows(schedule.instruction) : infoOf(schedule.instruction).m;
  return schedule.copy == CopyMethod::Tma && outputBytes == 2 && blockRows % rows == 0;
}

bool sparsec::usesStagedStore(const Schedule &schedule, const ProblemDescription &problem) {
  return problem.storesInBoxes && usesStagedStore(schedule, problem.blockRows, problem.outputBytes);
}

SharedMemoryNeeds sparsec::sharedMemoryNeeds(const Schedule &schedule, const ProblemDescription &problem) {
  int64_t elementBytes = bytesOf(problem.elementType);
  int64_t tileOfA = schedule.tileM * schedule.tileK * elementBytes;
  int64_t tileOfX = schedule.tileK * schedule.tileN * elementBytes;
  // With windows, consumers skip positions: full barriers are twice as many.
  int64_t barriersOfSlot = schedule.walk == TileWalk::Windows ? 3 : hasProducer(schedule) ? 2 : 0;
  auto ring = [&](int64_t slots, std::vector<int64_t> bufferBytes) {
    return RingNeeds{slots, std::move(bufferBytes), barriersOfSlot * slots};
  };
  SharedMemoryNeeds needs;
  needs.slices = schedule.slices;
  switch (schedule.walk) {
  case TileWalk::Blocks:
  case TileWalk::Joint: // of attention alone
    needs.rings = {ring(schedule.stages, {tileOfA, tileOfX})};
    if (problem.hasXScale && hasProducer(schedule) && schedule.slices > 1) {
      needs.rings.front().bufferBytes.push_back(schedule.tileN * scaleBytes);
      // In front of the scales in slots, which end anywhere.
      needs.rings.insert(needs.rings.begin(), ring(scaleTileStages, {schedule.tileN * scaleTileParts * scaleBytes}));
    }
    if (problem.hasXScale && hasProducer(schedule) && schedule.slices == 1)
      needs.rings.push_back(ring(scaleStages(schedule.tileN), {schedule.tileN * scaleBytes}));
    break;
  case TileWalk::Windows:
    needs.rings = {ring(schedule.blockStages, {tileOfA / schedule.consumersM}), ring(schedule.stages, {tileOfX})};
    break;
  case TileWalk::Streams: {
    StreamShape shape = streamShape(schedule, problem.blockColumns);
    int64_t slot = shape.slotProducts * shape.productRows * problem.blockColumns * elementBytes;
    needs.rings = {ring(schedule.consumersM * shape.slots, {slot}), ring(schedule.stages, {tileOfX})};
    if (copiesOwnBlocks(schedule))
      needs.rings.front().barriers = 0;
    break;
  }
  }
  needs.stagingBytes = usesStagedStore(schedule, problem) ? stagingBytes(schedule) : 0;
  needs.sumsBytes = bytesOfSums(schedule);
  return needs;
}
