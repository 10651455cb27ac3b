// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pass sparsec-lower-to-tiles: every sparsec.kernel becomes one program of tile ops per schedule, in values form.

#include "Passes.h"
#include "ScheduleAttribute.h"
#include "SharedMemory.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

namespace sparsec {
#define GEN_PASS_DEF_LOWERTOTILESPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

namespace {

/// Builds the program of one kernel under one schedule.
class ProgramBuilder {
public:
  ProgramBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule)
      : kernel(kernel), spmm(spmm), schedule(schedule), matrix(spmm.getMatrix().getType()) {}

  /// A kernel may have the name that a variant of another one would get, so `programs` makes names unique.
  void build(OpBuilder &moduleBuilder, SymbolTable &programs, int64_t variant);

private:
  void buildTile(ImplicitLocOpBuilder &b, Value tile);
  Value buildStep(ImplicitLocOpBuilder &b, Value tile, Value block, Value chunk, Value accumulator);
  void buildStore(ImplicitLocOpBuilder &b, Value tile, Value accumulator);
  DenseI64ArrayAttr chunkDepths(Builder &b) const;

  int64_t blocksPerStep() const { return std::max<int64_t>(1, schedule.getTileK() / matrix.getBlockColumns()); }
  int64_t chunks() const { return llvm::divideCeil(matrix.getBlockColumns(), schedule.getTileK()); }

  KernelOp kernel;
  SpmmOp spmm;
  ScheduleAttr schedule;
  BsrType matrix;
  IRMapping mapping; // values of the kernel to values of the program
  Value result;      // the result operand of the program
};

void ProgramBuilder::build(OpBuilder &moduleBuilder, SymbolTable &programs, int64_t variant) {
  ImplicitLocOpBuilder b(kernel.getLoc(), moduleBuilder);
  // cp.async and TMA move 16 bytes at a time; a gather reads single elements.
  int64_t elementBytes = spmm.getDense().getType().getElementType().getIntOrFloatBitWidth() / 8;
  int64_t alignment = schedule.getCopy() == Copy::gather ? elementBytes : 16;
  std::string name = kernel.getSymName().str() + (variant == 0 ? "" : "_unaligned");
  auto program = ProgramOp::create(b, name, kernel.getSymName(), schedule, variant, alignment,
                                   /*shared_memory=*/IntegerAttr());
  programs.insert(program);

  Block *body = b.createBlock(&program.getBody());
  for (BlockArgument argument : kernel.getBody().getArguments())
    mapping.map(argument, body->addArgument(argument.getType(), argument.getLoc()));
  for (Type type : kernel.getResultTypes())
    result = body->addArgument(type, kernel.getLoc());

  auto tileLoop = TileLoopOp::create(b);
  Block *tileBody = b.createBlock(&tileLoop.getBody());
  buildTile(b, tileBody->addArgument(TileType::get(b.getContext()), kernel.getLoc()));
}

void ProgramBuilder::buildTile(ImplicitLocOpBuilder &b, Value tile) {
  auto type = AccumulatorType::get(b.getContext(), schedule.getTileM(), schedule.getTileN());
  Value zero = ZeroOp::create(b, type);
  Value w = mapping.lookup(spmm.getMatrix());
  auto loop = BlockLoopOp::create(b, TypeRange{type}, w, tile, ValueRange{zero}, blocksPerStep(), chunks());
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body = b.createBlock(&loop.getBody());
    Value block = body->addArgument(BlockType::get(b.getContext()), b.getLoc());
    Value chunk = body->addArgument(b.getI32Type(), b.getLoc());
    Value accumulator = body->addArgument(type, b.getLoc());
    YieldOp::create(b, buildStep(b, tile, block, chunk, accumulator));
  }
  buildStore(b, tile, loop.getResult(0));
}

Value ProgramBuilder::buildStep(ImplicitLocOpBuilder &b, Value tile, Value block, Value chunk, Value accumulator) {
  MLIRContext *context = b.getContext();
  Type element = matrix.getElementType();
  bool xTransposed = spmm.getXLayout() == DenseLayout::nk;
  int64_t m = schedule.getTileM(), n = schedule.getTileN(), k = schedule.getTileK();
  auto aType = BufferType::get(context, m, k, element);
  auto xType = xTransposed ? BufferType::get(context, n, k, element) : BufferType::get(context, k, n, element);
  Value a = LoadOp::create(b, aType, mapping.lookup(spmm.getMatrix()), tile, block, chunk, Operand::a);
  Value x = LoadOp::create(b, xType, mapping.lookup(spmm.getDense()), tile, block, chunk, Operand::x);
  return ChainOp::create(b, a, x, accumulator, chunkDepths(b), xTransposed);
}

/// The K elements that count in each chunk of a block: tile_k, and what is left in the last one.
DenseI64ArrayAttr ProgramBuilder::chunkDepths(Builder &b) const {
  SmallVector<int64_t> depths(chunks(), schedule.getTileK());
  if (int64_t rest = matrix.getBlockColumns() % schedule.getTileK(); rest && blocksPerStep() == 1)
    depths.back() = rest;
  return b.getDenseI64ArrayAttr(depths);
}

void ProgramBuilder::buildStore(ImplicitLocOpBuilder &b, Value tile, Value accumulator) {
  SmallVector<Value> extras;
  for (Value extra : spmm.getExtras())
    extras.push_back(mapping.lookup(extra));
  int64_t resultBytes = cast<RankedTensorType>(result.getType()).getElementTypeBitWidth() / 8;
  bool staged = usesStagedStore(toSchedule(schedule), matrix.getBlockRows(), resultBytes);
  auto store = StoreOp::create(b, accumulator, tile, result, extras, spmm.getBroadcast(), matrix.getBlockRows(),
                               /*transposed=*/spmm.getYLayout() == ResultLayout::nm, staged,
                               /*staging=*/DenseI64ArrayAttr());
  if (spmm.hasEpilogue()) {
    spmm.getEpilogue().cloneInto(&store.getEpilogue(), mapping);
    return;
  }
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&store.getEpilogue());
  YieldOp::create(b, ValueRange{body->addArgument(b.getF32Type(), b.getLoc())});
}

class LowerToTiles : public sparsec::impl::LowerToTilesPassBase<LowerToTiles> {
public:
  using LowerToTilesPassBase::LowerToTilesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    SymbolTable kernels(module);
    auto gpuModule = gpu::GPUModuleOp::create(builder, module.getLoc(), "kernels");
    kernels.insert(gpuModule); // under another name if a kernel has this one
    SymbolTable programs(gpuModule);
    for (KernelOp kernel : module.getOps<KernelOp>()) {
      auto spmm = dyn_cast<SpmmOp>(kernel.getAnchor());
      if (!spmm || !kernel.getSchedule()) {
        kernel.emitOpError("expects a schedule; run sparsec-select-schedule first");
        return signalPassFailure();
      }
      int64_t variant = 0;
      for (auto schedule : {kernel.getScheduleAttr(), kernel.getFallbackScheduleAttr()}) {
        if (!schedule)
          continue;
        builder.setInsertionPointToEnd(gpuModule.getBody());
        ProgramBuilder(kernel, spmm, schedule).build(builder, programs, variant++);
      }
    }
  }
};

} // namespace
