// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops of programs of roles that only sparsec.attention has: tiles of queries, walks over keys, and the parts of a
// softmax step.

#ifndef SPARSEC_EMIT_SOFTMAX_STEPS_H
#define SPARSEC_EMIT_SOFTMAX_STEPS_H

#include "ProgramEmitter.h"
#include "softmax/OnlineSoftmax.h"

namespace sparsec {

class SoftmaxSteps : public FamilyOps {
public:
  SoftmaxSteps(QueryContext &context, ProgramEmitter &program) : FamilyOps(program), context(context) {}

  bool emit(mlir::Operation &op) override;

private:
  void emitQueryTile(QueryTileOp op);
  void emitKeyLists(KeyListsOp op);
  void emitKeyWalk(KeyWalkOp op);
  void emitKeyBlock(KeyBlockOp op);
  void emitJointList(JointListOp op);
  void emitJointBlock(JointBlockOp op);
  void emitIfStep(IfStepOp op);
  void emitTileSoftmax(TileSoftmaxOp op);
  void emitScoreBias(ScoreBiasOp op);
  void emitKeyTerms(KeyTermsOp op);
  void emitRowMaximum(RowMaximumOp op);
  void emitAnyProbability(AnyProbabilityOp op);
  void emitZeroProbabilities(ZeroProbabilitiesOp op);
  void emitExponentiate(ExponentiateOp op);
  void emitRescale(RescaleOp op);
  void emitSumRows(SumRowsOp op);
  void emitStore(StoreRowsOp op);
  void emitPartStore(StorePartOp op);
  void emitWriteSums(WriteSumsOp op);
  void emitReadSums(ReadSumsOp op);

  /// The row of the thread in its group: the first of its two.
  mlir::Value threadRow();
  OnlineSoftmax &softmaxOf(mlir::Value softmax) { return *softmaxes.find(softmax)->second.softmax; }
  /// The positions of the thread's scores in the step of an op. `terms` are those of its keys, or null.
  template <typename Op> ScorePositions positionsOf(Op op, mlir::Value terms = {});
  /// m and l of the two rows of a thread.
  RowState rowsOf(mlir::Value state);

  struct TileSoftmax {
    std::unique_ptr<OnlineSoftmax> softmax;
    mlir::Value threadQuery; // the first of the thread's two queries
  };

  QueryContext &context;
  llvm::DenseMap<mlir::Value, TileSoftmax> softmaxes;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_STEPS_H
