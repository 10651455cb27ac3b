// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScaleRows.h"

#include "Ptx.h"
#include "Ring.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;

static constexpr int64_t threadsOfGroup = RoleOp::warpsOfWarpgroup * warpLanes;

/// The rows are contiguous in each strip of the buffer, in any order of the swizzle. An address that depends on the
/// thread alone would take a register through all steps, without which steps have other instructions.
static void scaleRows(ProgramEmitter &program, ScaleRowsOp op) {
  KernelBuilder &b = program.b;
  Ring &ring = program.ringOf(op.getRing());
  const int64_t stripBytes = ring.stripBytes(0), bytes = int64_t(op.getRows()) * stripBytes;
  const int64_t strips = ring.bufferColumns(0) * ring.elementBytes(0) / stripBytes;
  Value slot = ring.slotPointer(0, program.slotOf(op.getCursor()).slot);
  Value thread = b.bitAnd(ptx::readThread(b), threadsOfGroup - 1);
  Value place = b.add(b.mul(program.values.one(op.getRow()), stripBytes), b.mul(thread, vectorBytes));
  Value begin = b.byteOffset(slot, place);
  auto type = VectorType::get(vectorBytes / ring.elementBytes(0), b.getBF16Type());
  auto factor = b.getFloatAttr(b.getBF16Type(), std::ldexp(1.0, int(op.getExponent())));
  Value factors = LLVM::ConstantOp::create(b, type, DenseElementsAttr::get(type, factor.getValue()));
  for (int64_t strip = 0; strip < strips; ++strip)
    for (int64_t offset = 0; offset < bytes; offset += threadsOfGroup * vectorBytes) {
      Value pointer = b.byteOffset(begin, strip * ring.bufferRows(0) * stripBytes + offset);
      Value vector = LLVM::LoadOp::create(b, type, pointer, /*alignment=*/vectorBytes);
      LLVM::StoreOp::create(b, LLVM::FMulOp::create(b, vector, factors), pointer, /*alignment=*/vectorBytes);
    }
}

void sparsec::emitScaleRows(ProgramEmitter &program, ScaleRowsOp op) {
  KernelBuilder &b = program.b;
  scaleRows(program, op);
  ptx::proxyFence(b);
  Value group = program.groupOfCta(op->getParentOfType<RoleOp>());
  ptx::barrierNamed(b, b.add(group, int64_t(*op.getFirstBarrier())), threadsOfGroup);
}
