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
  schedule.walk = static_cast<TileWalk>(attribute.getWalk());
  schedule.blockStages = attribute.getBlockStages();
  return schedule;
}

ScheduleAttr sparsec::toAttribute(MLIRContext *context, const Schedule &schedule) {
  return ScheduleAttr::get(context, static_cast<Instruction>(schedule.instruction), static_cast<Copy>(schedule.copy),
                           schedule.tileM, schedule.tileN, schedule.tileK, schedule.stages, schedule.consumersM,
                           schedule.consumersN, schedule.cluster, schedule.producerRegisters,
                           schedule.consumerRegisters, schedule.groupM, schedule.ctasPerSm, schedule.concurrentTiles,
                           static_cast<Walk>(schedule.walk), schedule.blockStages);
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
  problem.valueDimension = attention.getValueDimension();
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

static void setIfStatic(int64_t &size, int64_t value) {
  if (!ShapedType::isDynamic(value))
    size = value;
}

/// Bytes that an epilogue reads for each element of the result.
template <typename Op> static int64_t epilogueBytesOf(Op op) {
  int64_t bytes = 0;
  for (unsigned i = 0; i < op.getExtras().size(); ++i)
    if (op.getBroadcastOf(i) == Broadcast::full)
      bytes += bytesOfType(getElementTypeOrSelf(op.getExtras()[i].getType()));
  return bytes;
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
  problem.wTransposed = matrix.getTransposed();
  problem.xTransposed = xTransposed;
  problem.hasEpilogue = spmm.hasEpilogue();
  problem.hasTwoLevels = spmm.hasTwoLevels();
  problem.hasXScale = spmm.getXScale() != Value();
  problem.hasScales = spmm.getScales() || problem.hasXScale;
  setIfStatic(problem.m, matrix.getRows());
  setIfStatic(problem.k, matrix.getColumns());
  setIfStatic(problem.n, dense.getDimSize(xTransposed ? 0 : 1));
  setIfStatic(problem.leastN, dense.getDimSize(xTransposed ? 0 : 1));
  problem.epilogueBytes = epilogueBytesOf(spmm);
  return problem;
}

SampledDescription sparsec::describeProblem(SddmmOp sddmm, double density) {
  BsrType pattern = sddmm.getPattern().getType();
  RankedTensorType left = sddmm.getLeft().getType(), result = sddmm.getResult().getType();
  int64_t m = assumedSize, n = assumedSize;
  setIfStatic(m, pattern.getRows());
  setIfStatic(n, pattern.getColumns());

  SampledDescription problem;
  problem.elementType = toElementType(left.getElementType());
  problem.outputBytes = bytesOfType(result.getElementType());
  problem.wTransposed = sddmm.getALayout() == LeftLayout::km;
  problem.xTransposed = sddmm.getBLayout() == DenseLayout::nk;
  problem.hasEpilogue = sddmm.hasEpilogue();
  problem.epilogueBytes = epilogueBytesOf(sddmm);
  problem.storesInBoxes = pattern.getBlockColumns() % 64 == 0;
  problem.patternColumns = pattern.getBlockColumns();
  // Rows of A are dense, and walked as deep as a stage is.
  problem.density = 1;
  problem.blockColumns = granule(infoOf(MatrixInstruction::Wgmma), problem.elementType);
  problem.blockRows = pattern.getBlockRows();
  problem.m = m;
  problem.n = int64_t(double(n) * density);
  setIfStatic(problem.k, left.getDimSize(1 - sddmm.getRowDimension()));
  return problem;
}

/// Tensor stores write whole units of 16 bytes. Rows of other widths are stored from registers.
static bool hasWholeRows(SpgemmOp spgemm) {
  RankedTensorType result = spgemm.getResult().getType();
  int64_t width = result.getShape().back();
  return !ShapedType::isDynamic(width) && width * bytesOfType(result.getElementType()) % 16 == 0;
}

PairedDescription sparsec::describeProblem(SpgemmOp spgemm, double density) {
  BsrType left = spgemm.getLeft().getType(), right = spgemm.getRight().getType();
  PairedDescription problem;
  problem.elementType = toElementType(left.getElementType());
  problem.outputBytes = bytesOfType(spgemm.getResult().getType().getElementType());
  problem.blockRows = left.getBlockRows();
  problem.blockColumns = left.getBlockColumns();
  problem.resultColumns = right.getBlockColumns();
  problem.hasEpilogue = spgemm.hasEpilogue();
  problem.epilogueBytes = epilogueBytesOf(spgemm);
  problem.storesInBoxes = right.getBlockColumns() % 64 == 0 && hasWholeRows(spgemm);
  problem.density = density;
  setIfStatic(problem.m, left.getRows());
  setIfStatic(problem.k, left.getColumns());
  setIfStatic(problem.n, right.getColumns());
  return problem;
}
