// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The context that the roles of an attention program share: its arguments, where a tile of queries is, and which key
// blocks it sees.

#ifndef SPARSEC_EMIT_QUERY_CONTEXT_H
#define SPARSEC_EMIT_QUERY_CONTEXT_H

#include "InlineRegion.h"
#include "ProgramContext.h"
#include "ScoreForm.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace sparsec {

/// A block of queries of one batch and head. All i32.
struct QueryTile {
  mlir::Value batch, head, keyHead; // keyHead: of the keys and values
  mlir::Value first;                // query
  mlir::Value queries, keys;        // of its sequence; null: those of Q and K
};

/// Key blocks from `begin` up to `end`, i32.
struct KeyBlocks {
  mlir::Value begin, end;
};

/// A part of the keys of a tile, and the number of parts. In a program that is cut, `number` is the first block of the
/// part and `count` its number of blocks. All i32; null: all keys.
struct KeyPart {
  mlir::Value number, count;
};

/// The pattern's lists of a tile, as one: the partial blocks, then the full ones. All i32.
struct KeyLists {
  // Block i is partial.indices[partial + i] or, from partialCount on, full.indices[full + i]. The runtime lets no index
  // array have more than 2^31 entries.
  mlir::Value partial, full;
  mlir::Value partialCount, count;
  mlir::Value firstBlock; // 0 where both lists are empty

  auto fields() { return std::tie(partial, full, partialCount, count, firstBlock); }
};

/// The entries of a joint list, in the section of a plan: from `begin` up to `end`, i32.
struct JointList {
  mlir::Value begin, end;

  auto fields() { return std::tie(begin, end); }
};

/// The regions of the softmax and their operands, whatever op has them.
struct SoftmaxRegions {
  mlir::Region *score = nullptr, *mask = nullptr;
  mlir::ValueRange extras;
  mlir::Value scale; // or null
};

/// The pattern of an attention program, or null.
mlir::Value patternOf(ProgramOp program);

struct QueryContext : ProgramContext {
  QueryContext(ProgramOp program, mlir::LLVM::LLVMFuncOp function, KernelBuilder &b);

  mlir::Value heads() { return size(query, 1); }
  mlir::Value queries() { return size(query, 2); }
  mlir::Value keys() { return size(key, 2); }
  mlir::Value queries(const QueryTile &tile) { return tile.queries ? tile.queries : queries(); }
  mlir::Value keys(const QueryTile &tile) { return tile.keys ? tile.keys : keys(); }
  /// Panels of a head. Those of the grid may be parts of them.
  mlir::Value panels();
  /// Block rows of a pattern for `queries` of each head.
  mlir::Value queryBlocks(mlir::Value queries) { return b.divide(b.add(queries, queryBlock - 1), queryBlock); }
  /// The position of query 0 among the keys.
  mlir::Value queryOffset(const QueryTile &tile) { return b.sub(keys(tile), queries(tile)); }

  /// A tile row is a head of a batch.
  QueryTile tile(mlir::Value tileRow, mlir::Value block);
  /// The key blocks that causal and window allow for some query of the tile. There is none if begin >= end.
  KeyBlocks reachableBlocks(const QueryTile &tile);
  /// The lists of key blocks in the program's pattern. Its block rows are those of packed queries, or of Q.
  KeyLists keyLists(const QueryTile &tile, bool isPacked);
  /// The list that the plan has for the two block rows of a tile.
  JointList jointList(const QueryTile &tile);
  // The keys that causal, window and the number of keys let a query see: the keys from a first one, null without a
  // limit at the left, up to an end.
  mlir::Value firstInReach(const QueryTile &tile, mlir::Value query);
  mlir::Value endOfReach(const QueryTile &tile, mlir::Value query);
  mlir::Value isInReach(const QueryTile &tile, mlir::Value query, mlir::Value key);
  /// Whether a thread has registers to spare between two steps.
  bool hasManyRegisters() const { return schedule.getConsumerRegisters() >= 200; }
  /// Values of a region of the softmax for one query and key, as inlineValues gives them; `arguments` are its arguments
  /// but for the extra operands.
  KernelBuilder::Values computeValues(mlir::Region &region, mlir::ValueRange arguments, mlir::ValueRange wanted,
                                      KnownValues known = {}, ReplaceOp replace = {});
  /// Loads now what the regions load by batch and head alone.
  void loadForTile(const QueryTile &tile);
  mlir::Value patternField(int64_t field) { return parameters.get(ParameterKind::pattern_field, *pattern, field); }
  // A part has an equal share of the blocks, or of the entries of the lists, but at least `leastBlocks` of them.
  KeyBlocks partOf(const KeyBlocks &all, const KeyPart &part, int64_t leastBlocks);
  KeyLists partOf(const KeyLists &all, const KeyPart &part, int64_t leastBlocks);
  /// Block i of the lists, which must be there.
  mlir::Value keyBlockAt(const KeyLists &lists, mlir::Value i);
  mlir::Value isReachable(const KeyBlocks &reachable, mlir::Value block);

  // Kernel argument numbers.
  int64_t query, key, value, result;
  std::optional<int64_t> pattern, lse, sinks;
  mlir::Type element; // of Q, K and V
  int64_t headDimension, valueDimension;
  int64_t queryBlock, keyBlock;              // of the pattern
  int64_t tileRows, tileKeys;                // of a tile and a step
  int64_t windowLeft = -1, windowRight = -1; // -1: no limit; causal is a right limit of 0
  bool hasSequences = false;                 // with sizes of their own
  bool hasSumsInProducts = false;            // the second product sums the probabilities of rows
  int64_t queryExponent = 0;                 // of the power of two by which queries have been multiplied
  SoftmaxRegions softmax;
  ScoreForm scoreForm;

private:
  void describeSoftmax(TileSoftmaxOp op);
  template <typename Op> void describeStore(Op store);
  mlir::Value loadExtra(ElementOp element, mlir::ValueRange indices);
  llvm::DenseMap<mlir::Operation *, mlir::Value> tileElements; // of sparsec.element ops
  struct KeyList {
    mlir::Value first, count;
  };
  /// One that is empty where `exists` is false; null is true.
  KeyList keyList(mlir::Value number, int64_t startsField, mlir::Value exists);
  mlir::Value firstBlockOf(const KeyLists &lists);
};

} // namespace sparsec

#endif // SPARSEC_EMIT_QUERY_CONTEXT_H
