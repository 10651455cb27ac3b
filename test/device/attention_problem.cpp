// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "attention_problem.h"
#include "harness/numeric.h"

#include <algorithm>
#include <stdexcept>

namespace sparsec::device_test {

using namespace harness;

namespace {

// Seeds of the random streams, besides that of the blocks.
constexpr uint64_t orderSeed = 200;

sparsec_block_state_t chooseState(BlockChoice choice, uint64_t seed, int64_t position, int64_t row) {
  double chance = randomUnit(seed, position);
  switch (choice) {
  case BlockChoice::EmptyRows:
    if (row % 3 != 1)
      return SPARSEC_BLOCK_EMPTY;
    [[fallthrough]];
  case BlockChoice::Random:
    return chance < 0.35 ? SPARSEC_BLOCK_FULL : chance < 0.65 ? SPARSEC_BLOCK_PARTIAL : SPARSEC_BLOCK_EMPTY;
  case BlockChoice::AllFull:
    return SPARSEC_BLOCK_FULL;
  case BlockChoice::AllPartial:
    return SPARSEC_BLOCK_PARTIAL;
  case BlockChoice::NoBlocks:
    return SPARSEC_BLOCK_EMPTY;
  }
  throw std::logic_error("unknown choice of blocks");
}

/// The blocks of one state in one list (Fisher and Yates where it is to be unsorted).
std::vector<int32_t> listOf(const BlockStates &blocks, int64_t list, sparsec_block_state_t state, bool isUnsorted) {
  std::vector<int32_t> result;
  for (int64_t column = 0; column < blocks.columns; ++column)
    if (blocks.states[list * blocks.columns + column] == state)
      result.push_back(static_cast<int32_t>(column));
  for (size_t i = result.size(); isUnsorted && i > 1; --i)
    std::swap(result[i - 1], result[randomBits(orderSeed, list * blocks.columns + i) % i]);
  return result;
}

BlockLists makeIndexArrays(const BlockStates &blocks, sparsec_block_state_t state, bool isUnsorted, int64_t capacity) {
  BlockLists lists = {{0}, {}};
  for (int64_t list = 0; list < blocks.listCount(); ++list) {
    std::vector<int32_t> columns = listOf(blocks, list, state, isUnsorted);
    lists.indices.insert(lists.indices.end(), columns.begin(), columns.end());
    lists.starts.push_back(static_cast<int32_t>(lists.indices.size()));
  }
  lists.indices.resize(capacity, -1);
  return lists;
}

BlockLists makePaddedLists(const BlockStates &blocks, sparsec_block_state_t state, bool isUnsorted, int64_t capacity) {
  BlockLists lists;
  for (int64_t list = 0; list < blocks.listCount(); ++list) {
    std::vector<int32_t> columns = listOf(blocks, list, state, isUnsorted);
    lists.starts.push_back(static_cast<int32_t>(columns.size()));
    columns.resize(capacity, -1);
    lists.indices.insert(lists.indices.end(), columns.begin(), columns.end());
  }
  return lists;
}

} // namespace

std::vector<AttentionShape> attentionShapes(bool quick) {
  constexpr auto bhsd = SequenceOrder::BatchHeadSequence, bshd = SequenceOrder::BatchSequenceHead;
  if (quick)
    return {{"odd", 1, 4, 1, 133, 190, bshd, Placement::Padded, 1},
            {"more queries than keys", 2, 2, 2, 200, 70, bhsd, Placement::Tight, 16},
            {"ramps", 1, 2, 1, 70, 200, bhsd, Placement::Tight, 1000, ScoreCourse::Ramp},
            {"spikes", 1, 2, 1, 70, 200, bhsd, Placement::Tight, 100, ScoreCourse::Spikes},
            {"odd, misaligned", 1, 4, 2, 133, 190, bhsd, Placement::Misaligned, 1}};
  return {{"exact", 1, 2, 2, 256, 384, bhsd, Placement::Tight, 1},
          {"odd, all heads share keys", 2, 4, 1, 333, 517, bhsd, Placement::Padded, 1},
          {"four heads share keys", 1, 8, 2, 257, 129, bshd, Placement::Tight, 1},
          {"many keys", 1, 2, 1, 65, 1000, bshd, Placement::Padded, 16},
          {"more queries than keys", 2, 2, 2, 300, 70, bhsd, Placement::Tight, 40},
          {"one query", 2, 3, 1, 1, 200, bshd, Placement::Padded, 1},
          {"one key", 1, 2, 2, 70, 1, bhsd, Placement::Padded, 1},
          {"middling scores", 1, 2, 1, 200, 333, bshd, Placement::Tight, 3},
          {"spread scores", 1, 2, 2, 200, 450, bhsd, Placement::Padded, 100},
          {"scores far apart", 1, 2, 1, 150, 400, bhsd, Placement::Tight, 1000},
          {"gentle ramps", 1, 2, 1, 150, 500, bshd, Placement::Tight, 16, ScoreCourse::Ramp},
          {"ramps", 1, 2, 1, 150, 500, bhsd, Placement::Tight, 100, ScoreCourse::Ramp},
          {"steep ramps", 1, 2, 1, 150, 500, bhsd, Placement::Padded, 1000, ScoreCourse::Ramp},
          {"spikes", 1, 2, 1, 150, 500, bhsd, Placement::Tight, 40, ScoreCourse::Spikes},
          {"high spikes", 1, 2, 1, 150, 500, bhsd, Placement::Tight, 1000, ScoreCourse::Spikes},
          {"exact, misaligned", 1, 2, 2, 256, 384, bhsd, Placement::Misaligned, 1},
          {"odd, all heads share keys, misaligned", 2, 4, 1, 333, 517, bshd, Placement::Misaligned, 1},
          {"one query, misaligned", 2, 3, 1, 1, 200, bshd, Placement::Misaligned, 1},
          {"steep ramps, misaligned", 1, 2, 1, 150, 500, bhsd, Placement::Misaligned, 1000, ScoreCourse::Ramp}};
}

std::vector<AttentionShape> fewTilesAttention() {
  return {{"few tiles", 1, 2, 1, 3, 2700, SequenceOrder::BatchHeadSequence, Placement::Tight, 1},
          {"many parts", 1, 1, 1, 3, 13000, SequenceOrder::BatchHeadSequence, Placement::Tight, 1}};
}

AttentionShape manyTilesAttention(Placement placement) {
  return {"many tiles", 2, 16, 4, 1100, 700, SequenceOrder::BatchSequenceHead, placement, 1};
}

AttentionShape jointListsAttention(int64_t workers) {
  return {"joint lists", 1, (workers + 1) / 2, 1, 133, 830, SequenceOrder::BatchSequenceHead, Placement::Padded, 1};
}

AttentionShape cutTilesAttention(int64_t workers, int64_t tileRows) {
  const int64_t queries = 70, tilesOfHead = (queries + tileRows - 1) / tileRows;
  return {"cut tiles",       1, workers / tilesOfHead + 1, 1, queries, 1700, SequenceOrder::BatchSequenceHead,
          Placement::Padded, 16};
}

std::vector<ListCase> listCases(bool quick) {
  std::vector<ListCase> cases = {{"random, per batch and head", BlockChoice::Random, true, true, true},
                                 {"empty rows, per batch", BlockChoice::EmptyRows, true, false, true},
                                 {"no blocks", BlockChoice::NoBlocks, false, false, false}};
  if (!quick) {
    cases.push_back({"random, per head", BlockChoice::Random, false, true, false});
    cases.push_back({"all full", BlockChoice::AllFull, false, false, false});
    cases.push_back({"all partial", BlockChoice::AllPartial, false, false, true});
  }
  return cases;
}

bool BlockStates::has(sparsec_block_state_t state) const {
  return std::find(states.begin(), states.end(), state) != states.end();
}

BlockStates chooseBlocks(const AttentionShape &shape, int64_t queryBlock, int64_t keyBlock, const ListCase &lists,
                         uint64_t seed) {
  BlockStates blocks;
  blocks.shape =
      sparsec_blocks_pattern(lists.perBatch ? shape.batches : 1, lists.perHead ? shape.heads : 1, shape.queries,
                             shape.keys, static_cast<int32_t>(queryBlock), static_cast<int32_t>(keyBlock));
  blocks.rows = (shape.queries + queryBlock - 1) / queryBlock;
  blocks.columns = (shape.keys + keyBlock - 1) / keyBlock;
  blocks.states.resize(blocks.listCount() * blocks.columns);
  for (int64_t i = 0; i < std::ssize(blocks.states); ++i)
    blocks.states[i] = static_cast<uint8_t>(chooseState(lists.choice, seed, i, i / blocks.columns % blocks.rows));
  return blocks;
}

PatternLists::PatternLists(const BlockStates &blocks, sparsec_pattern_encoding_t encoding, bool isUnsorted)
    : header(blocks.shape) {
  bool isPadded = encoding == SPARSEC_PATTERN_PADDED_LISTS;
  // Padded lists may be longer than a row of blocks.
  int64_t capacity = isPadded ? blocks.columns + 2 : blocks.listCount() * blocks.columns;
  auto make = isPadded ? makePaddedLists : makeIndexArrays;
  partial = make(blocks, SPARSEC_BLOCK_PARTIAL, isUnsorted, capacity);
  full = make(blocks, SPARSEC_BLOCK_FULL, isUnsorted, capacity);
  header.encoding = encoding;
  header.capacity = capacity;
}

sparsec_blocks_t PatternLists::hostView(const BlockStates &blocks) const {
  sparsec_blocks_t view = header;
  if (blocks.has(SPARSEC_BLOCK_PARTIAL))
    view.partial = {partial.starts.data(), partial.indices.data()};
  if (blocks.has(SPARSEC_BLOCK_FULL))
    view.full = {full.starts.data(), full.indices.data()};
  return view;
}

} // namespace sparsec::device_test
