// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ampere/BlockCopies.h"

#include "Ptx.h"
#include "ampere/BufferLayout.h"

using namespace mlir;
using namespace sparsec;

/// The threads that copy a block.
static int64_t threadsOfBlock(BlockNumbersType type) { return warpLanes / type.getCount(); }

void sparsec::emitReadBlocks(ProgramEmitter &program, ReadBlocksOp op) {
  KernelBuilder &b = program.b;
  BlockNumbersType type = op.getType();
  Value section =
      program.context.parameters.get(ParameterKind::plan_section, 0, static_cast<int64_t>(PlanSection::chunk_blocks));
  Value first = b.mul(program.values.one(op.getChunk()), type.getCount());
  Value own = b.divide(program.threadInGroup, threadsOfBlock(type));
  program.values.set(op, b.loadElement(b.i32Type(), b.elementPointer(section, b.i32Type(), own), first));
}

/// Blocks are stored as the buffer has them: row after row. Neighbouring threads copy neighbouring vectors.
void sparsec::emitCopyBlocks(ProgramEmitter &program, CopyBlocksOp op) {
  KernelBuilder &b = program.b;
  BsrType matrix = op.getSource().getType();
  Ring &ring = program.ringOf(op.getRing());
  BufferLayout layout(b, ring, /*buffer=*/0);
  const int64_t threads = threadsOfBlock(op.getBlocks().getType()), ofRow = layout.vectorsOfRow();
  const int64_t rows = matrix.getTransposed() ? matrix.getBlockColumns() : matrix.getBlockRows();
  Value thread = b.modulo(program.threadInGroup, threads), block = b.divide(program.threadInGroup, threads);
  BufferLayout::Place place = {b.add(b.mul(block, rows), b.divide(thread, ofRow)), b.modulo(thread, ofRow)};
  Value first = b.mul(program.values.one(op.getAt()), ofRow * vectorBytes);

  const int64_t argument = cast<BlockArgument>(op.getSource()).getArgNumber();
  Value stored = program.context.parameters.get(ParameterKind::pointer, argument);
  Value number = program.values.one(op.getBlocks());
  b.ifThen(b.compare(arith::CmpIPredicate::sge, number, b.i32(0)), [&] {
    Value source = b.byteOffset(b.byteOffset(stored, b.mul(thread, vectorBytes)),
                                b.mul(b.extend(number), rows * ofRow * vectorBytes));
    for (int64_t vector = 0; vector < rows * ofRow; vector += threads) {
      place.constantRow = vector / ofRow;
      Value destination = layout.address(program.slotOf(op.getCursor()).slot, place);
      ptx::copyAsync16(b, b.byteOffset(destination, first), b.byteOffset(source, vector * vectorBytes),
                       /*inL1=*/false);
    }
  });
}
