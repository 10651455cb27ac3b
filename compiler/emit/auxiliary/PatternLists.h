// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The auxiliary kernels of attention write the padded lists of a pattern in ascending order. They share this code.

#ifndef SPARSEC_EMIT_PATTERN_LISTS_H
#define SPARSEC_EMIT_PATTERN_LISTS_H

#include "QueryContext.h"
#include "SideKernel.h"

#include "sparsec/launch_info.h"

namespace sparsec {

/// The two kinds of lists of a block of queries.
enum ListKind : int64_t { partialList, fullList };
inline constexpr ListKind listKinds[] = {partialList, fullList};
/// By ListKind.
inline constexpr sparsec_block_state_t stateOfKind[] = {SPARSEC_BLOCK_PARTIAL, SPARSEC_BLOCK_FULL};

/// Writes the lists of the kernel's pattern.
class PatternLists {
public:
  explicit PatternLists(QueryContext &context) : context(context), b(context.b) {}

  /// Calls `body` in every warp with its list, if there is one. A CTA has `warps` warps.
  void forListOfWarp(int64_t warps, llvm::function_ref<void(mlir::Value list)> body);

  /// The block of queries that a list is for.
  QueryTile tileOf(mlir::Value list);
  /// Key blocks that causal and window let some query of a list see. Positions differ from sequence to sequence: there
  /// these limits do not count.
  KeyBlocks reachableBlocks(mlir::Value list);
  /// All key blocks, i32.
  mlir::Value keyBlocks() { return b.divide(b.add(context.keys(), context.keyBlock - 1), context.keyBlock); }

  /// Entry `position` of a list becomes `block` if the condition holds.
  void append(ListKind kind, mlir::Value list, mlir::Value position, mlir::Value block, mlir::Value condition);
  /// The numbers of entries of both lists, by kind, if the condition holds.
  void storeCounts(mlir::Value list, mlir::ValueRange counts, mlir::Value condition);

private:
  QueryContext &context;
  KernelBuilder &b;
};

/// Whether an attention program has a pattern.
bool hasPattern(ProgramOp program);

/// Emits an auxiliary kernel of a program with a pattern. Its tiles are whole blocks of queries, each a list.
struct AuxiliaryShape {
  AuxiliaryKind kind;
  llvm::StringRef suffix;
  int64_t warps, listsPerCta;
  int64_t sharedMemory;  // bytes
  int64_t ctasPerSm = 0; // see SideKernelShape
};
void emitAuxiliary(ProgramOp program, const AuxiliaryShape &shape, llvm::function_ref<void(QueryContext &)> emitBody);

} // namespace sparsec

#endif // SPARSEC_EMIT_PATTERN_LISTS_H
