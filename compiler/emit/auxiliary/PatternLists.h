// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The auxiliary kernels of attention write the padded lists of a pattern in ascending order. They share this code.

#ifndef SPARSEC_EMIT_PATTERN_LISTS_H
#define SPARSEC_EMIT_PATTERN_LISTS_H

#include "AttentionContext.h"
#include "SideKernel.h"

namespace sparsec {

/// The two kinds of lists of a block of queries.
enum ListKind : int64_t { partialList, fullList };
inline constexpr ListKind listKinds[] = {partialList, fullList};

/// Writes the lists of the kernel's pattern.
class PatternLists {
public:
  explicit PatternLists(AttentionContext &context) : context(context), b(context.b) {}

  /// Entry `position` of a list becomes `block` if the condition holds.
  void append(ListKind kind, mlir::Value list, mlir::Value position, mlir::Value block, mlir::Value condition);
  /// The numbers of entries of both lists, by kind, if the condition holds.
  void storeCounts(mlir::Value list, mlir::ValueRange counts, mlir::Value condition);

private:
  AttentionContext &context;
  KernelBuilder &b;
};

/// Whether an attention program has a pattern.
bool hasPattern(ProgramOp program);

/// Emits an auxiliary kernel of a program with a pattern. Its tiles are whole blocks of queries, each a list.
struct AuxiliaryShape {
  AuxiliaryKind kind;
  llvm::StringRef suffix;
  int64_t warps, listsPerCta;
  int64_t sharedMemory; // bytes
};
void emitAuxiliary(ProgramOp program, const AuxiliaryShape &shape,
                   llvm::function_ref<void(AttentionContext &)> emitBody);

} // namespace sparsec

#endif // SPARSEC_EMIT_PATTERN_LISTS_H
