// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "pattern_argument.h"

#include "arguments/blocks.h"
#include "block_matrix.h"
#include "numpy.h"
#include "operations/kernel_shape.h"
#include "pattern.h"
#include "plan/key_range.h"
#include "random.h"

#include <algorithm>
#include <random>

namespace sparsec::run {

namespace {

/// Makes the sparsec_block_state_t of every block.
class StateMaker {
public:
  StateMaker(const PatternContext &context, const readers::Limits &limits) : context(context), limits(limits) {
    const sparsec_argument_info_t &info = context.info;
    shape = sparsec_blocks_pattern(1, 1, context.problem.rows, context.problem.depth, int32_t(info.block_rows),
                                   int32_t(info.block_columns));
    rows = runtime::blockRowCount(shape);
    columns = runtime::blockColumnCount(shape);
    if (context.kernel->region(SPARSEC_REGION_MASK))
      visited = SPARSEC_BLOCK_PARTIAL;
  }

  llvm::Expected<OwnedPatternBuffer> make(llvm::StringRef text);

private:
  llvm::Expected<OwnedPatternBuffer> fromPredicate() const;
  llvm::Error fill(llvm::StringRef text);
  llvm::Error fillRandomly(llvm::StringRef text);
  llvm::Error fillWindow(llvm::StringRef text);
  llvm::Error readSmtx(llvm::StringRef path);
  llvm::Error readNpy(llvm::StringRef path);
  llvm::Error resize();

  const PatternContext &context;
  const readers::Limits &limits;
  sparsec_blocks_t shape;
  int64_t rows, columns;
  sparsec_pattern_encoding_t encoding = SPARSEC_PATTERN_INDEX_ARRAYS;
  /// The kind of a block that is there: where the kernel has a mask, the mask is to be asked.
  uint8_t visited = SPARSEC_BLOCK_FULL;
  std::vector<uint8_t> states;
};

} // namespace

/// Makes room for the states: none is visited yet.
llvm::Error StateMaker::resize() {
  uint64_t count = 1;
  for (int64_t size : {shape.batches, shape.heads, rows, columns})
    count = readers::multiply(count, uint64_t(size)).value_or(UINT64_MAX);
  if (count > limits.bytes)
    return failure("expects at most {} blocks, but got {} x {} x {} x {}", limits.bytes, shape.batches, shape.heads,
                   rows, columns);
  states.assign(count, SPARSEC_BLOCK_EMPTY);
  return llvm::Error::success();
}

llvm::Error StateMaker::fillRandomly(llvm::StringRef text) {
  auto random = parseRandomWithoutShape(text, context.seed);
  if (!random)
    return random.takeError();
  if (!random->density || random->below)
    return failure("expects random:density=D[:SEED] for a pattern");
  shape.batches = context.problem.sequences;
  shape.heads = context.problem.heads;
  if (llvm::Error error = resize())
    return error;
  std::mt19937_64 generator(random->seed);
  for (uint8_t &state : states)
    if (readers::nextUniform(generator) < *random->density)
      state = visited;
  return llvm::Error::success();
}

/// window:LEFT,RIGHT[:sink=N]: blocks with a key that some query sees there.
llvm::Error StateMaker::fillWindow(llvm::StringRef text) {
  auto [limitsText, sinkText] = text.split(':');
  auto [leftText, rightText] = limitsText.split(',');
  int64_t left = 0, right = 0, sink = 0;
  if (leftText.getAsInteger(10, left) || rightText.getAsInteger(10, right) || std::min(left, right) < -1 ||
      std::max(left, right) > readers::maxSize)
    return failure("expects a window such as 1023,0 (-1: no limit), but got '{}'", view(limitsText));
  if (!sinkText.empty() && (!sinkText.consume_front("sink=") || sinkText.getAsInteger(10, sink) || sink < 0))
    return failure("expects 'sink=' and a number of keys, but got '{}'", view(sinkText));
  if (llvm::Error error = resize())
    return error;
  const runtime::KeyWindow window = {false, left, right};
  for (int64_t row = 0; row < rows; ++row) {
    int64_t first = row * shape.block_rows, last = std::min(first + shape.block_rows, shape.rows) - 1;
    runtime::KeyRange begin = runtime::visibleKeys(window, shape.rows, shape.columns, first);
    runtime::KeyRange end = runtime::visibleKeys(window, shape.rows, shape.columns, last);
    for (int64_t column = 0; column < columns; ++column) {
      int64_t key = column * shape.block_columns;
      if (key < sink || (key < end.end && key + shape.block_columns > begin.begin))
        states[row * columns + column] = visited;
    }
  }
  return llvm::Error::success();
}

llvm::Error StateMaker::readSmtx(llvm::StringRef path) {
  auto file = readers::readFile(path);
  if (!file)
    return file.takeError();
  auto pattern = readers::readPattern((*file)->getBuffer(), path);
  if (!pattern)
    return pattern.takeError();
  if (pattern->rows != rows || pattern->columns != columns)
    return failure("{}: expects {} x {} blocks, but got {} x {}", view(path), rows, columns, pattern->rows,
                   pattern->columns);
  if (llvm::Error error = resize())
    return error;
  for (int64_t row = 0; row < rows; ++row)
    for (int32_t i = pattern->rowPtr[row]; i < pattern->rowPtr[row + 1]; ++i)
      states[row * columns + pattern->colIdx[i]] = visited;
  return llvm::Error::success();
}

/// Dimensions in front of the blocks are heads, and batches in front of these.
llvm::Error StateMaker::readNpy(llvm::StringRef path) {
  auto file = readers::readFile(path);
  if (!file)
    return file.takeError();
  auto array = readers::readNumpy((*file)->getBuffer(), path);
  if (!array)
    return array.takeError();
  llvm::ArrayRef<int64_t> sizes = array->shape;
  if (sizes.size() < 2 || sizes.size() > 4 || sizes.take_back(2) != llvm::ArrayRef({rows, columns}))
    return failure("{}: expects shape ([[batches,] heads,] {}, {}), but got ({})", view(path), rows, columns,
                   fmt::join(sizes, ", "));
  if ((array->kind != 'b' && array->kind != 'u') || array->width != 1)
    return failure("{}: expects bool or uint8 elements, but got {}", view(path), array->typeName());
  if (sizes.size() > 2)
    shape.heads = sizes.drop_back(2).back();
  if (sizes.size() > 3)
    shape.batches = sizes.front();
  states.assign(array->data.bytes_begin(), array->data.bytes_end());
  if (array->kind == 'b')
    std::replace(states.begin(), states.end(), uint8_t(SPARSEC_BLOCK_FULL), visited);
  return llvm::Error::success();
}

llvm::Error StateMaker::fill(llvm::StringRef text) {
  llvm::StringRef rest = text;
  if (rest.consume_front("random:"))
    return fillRandomly(rest);
  if (rest.consume_front("window:"))
    return fillWindow(rest);
  if (text.ends_with(".smtx"))
    return readSmtx(text);
  if (text.ends_with(".npy"))
    return readNpy(text);
  if (text != "dense")
    return failure("expects dense, mask, random:density=D, window:LEFT,RIGHT or a file .smtx or .npy, with or without "
                   "padded: in front, but got '{}'",
                   view(text));
  if (llvm::Error error = resize())
    return error;
  std::fill(states.begin(), states.end(), visited);
  return llvm::Error::success();
}

llvm::Expected<OwnedPatternBuffer> StateMaker::fromPredicate() const {
  sparsec_blocks_t own = shape;
  own.batches = context.problem.sequences;
  own.heads = context.problem.heads;
  own.encoding = encoding;
  const ArgumentArray views(context.hostViews.data(), context.hostViews.size());
  sparsec_pattern_buffer_t buffer = nullptr;
  if (llvm::Error error = toError(sparsec_pattern_from_predicate(context.kernel, &own, views.data(), views.size(),
                                                                 /*device=*/nullptr, &buffer)))
    return error;
  return OwnedPatternBuffer(buffer);
}

llvm::Expected<OwnedPatternBuffer> StateMaker::make(llvm::StringRef text) {
  if (text.consume_front("padded:"))
    encoding = SPARSEC_PATTERN_PADDED_LISTS;
  if (text == "mask")
    return fromPredicate();
  if (llvm::Error error = fill(text))
    return error;
  sparsec_pattern_buffer_t buffer = nullptr;
  shape.encoding = encoding;
  if (llvm::Error error = toError(sparsec_pattern_from_block_mask(&shape, states.data(), /*device=*/nullptr, &buffer)))
    return error;
  return OwnedPatternBuffer(buffer);
}

llvm::Expected<OwnedPatternBuffer> makePattern(const PatternContext &context, llvm::StringRef text,
                                               const readers::Limits &limits) {
  return StateMaker(context, limits).make(text);
}

/// Pairs of a sequence in all heads.
static double pairsOfSequence(const runtime::KeyWindow &window, int64_t queries, int64_t keys, int64_t heads,
                              const sparsec_blocks_t *pattern, int64_t sequence) {
  // The keys of one query in [begin, end).
  auto visible = [&](int64_t query, int64_t begin, int64_t end) {
    runtime::KeyRange range = runtime::visibleKeys(window, queries, keys, query);
    return double(std::max<int64_t>(0, std::min(end, range.end) - std::max(begin, range.begin)));
  };
  double pairs = 0.0;
  if (!pattern) {
    for (int64_t query = 0; query < queries; ++query)
      pairs += visible(query, 0, keys);
    return pairs * double(heads);
  }
  for (int64_t head = 0; head < pattern->heads; ++head)
    for (int64_t row = 0; row < runtime::blockRowCount(*pattern); ++row)
      for (const sparsec_block_lists_t &lists : {pattern->partial, pattern->full})
        for (int32_t block : runtime::blockList(*pattern, lists, runtime::listNumber(*pattern, sequence, head, row))) {
          int64_t key = block * int64_t(pattern->block_columns), first = row * pattern->block_rows;
          for (int64_t query = first; query < std::min(first + pattern->block_rows, queries); ++query)
            pairs += visible(query, key, key + pattern->block_columns);
        }
  // Lists for one head are those of all.
  return pairs * double(heads / std::max<int64_t>(pattern->heads, 1));
}

Pairs countPairs(const runtime::KeyWindow &window, const runtime::Problem &problem,
                 const runtime::SequenceArrays &arrays, const sparsec_blocks_t *pattern) {
  const bool areEqual =
      !arrays.queryStarts && !arrays.keyStarts && !arrays.keyLengths && (!pattern || pattern->batches == 1);
  const int64_t count = areEqual ? std::min<int64_t>(problem.sequences, 1) : problem.sequences;
  Pairs pairs = {0.0, 0.0};
  for (int64_t sequence = 0; sequence < count; ++sequence) {
    const int64_t queries = arrays.queriesOf(sequence, problem).count, keys = arrays.keysOf(sequence, problem).count;
    pairs.visited += pairsOfSequence(window, queries, keys, problem.heads, pattern, sequence);
    pairs.all += double(queries) * double(keys) * double(problem.heads);
  }
  const double share = double(problem.sequences) / double(std::max<int64_t>(count, 1));
  return {pairs.visited * share, pairs.all * share};
}

} // namespace sparsec::run
