// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/blocks.h"
#include "numbers.h"
#include "operations/operation.h"
#include "operations/sequences.h"
#include "plan/key_range.h"
#include "region.h"
#include "steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sparsec::runtime {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A probability that may be off by more than this in its exponent may be anything; the cap keeps the sums finite.
constexpr double mostExponentError = 100;

/// How far the probabilities may be off, relatively, when they are rounded to the type of V for the second product.
double probabilityRounding(sparsec_dtype_t dtype) {
  switch (dtype) {
  case SPARSEC_DTYPE_F16:
    return std::ldexp(1.0, -11);
  case SPARSEC_DTYPE_BF16:
    return std::ldexp(1.0, -8);
  default:
    return 0.0;
  }
}

/// A row of the results, as the reference counts them.
struct ResultRow {
  int64_t sequence; // -1: the row is of none
  int64_t head;
  int64_t query;    // of the sequence
  int64_t rowsLeft; // from this one on, up to the end of the sequence, or of the rows between sequences
};

/// Query rows of one head of one sequence, all of one block of queries: the keys and values that they share are widened
/// to double once. Or rows of no sequence: a kernel does not write them, here they have no keys.
class RowGroup {
public:
  /// So many rows that widening costs little, and so few that their scores are small beside K and V.
  static constexpr int64_t maxRows = 32;

  RowGroup(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem);

  /// How many of the rows from `begin` on make a group, at most up to `end`.
  int64_t rowsFrom(int64_t begin, int64_t end) const;
  Status run(int64_t begin, int64_t rows, const ReferenceRows &out);

private:
  ResultRow locate(int64_t row) const;
  KeyRange keysOf(int64_t row) const;
  void prepare(const ResultRow &first, int64_t rows);
  void readQueries();
  void readBlockStates();
  sparsec_block_state_t stateOf(int64_t key) const {
    return pattern ? states[key / pattern->block_columns] : SPARSEC_BLOCK_PARTIAL;
  }
  bool isPanelEmpty(int64_t first, int64_t end) const;
  int64_t offsetOfKey(const sparsec_dense_t &tensor, int64_t key) const;
  void widen(const sparsec_dense_t &tensor, int64_t width, int64_t first, int64_t end);
  double sinkOfHead() const;
  Status scorePanel(int64_t first, int64_t end);
  Status scoreOne(const double *query, int64_t row, int64_t key, const double *keyRow);
  void normalise(int64_t row, const ReferenceRows &out);
  void addValues(int64_t row, int64_t first, int64_t end, double *y);
  void finish(int64_t row, const ReferenceRows &out);

  static constexpr int64_t panelKeys = 64;

  const Problem &problem;
  const KeyWindow window;
  const sparsec_dense_t &q, &k, &v;
  const sparsec_blocks_t *pattern = nullptr;
  const sparsec_dense_t *sinks = nullptr;
  const SequenceArrays arrays;
  double scale;
  Region score, mask;

  int64_t sequence = 0, head = 0, firstQuery = 0, count = 0;
  SequenceRows queriesOfAll = {0, 0}, keysOfAll = {0, 0}; // of the sequence
  KeyRange keys = {0, 0};                                 // that any row of the group may see
  std::vector<sparsec_block_state_t> states;
  std::vector<double> queries; // [row][D]
  std::vector<double> panel;   // [key][D], or [key][Dv] of values
  /// [row][key of the range]: scores (-inf where not visible), then probabilities; and their absolute errors, then the
  /// relative ones of the probabilities.
  std::vector<double> scores, errors;
  /// [row][Dv]: sums over the keys of p * error * |v|, of p * |v| and of (p * v)^2.
  std::vector<double> errorSums, absoluteSums, squareSums;
  std::vector<double> meanErrors; // [row]: sum of p * error
};

RowGroup::RowGroup(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem)
    : problem(problem), window(keyWindow(kernel)), q(denseOf(arguments[kernel.of(SPARSEC_ATTENTION_QUERY)])),
      k(denseOf(arguments[kernel.of(SPARSEC_ATTENTION_KEY)])),
      v(denseOf(arguments[kernel.of(SPARSEC_ATTENTION_VALUE)])), arrays(kernel, arguments),
      score(kernel, arguments, SPARSEC_REGION_SCORE), mask(kernel, arguments, SPARSEC_REGION_MASK) {
  if (uint32_t number = kernel.of(SPARSEC_ATTENTION_PATTERN); number != noArgument)
    pattern = &blocksOf(arguments[number]);
  if (uint32_t number = kernel.of(SPARSEC_ATTENTION_SINKS); number != noArgument)
    sinks = &denseOf(arguments[number]);
  uint32_t number = kernel.of(SPARSEC_ATTENTION_SCALE);
  scale = number != noArgument ? scalarOf(arguments[number]) : 1 / std::sqrt(double(problem.headDimension));
}

ResultRow RowGroup::locate(int64_t row) const {
  const int64_t query = row % problem.rows, head = row / problem.rows % problem.heads;
  if (!arrays.queryStarts)
    return {row / problem.rows / problem.heads, head, query, problem.rows - query};
  const int32_t *end = arrays.queryStarts + problem.bounds;
  const int32_t *next = std::upper_bound(arrays.queryStarts, end, query);
  if (next == end)
    return {-1, head, query, problem.rows - query};
  return {next - arrays.queryStarts - 1, head, query - next[-1], *next - query};
}

int64_t RowGroup::rowsFrom(int64_t begin, int64_t end) const {
  const ResultRow first = locate(begin);
  const int64_t inBlock = pattern ? pattern->block_rows - first.query % pattern->block_rows : maxRows;
  return std::min({maxRows, end - begin, inBlock, first.rowsLeft});
}

KeyRange RowGroup::keysOf(int64_t row) const {
  return visibleKeys(window, queriesOfAll.count, keysOfAll.count, firstQuery + row);
}

/// A pattern for packed tensors may have fewer rows or columns than a sequence: no list has what is beyond it.
void RowGroup::readBlockStates() {
  if (!pattern)
    return;
  const int64_t blocks = ceilDivide(keysOfAll.count, int64_t(pattern->block_columns));
  states.assign(std::max(blockColumnCount(*pattern), blocks), SPARSEC_BLOCK_EMPTY);
  const int64_t blockRow = firstQuery / pattern->block_rows;
  if (blockRow >= blockRowCount(*pattern))
    return;
  int64_t number = listNumber(*pattern, sequence, head, blockRow);
  for (int32_t block : blockList(*pattern, pattern->partial, number))
    states[block] = SPARSEC_BLOCK_PARTIAL;
  for (int32_t block : blockList(*pattern, pattern->full, number))
    states[block] = SPARSEC_BLOCK_FULL;
}

bool RowGroup::isPanelEmpty(int64_t first, int64_t end) const {
  if (!pattern)
    return false;
  int64_t firstBlock = first / pattern->block_columns, endBlock = ceilDivide(end, pattern->block_columns);
  return std::all_of(states.begin() + firstBlock, states.begin() + endBlock,
                     [](sparsec_block_state_t state) { return state == SPARSEC_BLOCK_EMPTY; });
}

/// -inf where the kernel has no sinks.
double RowGroup::sinkOfHead() const { return sinks ? readElement(sinks->data, sinks->dtype, head) : -infinity; }

/// Where the row of a key of the sequence begins in K or V.
int64_t RowGroup::offsetOfKey(const sparsec_dense_t &tensor, int64_t key) const {
  const int64_t *strides = tensor.strides;
  const int64_t ofHead = head / (problem.heads / problem.keyHeads) * strides[1];
  if (arrays.pageTable) {
    const int64_t page = arrays.pageTable[sequence * arrays.tableStride + key / problem.pageRows];
    return page * strides[0] + ofHead + key % problem.pageRows * strides[2];
  }
  if (arrays.keyStarts)
    return ofHead + (keysOfAll.first + key) * strides[2];
  return sequence * strides[0] + ofHead + key * strides[2];
}

/// Keys or values [first, end) of the head to panel[key][width].
void RowGroup::widen(const sparsec_dense_t &tensor, int64_t width, int64_t first, int64_t end) {
  for (int64_t key = first; key < end; ++key) {
    const int64_t offset = offsetOfKey(tensor, key);
    for (int64_t d = 0; d < width; ++d)
      panel[(key - first) * width + d] = readElement(tensor.data, tensor.dtype, offset + d);
  }
}

Status RowGroup::scoreOne(const double *query, int64_t row, int64_t key, const double *keyRow) {
  const RegionInputs position = {sequence, head, firstQuery + row, key, nullptr};
  sparsec_block_state_t state = stateOf(key);
  if (state == SPARSEC_BLOCK_PARTIAL && !mask.isEmpty()) {
    double isVisible = 0.0;
    SPARSEC_RETURN_IF_ERROR(mask.evaluate(position, isVisible, nullptr));
    if (isVisible == 0.0)
      return {};
  }
  double sum = 0.0, magnitude = 0.0;
  for (int64_t d = 0; d < problem.headDimension; ++d) {
    sum += query[d] * keyRow[d];
    magnitude += std::fabs(query[d] * keyRow[d]);
  }
  int64_t index = row * (keys.end - keys.begin) + key - keys.begin;
  scores[index] = scale * sum;
  errors[index] = referenceTolerance * std::fabs(scale) * magnitude;
  return score.evaluate(position, scores[index], &errors[index]);
}

Status RowGroup::scorePanel(int64_t first, int64_t end) {
  const int64_t width = problem.headDimension;
  widen(k, width, first, end);
  for (int64_t row = 0; row < count; ++row) {
    KeyRange visible = keysOf(row);
    for (int64_t key = std::max(first, visible.begin); key < std::min(end, visible.end); ++key)
      if (stateOf(key) != SPARSEC_BLOCK_EMPTY)
        SPARSEC_RETURN_IF_ERROR(scoreOne(&queries[row * width], row, key, &panel[(key - first) * width]));
  }
  return {};
}

/// Turns the scores of a row into probabilities, and writes its LSE. The sink counts as a score of which the sum alone
/// knows.
void RowGroup::normalise(int64_t row, const ReferenceRows &out) {
  int64_t range = keys.end - keys.begin;
  double *score = scores.data() + row * range, *error = errors.data() + row * range;
  const double sink = sinkOfHead();
  double largest = sink;
  for (int64_t i = 0; i < range; ++i)
    largest = std::fmax(score[i], largest);
  // exp of a difference: the score's own error, and that of the subtraction.
  auto errorOfExponential = [&](double score, double own) {
    double exponentError = own + referenceTolerance * (std::fabs(score) + std::fabs(largest) + 1);
    return std::expm1(std::min(exponentError, mostExponentError));
  };
  double sum = 0.0, weightedError = 0.0;
  if (sink != -infinity) {
    sum = std::exp(sink - largest);
    weightedError = sum * errorOfExponential(sink, 0.0);
  }
  for (int64_t i = 0; i < range; ++i) {
    bool isVisible = score[i] != -infinity;
    error[i] = isVisible ? errorOfExponential(score[i], error[i]) : 0.0;
    score[i] = isVisible ? std::exp(score[i] - largest) : 0.0;
    sum += score[i];
    if (score[i] != 0.0)
      weightedError += score[i] * error[i];
  }
  bool isEmpty = sum == 0.0;
  for (int64_t i = 0; i < range && !isEmpty; ++i)
    score[i] /= sum;
  meanErrors[row] = isEmpty ? 0.0 : weightedError / sum;
  double lse = isEmpty ? -infinity : largest + std::log(sum);
  if (out.lse)
    out.lse[row] = lse;
  if (out.lseMagnitude)
    out.lseMagnitude[row] = isEmpty ? 0.0 : meanErrors[row] / referenceTolerance + std::fabs(lse) + 1;
}

/// Adds the values of a panel to a row of the result and to its sums.
void RowGroup::addValues(int64_t row, int64_t first, int64_t end, double *y) {
  const int64_t width = problem.columns, range = keys.end - keys.begin;
  for (int64_t key = first; key < end; ++key) {
    const double p = scores[row * range + key - keys.begin], error = errors[row * range + key - keys.begin];
    if (p == 0.0)
      continue;
    for (int64_t d = 0; d < width; ++d) {
      double product = p * panel[(key - first) * width + d];
      y[row * width + d] += product;
      errorSums[row * width + d] += error * std::fabs(product);
      absoluteSums[row * width + d] += std::fabs(product);
      squareSums[row * width + d] += product * product;
    }
  }
}

void RowGroup::finish(int64_t row, const ReferenceRows &out) {
  double rounding = probabilityRounding(v.dtype);
  for (int64_t i = row * problem.columns; i < (row + 1) * problem.columns; ++i) {
    double result = std::fabs(out.y[i]);
    double error = errorSums[i] + meanErrors[row] * result + referenceTolerance * absoluteSums[i] +
                   rounding * (result + 4 * std::sqrt(squareSums[i]));
    out.magnitude[i] = error / referenceTolerance;
  }
}

void RowGroup::prepare(const ResultRow &first, int64_t rows) {
  count = rows;
  firstQuery = first.query;
  head = first.head;
  sequence = first.sequence;
  queriesOfAll = arrays.queriesOf(sequence, problem);
  keysOfAll = arrays.keysOf(sequence, problem);
  readBlockStates();
  keys = {keysOf(0).begin, keysOf(count - 1).end};
  keys.end = std::max(keys.begin, keys.end);
  int64_t range = keys.end - keys.begin, width = problem.headDimension;
  scores.assign(count * range, -infinity);
  errors.assign(count * range, 0.0);
  for (std::vector<double> *sums : {&errorSums, &absoluteSums, &squareSums})
    sums->assign(count * problem.columns, 0.0);
  meanErrors.assign(count, 0.0);
  panel.resize(panelKeys * std::max(width, problem.columns));
  readQueries();
}

void RowGroup::readQueries() {
  const int64_t width = problem.headDimension, batch = arrays.queryStarts ? 0 : sequence;
  queries.resize(count * width);
  const int64_t base = batch * q.strides[0] + head * q.strides[1] + (queriesOfAll.first + firstQuery) * q.strides[2];
  for (int64_t i = 0; i < count * width; ++i)
    queries[i] = readElement(q.data, q.dtype, base + i / width * q.strides[2] + i % width);
}

Status RowGroup::run(int64_t begin, int64_t rows, const ReferenceRows &out) {
  const ResultRow first = locate(begin);
  if (first.sequence < 0) {
    std::fill_n(out.lse, out.lse ? rows : 0, -infinity); // all else is 0 from the start
    return {};
  }
  prepare(first, rows);
  auto forPanels = [&](auto &&body) -> Status {
    for (int64_t first = keys.begin; first < keys.end; first += panelKeys)
      if (int64_t end = std::min(first + panelKeys, keys.end); !isPanelEmpty(first, end))
        SPARSEC_RETURN_IF_ERROR(body(first, end));
    return {};
  };
  SPARSEC_RETURN_IF_ERROR(forPanels([&](int64_t first, int64_t end) { return scorePanel(first, end); }));
  for (int64_t row = 0; row < count; ++row)
    normalise(row, out);
  if (!out.y)
    return {};
  SPARSEC_RETURN_IF_ERROR(forPanels([&](int64_t first, int64_t end) -> Status {
    widen(v, problem.columns, first, end);
    for (int64_t row = 0; row < count; ++row)
      addValues(row, first, end, out.y);
    return {};
  }));
  for (int64_t row = 0; row < count && out.magnitude; ++row)
    finish(row, out);
  return {};
}

} // namespace

Status runAttentionReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                             const Problem &problem, RowRange range, const ReferenceRows &out) {
  // Into own memory first: a region may turn out to load from beyond a tensor.
  int64_t rows = range.end - range.begin, width = problem.columns;
  std::vector<double> y(out.y ? rows * width : 0), magnitude(out.magnitude ? rows * width : 0);
  std::vector<double> lse(out.lse ? rows : 0), lseMagnitude(out.lseMagnitude ? rows : 0);
  auto at = [](std::vector<double> &vector, int64_t offset) { return vector.empty() ? nullptr : &vector[offset]; };

  RowGroup group(kernel, arguments, problem);
  for (int64_t row = range.begin, count; row < range.end; row += count) {
    count = group.rowsFrom(row, range.end);
    int64_t first = row - range.begin;
    ReferenceRows part = {at(y, first * width), at(magnitude, first * width), at(lse, first), at(lseMagnitude, first)};
    SPARSEC_RETURN_IF_ERROR(group.run(row, count, part));
  }
  std::copy(y.begin(), y.end(), out.y);
  std::copy(magnitude.begin(), magnitude.end(), out.magnitude);
  std::copy(lse.begin(), lse.end(), out.lse);
  std::copy(lseMagnitude.begin(), lseMagnitude.end(), out.lseMagnitude);
  return {};
}

} // namespace sparsec::runtime
