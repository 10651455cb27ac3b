// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/pattern_predicate.h"
#include "arguments/memory_check.h"
#include "operations/attention.h"
#include "operations/operation.h"
#include "operations/sequences.h"
#include "plan/key_range.h"
#include "reference/region.h"

namespace sparsec::runtime {

namespace {

/// Evaluates the mask of a kernel for every block of a pattern.
class PredicateEvaluator {
public:
  PredicateEvaluator(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                     const sparsec_blocks_t &pattern)
      : kernel(kernel), arguments(arguments), pattern(pattern), rows(blockRowCount(pattern)),
        columns(blockColumnCount(pattern)), window(hasOwnLengths(kernel) ? KeyWindow() : keyWindow(kernel)) {}

  Status run(BlockStates &states);

private:
  Status evaluateAll(BlockStates &states) const;
  Status evaluateBlocks(int64_t begin, int64_t end, BlockStates &states) const;
  Status evaluateBlock(Region &mask, int64_t block, uint8_t &state) const;

  const sparsec_kernel_s &kernel;
  const sparsec_argument_t *arguments;
  const sparsec_blocks_t &pattern;
  const int64_t rows, columns;    // of blocks
  const KeyWindow window;         // none where the positions of queries differ from sequence to sequence
  int64_t batches = 0, heads = 0; // that the mask tells apart
};

/// A mask that does not ask for the batch or the head is evaluated for the first one.
Status PredicateEvaluator::run(BlockStates &states) {
  Region mask(kernel, arguments, SPARSEC_REGION_MASK);
  int64_t blocks = rows * columns;
  batches = mask.uses(SPARSEC_INPUT_BATCH) ? pattern.batches : std::min<int64_t>(pattern.batches, 1);
  heads = mask.uses(SPARSEC_INPUT_HEAD) ? pattern.heads : std::min<int64_t>(pattern.heads, 1);
  BlockStates own(batches * heads * blocks);
  SPARSEC_RETURN_IF_ERROR(evaluateAll(own));
  for (int64_t list = 0; list < pattern.batches * pattern.heads; ++list) {
    int64_t batch = list / pattern.heads % batches, head = list % pattern.heads % heads;
    std::copy_n(own.begin() + (batch * heads + head) * blocks, blocks, states.begin() + list * blocks);
  }
  return {};
}

Status PredicateEvaluator::evaluateAll(BlockStates &states) const {
  ThreadPool threads(std::max(1u, std::thread::hardware_concurrency()));
  return threads.runChecked(int64_t(states.size()),
                            [&](int64_t begin, int64_t end) { return evaluateBlocks(begin, end, states); });
}

Status PredicateEvaluator::evaluateBlocks(int64_t begin, int64_t end, BlockStates &states) const {
  Region mask(kernel, arguments, SPARSEC_REGION_MASK);
  for (int64_t block = begin; block < end; ++block)
    SPARSEC_RETURN_IF_ERROR(evaluateBlock(mask, block, states[block]));
  return {};
}

/// Elements that causal and window exclude do not count: the kernel excludes it in full blocks too.
Status PredicateEvaluator::evaluateBlock(Region &mask, int64_t block, uint8_t &state) const {
  int64_t column = block % columns, list = block / columns;
  int64_t row = list % rows, head = list / rows % heads;
  int64_t batch = list / rows / heads;
  int64_t firstKey = column * pattern.block_columns;
  int64_t endKey = std::min(firstKey + pattern.block_columns, pattern.columns);
  int64_t firstQuery = row * pattern.block_rows;
  int64_t endQuery = std::min(firstQuery + pattern.block_rows, pattern.rows);
  bool anyVisible = false, anyHidden = false;
  for (int64_t query = firstQuery; query < endQuery; ++query) {
    KeyRange visible = visibleKeys(window, pattern.rows, pattern.columns, query);
    for (int64_t key = std::max(firstKey, visible.begin); key < std::min(endKey, visible.end); ++key) {
      double result = 0.0;
      SPARSEC_RETURN_IF_ERROR(mask.evaluate({batch, head, query, key, nullptr}, result, nullptr));
      (result != 0.0 ? anyVisible : anyHidden) = true;
      if (anyVisible && anyHidden) {
        state = SPARSEC_BLOCK_PARTIAL;
        return {};
      }
    }
  }
  state = anyVisible ? SPARSEC_BLOCK_FULL : SPARSEC_BLOCK_EMPTY;
  return {};
}

/// The operands that the mask loads; other arguments are not looked at.
Status checkOperands(const sparsec_kernel_s &kernel, const Region &mask, const Device *device,
                     const sparsec_argument_t *arguments, size_t count) {
  const int32_t place = device ? device->info.ordinal : int32_t(SPARSEC_PLACE_HOST);
  for (uint32_t number = 0; number < kernel.operands().size(); ++number) {
    if (!mask.loads(number))
      continue;
    const uint32_t i = kernel.operands()[number].argument;
    if (!arguments || count != kernel.info->argument_count)
      return invalidArgument("the mask of kernel '", kernel.info->name, "' loads from '", kernel.argument(i).name,
                             "': expects all ", kernel.info->argument_count, " arguments, but got ",
                             arguments ? count : 0);
    Checked operand = checkedArgument(kernel, arguments, i);
    SPARSEC_RETURN_IF_ERROR(operand.checkView(place));
    SPARSEC_RETURN_IF_ERROR(checkRegionOperand(operand));
    if (device)
      SPARSEC_RETURN_IF_ERROR(checkMemory(*device, operand.subject(), operand.value));
  }
  return {};
}

} // namespace

Status checkPatternBlocks(const sparsec_kernel_s &kernel, const sparsec_blocks_t &shape, const char *name) {
  uint32_t number = kernel.of(SPARSEC_ATTENTION_PATTERN);
  if (number == noArgument)
    return {};
  const sparsec_argument_info_t &info = kernel.argument(number);
  if (shape.block_rows != int32_t(info.block_rows) || shape.block_columns != int32_t(info.block_columns))
    return invalidArgument(name, ": expects blocks of ", info.block_rows, " queries x ", info.block_columns,
                           " keys, as '", info.name, "' of the kernel has them, but got ", shape.block_rows, " x ",
                           shape.block_columns);
  return {};
}

Status checkPredicate(const sparsec_kernel_s &kernel, const sparsec_blocks_t &shape, const char *name,
                      const Device *device, const sparsec_argument_t *arguments, size_t count) {
  if (!kernel.region(SPARSEC_REGION_MASK))
    return invalidArgument("kernel '", kernel.info->name, "' has no mask region");
  SPARSEC_RETURN_IF_ERROR(checkPatternBlocks(kernel, shape, name));
  return checkOperands(kernel, Region(kernel, arguments, SPARSEC_REGION_MASK), device, arguments, count);
}

Status evaluatePredicate(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                         const sparsec_blocks_t &pattern, BlockStates &outStates) {
  outStates.resize(listCount(pattern) * blockColumnCount(pattern));
  return PredicateEvaluator(kernel, arguments, pattern).run(outStates);
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_pattern_from_predicate(sparsec_kernel_t kernel, const sparsec_blocks_t *shape,
                                                const sparsec_argument_t *host_arguments, size_t argument_count,
                                                sparsec_device_t device, sparsec_pattern_buffer_t *out_buffer) {
  return guarded([&]() -> Status {
    sparsec_blocks_t pattern;
    SPARSEC_RETURN_IF_ERROR(startPattern(shape, out_buffer, pattern));
    if (!kernel)
      return invalidArgument("kernel is NULL");
    SPARSEC_RETURN_IF_ERROR(
        checkPredicate(*kernel, *shape, "shape", /*device=*/nullptr, host_arguments, argument_count));
    BlockStates states;
    SPARSEC_RETURN_IF_ERROR(evaluatePredicate(*kernel, host_arguments, pattern, states));
    return makePatternBuffer(pattern, states, device, *out_buffer);
  });
}
