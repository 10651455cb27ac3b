// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/streams.h"
#include "operations/kernel_shape.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace sparsec::runtime {

namespace {

constexpr uint32_t noColumnYet = UINT32_MAX;

/// The numbers that follow from the place of a block row in a window.
struct Place {
  uint32_t consumer;
  uint32_t product; // of a column: the number among the products of the window
  uint32_t bit;     // the same, among those of the consumer
  uint32_t part;    // the number of the row in the product
};

std::vector<Place> placesOf(const StreamInput &input) {
  const int64_t rowsPerConsumer = input.windowRows / input.consumers;
  std::vector<Place> places(input.windowRows);
  for (int64_t i = 0; i < input.windowRows; ++i)
    places[i] = {uint32_t(i / rowsPerConsumer), uint32_t(i / input.bundle),
                 uint32_t(i % rowsPerConsumer / input.bundle), uint32_t(i % input.bundle)};
  return places;
}

/// How many stages and chunks there are if no rows share columns.
struct Bounds {
  int64_t stages = 0, chunks = 0;
};

/// The stages of a window with so many blocks if each has a column of its own.
int64_t mostStages(const StreamInput &input, int64_t blocks) {
  const int64_t ofAll = ceilDivide(input.pattern.blockColumns, input.stageColumns);
  return std::min(input.adjacentColumns ? blocks : ceilDivide(blocks, input.stageColumns), ofAll);
}

Bounds boundsOf(const StreamInput &input, const std::vector<int32_t> &rows) {
  const int64_t rowsPerConsumer = input.windowRows / input.consumers;
  Bounds bounds;
  int64_t ofWindow = 0, ofConsumer = 0; // blocks
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= 0)
      ofConsumer += input.pattern.rowPtr[rows[i] + 1] - input.pattern.rowPtr[rows[i]];
    if ((i + 1) % rowsPerConsumer == 0) {
      bounds.chunks += ceilDivide(ofConsumer, input.chunkProducts);
      ofWindow += std::exchange(ofConsumer, 0);
    }
    if ((i + 1) % input.windowRows == 0)
      bounds.stages += mostStages(input, std::exchange(ofWindow, 0));
  }
  return bounds;
}

/// Kernels number the entries of a section in 32 bits.
bool canCount(const StreamInput &input, const Bounds &bounds) {
  const int64_t stageEntries = std::max(input.stageColumns, input.consumers);
  const int64_t chunkSize = input.chunkProducts * input.bundle;
  return bounds.stages + 1 <= INT32_MAX / stageEntries && bounds.chunks + 1 <= INT32_MAX / chunkSize;
}

/// Fills the sections, window after window.
class StreamBuilder {
public:
  StreamBuilder(const StreamInput &input, const Bounds &bounds);

  void add(const int32_t *rows);
  Streams finish(std::vector<int32_t> rows);

private:
  /// Returns the number of columns.
  int64_t addStages(const std::vector<PlacedBlock> &blocks);
  int64_t addAdjacentStages(const std::vector<PlacedBlock> &blocks);
  void resizeStages(int64_t count);
  /// Gives each consumer its chunks; returns the number of products. After the stages of the window.
  int64_t addChunks();
  const std::vector<PlacedBlock> &orderByProducts(const std::vector<PlacedBlock> &blocks);
  void addBlocks(const std::vector<PlacedBlock> &blocks);

  const StreamInput &input;
  const int64_t chunkSize, bitsPerColumn; // blocks, bits of a consumer's word
  const std::vector<Place> places;
  BlockGatherer gatherer;
  Streams streams;
  std::vector<PlacedBlock> ordered;
  std::vector<int64_t> ends; // of the products that each consumer has so far, among the blocks of chunks
};

StreamBuilder::StreamBuilder(const StreamInput &input, const Bounds &bounds)
    : input(input), chunkSize(input.chunkProducts * input.bundle),
      bitsPerColumn(input.windowRows / input.consumers / input.bundle), places(placesOf(input)),
      gatherer(input.pattern), ends(input.consumers) {
  streams.stageOffsets = streams.chunkOffsets = {0};
  // Memory that nothing touches costs nothing.
  streams.stageColumns.reserve((bounds.stages + 1) * input.stageColumns);
  streams.stageProducts.reserve((bounds.stages + 1) * input.consumers);
  streams.chunkBlocks.reserve((bounds.chunks + 1) * chunkSize);
}

/// Changes the number of stages; new ones have no columns and no products.
void StreamBuilder::resizeStages(int64_t count) {
  streams.stageColumns.resize(count * input.stageColumns, -1);
  streams.stageProducts.resize(count * input.consumers, 0);
}

// No processor can predict whether a block begins a column: this function and addBlocks() do without a branch for it.
int64_t StreamBuilder::addStages(const std::vector<PlacedBlock> &blocks) {
  const int64_t first = streams.stageOffsets.back();
  resizeStages(first + mostStages(input, int64_t(blocks.size())));
  int32_t *const firstColumn = streams.stageColumns.data() + first * input.stageColumns;
  int64_t columns = 0, inStage = input.stageColumns - 1, words = (first - 1) * input.consumers;
  uint32_t last = noColumnYet;
  for (const PlacedBlock &each : blocks) {
    const int64_t isNew = each.column != last;
    last = each.column;
    columns += isNew;
    inStage += isNew;
    const bool beginsStage = inStage == input.stageColumns;
    inStage = beginsStage ? 0 : inStage;
    words += beginsStage ? input.consumers : 0;
    firstColumn[columns - 1] = int32_t(each.column);
    const Place &place = places[each.place];
    streams.stageProducts[words + place.consumer] |= 1u << (inStage * bitsPerColumn + place.bit);
  }
  // Stages behind these are still empty: the next window has them, or finish() takes them away.
  streams.stageOffsets.push_back(int32_t(first + ceilDivide(columns, input.stageColumns)));
  return columns;
}

int64_t StreamBuilder::addAdjacentStages(const std::vector<PlacedBlock> &blocks) {
  const int64_t first = streams.stageOffsets.back();
  resizeStages(first + mostStages(input, int64_t(blocks.size())));
  int64_t columns = 0, stage = first - 1;
  uint32_t last = noColumnYet;
  for (const PlacedBlock &each : blocks) {
    const uint32_t number = uint32_t(each.column / input.stageColumns);
    if (std::exchange(last, number) != number) {
      ++stage;
      const int64_t begin = number * input.stageColumns;
      const int64_t end = std::min(begin + input.stageColumns, input.pattern.blockColumns);
      std::iota(&streams.stageColumns[stage * input.stageColumns],
                &streams.stageColumns[stage * input.stageColumns] + (end - begin), int32_t(begin));
      columns += end - begin;
    }
    const Place &place = places[each.place];
    const int64_t bit = place.bit * input.stageColumns + each.column % input.stageColumns;
    streams.stageProducts[stage * input.consumers + place.consumer] |= 1u << bit;
  }
  streams.stageOffsets.push_back(int32_t(stage + 1));
  return columns;
}

int64_t StreamBuilder::addChunks() {
  int64_t products = 0;
  const int32_t first = *(streams.stageOffsets.end() - 2), end = streams.stageOffsets.back();
  for (int64_t consumer = 0; consumer < input.consumers; ++consumer) {
    int64_t count = 0;
    for (int64_t stage = first; stage < end; ++stage)
      count += std::popcount(streams.stageProducts[stage * input.consumers + consumer]);
    const int32_t chunk = streams.chunkOffsets.back();
    ends[consumer] = chunk * chunkSize;
    streams.chunkOffsets.push_back(int32_t(chunk + ceilDivide(count, input.chunkProducts)));
    products += count;
  }
  streams.chunkBlocks.resize(streams.chunkOffsets.back() * chunkSize, -1);
  return products;
}

/// The blocks of a stage of adjacent columns by product, and in each of these by column.
const std::vector<PlacedBlock> &StreamBuilder::orderByProducts(const std::vector<PlacedBlock> &blocks) {
  ordered.resize(blocks.size());
  std::vector<size_t> begins(input.windowRows / input.bundle + 1); // of the products of a stage, among its blocks
  for (size_t first = 0, end = 0; first < blocks.size(); first = end) {
    const int64_t stage = blocks[first].column / input.stageColumns;
    std::fill(begins.begin(), begins.end(), 0);
    for (; end < blocks.size() && blocks[end].column / input.stageColumns == stage; ++end)
      ++begins[places[blocks[end].place].product + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    for (size_t i = first; i < end; ++i)
      ordered[first + begins[places[blocks[i].place].product]++] = blocks[i];
  }
  return ordered;
}

void StreamBuilder::addBlocks(const std::vector<PlacedBlock> &blocks) {
  uint32_t lastColumn = noColumnYet, lastProduct = 0;
  for (const PlacedBlock &each : blocks) {
    const Place &place = places[each.place];
    // The blocks of a product follow each other.
    const bool isNew = (each.column != lastColumn) | (place.product != lastProduct);
    lastColumn = each.column;
    lastProduct = place.product;
    int64_t &end = ends[place.consumer];
    end += isNew ? input.bundle : 0;
    streams.chunkBlocks[end - input.bundle + place.part] = each.block;
  }
}

void StreamBuilder::add(const int32_t *rows) {
  const std::vector<PlacedBlock> &blocks = gatherer.gather(rows, input.windowRows);
  streams.columnCounts.push_back(int32_t(input.adjacentColumns ? addAdjacentStages(blocks) : addStages(blocks)));
  streams.productCounts.push_back(int32_t(addChunks()));
  addBlocks(input.adjacentColumns ? orderByProducts(blocks) : blocks);
}

Streams StreamBuilder::finish(std::vector<int32_t> rows) {
  streams.rows = std::move(rows);
  // Readers may load one stage and one chunk more than there are.
  resizeStages(streams.stageOffsets.back() + 1);
  streams.chunkBlocks.resize(streams.chunkBlocks.size() + chunkSize, -1);
  return std::move(streams);
}

} // namespace

int64_t Streams::columnCount() const { return std::accumulate(columnCounts.begin(), columnCounts.end(), int64_t(0)); }

Streams makeStreams(const StreamInput &input) {
  if (input.pattern.blockRows == 0)
    return {};
  std::vector<int32_t> rows = rowsOfWindows(input.pattern, input.windowRows, input.rowOrder);
  const Bounds bounds = boundsOf(input, rows);
  if (!canCount(input, bounds))
    return {};
  StreamBuilder builder(input, bounds);
  for (size_t first = 0; first < rows.size(); first += input.windowRows)
    builder.add(rows.data() + first);
  return builder.finish(std::move(rows));
}

std::vector<uint32_t> streamCosts(const Streams &streams, uint32_t columnCost, uint32_t tileOverhead) {
  std::vector<uint32_t> costs(streams.count());
  for (size_t i = 0; i < costs.size(); ++i) {
    const uint64_t cost = uint64_t(columnCost) * uint64_t(streams.columnCounts[i]) +
                          100 * (uint64_t(streams.productCounts[i]) + tileOverhead);
    costs[i] = uint32_t(std::min<uint64_t>(cost, UINT32_MAX));
  }
  return costs;
}

} // namespace sparsec::runtime
