// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScheduleAttribute.h"

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
  schedule.slices = attribute.getSlices();
  return schedule;
}

ScheduleAttr sparsec::toAttribute(MLIRContext *context, const Schedule &schedule) {
  return ScheduleAttr::get(context, static_cast<Instruction>(schedule.instruction), static_cast<Copy>(schedule.copy),
                           schedule.tileM, schedule.tileN, schedule.tileK, schedule.stages, schedule.consumersM,
                           schedule.consumersN, schedule.cluster, schedule.producerRegisters,
                           schedule.consumerRegisters, schedule.groupM, schedule.ctasPerSm, schedule.concurrentTiles,
                           static_cast<Walk>(schedule.walk), schedule.blockStages, schedule.slices);
}

int64_t sparsec::bytesOfType(Type elementType) { return elementType.getIntOrFloatBitWidth() / 8; }

ElementType sparsec::toElementType(Type type) {
  if (type.isBF16())
    return ElementType::Bf16;
  if (type.isF16())
    return ElementType::F16;
  return isa<Float8E4M3FNType>(type) ? ElementType::F8E4M3 : ElementType::F8E5M2;
}

void sparsec::setIfStatic(int64_t &size, int64_t value) {
  if (!ShapedType::isDynamic(value))
    size = value;
}
