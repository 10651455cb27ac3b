// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The emitter of the host kernel of sparsec.attention. HostAttention.cpp describes the kernel.

#ifndef SPARSEC_EMIT_HOST_HOST_ATTENTION_H
#define SPARSEC_EMIT_HOST_HOST_ATTENTION_H

#include "host/HostSequences.h"

#include "sparsec/launch_info.h"

namespace sparsec {

class HostAttention : HostSequences {
public:
  HostAttention(ProgramOp program, AttentionOp attention)
      : HostSequences(program, attention), headDimension(attention.getHeadDimension()),
        valueDimension(attention.getValueDimension()) {}

  mlir::LLVM::LLVMFuncOp emit();

private:
  /// One of the two lists that a pattern has for each block of queries.
  struct BlockLists {
    Value starts, indices;
  };

  /// A tile and what all its queries share.
  struct Tile {
    Value head, keyHead, blockRow, firstQuery;
    Value queries;            // those of the tile that are below Sq
    Value firstKey, keyLimit; // some query may see keys in [firstKey, keyLimit)
  };

  /// Keys that are unpacked together.
  struct Chunk {
    Value firstKey;
    Value keys; // those of the chunk that are below Skv
  };

  /// Queries of a tile that share vectors.
  struct Group {
    Value index;
    Value firstQuery; // of all queries
    Value queries;    // those of the group that are below Sq
    Value begin, end; // the keys of the chunk that some query of the group may see
  };

  /// Elements of a vector: [begin, end).
  struct Lanes {
    Value begin, end;
  };

  // Parameters and tiles (HostAttention.cpp).
  Value patternParameter(Type type, sparsec_field_t field);
  void emitParameters();
  void emitPatternParameters();
  void emitTile(Value index);
  void emitQueries(const Tile &tile);
  /// Calls `body` for the groups of a tile.
  void forGroups(const Tile &tile, llvm::function_ref<void(Group)> body);

  // Which keys (HostAttentionKeys.cpp).
  int64_t queryBlock() { return attention.getPattern() ? attention.getPattern().getType().getQueryBlock() : rowSize; }
  /// The largest k - p that causal and window allow, -1 for none.
  int64_t rightLimit() { return attention.getCausal() ? 0 : attention.getWindowRight(); }
  bool isClipped() { return rightLimit() != -1 || attention.getWindowLeft() != -1; }
  Value firstVisibleKey(Value query);
  Value visibleKeyLimit(Value query);
  Lanes lanesThatSee(const Group &group, Value key);
  /// Which lanes these are, a vector of i1.
  Value isOf(const Lanes &lanes);
  std::pair<Value, Value> emitListRange(const BlockLists &lists, Value list);
  void emitList(const Tile &tile, const BlockLists &lists, bool isPartial);
  void emitKeys(const Tile &tile, Value firstKey, Value keyLimit, bool isMasked);
  void emitUnpack(const Tile &tile, const Chunk &chunk);

  // Steps (HostAttentionSteps.cpp).
  void emitGroup(const Tile &tile, const Chunk &chunk, Group group, bool isMasked);
  void emitVisibleKeys(const Tile &tile, const Chunk &chunk, const Group &group, bool isMasked);
  void emitScores(const Group &group);
  void emitRegions(const Tile &tile, const Chunk &chunk, const Group &group, bool isMasked);
  Value emitRegion(mlir::Region &region, llvm::ArrayRef<Value> arguments);
  Value emitMaximum(const Chunk &chunk, const Group &group);
  Value emitWeights(const Group &group, Value reference, Value sum);
  void emitValues(const Group &group, Value correction);

  // The end of a tile (HostAttentionResult.cpp).
  void emitSink(const Tile &tile);
  void emitResult(const Tile &tile);
  void emitResultRow(const Tile &tile, const Group &group, Value lane);

  // Vectors, by their number in a buffer.
  Value vectorAddress(Value buffer, Value index) { return address(f32, buffer, multiply(index, constant(groupSize))); }
  Value loadVector(Value buffer, Value index) {
    return mlir::LLVM::LoadOp::create(b, vectorType, vectorAddress(buffer, index), vectorAlignment);
  }
  void storeVector(Value value, Value buffer, Value index) {
    mlir::LLVM::StoreOp::create(b, value, vectorAddress(buffer, index), vectorAlignment);
  }
  Value constantVector(float value) { return constant(mlir::DenseElementsAttr::get(vectorType, value)); }

  // Short forms.
  // The vector of dimension d of a group, in `queryPanel` and in `accumulator`.
  Value queryVector(Value group, Value d) { return add(multiply(group, constant(headDimension)), d); }
  Value sumVector(Value group, Value d) { return add(multiply(group, constant(valueDimension)), d); }
  Value exponential(Value x);
  Value isEqual(Value x, Value y) { return mlir::arith::CmpFOp::create(b, mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value select(Value condition, Value x, Value y) { return mlir::arith::SelectOp::create(b, condition, x, y); }
  Value asI32(Value index) { return mlir::arith::TruncIOp::create(b, i32, index); }

  /// Queries in a vector: two registers of eight f32.
  static constexpr int64_t groupSize = 16;
  /// Vectors of sums that a loop of a product computes.
  static constexpr int64_t productRows = 4;
  static constexpr unsigned vectorAlignment = groupSize * sizeof(float);
  mlir::VectorType vectorType = mlir::VectorType::get(groupSize, f32);

  int64_t headDimension, valueDimension;
  Tensor query, key, value, result, lse, sinks;
  Value scale;
  Value encoding, patternBatches, patternHeads, capacity;
  BlockLists partial, full;
  llvm::SmallVector<Tensor> extras;
  Value blockRows;   // blocks of queries of a head
  Value patternRows; // block rows of the pattern
  Sequence sequence; // of the tile
  // Rows of 64 keys.
  Value keyPanel, valuePanel; // D and Dv elements
  Value scores;               // a vector of queries
  // Groups of queries.
  Value queryPanel, accumulator; // D and Dv vectors
  Value maxima, sums;            // one vector
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_HOST_ATTENTION_H
