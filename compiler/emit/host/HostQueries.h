// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops of attention on the host. Sixteen queries are neighbours in vectors, so that the softmax needs no sum inside
// a vector, and K and V keep their order. Both products compute four vectors at a time.
//
// The body of a walk over keys has two kinds of ops. Loads are for all queries of the tile: they come first. All other
// ops work on rows, so that they are translated inside a loop over groups of sixteen queries. The scores and the
// probabilities of a group then stay in the first cache, and a group takes only the keys that one of its queries may
// see. HostKeys.cpp has the walk, HostRows.cpp the ends of a tile, HostSoftmax.cpp what is between.

#ifndef SPARSEC_EMIT_HOST_HOST_QUERIES_H
#define SPARSEC_EMIT_HOST_HOST_QUERIES_H

#include "host/HostSequences.h"

#include "sparsec/launch_info.h"

namespace sparsec {

class HostQueries : public HostSequences {
public:
  HostQueries(ProgramOp program, KeyLoopOp keyLoop) : HostSequences(program, keyLoop) {}

private:
  bool translateOther(mlir::Operation &op) override;

  void emit(TileOp op);
  void emit(KeyLoopOp op);
  void emit(LoadRowsOp op);
  void emit(ZeroOp op);
  void emit(ChainOp op);
  void emit(SoftmaxBeginOp op);
  void emit(SoftmaxOp op);
  void emit(FragmentChainOp op);
  void emit(StoreRowsOp op);

  /// One of the two lists that a pattern has for each block of queries.
  struct BlockLists {
    sparsec_field_t starts, indices;
    bool isPartial;
  };

  /// Elements of a vector: [begin, end).
  struct Lanes {
    Value begin, end;
  };

  // Which keys (HostKeys.cpp).
  /// The largest k - p that causal and window allow, and the largest p - k; -1 for none.
  int64_t rightLimit();
  int64_t leftLimit();
  bool isClipped() { return rightLimit() != -1 || leftLimit() != -1; }
  Value firstVisibleKey(const Sequence &sequence, Value query);
  Value visibleKeyLimit(const Sequence &sequence, Value query);
  Lanes lanesThatSee(const QueryTile &tile, const Group &group, Value key);
  /// The lanes as a mask, a vector of i1.
  Value isOf(const Lanes &lanes);
  Value patternParameter(Type type, sparsec_field_t field);
  Value patternIndex(sparsec_field_t field);
  Value listNumber(const QueryTile &tile, Value rows);
  std::pair<Value, Value> listRange(Value starts, Value list);
  void emitList(const QueryTile &tile, const BlockLists &lists);
  void emitKeys(const QueryTile &tile, Value firstKey, Value keyLimit, bool isPartial);
  void emitStep(const QueryTile &tile, Keys keys);
  void ifVisible(const QueryTile &tile, Keys &keys, llvm::function_ref<void()> body);

  // Rows (HostRows.cpp).
  void forGroups(const QueryTile &tile, llvm::function_ref<void(Group)> body);
  void loadQueries(LoadRowsOp op);
  void loadKeys(LoadRowsOp op);
  void emitSink(StoreRowsOp op, const Group &group);
  void emitMeans(StoreRowsOp op, const Group &group);
  void storeQuery(StoreRowsOp op, const Group &group, Value lane);

  // Steps (HostSoftmax.cpp).
  Value scaleOf(SoftmaxOp op);
  void emitRegions(SoftmaxOp op, const Keys &keys, Value buffer, bool isMasked);
  Value emitRegion(SoftmaxOp op, mlir::Region &region, llvm::ArrayRef<Value> arguments);
  Value emitMaximum(SoftmaxOp op, const Keys &keys, Value buffer, Value oldMaximum, Value scale);
  Value emitWeights(const Keys &keys, Value buffer, Value reference, Value sum);

  /// The vector of column `d` of a group.
  Value vectorOf(const Group &group, int64_t width, Value d) { return add(multiply(group.index, constant(width)), d); }

  // Short forms.
  Value exponential(Value x);
  Value isEqual(Value x, Value y) { return mlir::arith::CmpFOp::create(b, mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value select(Value condition, Value x, Value y) { return mlir::arith::SelectOp::create(b, condition, x, y); }
  Value asI32(Value index) { return mlir::arith::TruncIOp::create(b, i32, index); }

  /// Queries in a vector.
  static constexpr int64_t groupSize = vectorSize;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_HOST_QUERIES_H
