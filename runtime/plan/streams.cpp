// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/streams.h"
#include "operations/kernel_shape.h"
#include "plan/window_order.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace sparsec::runtime {

namespace {

/// What the place of a row in a window says.
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

/// Fills the sections, window after window.
class StreamBuilder {
public:
  /// `mostChunks`: of all windows.
  StreamBuilder(const StreamInput &input, int64_t mostChunks);

  void add(const int32_t *rows);
  Streams finish(std::vector<int32_t> rows);

private:
  /// Returns the number of columns.
  int64_t addStages(const std::vector<PlacedBlock> &blocks);
  void beginStage();
  /// Gives each consumer its chunks; returns the number of products. After the stages of the window.
  int64_t addChunks();
  void addBlocks(const std::vector<PlacedBlock> &blocks);

  const StreamInput &input;
  const int64_t chunkSize; // blocks
  const std::vector<Place> places;
  BlockGatherer gatherer;
  Streams streams;
  std::vector<int64_t> next; // where the next product of each consumer begins, among the blocks of chunks
};

StreamBuilder::StreamBuilder(const StreamInput &input, int64_t mostChunks)
    : input(input), chunkSize(input.chunkProducts * input.bundle), places(placesOf(input)), gatherer(input.pattern),
      next(input.consumers) {
  streams.stageOffsets = streams.chunkOffsets = {0};
  streams.chunkBlocks.resize(mostChunks * chunkSize, {-1, -1});
}

/// Without columns and products.
void StreamBuilder::beginStage() {
  streams.stageColumns.insert(streams.stageColumns.end(), input.stageColumns, -1);
  streams.stageProducts.insert(streams.stageProducts.end(), input.consumers, 0);
}

int64_t StreamBuilder::addStages(const std::vector<PlacedBlock> &blocks) {
  const int64_t bitsPerColumn = input.windowRows / input.consumers / input.bundle;
  int64_t columns = 0, inStage = 0;
  uint32_t *words = nullptr;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i == 0 || blocks[i].column != blocks[i - 1].column) {
      inStage = columns++ % input.stageColumns;
      if (inStage == 0) {
        beginStage();
        words = streams.stageProducts.data() + streams.stageProducts.size() - input.consumers;
      }
      streams.stageColumns[streams.stageColumns.size() - input.stageColumns + inStage] = int32_t(blocks[i].column);
    }
    const Place &place = places[blocks[i].place];
    words[place.consumer] |= 1u << (inStage * bitsPerColumn + place.bit);
  }
  streams.stageOffsets.push_back(int32_t(streams.stageColumns.size() / input.stageColumns));
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
    next[consumer] = chunk * chunkSize;
    streams.chunkOffsets.push_back(int32_t(chunk + ceilDivide(count, input.chunkProducts)));
    products += count;
  }
  return products;
}

void StreamBuilder::addBlocks(const std::vector<PlacedBlock> &blocks) {
  int64_t begin = 0; // of the product
  for (size_t i = 0; i < blocks.size(); ++i) {
    const PlacedBlock &each = blocks[i];
    const Place &place = places[each.place];
    // The blocks of a product follow each other.
    if (i == 0 || each.column != blocks[i - 1].column || place.product != places[blocks[i - 1].place].product) {
      begin = next[place.consumer];
      next[place.consumer] += input.bundle;
    }
    streams.chunkBlocks[begin + place.part] = {each.block, int32_t(each.column)};
  }
}

void StreamBuilder::add(const int32_t *rows) {
  const std::vector<PlacedBlock> &blocks = gatherer.gather(rows, input.windowRows);
  streams.columnCounts.push_back(int32_t(addStages(blocks)));
  streams.productCounts.push_back(int32_t(addChunks()));
  addBlocks(blocks);
}

Streams StreamBuilder::finish(std::vector<int32_t> rows) {
  streams.rows = std::move(rows);
  // Readers may load one stage and one chunk more than there are.
  beginStage();
  streams.chunkBlocks.resize((int64_t(streams.chunkOffsets.back()) + 1) * chunkSize, {-1, -1});
  return std::move(streams);
}

/// How many stages and chunks there are if no rows share columns.
struct Bounds {
  int64_t stages = 0, chunks = 0;
};

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
      bounds.stages += ceilDivide(std::min(std::exchange(ofWindow, 0), input.pattern.blockColumns), input.stageColumns);
  }
  return bounds;
}

/// Kernels number the entries of a section in 32 bits.
bool canCount(const StreamInput &input, const Bounds &bounds) {
  const int64_t stageEntries = std::max(input.stageColumns, input.consumers);
  const int64_t chunkSize = input.chunkProducts * input.bundle;
  return bounds.stages + 1 <= INT32_MAX / stageEntries && bounds.chunks + 1 <= INT32_MAX / chunkSize;
}

} // namespace

int64_t Streams::columnCount() const { return std::accumulate(columnCounts.begin(), columnCounts.end(), int64_t(0)); }

Streams makeStreams(const StreamInput &input) {
  if (input.pattern.blockRows == 0)
    return {};
  std::vector<int32_t> rows = rowsOfWindows(input.pattern, input.windowRows, input.mayReorderRows);
  const Bounds bounds = boundsOf(input, rows);
  if (!canCount(input, bounds))
    return {};
  StreamBuilder builder(input, bounds.chunks);
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
