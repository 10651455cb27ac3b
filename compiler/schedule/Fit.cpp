// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fit.h"
#include "SharedMemory.h"

#include <algorithm>
#include <fmt/format.h>

using namespace sparsec;

static constexpr int64_t leastStages = 2;
static constexpr int64_t threadsOfWarp = 32;
static constexpr int64_t mostBlockStages = 32; // schedule_c4
// Addresses, loop counters and the epilogue, beside accumulators and fragments.
static constexpr int64_t usualOtherRegisters = 36;
static constexpr int64_t leastOtherRegisters = 24;
// A kernel of one role has one register budget for everything, and the epilogue needs this part of it. With 128
// accumulators in 255 registers a polynomial spills, measured with erf.
static constexpr int64_t epilogueRegisters = 52;

static Fit broken(Limit limit, std::string message) { return {limit, 0, 0, std::move(message)}; }

Fit sparsec::atMost(Limit limit, int64_t allowed, int64_t needed, const std::string &what) {
  if (needed <= allowed)
    return {};
  return {limit, allowed, needed,
          fmt::format("expects at most {} {}, but the schedule needs {} ({} too many)", allowed, what, needed,
                      needed - allowed)};
}

static Fit multipleOf(const char *field, int64_t value, int64_t multiple) {
  if (value % multiple == 0)
    return {};
  return broken(Limit::Geometry, fmt::format("expects {} to be a multiple of {}, but got {}", field, multiple, value));
}

static Fit inRange(const char *field, int64_t value, int64_t low, int64_t high) {
  if (low <= value && value <= high)
    return {};
  return broken(Limit::Geometry,
                fmt::format("expects {} to be between {} and {}, but got {}", field, low, high, value));
}

Fit sparsec::firstBroken(std::initializer_list<Fit> fits) {
  for (const Fit &fit : fits)
    if (!fit.ok())
      return fit;
  return {};
}

int64_t sparsec::estimatedRegisters(const Schedule &schedule, const ProblemDescription &problem, Origin origin) {
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  int64_t rows = schedule.tileM / schedule.consumersM, columns = schedule.tileN / schedule.consumersN;
  int64_t registers = origin == Origin::Chosen ? usualOtherRegisters : leastOtherRegisters;
  if (info.accumulator == Place::Registers)
    registers += rows * columns / info.threads;
  const bool isWidened = widensF8(schedule);
  if (problem.hasTwoLevels && !isWidened) {
    int64_t promotedRows = schedule.walk == TileWalk::Streams ? productRows(schedule.instruction) : rows;
    registers += promotedRows * promotedColumns(schedule, problem.hasXScale) / info.threads;
  }
  if (problem.hasXScale)
    registers += (promotedColumns(schedule, problem.hasXScale) + threadsOfWarp - 1) / threadsOfWarp;
  // The fragments of one instruction's depth, in registers of 4 bytes. Those that the instruction can read from shared
  // memory need none.
  if (!info.a.contains(Place::SharedMemory))
    registers += rows * info.depthBytes / info.threads / 4;
  // With streams that is a column of X, for all products with it. A warp takes it part by part, and wgmma reads that of
  // fp8 from shared memory.
  if (schedule.walk == TileWalk::Streams) {
    const int64_t held = copiesOwnBlocks(schedule) ? std::min(columns, StreamShape::columnsOfPart) : columns;
    registers += isWidened || bytesOf(problem.elementType) == 2 ? held * problem.blockColumns / info.threads / 2 : 0;
  } else if (!info.b.contains(Place::SharedMemory))
    registers += columns * info.depthBytes / info.threads / 4;
  if (origin == Origin::Chosen && !hasProducer(schedule) && problem.hasEpilogue)
    registers += epilogueRegisters;
  return registers;
}

int64_t sparsec::registerPool(const Chip &chip, int64_t threads, int64_t ctasPerSm) {
  int64_t perThread = std::min(chip.registersPerMultiprocessor / ctasPerSm / threads, chip.maxRegistersPerThread);
  return perThread / 8 * 8 * threads;
}

void sparsec::shareRegisters(Schedule &schedule, int64_t producerRegisters, const Chip &chip) {
  int64_t pool = registerPool(chip, threads(schedule), schedule.ctasPerSm);
  int64_t share = (pool - infoOf(schedule.copy).producerThreads * producerRegisters) / consumerThreads(schedule);
  schedule.producerRegisters = producerRegisters;
  schedule.consumerRegisters = std::min(share, chip.maxRegistersPerThread) / 8 * 8;
}

int64_t sparsec::consumerBudget(const Schedule &schedule, const Chip &chip) {
  if (schedule.consumerRegisters != 0)
    return schedule.consumerRegisters;
  int64_t count = threads(schedule);
  return registerPool(chip, count, schedule.ctasPerSm) / count;
}

Fit sparsec::checkFeatures(const Schedule &schedule, ElementType elementType, const Chip &chip) {
  const MatrixInstructionInfo &instruction = infoOf(schedule.instruction);
  const CopyInfo &copy = infoOf(schedule.copy);
  auto missing = [&](const std::string &feature) {
    return broken(Limit::Instruction, fmt::format("expects what {} has, but got {}", chip.name, feature));
  };
  const InstructionRate *rate = chip.find(schedule.instruction);
  if (!rate)
    return missing(fmt::format("instruction = {}", instruction.name));
  if (!chip.copies.contains(schedule.copy))
    return missing(fmt::format("copy = {}", copy.name));
  if (schedule.cluster > 1 && !chip.hasClusters)
    return missing("a cluster");
  if (!rate->elementTypes.contains(elementType))
    return broken(Limit::Instruction, fmt::format("expects elements that {} multiplies on {}, but got {}",
                                                  instruction.name, chip.name, nameOf(elementType)));
  return {};
}

/// The copies whose slots an instruction can read, each with the instruction: "wgmma with tma, or mma_sync with ...".
static std::string pairsOfInstructionAndCopy() {
  std::string text;
  for (const MatrixInstructionInfo &instruction : matrixInstructions()) {
    text += text.empty() ? "" : ", or ";
    const char *separator = " with ";
    text += instruction.name;
    for (const CopyInfo &copy : copies())
      if (copy.slotLayout == instruction.slotLayout) {
        text += std::string(separator) + copy.name;
        separator = " or ";
      }
  }
  return text;
}

Fit sparsec::checkSlotLayout(const Schedule &schedule, const char *purpose) {
  const MatrixInstructionInfo &instruction = infoOf(schedule.instruction);
  const CopyInfo &copy = infoOf(schedule.copy);
  if (copy.slotLayout == instruction.slotLayout)
    return {};
  return broken(Limit::Instruction, fmt::format("expects {}{}, but got {} with {}", pairsOfInstructionAndCopy(),
                                                purpose, instruction.name, copy.name));
}

int64_t sparsec::stageDepth(const MatrixInstructionInfo &info, const ProblemDescription &problem) {
  int64_t whole = granule(info, problem.elementType);
  if (problem.blockColumns >= whole)
    return whole;
  return std::min(leastDepth(info, problem.elementType), problem.blockColumns);
}

/// A chain of instructions covers the columns of a block.
static bool isWholeDepth(const MatrixInstructionInfo &info, const ProblemDescription &problem) {
  return problem.blockColumns % depthOf(info, problem.elementType) == 0;
}

bool sparsec::fillsInstruction(MatrixInstruction instruction, const ProblemDescription &problem) {
  const MatrixInstructionInfo &info = infoOf(instruction);
  return info.isRepeated ||
         (problem.blockRows >= info.m && problem.blockColumns >= leastDepth(info, problem.elementType) &&
          isWholeDepth(info, problem));
}

/// The restrictions of fp8.
static Fit checkF8(const Schedule &schedule, const ProblemDescription &problem) {
  const char *type = nameOf(problem.elementType);
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  if (bytesOf(problem.elementType) != 1)
    return {};
  if (problem.wTransposed)
    return broken(Limit::Instruction, fmt::format("expects W as M x K for {}, but got transposed", type));
  if (!problem.xTransposed)
    return broken(Limit::Instruction, fmt::format("expects x_layout(nk) for {}, but got kn", type));
  if (schedule.walk != TileWalk::Blocks && (problem.hasScales || problem.hasXScale))
    return broken(Limit::Instruction,
                  fmt::format("expects walk = blocks for scales of {}, but got {}", type, nameOf(schedule.walk)));
  // With windows a group adds the products of two stages before it promotes them.
  const int64_t mostDepth = schedule.walk == TileWalk::Windows ? mostDepthOfPart / 2 : mostDepthOfPart;
  if (problem.hasTwoLevels && schedule.tileK > mostDepth)
    return broken(Limit::Geometry,
                  fmt::format("expects tile_k to be at most {} for sums of {} of two levels, but got {}", mostDepth,
                              type, schedule.tileK));
  if (problem.hasScales && schedule.tileK > problem.blockColumns)
    return broken(Limit::Geometry, fmt::format("expects tile_k to be at most {}, the columns of a block with a scale, "
                                               "but got {}",
                                               problem.blockColumns, schedule.tileK));
  if (problem.hasXScale && mostDepthOfPart % schedule.tileK != 0)
    return broken(Limit::Geometry, fmt::format("expects tile_k to divide {}, the depth of a scale of X, but got {}",
                                               mostDepthOfPart, schedule.tileK));
  if (info.isRepeated)
    return multipleOf("tile_k", schedule.tileK, depthOf(info, problem.elementType));
  if (!isWholeDepth(info, problem))
    return broken(Limit::Instruction, fmt::format("expects blocks with a multiple of {} columns for {}, but got {}",
                                                  depthOf(info, problem.elementType), type, problem.blockColumns));
  return {};
}

static Fit checkInstruction(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip) {
  // With streams, mma.sync takes X as tensor copies bring it.
  Fit fit = firstBroken({checkFeatures(schedule, problem.elementType, chip),
                         schedule.walk == TileWalk::Streams ? Fit() : checkSlotLayout(schedule, ""),
                         checkF8(schedule, problem)});
  if (!fit.ok() || schedule.walk == TileWalk::Streams || fillsInstruction(schedule.instruction, problem))
    return fit;
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  if (swapsOperands(schedule, problem.hasXScale) && isWholeDepth(info, problem))
    return {};
  return broken(Limit::Instruction,
                fmt::format("expects blocks of at least {}x{} for {}, but got {}x{}", info.m,
                            leastDepth(info, problem.elementType), info.name, problem.blockRows, problem.blockColumns));
}

Fit sparsec::checkRegisterRoles(const Schedule &schedule) {
  if (!hasProducer(schedule))
    return schedule.producerRegisters == 0
               ? Fit()
               : broken(Limit::Geometry, fmt::format("expects no producer_registers for {}, but got {}",
                                                     infoOf(schedule.copy).name, schedule.producerRegisters));
  if ((schedule.producerRegisters == 0) == (schedule.consumerRegisters == 0))
    return {};
  return broken(Limit::Geometry, fmt::format("expects register counts for both roles or none, but got {}/{}",
                                             schedule.producerRegisters, schedule.consumerRegisters));
}

static Fit powerOfTwo(const char *field, int64_t value) {
  if (value > 0 && (value & (value - 1)) == 0)
    return {};
  return broken(Limit::Geometry, fmt::format("expects {} to be a power of two, but got {}", field, value));
}

/// The same with X as the A operand: its columns fill the rows of instructions. A tile has rows of one block row, and
/// tensor stores write 64 of them together.
static Fit checkSwappedTile(const Schedule &schedule, const ProblemDescription &problem) {
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  constexpr int64_t rowsOfStore = 64, leastRows = 16;
  bool storesTogether = problem.blockRows % rowsOfStore == 0;
  return firstBroken({inRange("consumers_m", schedule.consumersM, 1, 1),
                      inRange("slices", schedule.slices, 1, problem.hasXScale ? 1 : schedule.slices),
                      inRange("tile_m", schedule.tileM, leastRows, info.mostN),
                      multipleOf("tile_m", schedule.tileM, storesTogether ? rowsOfStore : leastRows),
                      multipleOf("blocks' rows", problem.blockRows, schedule.tileM),
                      multipleOf("tile_n / consumers_n", schedule.tileN / schedule.consumersN, info.m)});
}

/// Columns of a chunk of a staged store.
static constexpr int64_t leastColumns = 32;

/// A consumer that does not repeat its instruction has the rows of one.
static Fit checkRowsOfConsumers(const Schedule &schedule) {
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  const int64_t rows = info.m * schedule.consumersM;
  if (info.isRepeated || schedule.tileM == rows)
    return {};
  return broken(Limit::Geometry,
                fmt::format("expects tile_m to be {} * consumers_m = {}, but got {}", info.m, rows, schedule.tileM));
}

/// The part of the tile that one consumer computes.
static Fit checkConsumerTile(const Schedule &schedule, const ProblemDescription &problem) {
  if (swapsOperands(schedule, problem.hasXScale))
    return checkSwappedTile(schedule, problem);
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  const int64_t columns = schedule.tileN / schedule.consumersN;
  // A tile may have the columns of one instruction, though a load has those of two.
  const bool isOneInstruction = info.isRepeated && schedule.walk == TileWalk::Blocks && schedule.tileN == info.mostN;
  // Where K is contiguous in X, columns need not lie together in strips.
  const int64_t granule = problem.xTransposed && schedule.walk == TileWalk::Blocks ? leastColumns : columnGranule(info);
  const int64_t least = isOneInstruction ? info.mostN : std::min(granule, columnGranule(info));
  constexpr const char *field = "tile_n / consumers_n";
  if (info.isRepeated)
    return multipleOf(field, columns, least);
  return firstBroken(
      {checkRowsOfConsumers(schedule), multipleOf(field, columns, least), inRange(field, columns, least, info.mostN)});
}

/// A dimension of the tile whose elements are contiguous in slots of Units16. A row must have a power of two or a
/// multiple of 8 of units, and a warp's first unit no bit in common with its others, because the numbers of units are
/// mixed by xor.
static Fit checkUnits(const char *field, const char *ofConsumer, int64_t extent, int64_t consumers) {
  constexpr int64_t wholeSwizzles = 64;
  return firstBroken(
      {powerOfTwo(ofConsumer, extent / consumers), extent % wholeSwizzles == 0 ? Fit() : powerOfTwo(field, extent)});
}

/// Whether a stage has several blocks, which one copy brings to one CTA, each with its part of X.
static bool hasWholeBlocks(const Schedule &schedule, const ProblemDescription &problem) {
  return schedule.tileK > problem.blockColumns && schedule.tileK % problem.blockColumns == 0 && !problem.wTransposed &&
         !problem.hasScales && schedule.cluster == 1 &&
         stageDepth(infoOf(schedule.instruction), problem) == problem.blockColumns;
}

/// Rows of a slot. With Swizzle128, a row of depth is one row of the swizzle, or half of one.
static Fit checkSlotRows(const Schedule &schedule, const ProblemDescription &problem) {
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  int64_t units = stageDepth(info, problem);
  switch (info.slotLayout) {
  case SlotLayout::Swizzle128:
    if (swapsOperands(schedule, problem.hasXScale) && hasWholeBlocks(schedule, problem))
      break;
    if (schedule.tileK != units)
      return broken(Limit::Geometry,
                    fmt::format("expects tile_k to be {} for {}, but got {}", units, info.name, schedule.tileK));
    break;
  case SlotLayout::Units16:
    return firstBroken({checkUnits("tile_n", "tile_n / consumers_n", schedule.tileN, schedule.consumersN),
                        powerOfTwo("tile_k", schedule.tileK),
                        problem.wTransposed
                            ? checkUnits("tile_m", "tile_m / consumers_m", schedule.tileM, schedule.consumersM)
                            : Fit()});
  }
  return {};
}

/// A group of consumers has a block row. A group asks for a block when its column is there. The columns before those in
/// the ring of X are then complete, with their blocks. The blocks from the next column on have to differ in their full
/// barriers, which come again after twice the slots of the ring of blocks (SpmmWindows.cpp). Producers that take turns
/// have slots of their own: groups release blocks in any order, so that the parity of a slot that another producer has
/// filled meanwhile would say nothing.
static Fit checkWindows(const Schedule &schedule, const ProblemDescription &problem) {
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  constexpr int64_t mostGroups = 7;
  if (info.instruction != MatrixInstruction::Wgmma)
    return broken(Limit::Instruction, fmt::format("expects instruction = {} for walk = windows, but got {}",
                                                  infoOf(MatrixInstruction::Wgmma).name, info.name));
  if (problem.blockRows != info.m || problem.blockColumns != schedule.tileK)
    return broken(Limit::Geometry, fmt::format("expects blocks of {}x{} for walk = windows, but got {}x{}", info.m,
                                               schedule.tileK, problem.blockRows, problem.blockColumns));
  int64_t least = (schedule.consumersM * schedule.stages + 1) / 2;
  // A group holds a block while it waits for the next one. The others may have blocks in all columns in between.
  if (problem.hasTwoLevels)
    least = std::max(least, (schedule.consumersM - 1) * schedule.stages + 2);
  return firstBroken({inRange("consumers_m", schedule.consumersM, 1, mostGroups),
                      inRange("consumers_n", schedule.consumersN, 1, 1), multipleOf("tile_n", schedule.tileN, 128),
                      inRange("block_stages", schedule.blockStages, least, mostBlockStages),
                      multipleOf("block_stages", schedule.blockStages,
                                 blockProducersOfWindow(schedule.tileK * bytesOf(problem.elementType)))});
}

/// A product has a block and a column of X. A word of the plan has a bit for each product of a stage. With wgmma the
/// transpose of the block has the columns of the instruction. Its rows are lines of 128 bytes, or halves or quarters of
/// lines. Four warps of producers copy X and the blocks of each group. A group holds a chunk while it waits for the
/// next one, whose blocks the same column needs. With mma.sync a warp has one block row. There are as many stages as
/// producers, or more: a producer that comes back to a slot has then seen that the slot's stage before the last one was
/// read.
static Fit checkStreams(const Schedule &schedule, const ProblemDescription &problem) {
  constexpr int64_t mostProducts = 32, mostColumns = 256, columnsOfStrip = 64, warpsOfWarpgroup = 4, mostGroups = 3;
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  if (schedule.copy != CopyMethod::Tma)
    return broken(Limit::Instruction, fmt::format("expects copy = {} for walk = streams, but got {}",
                                                  infoOf(CopyMethod::Tma).name, infoOf(schedule.copy).name));
  StreamShape shape = streamShape(schedule, problem.blockColumns);
  bool isOfWarps = copiesOwnBlocks(schedule);
  const int64_t rows = shape.productRows, most = isOfWarps ? rows : granule(info, problem.elementType);
  if (problem.blockRows != rows || problem.blockColumns % rows != 0 || most % problem.blockColumns != 0) {
    const std::string longer = most != rows ? fmt::format(" to {}x{}", rows, most) : "";
    return broken(Limit::Geometry, fmt::format("expects blocks of {}x{}{} for walk = streams with {}, but got {}x{}",
                                               rows, rows, longer, info.name, problem.blockRows, problem.blockColumns));
  }
  return firstBroken(
      {inRange("consumers_n", schedule.consumersN, 1, 1), multipleOf("tile_k", schedule.tileK, problem.blockColumns),
       multipleOf("tile_m / consumers_m", shape.consumerRows, shape.productRows),
       multipleOf("tile_n", schedule.tileN, columnsOfStrip),
       inRange("tile_n", schedule.tileN, columnsOfStrip, mostColumns),
       // One chunk at most begins at the products of a column.
       inRange("products of a column", shape.productsOfColumn(), 1, isOfWarps ? 1 : shape.chunkProducts),
       inRange("products of a stage", shape.stageColumns * shape.productsOfColumn(), 1, mostProducts),
       isOfWarps ? inRange("stages", schedule.stages, StreamShape::columnProducers, mostBlockStages) : Fit(),
       isOfWarps ? multipleOf("consumers_m", schedule.consumersM, warpsOfWarpgroup)
                 : inRange("consumers_m", schedule.consumersM, 1, mostGroups),
       isOfWarps ? inRange("cluster", schedule.cluster, 1, infoOf(schedule.copy).mostCtas) : Fit()});
}

/// The tile as its walk divides it.
static Fit checkTile(const Schedule &schedule, const ProblemDescription &problem) {
  if (schedule.walk == TileWalk::Streams)
    return checkStreams(schedule, problem);
  if (schedule.walk == TileWalk::Windows)
    if (Fit fit = checkWindows(schedule, problem); !fit.ok())
      return fit;
  return firstBroken({checkConsumerTile(schedule, problem), checkSlotRows(schedule, problem)});
}

/// With mma.sync a slice is one warp, which copies for itself. Its sums take the place of its ring.
static Fit checkSlices(const Schedule &schedule, const ProblemDescription &problem) {
  if (schedule.slices == 1)
    return {};
  constexpr int64_t sumBytes = 4, warpsOfProducers = 4;
  if (schedule.walk != TileWalk::Blocks || problem.tileColumns != 0 || schedule.cluster != 1)
    return broken(Limit::Geometry, "expects slices to be 1, but for spmm by block rows without clusters");
  if (hasProducer(schedule)) // each slice has a warp of the producers, and one that copies scales of X
    return inRange("slices", schedule.slices, 1, problem.hasXScale ? warpsOfProducers / 2 : warpsOfProducers);
  const int64_t ring =
      schedule.stages * (schedule.tileM + schedule.tileN) * schedule.tileK * bytesOf(problem.elementType);
  return firstBroken({inRange("consumers_m", schedule.consumersM, 1, 1),
                      inRange("consumers_n", schedule.consumersN, 1, 1),
                      atMost(Limit::Geometry, ring, schedule.tileM * schedule.tileN * sumBytes,
                             "bytes of sums in the ring of a slice")});
}

static Fit checkGeometry(const Schedule &schedule, const ProblemDescription &problem) {
  if (schedule.stages < leastStages)
    return broken(Limit::Geometry,
                  fmt::format("expects stages to be at least {}, but got {}", leastStages, schedule.stages));
  if (schedule.concurrentTiles != 1)
    return broken(Limit::Geometry,
                  fmt::format("expects concurrent_tiles to be 1 for spmm, but got {}", schedule.concurrentTiles));
  if (schedule.tileK > problem.blockColumns && schedule.tileK % problem.blockColumns != 0)
    return broken(Limit::Geometry,
                  fmt::format("expects tile_k to be at most the block's {} columns or a multiple of them, but got {}",
                              problem.blockColumns, schedule.tileK));
  return firstBroken({checkTile(schedule, problem), checkSlices(schedule, problem), checkRegisterRoles(schedule),
                      inRange("cluster", schedule.cluster, 1, infoOf(schedule.copy).mostCtas)});
}

Fit sparsec::checkThreads(const Schedule &schedule, const Chip &chip) {
  int64_t needed = threads(schedule);
  return firstBroken({atMost(Limit::Threads, chip.maxThreadsPerCta, needed, "threads per CTA"),
                      atMost(Limit::Threads, chip.maxThreadsPerMultiprocessor, needed * schedule.ctasPerSm,
                             fmt::format("threads per multiprocessor on {}", chip.name))});
}

Fit sparsec::checkRegisterCounts(const Schedule &schedule, const Chip &chip) {
  if (schedule.consumerRegisters == 0)
    return {};
  int64_t count = threads(schedule), pool = registerPool(chip, count, schedule.ctasPerSm), atLaunch = pool / count;
  auto expectThat = [&](bool isGood, const char *field, const char *bound, int64_t value) {
    return isGood ? Fit()
                  : broken(Limit::Registers,
                           fmt::format("expects {} to be {} {}, the registers of a thread at launch on {}, but got {}",
                                       field, bound, atLaunch, chip.name, value));
  };
  int64_t needed = infoOf(schedule.copy).producerThreads * schedule.producerRegisters +
                   consumerThreads(schedule) * schedule.consumerRegisters;
  return firstBroken(
      {atMost(Limit::Registers, pool, needed, fmt::format("registers per CTA on {}", chip.name)),
       expectThat(schedule.producerRegisters <= atLaunch, "producer_registers", "at most", schedule.producerRegisters),
       expectThat(schedule.consumerRegisters >= atLaunch, "consumer_registers", "at least",
                  schedule.consumerRegisters)});
}

Fit sparsec::checkRegistersOfOneRole(const Schedule &schedule, const Chip &chip) {
  int64_t count = threads(schedule);
  return firstBroken({atMost(Limit::Registers, chip.maxRegistersPerThread, schedule.consumerRegisters,
                             fmt::format("registers per thread on {}", chip.name)),
                      atMost(Limit::Registers, registerPool(chip, count, schedule.ctasPerSm),
                             schedule.consumerRegisters * count, fmt::format("registers per CTA on {}", chip.name))});
}

static Fit checkRegisters(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip,
                          Origin origin) {
  int64_t perThread = estimatedRegisters(schedule, problem, origin);
  int64_t limit = origin == Origin::Chosen ? chip.preferredRegistersPerThread : chip.maxRegistersPerThread;
  Fit fit = atMost(Limit::Registers, limit, perThread, fmt::format("registers per thread on {}", chip.name));
  if (!fit.ok())
    return fit;
  if (hasProducer(schedule) && schedule.consumerRegisters != 0)
    return firstBroken(
        {atMost(Limit::Registers, schedule.consumerRegisters, perThread, "registers per consumer thread"),
         checkRegisterCounts(schedule, chip)});
  int64_t count = threads(schedule);
  int64_t reserved = std::max(perThread, schedule.consumerRegisters);
  return firstBroken({atMost(Limit::Registers, schedule.consumerRegisters ? schedule.consumerRegisters : limit,
                             perThread, "registers per thread"),
                      atMost(Limit::Registers, registerPool(chip, count, schedule.ctasPerSm), reserved * count,
                             fmt::format("registers per CTA on {}", chip.name))});
}

Fit sparsec::checkSharedMemory(const Schedule &schedule, int64_t total, const Chip &chip) {
  return firstBroken({atMost(Limit::SharedMemory, chip.sharedMemoryPerCta, total,
                             fmt::format("bytes of shared memory on {}", chip.name)),
                      atMost(Limit::SharedMemory, chip.sharedMemoryPerMultiprocessor,
                             schedule.ctasPerSm * (total + chip.reservedSharedMemoryPerCta),
                             fmt::format("bytes of shared memory for {} CTAs per multiprocessor on {}",
                                         schedule.ctasPerSm, chip.name))});
}

/// If the problem fixes the columns of a tile, a tile is whole rows of a block of the result, and a step is a part of a
/// pair of blocks. A consumer with one instruction then has all columns of the block.
static Fit checkTileOfBlock(const Schedule &schedule, const ProblemDescription &problem) {
  if (problem.tileColumns == 0)
    return {};
  int64_t columns = blockStride(schedule.instruction, problem.tileColumns, /*isTransposed=*/false);
  int64_t sharers = infoOf(schedule.instruction).isRepeated ? schedule.consumersN : 1;
  return firstBroken(
      {checkRowsOfConsumers(schedule), multipleOf("blocks' rows", problem.blockRows, schedule.tileM),
       inRange("tile_n", schedule.tileN, columns, columns), inRange("tile_k", schedule.tileK, 1, problem.blockColumns),
       inRange("consumers_n", schedule.consumersN, 1, sharers), inRange("cluster", schedule.cluster, 1, 1)});
}

Fit sparsec::checkFit(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip, Origin origin) {
  Fit fit = checkTileOfBlock(schedule, problem);
  if (fit.ok())
    fit = checkInstruction(schedule, problem, chip);
  if (fit.ok())
    fit = checkGeometry(schedule, problem);
  if (fit.ok())
    fit = checkThreads(schedule, chip);
  if (fit.ok())
    fit = checkRegisters(schedule, problem, chip, origin);
  if (fit.ok())
    fit = checkSharedMemory(schedule, placeSharedMemory(sharedMemoryNeeds(schedule, problem)).total, chip);
  return fit;
}

/// A tile has whole blocks. So has a consumer with one instruction; one that repeats it may have a part of a block.
static Fit checkBlocksOfTile(const Schedule &schedule, const SampledDescription &problem) {
  int64_t stride = blockStride(schedule.instruction, problem);
  if (infoOf(schedule.instruction).isRepeated)
    return multipleOf("tile_n", schedule.tileN, stride);
  return multipleOf("tile_n / consumers_n", schedule.tileN / schedule.consumersN, stride);
}

Fit sparsec::checkFit(const Schedule &schedule, const SampledDescription &problem, const Chip &chip, Origin origin) {
  return firstBroken({checkBlocksOfTile(schedule, problem), checkRowsOfConsumers(schedule),
                      inRange("slices", schedule.slices, 1, 1),
                      checkFit(schedule, productOf(problem, schedule.instruction), chip, origin)});
}
