// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The auxiliary kernels of attention write the padded lists of a pattern in ascending order. They share this code, and
// the shape of machine kernels that are beside those of programs.

#ifndef SPARSEC_EMIT_PATTERN_LISTS_H
#define SPARSEC_EMIT_PATTERN_LISTS_H

#include "AttentionContext.h"

namespace sparsec {

/// The two kinds of lists of a block of queries.
enum ListKind : int64_t { partialList, fullList };
inline constexpr ListKind listKinds[] = {partialList, fullList};

inline constexpr int64_t warpLanes = 32;

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

/// The CTAs of a machine kernel beside those of programs.
struct SideKernelShape {
  llvm::StringRef suffix; // of its name, after that of the kernel
  int64_t warps, tilesOfCta;
  int64_t tileM, tileN;
  int64_t sharedMemory; // bytes
};

/// Emits such a machine kernel as a function beside a program, whose operands it takes. `emitBody` fills it.
mlir::LLVM::LLVMFuncOp emitBeside(ProgramOp program, const SideKernelShape &shape,
                                  llvm::function_ref<void(AttentionContext &)> emitBody);

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
