// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Schedule.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

using namespace sparsec;

std::string sparsec::describeRoles(const Schedule &schedule) {
  Schedule defaults;
  std::string text = fmt::format("consumers {}x{}", schedule.consumersM, schedule.consumersN);
  if (schedule.cluster != defaults.cluster)
    text += fmt::format(" cluster {}", schedule.cluster);
  if (schedule.producerRegisters != defaults.producerRegisters)
    text += fmt::format(" registers {}/{}", schedule.producerRegisters, schedule.consumerRegisters);
  else if (schedule.consumerRegisters != defaults.consumerRegisters)
    text += fmt::format(" registers {}", schedule.consumerRegisters);
  if (schedule.groupM != defaults.groupM)
    text += fmt::format(" group_m {}", schedule.groupM);
  if (schedule.ctasPerSm != defaults.ctasPerSm)
    text += fmt::format(" ctas_per_sm {}", schedule.ctasPerSm);
  if (schedule.concurrentTiles != defaults.concurrentTiles)
    text += fmt::format(" concurrent_tiles {}", schedule.concurrentTiles);
  if (schedule.slices != defaults.slices)
    text += fmt::format(" slices {}", schedule.slices);
  if (schedule.walk != TileWalk::Blocks)
    text += fmt::format(" {}", nameOf(schedule.walk));
  if (schedule.blockStages != defaults.blockStages)
    text += fmt::format(" block_stages {}", schedule.blockStages);
  return text;
}

const char *sparsec::nameOf(TileWalk walk) {
  switch (walk) {
  case TileWalk::Blocks:
    return "blocks";
  case TileWalk::Windows:
    return "windows";
  case TileWalk::Streams:
    return "streams";
  case TileWalk::Joint:
    return "joint";
  }
  return "";
}

std::string sparsec::toString(const Schedule &schedule) {
  if (schedule.instruction == MatrixInstruction::None)
    return fmt::format("{} {}x{} {}", infoOf(schedule.copy).name, schedule.tileM, schedule.tileN,
                       describeRoles(schedule));
  return fmt::format("{} {} {}x{}x{} stages {} {}", infoOf(schedule.instruction).name, infoOf(schedule.copy).name,
                     schedule.tileM, schedule.tileN, schedule.tileK, schedule.stages, describeRoles(schedule));
}

int64_t sparsec::requiredAlignment(const Schedule &schedule, int64_t elementBytes) {
  int64_t alignment = infoOf(schedule.copy).alignment;
  return alignment != 0 ? alignment : elementBytes;
}

bool sparsec::hasProducer(const Schedule &schedule) { return infoOf(schedule.copy).producerThreads != 0; }

int64_t sparsec::threads(const Schedule &schedule) {
  return consumerThreads(schedule) + infoOf(schedule.copy).producerThreads;
}

int64_t sparsec::consumerThreads(const Schedule &schedule) {
  int64_t consumers = schedule.consumersM * schedule.consumersN * schedule.concurrentTiles * schedule.slices;
  return consumers * infoOf(schedule.instruction).threads;
}

int64_t sparsec::chunks(const Schedule &schedule, int64_t blockColumns) {
  return (blockColumns + schedule.tileK - 1) / schedule.tileK;
}

int64_t sparsec::columnsOfStrips(int64_t columns) {
  constexpr int64_t strip = 64;
  return (columns + strip - 1) / strip * strip;
}

int64_t sparsec::blockStride(MatrixInstruction instruction, int64_t blockColumns, bool isTransposed) {
  constexpr int64_t columnsOfStrip = 64;
  if (infoOf(instruction).slotLayout == SlotLayout::Units16)
    return int64_t(std::bit_ceil(uint64_t(blockColumns)));
  if (isTransposed && columnsOfStrip % blockColumns == 0)
    return blockColumns;
  return columnsOfStrips(blockColumns);
}

int64_t sparsec::blockStride(MatrixInstruction instruction, const SampledDescription &problem) {
  return blockStride(instruction, problem.patternColumns, problem.xTransposed);
}

ProblemDescription sparsec::productOf(const SampledDescription &problem, MatrixInstruction instruction) {
  const MatrixInstructionInfo &info = infoOf(instruction);
  ProblemDescription product = problem;
  if (!info.isRepeated)
    product.blockRows = std::max(problem.blockRows, info.m);
  product.m = (problem.m + problem.blockRows - 1) / problem.blockRows * product.blockRows;
  product.n = std::max(problem.n, blockStride(instruction, problem));
  return product;
}

int64_t sparsec::blocksPerStep(const Schedule &schedule, int64_t blockColumns) {
  return schedule.tileK > blockColumns ? schedule.tileK / blockColumns : 1;
}

/// Wide tiles of elements of 16 bits copy rows. They take up to 6 % longer than with lines, but need no second program
/// for K that ends inside a block (bench/notes/small-products.md).
bool sparsec::copiesLines(const Schedule &schedule, const ProblemDescription &problem) {
  constexpr int64_t halfOfLine = 64, quarterOfLine = 32, bytesOfSwizzle = 1024, wide = 128;
  if (schedule.tileN >= wide && bytesOf(problem.elementType) > 1)
    return false;
  const int64_t rowBytes = problem.blockColumns * bytesOf(problem.elementType);
  const bool hasWholeLines =
      rowBytes == halfOfLine || (rowBytes == quarterOfLine && swapsOperands(schedule, problem.hasXScale));
  return schedule.copy == CopyMethod::Tma && schedule.slices > 1 && problem.xTransposed && !problem.wTransposed &&
         schedule.tileK % problem.blockColumns == 0 && hasWholeLines && schedule.tileM * rowBytes % bytesOfSwizzle == 0;
}

bool sparsec::swapsOperands(const Schedule &schedule, bool hasXScale) {
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  const bool hasFewRows = !info.isRepeated && schedule.walk == TileWalk::Blocks && schedule.tileM < info.m;
  return hasProducer(schedule) && (hasFewRows || (hasXScale && schedule.slices == 1));
}

int64_t sparsec::unitOfRows(const Schedule &schedule, const ProblemDescription &problem) {
  constexpr int64_t vectorBytes = 16, sectorBytes = 32, pieceBytes = 64, fewColumns = 16, mostColumns = 64;
  if (problem.xTransposed || schedule.slices == 1 || schedule.tileN <= fewColumns || schedule.tileN > mostColumns)
    return vectorBytes;
  if (schedule.copy == CopyMethod::CpAsync)
    return schedule.tileN == mostColumns ? sectorBytes : pieceBytes;
  return swapsOperands(schedule, problem.hasXScale) ? sectorBytes : vectorBytes;
}

int64_t sparsec::promotedColumns(const Schedule &schedule, bool hasXScale) {
  const MatrixInstructionInfo &info = infoOf(schedule.instruction);
  int64_t columns = schedule.tileN / schedule.consumersN, step = 8, most = info.promotedColumns;
  if (swapsOperands(schedule, hasXScale)) { // whole instructions, each with all rows of the tile
    step = info.m;
    most = std::max(most * info.m / schedule.tileM / step * step, step);
  }
  int64_t part = std::min(columns, most);
  while (columns % part != 0)
    part -= step;
  return part;
}

StreamShape sparsec::streamShape(const Schedule &schedule, int64_t blockColumns) {
  constexpr int64_t usualProducts = 4, productsOfWarp = 2;
  const int64_t rows = productRows(schedule.instruction), rowsOfConsumer = schedule.tileM / schedule.consumersM;
  // A warp waits for its own copies alone, without barriers. Its chunks are short, so that X has room for five stages.
  if (copiesOwnBlocks(schedule))
    return {
        rows, rowsOfConsumer, schedule.tileK / blockColumns, productsOfWarp, 1, productsOfWarp * schedule.blockStages};
  // Long blocks come with no more of them than a column has, so that shared memory has room for three chunks.
  const int64_t products = blockColumns > rows ? std::min(rowsOfConsumer / rows, usualProducts) : usualProducts;
  return {rows, rowsOfConsumer, schedule.tileK / blockColumns, products, schedule.blockStages, products};
}

int64_t sparsec::ctasOfWindow(const Schedule &schedule) {
  return schedule.walk == TileWalk::Streams ? schedule.cluster : 1;
}

int64_t sparsec::productRows(MatrixInstruction instruction) {
  constexpr int64_t columnsOfWgmma = 32;
  return instruction == MatrixInstruction::Wgmma ? columnsOfWgmma : infoOf(instruction).m;
}

bool sparsec::widensF8(const Schedule &schedule) { return copiesOwnBlocks(schedule); }

bool sparsec::copiesOwnBlocks(const Schedule &schedule) {
  return schedule.walk == TileWalk::Streams && schedule.instruction == MatrixInstruction::MmaSync;
}
