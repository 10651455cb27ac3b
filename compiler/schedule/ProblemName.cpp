// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProblemName.h"

#include <fmt/format.h>

using namespace sparsec;

/// Returns the end of a name, behind the layouts.
static std::string describeResults(const ProblemDescription &problem) {
  std::string text = fmt::format(", {} bytes", problem.outputBytes);
  if (problem.hasEpilogue)
    text += fmt::format(", epilogue of {} bytes", problem.epilogueBytes);
  if (problem.hasTwoLevels)
    text += ", two levels";
  if (problem.hasScales)
    text += problem.hasXScale ? ", scales of x" : ", scales";
  return text;
}

std::string sparsec::problemName(const ProblemDescription &problem) {
  std::string blocks = fmt::format("{} {}x{}", nameOf(problem.elementType), problem.blockRows, problem.blockColumns);
  if (problem.tileColumns != 0) // of two block-sparse matrices, which have one layout
    return fmt::format("spgemm {}x{}", blocks, problem.tileColumns) + describeResults(problem);
  return fmt::format("spmm {}, w {}, x {}, y {}", blocks, problem.wTransposed ? "km" : "mk",
                     problem.xTransposed ? "nk" : "kn", problem.yTransposed ? "nm" : "mn") +
         describeResults(problem);
}

std::string sparsec::problemName(const SampledDescription &problem) {
  return fmt::format("sddmm {} {}x{}, a {}, b {}", nameOf(problem.elementType), problem.blockRows,
                     problem.patternColumns, problem.wTransposed ? "km" : "mk", problem.xTransposed ? "nk" : "kn") +
         describeResults(problem);
}

std::string sparsec::problemName(const AttentionDescription &problem) {
  return fmt::format("attention {} {}/{}, blocks {}x{}{}{}", nameOf(problem.elementType), problem.headDimension,
                     problem.valueColumns(), problem.queryBlock, problem.keyBlock,
                     problem.regionsNeedRegisters ? ", regions" : "", problem.hasPackedQueries ? ", packed" : "");
}
