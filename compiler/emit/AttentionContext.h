// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the roles of an attention program share: its arguments, where a tile of queries lies, and which key blocks it
// sees.

#ifndef SPARSEC_EMIT_ATTENTION_CONTEXT_H
#define SPARSEC_EMIT_ATTENTION_CONTEXT_H

#include "ProgramContext.h"

#include <optional>

namespace sparsec {

/// A block of queries of one batch and head. All i32.
struct QueryTile {
  mlir::Value batch, head, keyHead; // keyHead: of the keys and values
  mlir::Value block;                // of the pattern's rows
  mlir::Value first;                // query
};

/// Key blocks from `begin` up to `end`, i32.
struct KeyBlocks {
  mlir::Value begin, end;
};

/// One of the pattern's lists of a tile: `count` (i32) key blocks from the pointer `first` on.
struct KeyList {
  mlir::Value first, count;
};

struct AttentionContext : ProgramContext {
  AttentionContext(ProgramOp program, mlir::LLVM::LLVMFuncOp function, KernelBuilder &b);

  mlir::Value batches() { return size(query, 0); }
  mlir::Value heads() { return size(query, 1); }
  mlir::Value queries() { return size(query, 2); }
  mlir::Value keys() { return size(key, 2); }
  mlir::Value queryBlocks() { return b.divide(b.add(queries(), tileRows - 1), tileRows); }
  /// Where query 0 stands among the keys.
  mlir::Value queryOffset() { return b.sub(keys(), queries()); }
  mlir::Value size(int64_t argument, int64_t dimension) {
    return parameters.get(ParameterKind::size, argument, dimension);
  }
  /// base + sum of index * stride; the last dimension is contiguous.
  mlir::Value elementAddress(int64_t argument, mlir::Type element, mlir::ValueRange indices);

  /// A tile row is a head of a batch, a panel a block of queries.
  QueryTile tile(mlir::Value tileRow, mlir::Value panel);
  /// The key blocks that causal and window leave to some query of the tile; none: begin >= end.
  KeyBlocks reachableBlocks(const QueryTile &tile);
  /// The pattern's lists: calls `visit(block, isPartial, carried)` for every block of them that is reachable, or
  /// without a pattern for every reachable block.
  using Visit = llvm::function_ref<KernelBuilder::Values(mlir::Value block, bool isPartial, mlir::ValueRange carried)>;
  KernelBuilder::Values forEachKeyBlock(const QueryTile &tile, mlir::ValueRange carried, Visit visit);

  KeyList list(const QueryTile &tile, bool isPartial);
  mlir::Value isReachable(const KeyBlocks &reachable, mlir::Value block);

  /// Probabilities in pairs, as operands of a product.
  KernelBuilder::Values packPairs(mlir::ValueRange values);

  // Kernel argument numbers.
  int64_t query, key, value, result;
  std::optional<int64_t> pattern, lse;
  mlir::Type element; // of Q, K and V
  int64_t headDimension, tileRows;
  int64_t keyBlock;                          // keys of a block of the pattern, or of a step without one
  int64_t windowLeft = -1, windowRight = -1; // -1: no limit; causal is a right limit of 0
  SoftmaxOp softmax;

private:
  mlir::Value patternField(int64_t field) { return parameters.get(ParameterKind::pattern_field, *pattern, field); }
  KernelBuilder::Values forEachInList(const QueryTile &tile, KeyBlocks reachable, bool isPartial,
                                      mlir::ValueRange carried, Visit visit);
};

} // namespace sparsec

#endif // SPARSEC_EMIT_ATTENTION_CONTEXT_H
