// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "operations/operation.h"
#include "arguments/overlap.h"

#include <algorithm>
#include <iterator>

namespace sparsec::runtime {

static const Operation *const operations[] = {&spmmOperation, &attentionOperation};

const Operation &operationOf(const sparsec_kernel_info_t &kernel) {
  return **std::find_if(std::begin(operations), std::end(operations),
                        [&](const Operation *operation) { return operation->family == kernel.family; });
}

Problem problemOf(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments) {
  const Operation &operation = operationOf(kernel);
  Problem problem = operation.fixedSizes(kernel);
  auto learn = [&](ProblemSize size, int64_t value) {
    if (size && problem.*size == SPARSEC_DYNAMIC)
      problem.*size = value;
  };
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (arguments[i].kind != SPARSEC_ARGUMENT_BSR)
      continue;
    const sparsec_blocks_t &matrix = blocksOf(arguments[i]);
    Dimensions dimensions = operation.dimensions(kernel.argument(i));
    learn(dimensions[0], matrix.rows);
    learn(dimensions[1], matrix.columns);
    learn(&Problem::blocks, matrix.capacity);
  }
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (arguments[i].kind != SPARSEC_ARGUMENT_DENSE)
      continue;
    Dimensions dimensions = operation.dimensions(kernel.argument(i));
    for (uint32_t d = 0; d < kernel.argument(i).rank; ++d)
      learn(dimensions[d], denseOf(arguments[i]).sizes[d]);
  }
  return problem;
}

static Status checkArgument(const sparsec_kernel_s &kernel, const Checked &argument, const Problem &problem, Use use) {
  const Operation &operation = operationOf(kernel);
  bool isDense = argument.info.kind == SPARSEC_ARGUMENT_DENSE;
  if (isDense) {
    Dimensions dimensions = operation.dimensions(argument.info);
    int64_t sizes[SPARSEC_MAX_RANK];
    std::transform(dimensions.begin(), dimensions.end(), sizes,
                   [&](ProblemSize size) { return size ? problem.*size : SPARSEC_DYNAMIC; });
    SPARSEC_RETURN_IF_ERROR(argument.checkTensor(sizes));
  }
  SPARSEC_RETURN_IF_ERROR(operation.checkArgument(kernel, argument, problem, use));
  bool needsMemory = isDense && !(use == Use::reference && isResult(argument.info));
  return needsMemory ? argument.checkTensorMemory() : Status();
}

Status checkArguments(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count, Use use,
                      Problem &outProblem) {
  SPARSEC_RETURN_IF_ERROR(checkViews(kernel, arguments, count, use));
  Problem problem = problemOf(kernel, arguments);
  for (uint32_t i = 0; i < count; ++i)
    SPARSEC_RETURN_IF_ERROR(checkArgument(kernel, checkedArgument(kernel, arguments, i), problem, use));
  outProblem = problem;
  return use == Use::launch ? checkOverlaps(kernel, arguments) : Status();
}

} // namespace sparsec::runtime
