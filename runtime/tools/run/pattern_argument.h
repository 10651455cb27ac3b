// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The block pattern of an attention kernel, from what the user wrote after --arg.

#ifndef SPARSEC_TOOLS_RUN_PATTERN_ARGUMENT_H
#define SPARSEC_TOOLS_RUN_PATTERN_ARGUMENT_H

#include "status_error.h"

#include "operations/sequences.h"
#include "plan/key_range.h"

#include "sparsec/argument.hpp"

#include "llvm/ADT/ArrayRef.h"

namespace sparsec::run {

/// The inputs of a pattern besides its text.
struct PatternContext {
  sparsec_kernel_t kernel;
  const sparsec_argument_info_t &info; // of the pattern
  const runtime::Problem &problem;
  llvm::ArrayRef<Argument> hostViews; // of all arguments: the mask region may load from operands
  uint64_t seed;
};

/// Index arrays in host memory. What `text` may be is in sparsec-run --help.
llvm::Expected<OwnedPatternBuffer> makePattern(const PatternContext &context, llvm::StringRef text,
                                               const readers::Limits &limits);

/// Pairs of a query and a key of the same sequence, in all sequences and heads: all of them, and those that a kernel
/// visits.
struct Pairs {
  double visited, all;
};

/// A kernel visits the pairs that causal, window and the blocks of the pattern (index arrays in host memory, null: all
/// blocks) leave. The mask region leaves fewer, but saves no work.
Pairs countPairs(const runtime::KeyWindow &window, const runtime::Problem &problem,
                 const runtime::SequenceArrays &arrays, const sparsec_blocks_t *pattern);

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_PATTERN_ARGUMENT_H
