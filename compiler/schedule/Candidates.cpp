// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Candidates.h"
#include "SharedMemory.h"

#include <algorithm>

using namespace sparsec;

namespace {
struct StageRange {
  int64_t least, most;
};
} // namespace

/// A producer of its own can run far ahead; a single role meets at a barrier every step, which more stages do not hide;
/// one of scalar copies waits for its loads anyway. Asynchronous copies with only two stages start too late.
static StageRange usefulStages(CopyMethod copy) {
  switch (copy) {
  case CopyMethod::Tma:
    return {3, 8};
  case CopyMethod::CpAsync:
    return {3, 4};
  case CopyMethod::Scalar:
  case CopyMethod::Vector: // of no product
    break;
  }
  return {2, 2};
}

/// Gives the schedule what follows from its tile: as many stages as are useful and fit, and the group of tile rows.
template <typename Description>
static Schedule complete(Schedule schedule, const Description &problem, const Chip &chip) {
  schedule.groupM = chooseGroupM(schedule, problem, chip);
  auto [least, most] = usefulStages(schedule.copy);
  chooseStages(schedule, problem, chip, least, most);
  return schedule;
}

namespace {
/// A grid of warpgroups, and the rows and columns of each.
struct Consumers {
  int64_t m, n, rows, columns;
};
} // namespace

/// Two warpgroups, so that one multiplies while the other waits or stores.
static std::vector<Consumers> wgmmaConsumers(const ProblemDescription &problem, const MatrixInstructionInfo &info) {
  if (!problem.hasXScale)
    return {{2, 1, info.m, 256}, {2, 1, info.m, 128}, {2, 1, info.m, 64},
            {1, 2, info.m, 256}, {1, 2, info.m, 128}, {1, 2, info.m, 64}};
  // X is the A operand: all rows of a tile, which divide those of a block, and as many columns as registers allow.
  constexpr int64_t mostRows = 128, mostSums = mostRows * mostRows, rowsOfStore = 64, leastRows = 16;
  int64_t step = problem.blockRows % rowsOfStore == 0 ? rowsOfStore : leastRows, rows = mostRows / step * step;
  while (rows > step && problem.blockRows % rows != 0)
    rows -= step;
  std::vector<Consumers> consumers;
  for (int64_t columns = mostSums / rows / info.m * info.m; columns >= info.m; columns = columns / 2 / info.m * info.m)
    consumers.push_back({1, 2, rows, columns});
  return consumers;
}

/// The columns of a consumer are multiples of `stride`.
template <typename Description>
static void addWgmmaCandidates(const Description &problem, const Chip &chip, CopyMethod copy, int64_t stride,
                               std::vector<Schedule> &schedules) {
  const MatrixInstructionInfo &info = infoOf(MatrixInstruction::Wgmma);
  for (const Consumers &consumers : wgmmaConsumers(problem, info)) {
    int64_t columns = consumers.columns / stride * stride;
    if (columns == 0)
      continue;
    for (int64_t cluster : {1, 2}) {
      for (int64_t ctasPerSm : {1, 2}) {
        Schedule schedule;
        schedule.instruction = info.instruction;
        schedule.copy = copy;
        schedule.tileM = consumers.m * consumers.rows;
        schedule.tileN = consumers.n * columns;
        schedule.tileK = stageDepth(info, problem);
        schedule.consumersM = consumers.m;
        schedule.consumersN = consumers.n;
        schedule.cluster = cluster;
        schedule.ctasPerSm = ctasPerSm;
        shareRegisters(schedule, 40, chip); // the producer's 64-bit addresses spill below 40
        schedules.push_back(complete(schedule, problem, chip));
      }
    }
  }
}

/// The grid of `warps` warps over the tile that reads least from shared memory; {0, 0} if there is none. Parts of the
/// tile are multiples of rows x columns.
static std::pair<int64_t, int64_t> warpGrid(int64_t tileM, int64_t tileN, int64_t warps, int64_t rows,
                                            int64_t columns) {
  std::pair<int64_t, int64_t> best = {0, 0};
  int64_t leastReads = 0;
  for (int64_t warpsM = 1; warpsM <= warps; warpsM *= 2) {
    int64_t warpsN = warps / warpsM;
    if (tileM % (rows * warpsM) != 0 || tileN % (columns * warpsN) != 0)
      continue;
    int64_t reads = tileM / warpsM + tileN / warpsN;
    if (best.first == 0 || reads < leastReads) {
      best = {warpsM, warpsN};
      leastReads = reads;
    }
  }
  return best;
}

namespace {
/// The tiles of mma.sync that are worth a look: their columns, from the narrowest on, and the warps that share one.
struct TileShapes {
  std::vector<int64_t> columns, warps;
};
} // namespace

/// Columns that the problem says may be too few for four warps.
static TileShapes tileShapes(const ProblemDescription &problem) {
  if (problem.tileColumns == 0)
    return {{64, 128, 256, 512}, {4, 8}};
  return {{blockStride(MatrixInstruction::MmaSync, problem.tileColumns, /*isTransposed=*/false)}, {1, 2, 4, 8}};
}

/// Whole blocks. The threads hold the column of each of them.
static TileShapes tileShapes(const SampledDescription &problem) {
  constexpr int64_t mostBlocks = 16;
  int64_t stride = blockStride(MatrixInstruction::MmaSync, problem);
  TileShapes shapes = {{}, {4, 8}};
  for (int64_t columns : {64, 128, 256, 512})
    if (columns % stride == 0 && columns <= mostBlocks * stride)
      shapes.columns.push_back(columns);
  return shapes;
}

template <typename Description>
static void addMmaSyncCandidates(const Description &problem, const Chip &chip, CopyMethod copy,
                                 std::vector<Schedule> &schedules) {
  // Scalar copies are for operands that nothing else can read: a modest tile does.
  bool isScalar = copy == CopyMethod::Scalar;
  const MatrixInstructionInfo &info = infoOf(MatrixInstruction::MmaSync);
  const TileShapes shapes = tileShapes(problem);
  constexpr int64_t usualWarps = 4;
  const int64_t narrow = shapes.columns.front(), modest = std::max<int64_t>(128, narrow);
  auto gridOf = [&](int64_t tileM, int64_t tileN, int64_t warps) {
    return warpGrid(tileM, tileN, warps, info.m, columnGranule(info));
  };
  std::vector<int64_t> tileMs = {std::min<int64_t>(problem.blockRows, isScalar ? 64 : 128)};
  for (int64_t tileM : {128, 64, 32, 16})
    if (tileM < tileMs.front())
      tileMs.push_back(tileM);
  for (int64_t tileM : tileMs)
    for (int64_t tileN : shapes.columns)
      for (int64_t tileK : {16, 32, 64, 128})
        for (int64_t warps : shapes.warps)
          for (int64_t ctasPerSm : {1, 2}) {
            auto [warpsM, warpsN] = gridOf(tileM, tileN, warps);
            if (warps < usualWarps && gridOf(tileM, tileN, usualWarps).first != 0)
              continue;
            bool isLegal = tileK <= problem.blockColumns || tileK % problem.blockColumns == 0;
            isLegal &= tileK % depthOf(info, problem.elementType) == 0;
            isLegal &= tileK <= problem.blockColumns || !problem.hasScales;
            if (warpsM == 0 || !isLegal ||
                (isScalar && (tileN > modest || tileK > 32 || warps > usualWarps || ctasPerSm > 1)))
              continue;
            Schedule schedule;
            schedule.instruction = info.instruction;
            schedule.copy = copy;
            schedule.tileM = tileM;
            schedule.tileN = tileN;
            schedule.tileK = tileK;
            schedule.consumersM = warpsM;
            schedule.consumersN = warpsN;
            schedule.ctasPerSm = ctasPerSm;
            int64_t share = registerPool(chip, threads(schedule), ctasPerSm) / threads(schedule);
            if (chip.preferredRegistersPerThread < chip.maxRegistersPerThread)
              schedule.consumerRegisters = std::min(chip.preferredRegistersPerThread, share);
            schedules.push_back(complete(schedule, problem, chip));
            // The last resort of a thread that holds few sums: as many registers as there are.
            if (schedule.consumerRegisters != 0 && tileN == narrow && warps == usualWarps && ctasPerSm == 1) {
              schedule.consumerRegisters = share;
              schedules.push_back(complete(schedule, problem, chip));
            }
          }
}

std::optional<CopyMethod> sparsec::copyFor(MatrixInstruction instruction, const Chip &chip, int64_t alignment) {
  for (const CopyInfo &copy : copies())
    if (chip.copies.contains(copy.copy) && copy.slotLayout == infoOf(instruction).slotLayout &&
        copy.alignment <= alignment)
      return copy.copy;
  return std::nullopt;
}

/// For tiles of the columns of one block, in one CTA of an SM: with two, three warpgroups each have too few registers
/// at launch for products of 128 columns.
static void addWgmmaCandidatesOfBlocks(const ProblemDescription &problem, const Chip &chip, CopyMethod copy,
                                       std::vector<Schedule> &schedules) {
  const MatrixInstructionInfo &info = infoOf(MatrixInstruction::Wgmma);
  for (int64_t consumers : {2, 1}) {
    if (problem.blockRows % (consumers * info.m) != 0)
      continue;
    Schedule schedule;
    schedule.instruction = info.instruction;
    schedule.copy = copy;
    schedule.tileM = consumers * info.m;
    schedule.tileN = columnsOfStrips(problem.tileColumns);
    schedule.tileK = stageDepth(info, problem);
    schedule.consumersM = consumers;
    shareRegisters(schedule, 40, chip);
    schedules.push_back(complete(schedule, problem, chip));
  }
}

/// Whether a tile fills the instruction. Tiles of one block have whole groups of rows where a consumer has one
/// instruction.
static bool fillsTiles(MatrixInstruction instruction, const ProblemDescription &problem) {
  const MatrixInstructionInfo &info = infoOf(instruction);
  bool hasWholeGroups = problem.tileColumns == 0 || info.isRepeated || problem.blockRows % info.m == 0;
  return hasWholeGroups && fillsInstruction(instruction, problem);
}

std::vector<Schedule> sparsec::candidateSchedules(const ProblemDescription &problem, const Chip &chip,
                                                  int64_t alignment) {
  std::vector<Schedule> schedules;
  for (const InstructionRate &rate : chip.instructions) {
    std::optional<CopyMethod> copy = copyFor(rate.instruction, chip, alignment);
    bool multiplies = rate.elementTypes.contains(problem.elementType);
    bool hasLayout = bytesOf(problem.elementType) != 1 || (problem.xTransposed && !problem.wTransposed);
    if (!copy || !multiplies || !hasLayout || !fillsTiles(rate.instruction, problem))
      continue;
    if (rate.instruction != MatrixInstruction::Wgmma)
      addMmaSyncCandidates(problem, chip, *copy, schedules);
    else if (problem.tileColumns != 0)
      addWgmmaCandidatesOfBlocks(problem, chip, *copy, schedules);
    else
      addWgmmaCandidates(problem, chip, *copy, /*stride=*/1, schedules);
    // A slower instruction would be of no use.
    break;
  }
  return schedules;
}

/// The slots of a ring for each that it has where products are long, and a stage of streams has two lines of each row.
static int64_t slotsOfProduct(const Schedule &schedule, const ProblemDescription &problem) {
  const int64_t lines = schedule.walk == TileWalk::Streams ? 2 : 1;
  return hasShortProducts(schedule.tileK * bytesOf(problem.elementType) / lines) ? 2 : 1;
}

/// Three block rows, and as wide as registers allow: few columns of X for many products. Rings have as many bytes for
/// long and short products.
static Schedule windowSchedule(const ProblemDescription &problem) {
  // Sums of two levels have half as many registers again for the products that are promoted.
  const int64_t rowsOfWindow = problem.hasTwoLevels ? 2 : 3;
  constexpr int64_t usualBlockStages = 8;
  const MatrixInstructionInfo &info = infoOf(MatrixInstruction::Wgmma);
  Schedule schedule;
  schedule.instruction = info.instruction;
  schedule.walk = TileWalk::Windows;
  schedule.tileM = rowsOfWindow * info.m;
  schedule.tileN = 256;
  schedule.tileK = stageDepth(info, problem);
  schedule.consumersM = rowsOfWindow;
  schedule.blockStages = usualBlockStages * slotsOfProduct(schedule, problem);
  schedule.cluster = 2;
  return schedule;
}

/// CTAs that share X wait for one another. That pays where X is N x K and a column of it is many pieces of less than a
/// line: the CTA then copies half of them (bench/notes/streams.md). fp8 has adjacent columns in a stage, which are
/// lines together.
static Schedule streamSchedule(const ProblemDescription &problem, MatrixInstruction instruction, int64_t consumers,
                               int64_t rowsOfConsumer) {
  constexpr int64_t bytesOfLine = 128;
  Schedule schedule;
  schedule.instruction = instruction;
  schedule.walk = TileWalk::Streams;
  schedule.tileM = consumers * rowsOfConsumer;
  schedule.tileN = 128;
  schedule.tileK = 128;
  schedule.consumersM = consumers;
  const bool hasPieces = problem.xTransposed && bytesOf(problem.elementType) == 2;
  schedule.cluster = hasPieces && problem.blockColumns * bytesOf(problem.elementType) < bytesOfLine ? 2 : 1;
  schedule.blockStages = copiesOwnBlocks(schedule) ? 2 : 3;
  return schedule;
}

/// With wgmma as many rows as the registers of three consumers allow: a column of X then serves many blocks, and two
/// consumers multiply while the third one waits. With mma.sync a block row for each of sixteen warps, or of twelve: an
/// epilogue may need more registers than sixteen warps have.
static std::vector<Schedule> streamSchedules(const ProblemDescription &problem) {
  constexpr int64_t rowsOfGroup = 96, rowsOfWarp = 16;
  return {streamSchedule(problem, MatrixInstruction::Wgmma, 3, rowsOfGroup),
          streamSchedule(problem, MatrixInstruction::MmaSync, 16, rowsOfWarp),
          streamSchedule(problem, MatrixInstruction::MmaSync, 12, rowsOfWarp)};
}

/// Windows, or else streams: the first schedule that fits, and those of the same program that may take its place.
std::vector<Schedule> sparsec::plannedSchedules(const ProblemDescription &problem, const Chip &chip) {
  constexpr int64_t mostStages = 5, leastStages = 3, producerRegisters = 32;
  if (!chip.copies.contains(CopyMethod::Tma))
    return {};
  std::vector<Schedule> all = streamSchedules(problem), fitting;
  all.insert(all.begin(), windowSchedule(problem));
  for (Schedule &schedule : all) {
    schedule.copy = CopyMethod::Tma;
    shareRegisters(schedule, producerRegisters, chip);
    chooseStages(schedule, problem, chip, leastStages, mostStages * slotsOfProduct(schedule, problem));
    const bool isOfSame = fitting.empty() || (fitting.front().walk == schedule.walk &&
                                              fitting.front().instruction == schedule.instruction);
    if (isOfSame && checkFit(schedule, problem, chip, Origin::HandWritten).ok())
      fitting.push_back(schedule);
  }
  return fitting;
}

/// A tile has 64 columns: calls of few columns then compute few columns that nobody needs, and calls of more have more
/// tiles. Few tiles read each block once, from memory and not from L2, so that more blocks have to be on their way.
std::vector<Schedule> sparsec::splitSchedules(const Schedule &planned, const ProblemDescription &problem,
                                              const Chip &chip) {
  constexpr int64_t mostStages = 8, leastStages = 3, blockStages = 4;
  if (!copiesOwnBlocks(planned))
    return {};
  Schedule schedule = planned;
  schedule.tileN = StreamShape::columnsOfPart;
  schedule.blockStages = blockStages;
  chooseStages(schedule, problem, chip, leastStages, mostStages);
  if (!checkFit(schedule, problem, chip, Origin::HandWritten).ok())
    return {};
  return {schedule};
}

/// Halves `most` until a stage of this depth has whole blocks or cuts one into chunks. Returns 0 if no depth does.
static int64_t narrowDepth(const ProblemDescription &problem, const MatrixInstructionInfo &info, int64_t most) {
  int64_t columns = problem.blockColumns, depth = most;
  auto isLegal = [&] {
    bool isWhole = depth <= columns || (depth % columns == 0 && !problem.hasScales);
    isWhole &= depth <= mostDepthOfPart || !problem.hasTwoLevels;
    return isWhole && depth % depthOf(info, problem.elementType) == 0;
  };
  while (depth > 0 && !isLegal())
    depth /= 2;
  return depth;
}

namespace {
/// The blocks that a shape is for, by the pieces that they bring of every row of X: whole pieces of L2, or less.
enum class Runs { Any, Long, Short };

/// The tiles of products of at most so many columns. A CTA has some consumers side by side, or slices of one.
struct NarrowShape {
  int64_t columns;
  MatrixInstruction instruction;
  int64_t rows;
  int64_t depth;                                     // of a stage, with wgmma at least
  int64_t consumersN, slices, ctasPerSm, mostStages; // of wgmma: stages of 128 bytes of each row
  Runs runs = Runs::Any;
  bool needsTransposedX = false; // ptxas spills registers otherwise
  // Both are for fp8 alone. Rows of blocks may be lines of 128 bytes: a stage has a whole line, or half of one.
  bool hasWholeLines = false;
  // Blocks that fill wgmma are left to it, but for whole lines where X has no scales.
  bool leavesToWgmma = false;
};
} // namespace

/// The bytes of W bound a product of few columns. Its tiles have few rows, so that there are many tiles, and the warps
/// of a CTA divide the steps of a tile: each has a short chain of loads, and an SM has many of them in flight. From 33
/// columns on, and with fp8 from 9 on, wgmma multiplies blocks that fill it, in two slices, or four where steps are
/// short: the longest block row bounds the time then. It also multiplies blocks of 32 rows, with X as its A operand.
/// Launches take its tiles also for more columns, where they are few. Of the shapes for as many columns, the first one
/// that fits counts (bench/notes/small-widths.md).
static constexpr NarrowShape narrowShapes[] = {
    {8, MatrixInstruction::MmaSync, 16, 64, 1, 4, 4, 4, Runs::Any, false, true},
    {16, MatrixInstruction::MmaSync, 32, 64, 1, 4, 3, 3, Runs::Short},
    {16, MatrixInstruction::MmaSync, 16, 64, 1, 4, 4, 3, Runs::Any, false, true, true},
    {32, MatrixInstruction::MmaSync, 32, 64, 1, 4, 2, 3, Runs::Any, false, false, true},
    {32, MatrixInstruction::MmaSync, 16, 64, 1, 4, 4, 2, Runs::Any, false, false, true},
    {32, MatrixInstruction::Wgmma, 64, 64, 1, 2, 1, 4},
    {64, MatrixInstruction::Wgmma, 64, 64, 1, 2, 1, 4},
    {64, MatrixInstruction::Wgmma, 64, 32, 1, 4, 1, 2},
    {64, MatrixInstruction::Wgmma, 32, 64, 1, 2, 2, 4},
    {64, MatrixInstruction::MmaSync, 32, 64, 1, 4, 2, 3},
    {64, MatrixInstruction::MmaSync, 16, 64, 1, 2, 5, 2, Runs::Long},
    {64, MatrixInstruction::MmaSync, 16, 64, 1, 4, 2, 2},
    {128, MatrixInstruction::Wgmma, 64, 32, 2, 1, 1, 8},
    {128, MatrixInstruction::Wgmma, 32, 32, 2, 2, 2, 2, Runs::Long},
    {128, MatrixInstruction::MmaSync, 32, 32, 1, 4, 2, 2, Runs::Long, true},
    {128, MatrixInstruction::MmaSync, 16, 32, 1, 4, 3, 2, Runs::Long},
    {256, MatrixInstruction::Wgmma, 64, 32, 2, 1, 1, 4}};

/// Whether the part of a row of X that goes with a block is at least a piece of L2, or less, as a shape asks.
static bool hasRuns(Runs runs, const ProblemDescription &problem, const Chip &chip) {
  const bool isLong =
      !problem.xTransposed || problem.blockColumns * bytesOf(problem.elementType) >= chip.times.l2PieceBytes;
  return runs == Runs::Any || isLong == (runs == Runs::Long);
}

/// Nothing where the chip or the blocks do not have the instruction, or have a better one.
static std::optional<Schedule> narrowSchedule(const NarrowShape &shape, const ProblemDescription &problem,
                                              const Chip &chip) {
  constexpr int64_t alignment = 16, leastStages = 2, mostColumnsOfWarp = 64;
  // A producer that copies tiles of scales, too, has more addresses.
  const int64_t producerRegisters = problem.hasXScale && shape.slices > 1 ? 56 : 40;
  constexpr int64_t bytesOfStageRow = 128;
  const MatrixInstructionInfo &info = infoOf(shape.instruction);
  const InstructionRate *rate = chip.find(info.instruction);
  std::optional<CopyMethod> copy = copyFor(info.instruction, chip, alignment);
  const bool isWide = info.isRepeated && shape.columns > mostColumnsOfWarp;
  const int64_t depthOfLine = bytesOfStageRow / bytesOf(problem.elementType);
  const bool hasF8 = bytesOf(problem.elementType) == 1;
  const bool hasLines = shape.hasWholeLines && hasF8 && problem.blockColumns % depthOfLine == 0;
  const bool leaves = shape.leavesToWgmma && hasF8 && problem.blockColumns % shape.depth == 0 &&
                      (!hasLines || problem.hasXScale) && chip.find(MatrixInstruction::Wgmma);
  if (!rate || !rate->elementTypes.contains(problem.elementType) || !copy || problem.leastN > shape.columns ||
      problem.blockRows < shape.rows || !hasRuns(shape.runs, problem, chip) ||
      (shape.needsTransposedX && !problem.xTransposed) ||
      ((isWide || leaves) && fillsInstruction(MatrixInstruction::Wgmma, problem)))
    return std::nullopt;
  Schedule schedule;
  schedule.instruction = info.instruction;
  schedule.copy = *copy;
  schedule.tileM = shape.rows;
  schedule.tileN = shape.columns;
  const int64_t mostDepth = hasLines ? depthOfLine : shape.depth;
  schedule.tileK = info.isRepeated ? narrowDepth(problem, info, mostDepth) : stageDepth(info, problem);
  const bool hasFewRows = !info.isRepeated && shape.rows < info.m;
  if (hasFewRows) // a stage may have several blocks
    schedule.tileK = std::max(schedule.tileK, shape.depth);
  schedule.consumersN = shape.consumersN;
  schedule.slices = shape.slices;
  if (schedule.tileK == 0 || (!info.isRepeated && schedule.tileK < shape.depth))
    return std::nullopt;
  // As many bytes have to be in flight, however small a stage is and however many slices have a ring.
  int64_t mostStages = shape.mostStages;
  if (!info.isRepeated)
    mostStages = mostStages * bytesOfStageRow / (schedule.tileK * bytesOf(problem.elementType));
  // If shared memory has no room for the rings of so many CTAs, an SM gets fewer.
  for (schedule.ctasPerSm = shape.ctasPerSm; schedule.ctasPerSm > 0; --schedule.ctasPerSm) {
    // Sums of few rows leave enough registers for all roles.
    if (!info.isRepeated && !hasFewRows)
      shareRegisters(schedule, producerRegisters, chip);
    chooseStages(schedule, problem, chip, leastStages, mostStages);
    if (checkFit(schedule, problem, chip, Origin::HandWritten).ok())
      return schedule;
  }
  return std::nullopt;
}

/// Whether some calls with few columns need another schedule: tiles of scales of X begin at multiples of 16 bytes,
/// lines have whole blocks, and tensor copies have rows of X that begin at such multiples, or are whole sectors.
static bool leavesCalls(const Schedule &schedule, const ProblemDescription &problem) {
  constexpr int64_t mostColumns = 64;
  const bool hasScaleTiles = problem.hasXScale && hasProducer(schedule) && schedule.slices > 1;
  const bool hasAlignedRows = hasProducer(schedule) && schedule.tileN <= mostColumns && !problem.xTransposed;
  return hasScaleTiles || hasAlignedRows || copiesLines(schedule, problem);
}

std::vector<Schedule> sparsec::narrowSchedules(const ProblemDescription &problem, const Chip &chip) {
  std::vector<Schedule> schedules;
  for (const NarrowShape &shape : narrowShapes) {
    const bool hasOther = !schedules.empty() && schedules.back().tileN == shape.columns;
    if (hasOther && (schedules.back().instruction == shape.instruction || !leavesCalls(schedules.back(), problem)))
      continue;
    if (std::optional<Schedule> schedule = narrowSchedule(shape, problem, chip))
      schedules.push_back(*schedule);
  }
  return schedules;
}

/// Blocks of 64 x 64 fill the matrix instructions of all chips. Those of fp8 have 128 x 128, so that their rows are
/// lines of 128 bytes too.
std::optional<PackedBlock> sparsec::packedBlock(const ProblemDescription &problem) {
  const int64_t size = 128 / bytesOf(problem.elementType);
  const bool isFilled = size % problem.blockRows == 0 && size % problem.blockColumns == 0;
  const bool isSmall = problem.blockRows < size || problem.blockColumns < size;
  if (!isFilled || !isSmall || problem.hasScales)
    return std::nullopt;
  return PackedBlock{size, size};
}

/// A plan packs blocks where nearly all packed ones are there.
ProblemDescription sparsec::withPackedBlocks(ProblemDescription problem, PackedBlock block) {
  problem.blockRows = block.rows;
  problem.blockColumns = block.columns;
  problem.density = 1;
  return problem;
}

/// Windows where packed blocks are missing, and block rows where next to none is.
std::vector<Schedule> sparsec::packedSchedules(const ProblemDescription &packed, const Chip &chip) {
  constexpr int64_t alignment = 16;
  std::vector<Schedule> schedules = plannedSchedules(packed, chip);
  const std::vector<Candidate> candidates = rankCandidates(packed, chip, alignment);
  if (!candidates.empty() && candidates.front().fit.ok())
    schedules.push_back(candidates.front().schedule);
  return schedules;
}

std::vector<Schedule> sparsec::candidateSchedules(const SampledDescription &problem, const Chip &chip,
                                                  int64_t alignment) {
  std::vector<Schedule> schedules;
  for (const InstructionRate &rate : chip.instructions) {
    std::optional<CopyMethod> copy = copyFor(rate.instruction, chip, alignment);
    if (!copy)
      continue;
    if (rate.instruction == MatrixInstruction::Wgmma)
      addWgmmaCandidates(problem, chip, *copy, blockStride(rate.instruction, problem), schedules);
    else
      addMmaSyncCandidates(problem, chip, *copy, schedules);
    // A slower instruction would be of no use.
    break;
  }
  return schedules;
}

void sparsec::sortByCost(std::vector<Candidate> &candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate &left, const Candidate &right) {
    if (left.fit.ok() != right.fit.ok())
      return left.fit.ok();
    return left.cost.clocks < right.cost.clocks;
  });
}

std::vector<size_t> sparsec::orderOfAttempts(const std::vector<Candidate> &candidates) {
  std::vector<size_t> attempts;
  for (size_t i = 0; i < candidates.size() && candidates[i].fit.ok(); ++i)
    if (attempts.empty() || candidates[i].spareRegisters > candidates[attempts.back()].spareRegisters)
      attempts.push_back(i);
  return attempts;
}
