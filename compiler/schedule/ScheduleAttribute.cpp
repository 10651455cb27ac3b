// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScheduleAttribute.h"

#include "ScoreForm.h"

using namespace mlir;
using namespace sparsec;

Schedule sparsec::toSchedule(ScheduleAttr attribute) {
  Schedule schedule;
  schedule.instruction = static_cast<MatrixInstruction>(attribute.getInstruction());
  schedule.copy = static_cast<CopyMethod>(attribute.getCopy());
  schedule.tileM = attribute.getTileM();
  schedule.tileN = attribute.getTileN();
  schedule.tileK = attribute.getTileK();
  schedule.stages = attribute.getStages();
  schedule.consumersM = attribute.getConsumersM();
  schedule.consumersN = attribute.getConsumersN();
  schedule.cluster = attribute.getCluster();
  schedule.producerRegisters = attribute.getProducerRegisters();
  schedule.consumerRegisters = attribute.getConsumerRegisters();
  schedule.groupM = attribute.getGroupM();
  schedule.ctasPerSm = attribute.getCtasPerSm();
  schedule.concurrentTiles = attribute.getConcurrentTiles();
  return schedule;
}

ScheduleAttr sparsec::toAttribute(MLIRContext *context, const Schedule &schedule) {
  return ScheduleAttr::get(context, static_cast<Instruction>(schedule.instruction), static_cast<Copy>(schedule.copy),
                           schedule.tileM, schedule.tileN, schedule.tileK, schedule.stages, schedule.consumersM,
                           schedule.consumersN, schedule.cluster, schedule.producerRegisters,
                           schedule.consumerRegisters, schedule.groupM, schedule.ctasPerSm, schedule.concurrentTiles);
}

static int64_t bytesOfType(Type elementType) { return elementType.getIntOrFloatBitWidth() / 8; }

static ElementType toElementType(Type type) {
  if (type.isBF16())
    return ElementType::Bf16;
  if (type.isF16())
    return ElementType::F16;
  return isa<Float8E4M3FNType>(type) ? ElementType::F8E4M3 : ElementType::F8E5M2;
}

AttentionDescription sparsec::describeProblem(AttentionOp attention) {
  AttentionDescription problem;
  problem.elementType = toElementType(attention.getQuery().getType().getElementType());
  problem.headDimension = attention.getHeadDimension();
  if (Value pattern = attention.getPattern()) {
    auto type = cast<PatternType>(pattern.getType());
    problem.queryBlock = type.getQueryBlock();
    problem.keyBlock = type.getKeyBlock();
  }
  ScoreForm form(attention.getScore(), attention.getQuery().getType().getElementType());
  bool isDemandingCap = form.isCapped() && (attention.getScale() || !form.hasFixedShift());
  problem.regionsNeedRegisters = attention.hasMask() || loadsByPosition(attention.getScore()) || isDemandingCap;
  return problem;
}

ProblemDescription sparsec::describeProblem(SpmmOp spmm) {
  auto matrix = cast<BsrType>(spmm.getMatrix().getType());
  auto dense = cast<RankedTensorType>(spmm.getDense().getType());
  auto result = cast<RankedTensorType>(spmm.getResult().getType());
  bool xTransposed = spmm.getXLayout() == DenseLayout::nk;

  ProblemDescription problem;
  problem.elementType = toElementType(matrix.getElementType());
  problem.outputBytes = bytesOfType(result.getElementType());
  problem.blockRows = matrix.getBlockRows();
  problem.blockColumns = matrix.getBlockColumns();
  problem.xTransposed = xTransposed;
  problem.hasEpilogue = spmm.hasEpilogue();
  auto setIfStatic = [](int64_t &size, int64_t value) {
    if (!ShapedType::isDynamic(value))
      size = value;
  };
  setIfStatic(problem.m, matrix.getRows());
  setIfStatic(problem.k, matrix.getColumns());
  setIfStatic(problem.n, dense.getDimSize(xTransposed ? 0 : 1));
  for (unsigned i = 0; i < spmm.getExtras().size(); ++i)
    if (spmm.getBroadcastOf(i) == Broadcast::full)
      problem.epilogueBytes += bytesOfType(getElementTypeOrSelf(spmm.getExtras()[i].getType()));
  return problem;
}
