// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sections of streams from a file: what makeStreams() gives, with blocks wherever they may be.
#include "plan/section_check.h"

#include <algorithm>
#include <bit>

namespace sparsec::runtime {

namespace {

class StreamSectionCheck {
public:
  StreamSectionCheck(const SectionCheck &check, const MatrixShape &matrix)
      : check(check), matrix(matrix), stage(check.stage()), groups(stage.tile_m / matrix.rowsOfBlock),
        consumers(stage.tile_m / stage.consumer_rows), bundle(stage.product_rows / matrix.rowsOfBlock),
        stageColumnCount(stage.tile_k / matrix.columnsOfBlock), bitsPerColumn(stage.consumer_rows / stage.product_rows),
        areAdjacent((stage.flags & SPARSEC_STAGE_ADJACENT_COLUMNS) != 0), all(matrix.blocks) {}

  Status run();
  WindowCounts counts() const { return {windows, columns}; }

private:
  Status readSections();
  Status checkColumns(int64_t window);
  /// With SPARSEC_STAGE_ADJACENT_COLUMNS, the column at place i.
  Status checkAdjacent(int64_t i) const;
  uint32_t bitsOfColumns(int64_t count) const;
  Status checkWords(int64_t window) const;
  Status checkStream(int64_t window, int64_t consumer);
  Status checkProduct(std::span<const int32_t> blocks, int64_t firstRow);

  const SectionCheck &check;
  const MatrixShape &matrix;
  const sparsec_stage_info_t &stage;
  const int64_t groups, consumers, bundle, stageColumnCount, bitsPerColumn;
  const bool areAdjacent;
  int64_t windows = 0, columns = 0;
  std::span<const int32_t> rows, stageOffsets, stageColumns, chunkOffsets, chunkBlocks;
  std::span<const uint32_t> stageProducts;
  OnceEach all;
};

/// Readers may load one stage and one chunk behind the end, which hold nothing.
Status StreamSectionCheck::readSections() {
  SPARSEC_RETURN_IF_ERROR(checkWindowRows(check, matrix, groups, rows));
  windows = int64_t(rows.size()) / groups;
  SPARSEC_RETURN_IF_ERROR(check.readOffsets(SPARSEC_PLAN_STAGE_OFFSETS, windows, stageOffsets));
  const int64_t stages = stageOffsets.back();
  SPARSEC_RETURN_IF_ERROR(check.read(SPARSEC_PLAN_STAGE_COLUMNS, (stages + 1) * stageColumnCount, stageColumns));
  SPARSEC_RETURN_IF_ERROR(check.read(SPARSEC_PLAN_STAGE_PRODUCTS, (stages + 1) * consumers, stageProducts));
  SPARSEC_RETURN_IF_ERROR(check.readOffsets(SPARSEC_PLAN_CHUNK_OFFSETS, windows * consumers, chunkOffsets));
  const int64_t chunks = chunkOffsets.back(), chunkSize = stage.chunk_products * bundle;
  SPARSEC_RETURN_IF_ERROR(check.read(SPARSEC_PLAN_CHUNK_BLOCKS, (chunks + 1) * chunkSize, chunkBlocks));
  for (int32_t column : stageColumns.subspan(stages * stageColumnCount))
    if (column != -1)
      return check.broken(SPARSEC_PLAN_STAGE_COLUMNS, "expects -1 behind the last stage, but got ", column);
  for (uint32_t word : stageProducts.subspan(stages * consumers))
    if (word != 0)
      return check.broken(SPARSEC_PLAN_STAGE_PRODUCTS, "expects 0 behind the last stage, but got ", word);
  for (int32_t block : chunkBlocks.subspan(chunks * chunkSize))
    if (block != -1)
      return check.broken(SPARSEC_PLAN_CHUNK_BLOCKS, "expects -1 behind the last chunk, but got ", block);
  return {};
}

/// Columns ascend. Only the end of a window's last stage has none.
Status StreamSectionCheck::checkColumns(int64_t window) {
  const int64_t begin = stageOffsets[window] * stageColumnCount, end = stageOffsets[window + 1] * stageColumnCount;
  int64_t least = 0, count = 0;
  for (int64_t i = begin; i < end; ++i) {
    const int32_t column = stageColumns[i];
    const bool isEnd = column == -1 && i > end - stageColumnCount;
    if (!isEnd && (column < least || column >= matrix.blockColumns))
      return check.broken(SPARSEC_PLAN_STAGE_COLUMNS, "expects block column ", least, " to ", matrix.blockColumns - 1,
                          " at ", i, ", but got ", column);
    least = isEnd ? matrix.blockColumns : column + 1;
    count += !isEnd;
    SPARSEC_RETURN_IF_ERROR(areAdjacent && !isEnd ? checkAdjacent(i) : Status());
  }
  columns += count;
  return {};
}

Status StreamSectionCheck::checkAdjacent(int64_t i) const {
  const int32_t column = stageColumns[i];
  if (i % stageColumnCount == 0)
    return column % stageColumnCount == 0
               ? Status()
               : check.broken(SPARSEC_PLAN_STAGE_COLUMNS, "expects columns from a multiple of ", stageColumnCount,
                              " on at ", i, ", but got ", column);
  if (column == stageColumns[i - 1] + 1)
    return {};
  return check.broken(SPARSEC_PLAN_STAGE_COLUMNS, "expects column ", stageColumns[i - 1] + 1, " at ", i, ", but got ",
                      column);
}

/// The bits of a word for the first `count` columns of a stage.
uint32_t StreamSectionCheck::bitsOfColumns(int64_t count) const {
  auto lowBits = [](int64_t number) { return uint32_t((uint64_t(1) << number) - 1); };
  if (!areAdjacent)
    return lowBits(count * bitsPerColumn);
  uint32_t bits = 0;
  for (int64_t row = 0; row < bitsPerColumn; ++row)
    bits |= lowBits(count) << (row * stageColumnCount);
  return bits;
}

/// Only columns that are there have products.
Status StreamSectionCheck::checkWords(int64_t window) const {
  for (int64_t each = stageOffsets[window]; each < stageOffsets[window + 1]; ++each) {
    const auto inStage = stageColumns.subspan(each * stageColumnCount, stageColumnCount);
    const uint32_t bits = bitsOfColumns(stageColumnCount - std::count(inStage.begin(), inStage.end(), -1));
    for (int64_t i = each * consumers; i < (each + 1) * consumers; ++i)
      if ((stageProducts[i] & ~bits) != 0)
        return check.broken(SPARSEC_PLAN_STAGE_PRODUCTS, "expects only bits of ", bits, " at ", i, ", but got ",
                            stageProducts[i]);
  }
  return {};
}

/// A product has at least one block, and blocks only of rows that are there. `firstRow` is its first one in the
/// windows.
Status StreamSectionCheck::checkProduct(std::span<const int32_t> blocks, int64_t firstRow) {
  bool hasBlock = false;
  for (int64_t part = 0; part < bundle; ++part) {
    const int32_t block = blocks[part];
    if (block != -1 && (rows[firstRow + part] < 0 || !all.insert(block)))
      return check.broken(SPARSEC_PLAN_CHUNK_BLOCKS, "block ", block, " at ", &blocks[part] - chunkBlocks.data(),
                          " is out of range, there twice, or of no block row");
    hasBlock |= block != -1;
  }
  if (hasBlock)
    return {};
  return check.broken(SPARSEC_PLAN_CHUNK_BLOCKS, "the product at ", blocks.data() - chunkBlocks.data(),
                      " has no block");
}

/// The chunks of a consumer hold its products, and nothing behind them.
Status StreamSectionCheck::checkStream(int64_t window, int64_t consumer) {
  const int64_t number = window * consumers + consumer, chunkSize = stage.chunk_products * bundle;
  int64_t products = 0;
  for (int64_t each = stageOffsets[window]; each < stageOffsets[window + 1]; ++each)
    products += std::popcount(stageProducts[each * consumers + consumer]);
  if (const int64_t chunks = chunkOffsets[number + 1] - chunkOffsets[number],
      expected = ceilDivide(products, int64_t(stage.chunk_products));
      chunks != expected)
    return check.broken(SPARSEC_PLAN_CHUNK_OFFSETS, "expects ", expected, " chunks at ", number, ", but got ", chunks);
  const int64_t firstRow = window * groups + consumer * (groups / consumers);
  int64_t next = chunkOffsets[number] * chunkSize;
  for (int64_t each = stageOffsets[window]; each < stageOffsets[window + 1]; ++each)
    for (uint32_t word = stageProducts[each * consumers + consumer]; word != 0; word &= word - 1, next += bundle) {
      const int64_t bit = std::countr_zero(word);
      const int64_t product = areAdjacent ? bit / stageColumnCount : bit % bitsPerColumn;
      SPARSEC_RETURN_IF_ERROR(checkProduct(chunkBlocks.subspan(next, bundle), firstRow + product * bundle));
    }
  for (; next < chunkOffsets[number + 1] * chunkSize; ++next)
    if (chunkBlocks[next] != -1)
      return check.broken(SPARSEC_PLAN_CHUNK_BLOCKS, "expects -1 behind the products at ", next, ", but got ",
                          chunkBlocks[next]);
  return {};
}

Status StreamSectionCheck::run() {
  if (matrix.depth % matrix.columnsOfBlock != 0)
    return invalidPlan("variant ", check.number, " has streams, but K, ", matrix.depth,
                       ", is not a multiple of the block columns, ", matrix.columnsOfBlock);
  SPARSEC_RETURN_IF_ERROR(readSections());
  for (int64_t window = 0; window < windows; ++window) {
    SPARSEC_RETURN_IF_ERROR(checkColumns(window));
    SPARSEC_RETURN_IF_ERROR(checkWords(window));
    for (int64_t consumer = 0; consumer < consumers; ++consumer)
      SPARSEC_RETURN_IF_ERROR(checkStream(window, consumer));
  }
  if (all.isComplete())
    return {};
  return check.broken(SPARSEC_PLAN_CHUNK_BLOCKS, "expects all ", matrix.blocks, " blocks");
}

} // namespace

Status checkStreams(const SectionCheck &check, const MatrixShape &matrix, WindowCounts &outCounts) {
  StreamSectionCheck sections(check, matrix);
  SPARSEC_RETURN_IF_ERROR(sections.run());
  outCounts = sections.counts();
  return {};
}

} // namespace sparsec::runtime
