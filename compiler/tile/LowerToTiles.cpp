// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pass sparsec-lower-to-tiles: every sparsec.kernel becomes one program of tile ops per schedule, in values form;
// those of sparsec.sddmm and sparsec.spgemm have roles from the start.

#include "Passes.h"
#include "ProgramBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

namespace sparsec {
#define GEN_PASS_DEF_LOWERTOTILESPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

void ProgramBuilder::build(OpBuilder &moduleBuilder, SymbolTable &programs, int64_t variant) {
  ImplicitLocOpBuilder b(kernel.getLoc(), moduleBuilder);
  // cp.async and TMA move 16 bytes at a time; a scalar copy reads single elements.
  int64_t elementBytes = elementType().getIntOrFloatBitWidth() / 8;
  int64_t alignment = schedule.getCopy() == Copy::scalar ? elementBytes : 16;
  std::string name = kernel.getSymName().str();
  if (schedule.getWalk() != Walk::blocks)
    name += ("_" + stringifyWalk(schedule.getWalk())).str();
  else if (schedule != kernel.getScheduleAttr())
    name += "_unaligned";
  auto program = ProgramOp::create(b, name, kernel.getSymName(), schedule, variant, alignment,
                                   /*shared_memory=*/IntegerAttr(), /*tile_bytes=*/IntegerAttr());
  programs.insert(program);

  Block *body = b.createBlock(&program.getBody());
  for (BlockArgument argument : kernel.getBody().getArguments())
    mapping.map(argument, body->addArgument(argument.getType(), argument.getLoc()));
  for (Type type : kernel.getResultTypes())
    results.push_back(body->addArgument(type, kernel.getLoc()));

  buildBody(b);
}

void ProgramBuilder::buildBody(ImplicitLocOpBuilder &b) {
  auto tileLoop = TileLoopOp::create(b);
  Block &tile = tileLoop.getBody().front();
  b.setInsertionPoint(tile.getTerminator());
  buildTile(b, tile.getArgument(0), tile.getArgument(1));
}

void ProgramBuilder::setEpilogue(OpBuilder &b, StoreOp store, Region &epilogue) {
  // An epilogue sees nothing from outside. A mapping of its own, because several stores may have the same one.
  IRMapping arguments;
  if (!epilogue.empty())
    return epilogue.cloneInto(&store.getEpilogue(), arguments);
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&store.getEpilogue());
  YieldOp::create(b, store.getLoc(), ValueRange{body->addArgument(b.getF32Type(), store.getLoc())});
}

static std::unique_ptr<ProgramBuilder> makeBuilder(KernelOp kernel, ScheduleAttr schedule) {
  return TypeSwitch<Operation *, std::unique_ptr<ProgramBuilder>>(kernel.getAnchor())
      .Case([&](SpmmOp spmm) {
        switch (schedule.getWalk()) {
        case Walk::blocks:
          return makeSpmmBuilder(kernel, spmm, schedule);
        case Walk::windows:
          return makeWindowBuilder(kernel, spmm, schedule);
        case Walk::streams:
          return makeStreamBuilder(kernel, spmm, schedule);
        }
        llvm_unreachable("all walks are covered");
      })
      .Case([&](SddmmOp sddmm) { return makeSddmmBuilder(kernel, sddmm, schedule); })
      .Case([&](SpgemmOp spgemm) { return makeSpgemmBuilder(kernel, spgemm, schedule); })
      .Case([&](AttentionOp attention) { return makeAttentionBuilder(kernel, attention, schedule); });
}

namespace {

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
      if (!kernel.getSchedule()) {
        kernel.emitOpError("expects a schedule; run sparsec-select-schedule first");
        return signalPassFailure();
      }
      int64_t variant = 0;
      for (ScheduleAttr schedule : kernel.getSchedules()) {
        builder.setInsertionPointToEnd(gpuModule.getBody());
        makeBuilder(kernel, schedule)->build(builder, programs, variant++);
      }
    }
  }
};

} // namespace
