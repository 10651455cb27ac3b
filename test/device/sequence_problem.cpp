// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "sequence_problem.h"

#include "row_check.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace sparsec::device_test {

using namespace harness;

namespace {

// Seeds of the random streams.
enum : uint64_t { sequenceQuerySeed = 31, sequenceKeySeed, sequenceValueSeed, sequenceSinkSeed, blockSeed };

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Window of sequence_kernels.py.
constexpr int64_t windowLeft = 70, windowRight = 30;
/// Rows of Q and of K behind those of all sequences, and pages that no sequence has.
constexpr int64_t spareRows = 5, sparePages = 3;
/// In the table where a sequence has no page.
constexpr int32_t noPage = -7;

} // namespace

std::vector<SequenceShape> sequenceShapes(bool quick) {
  constexpr auto bhsd = SequenceOrder::BatchHeadSequence, bshd = SequenceOrder::BatchSequenceHead;
  const SequenceShape mixed = {
      "mixed", 4, 2, bshd, Placement::Tight, {{70, 200}, {1, 130}, {0, 40}, {130, 129}, {64, 0}}};
  const SequenceShape misaligned = {
      "mixed, misaligned", 2, 1, bshd, Placement::Misaligned, {{70, 200}, {0, 40}, {130, 129}, {64, 0}}};
  const SequenceShape few = {"few tiles", 2, 1, bhsd, Placement::Padded, {{3, 1500}}};
  if (quick)
    return {mixed, few, misaligned};
  return {mixed,
          few,
          misaligned,
          {"one", 2, 2, bhsd, Placement::Padded, {{257, 257}}},
          {"more queries than keys", 2, 1, bhsd, Placement::Tight, {{300, 70}, {129, 1}, {128, 128}}},
          {"whole blocks", 4, 4, bhsd, Placement::Tight, {{128, 128}, {256, 384}, {128, 640}}},
          {"many small ones", 4, 1, bshd, Placement::Padded, std::vector<SequenceSize>(40, {7, 19})},
          {"one query each", 8, 2, bshd, Placement::Tight, {{1, 1}, {1, 1000}, {1, 63}, {1, 64}, {1, 65}, {1, 517}}}};
}

SequenceProblem::SequenceProblem(sparsec_device_t device, sparsec_kernel_t kernel, const KernelRecord &record,
                                 const SequenceShape &shape, size_t guardBytes)
    : device(device), kernel(kernel), record(record), shape(shape), guardBytes(guardBytes), sizes(shape.sequences) {
  if (!record.hasQueryStarts)
    for (SequenceSize &size : sizes)
      size.queries = mostQueries();
  int64_t mostKeys = 0;
  for (const SequenceSize &size : sizes)
    mostKeys = std::max(mostKeys, size.keys);
  queryOuter = record.hasQueryStarts ? 1 : sequenceCount();
  queryRows = record.hasQueryStarts ? totalOf(&SequenceSize::queries) + spareRows : mostQueries();
  keyOuter = record.hasKeyStarts ? 1 : sequenceCount();
  keyRows = record.hasKeyStarts ? totalOf(&SequenceSize::keys) + spareRows : mostKeys + spareRows;
  if (record.pageRows != 0) {
    pagesOfSequence = roundUp(mostKeys, record.pageRows) / record.pageRows + 1;
    keyOuter = sequenceCount() * pagesOfSequence + sparePages;
    keyRows = record.pageRows;
  }
  if (record.blockRows != 0) {
    // With packed keys all sequences share a number of columns.
    const int64_t columns = record.pageRows != 0  ? pagesOfSequence * record.pageRows
                            : record.hasKeyStarts ? mostKeys
                                                  : keyRows;
    const AttentionShape all = {
        "", sequenceCount(), shape.heads, shape.keyHeads, mostQueries(), columns, shape.order, shape.placement, 1};
    blocks = chooseBlocks(all, record.blockRows, record.blockColumns, {"", BlockChoice::Random, true, true, true},
                          blockSeed);
  }
  views.assign(sparsec_kernel_info(kernel)->argument_count, 0.0);
  for (size_t i = 0; i < views.size(); ++i)
    placeArgument(i);
  fillQueries();
  fillKeys(*key, sequenceKeySeed, record.headDimension);
  fillKeys(*value, sequenceValueSeed, value->view().sizes[1]);
  fillSizes();
}

void SequenceProblem::placeArgument(size_t number) {
  if (sparsec_kernel_argument(kernel, number)->kind == SPARSEC_ARGUMENT_PATTERN)
    return placePattern(number);
  switch (operandOf(kernel, number).slot) {
  case SPARSEC_ATTENTION_QUERY:
    return placeRows(number, queryOuter, shape.heads, queryRows, query);
  case SPARSEC_ATTENTION_KEY:
    return placeRows(number, keyOuter, shape.keyHeads, keyRows, key);
  case SPARSEC_ATTENTION_VALUE:
    return placeRows(number, keyOuter, shape.keyHeads, keyRows, value);
  case SPARSEC_ATTENTION_RESULT:
    return placeRows(number, queryOuter, shape.heads, queryRows, result);
  case SPARSEC_ATTENTION_LSE:
    return placeRows(number, queryOuter, shape.heads, queryRows, lse);
  case SPARSEC_ATTENTION_SINKS:
    return placeSinks(number);
  case SPARSEC_ATTENTION_QUERY_STARTS:
    return placeNumbers(number, {sequenceCount() + 1}, queryStarts);
  case SPARSEC_ATTENTION_KEY_STARTS:
    return placeNumbers(number, {sequenceCount() + 1}, keyStarts);
  case SPARSEC_ATTENTION_KEY_LENGTHS:
    return placeNumbers(number, {sequenceCount()}, keyLengths);
  case SPARSEC_ATTENTION_PAGE_TABLE:
    return placeNumbers(number, {sequenceCount(), pagesOfSequence}, pageTable);
  }
  throw std::runtime_error("an operand is not from sequence_kernels.py");
}

/// Rows of heads in the order of the shape; the LSE has rows of one element.
void SequenceProblem::placeRows(size_t number, int64_t outer, int64_t heads, int64_t rows,
                                std::unique_ptr<PlacedTensor> &tensor) {
  const sparsec_argument_info_t &info = *sparsec_kernel_argument(kernel, number);
  const int64_t width = info.rank == 4 ? info.sizes[3] : 1;
  tensor = std::make_unique<PlacedTensor>(device, static_cast<sparsec_dtype_t>(info.dtype),
                                          std::vector<int64_t>{outer * heads * rows, width},
                                          width == 1 ? Placement::Tight : shape.placement, guardBytes);
  const bool headsFirst = width == 1 || shape.order == SequenceOrder::BatchHeadSequence;
  const int64_t stride = tensor->view().strides[0];
  sparsec_dense_t view = tensor->view();
  view.rank = int32_t(info.rank);
  const int64_t all[] = {outer, heads, rows, width};
  const int64_t strides[] = {heads * rows * stride, headsFirst ? rows * stride : stride,
                             headsFirst ? stride : heads * stride, 1};
  std::copy_n(all, info.rank, view.sizes);
  std::copy_n(strides, info.rank, view.strides);
  tensor->poisonAll();
  tensor->upload();
  views[number] = view;
}

void SequenceProblem::placeNumbers(size_t number, const std::vector<int64_t> &sizes,
                                   std::unique_ptr<PlacedTensor> &tensor) {
  tensor = std::make_unique<PlacedTensor>(device, SPARSEC_DTYPE_I32, sizes, Placement::Misaligned, guardBytes);
  views[number] = tensor->view();
}

void SequenceProblem::placeSinks(size_t number) {
  sinks = std::make_unique<PlacedTensor>(device, SPARSEC_DTYPE_F32, std::vector<int64_t>{shape.heads},
                                         Placement::Misaligned, guardBytes);
  for (int64_t head = 0; head < shape.heads; ++head)
    sinks->set(0, head, 2 * randomNormal(sequenceSinkSeed, head));
  sinks->upload();
  views[number] = sinks->view();
}

void SequenceProblem::placePattern(size_t number) {
  lists = std::make_unique<PatternLists>(blocks, SPARSEC_PATTERN_PADDED_LISTS, /*isUnsorted=*/true);
  sparsec_blocks_t pattern = lists->header;
  auto upload = [&](const BlockLists &source, DeviceBuffer &starts, DeviceBuffer &indices) {
    starts = uploadArray(device, withGuard(source.starts, guardBytes));
    indices = uploadArray(device, withGuard(source.indices, guardBytes));
    return sparsec_block_lists_t{static_cast<const int32_t *>(starts.data()),
                                 static_cast<const int32_t *>(indices.data())};
  };
  pattern.partial = upload(lists->partial, partialStarts, partialIndices);
  pattern.full = upload(lists->full, fullStarts, fullIndices);
  views[number] = pattern;
}

//===----------------------------------------------------------------------===//
// Sizes and places
//===----------------------------------------------------------------------===//

int64_t SequenceProblem::mostQueries() const {
  int64_t most = 0;
  for (const SequenceSize &size : sizes)
    most = std::max(most, size.queries);
  return most;
}

int64_t SequenceProblem::startOf(int64_t sequence, int64_t SequenceSize::*size) const {
  int64_t start = 0;
  for (int64_t before = 0; before < sequence; ++before)
    start += sizes[before].*size;
  return start;
}

int64_t SequenceProblem::totalOf(int64_t SequenceSize::*size) const { return startOf(sequenceCount(), size); }

SequenceProblem::Place SequenceProblem::queryPlace(int64_t sequence, int64_t query) const {
  if (record.hasQueryStarts)
    return {0, startOf(sequence, &SequenceSize::queries) + query};
  return {sequence, query};
}

/// Pages of all sequences in turns, so that none has two that follow one another.
int64_t SequenceProblem::pageOf(int64_t sequence, int64_t number) const {
  return keyOuter - 1 - (number * sequenceCount() + sequence);
}

SequenceProblem::Place SequenceProblem::keyPlace(int64_t sequence, int64_t key) const {
  if (record.pageRows != 0)
    return {pageOf(sequence, key / record.pageRows), key % record.pageRows};
  if (record.hasKeyStarts)
    return {0, startOf(sequence, &SequenceSize::keys) + key};
  return {sequence, key};
}

int64_t SequenceProblem::memoryRow(Place place, int64_t head, int64_t heads, int64_t rows) const {
  return shape.order == SequenceOrder::BatchHeadSequence ? (place.outer * heads + head) * rows + place.row
                                                         : (place.outer * rows + place.row) * heads + head;
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

/// All rows that are not set stay poison.
void SequenceProblem::fillQueries() {
  query->poisonAll();
  for (int64_t sequence = 0; sequence < sequenceCount(); ++sequence)
    for (int64_t head = 0; head < shape.heads; ++head)
      for (int64_t i = 0; i < sizes[sequence].queries; ++i) {
        const int64_t row = memoryRow(queryPlace(sequence, i), head, shape.heads, queryRows);
        for (int64_t d = 0; d < record.headDimension; ++d)
          query->set(row, d, randomNormal(sequenceQuerySeed, row * record.headDimension + d));
      }
  query->upload();
}

void SequenceProblem::fillKeys(PlacedTensor &tensor, uint64_t seed, int64_t width) {
  tensor.poisonAll();
  for (int64_t sequence = 0; sequence < sequenceCount(); ++sequence)
    for (int64_t head = 0; head < shape.keyHeads; ++head)
      for (int64_t j = 0; j < sizes[sequence].keys; ++j) {
        const int64_t row = memoryRow(keyPlace(sequence, j), head, shape.keyHeads, keyRows);
        for (int64_t d = 0; d < width; ++d)
          tensor.set(row, d, randomNormal(seed, row * width + d));
      }
  tensor.upload();
}

void SequenceProblem::fillSizes() {
  for (int64_t sequence = 0; sequence <= sequenceCount(); ++sequence) {
    if (queryStarts)
      queryStarts->set(0, sequence, double(startOf(sequence, &SequenceSize::queries)));
    // With lengths, starts may leave room behind the last key.
    if (keyStarts)
      keyStarts->set(0, sequence, double(startOf(sequence, &SequenceSize::keys)));
    if (keyLengths && sequence < sequenceCount())
      keyLengths->set(0, sequence, double(sizes[sequence].keys));
    for (int64_t page = 0; pageTable && sequence < sequenceCount() && page < pagesOfSequence; ++page)
      pageTable->set(sequence, page,
                     page * record.pageRows < sizes[sequence].keys ? double(pageOf(sequence, page)) : noPage);
  }
  for (PlacedTensor *tensor : {queryStarts.get(), keyStarts.get(), keyLengths.get(), pageTable.get()})
    if (tensor)
      tensor->upload();
}

void SequenceProblem::changeSizes(int round) {
  std::rotate(sizes.begin(), sizes.begin() + 1, sizes.end());
  for (SequenceSize &size : sizes)
    size.keys = std::max<int64_t>(0, size.keys - 3 * round);
  fillQueries();
  fillKeys(*key, sequenceKeySeed, record.headDimension);
  fillKeys(*value, sequenceValueSeed, value->view().sizes[1]);
  fillSizes();
}

//===----------------------------------------------------------------------===//
// Launches and results
//===----------------------------------------------------------------------===//

void SequenceProblem::launch(void *stream, sparsec_plan_t plan, const DeviceBuffer *workspace) const {
  const ArgumentArray array(views);
  auto options = sized<sparsec_launch_options_t>();
  options.stream = stream;
  if (workspace) {
    options.workspace = workspace->data();
    options.workspace_bytes = workspace->bytes();
  }
  check(sparsec_launch_with_options(kernel, plan, array.data(), array.size(), &options));
}

void SequenceProblem::wait() {
  check(sparsec_synchronize(device, nullptr));
  downloadResults();
}

void SequenceProblem::downloadResults() {
  result->download();
  if (lse)
    lse->download();
}

void SequenceProblem::poisonResults() {
  for (PlacedTensor *tensor : {result.get(), lse.get()})
    if (tensor) {
      tensor->poisonAll();
      tensor->upload();
    }
}

std::vector<char> SequenceProblem::resultBytes() const {
  std::vector<char> bytes = result->bytes();
  if (lse)
    bytes.insert(bytes.end(), lse->bytes().begin(), lse->bytes().end());
  return bytes;
}

sparsec_block_state_t SequenceProblem::stateOf(int64_t sequence, int64_t head, int64_t query, int64_t key) const {
  if (record.blockRows == 0)
    return SPARSEC_BLOCK_PARTIAL;
  const int64_t list = (sequence * shape.heads + head) * blocks.rows + query / record.blockRows;
  return static_cast<sparsec_block_state_t>(blocks.states[list * blocks.columns + key / record.blockColumns]);
}

bool SequenceProblem::isVisible(int64_t sequence, int64_t head, int64_t query, int64_t key) const {
  const int64_t position = query + sizes[sequence].keys - sizes[sequence].queries;
  if (record.isCausal && key > position)
    return false;
  if (record.hasWindow && (key < position - windowLeft || key > position + windowRight))
    return false;
  switch (stateOf(sequence, head, query, key)) {
  case SPARSEC_BLOCK_EMPTY:
    return false;
  case SPARSEC_BLOCK_FULL:
    return true;
  case SPARSEC_BLOCK_PARTIAL:
    return !hasRegion("thirds") || (query - key + head + sequence) % 3 != 1;
  }
  throw std::logic_error("unknown state");
}

double SequenceProblem::scoreOf(int64_t sequence, int64_t head, int64_t i, int64_t j) const {
  const int64_t queryRow = memoryRow(queryPlace(sequence, i), head, shape.heads, queryRows);
  const int64_t keyHead = head / (shape.heads / shape.keyHeads);
  const int64_t keyRow = memoryRow(keyPlace(sequence, j), keyHead, shape.keyHeads, keyRows);
  double sum = 0;
  for (int64_t d = 0; d < record.headDimension; ++d)
    sum += query->get(queryRow, d) * key->get(keyRow, d);
  sum /= std::sqrt(double(record.headDimension));
  return hasRegion("positions") ? sum + double(3 * sequence + head + i - 2 * j) / 64 : sum;
}

std::string SequenceProblem::checkRow(int64_t sequence, int64_t head, int64_t i) const {
  std::vector<double> scores(sizes[sequence].keys, -infinity);
  const double sink = sinks ? sinks->get(0, head) : -infinity;
  double largest = sink;
  for (int64_t j = 0; j < sizes[sequence].keys; ++j)
    if (isVisible(sequence, head, i, j))
      largest = std::max(largest, scores[j] = scoreOf(sequence, head, i, j));
  double sum = sink == -infinity ? 0 : std::exp(sink - largest);
  bool isEmpty = true;
  for (double score : scores)
    if (score != -infinity) {
      sum += std::exp(score - largest);
      isEmpty = false;
    }
  const double exactLse = sum == 0 ? -infinity : largest + std::log(sum);
  const Place place = queryPlace(sequence, i);
  if (lse) {
    const double got = lse->get((place.outer * shape.heads + head) * queryRows + place.row, 0);
    if (exactLse == -infinity ? got != -infinity : !(std::abs(got - exactLse) <= 1e-4 * (1 + std::abs(exactLse))))
      return fmt::format("lse of sequence {}, head {}, query {} is {}, but should be {}", sequence, head, i, got,
                         exactLse);
  }
  // Probabilities are rounded to the type of V.
  const double rounding = record.dtype == SPARSEC_DTYPE_F16 ? 0x1p-11 : 0x1p-8;
  const int64_t row = memoryRow(place, head, shape.heads, queryRows), keyHead = head / (shape.heads / shape.keyHeads);
  for (int64_t d = 0; d < result->view().sizes[1]; ++d) {
    double exact = 0, magnitude = 0, squares = 0;
    for (int64_t j = 0; j < sizes[sequence].keys && !isEmpty; ++j) {
      if (scores[j] == -infinity)
        continue;
      const int64_t keyRow = memoryRow(keyPlace(sequence, j), keyHead, shape.keyHeads, keyRows);
      const double product = std::exp(scores[j] - largest) / sum * value->get(keyRow, d);
      exact += product;
      magnitude += std::abs(product);
      squares += product * product;
    }
    const double allowed = isEmpty ? 0
                                   : allowedError(result->view().dtype, exact, 30 * magnitude) +
                                         rounding * (std::abs(exact) + 4 * std::sqrt(squares));
    if (const double got = result->get(row, d); !(std::abs(got - exact) <= allowed))
      return fmt::format("o of sequence {}, head {}, query {}, element {} is {}, but should be {} within {}", sequence,
                         head, i, d, got, exact, allowed);
  }
  return {};
}

/// Rows behind those of the last sequence.
std::string SequenceProblem::checkUntouched() const {
  for (int64_t row = totalOf(&SequenceSize::queries); record.hasQueryStarts && row < queryRows; ++row)
    for (int64_t head = 0; head < shape.heads; ++head)
      if (!std::isnan(result->get(memoryRow({0, row}, head, shape.heads, queryRows), 0)) ||
          (lse && !std::isnan(lse->get(head * queryRows + row, 0))))
        return fmt::format("row {}, which belongs to no sequence, was written", row);
  if (!result->surroundingsIntact() || (lse && !lse->surroundingsIntact()))
    return "bytes beside a result were written";
  return {};
}

std::string SequenceProblem::findError() const {
  for (int64_t sequence = 0; sequence < sequenceCount(); ++sequence) {
    const int64_t queries = sizes[sequence].queries;
    std::string error = findRowError(shape.heads * queries,
                                     [&](int64_t row) { return checkRow(sequence, row / queries, row % queries); });
    if (!error.empty())
      return error;
  }
  return checkUntouched();
}

} // namespace sparsec::device_test
