// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of a tile of queries, for a role that visits them one after another.

#ifndef SPARSEC_EMIT_KEY_WALK_H
#define SPARSEC_EMIT_KEY_WALK_H

#include "AttentionContext.h"

namespace sparsec {

class KeyWalk {
public:
  /// `lists` are null where the program has no pattern.
  KeyWalk(AttentionContext &context, WalkKeysOp op, const QueryTile &tile, const KeyPart &part, const KeyLists *lists)
      : context(context), b(context.b), op(op), tile(tile), part(part), lists(lists) {}

  /// Calls `visit(blocks, carried)` for every step of the op.
  using Visit = llvm::function_ref<KernelBuilder::Values(mlir::ValueRange blocks, mlir::ValueRange carried)>;
  KernelBuilder::Values emit(mlir::ValueRange carried, Visit visit);

private:
  KernelBuilder::Values visitAll(const KeyBlocks &reachable, mlir::ValueRange carried, Visit visit);
  KernelBuilder::Values visitLists(const KeyBlocks &reachable, const KeyLists &entries, mlir::ValueRange carried,
                                   Visit visit);
  KernelBuilder::Values visitChunks(mlir::Value block, mlir::ValueRange carried, Visit visit);
  KernelBuilder::Values visitPair(mlir::Value isEnd, mlir::Value isReachable, mlir::Value block,
                                  mlir::ValueRange carried, Visit visit);

  AttentionContext &context;
  KernelBuilder &b;
  WalkKeysOp op;
  const QueryTile &tile;
  const KeyPart part;
  const KeyLists *lists;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_KEY_WALK_H
