// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pass sparsec-emit-tiles: every program becomes an llvm.func of NVVM instructions, op by op (ProgramEmitter.cpp).

#include "BlockRows.h"
#include "MergeParts.h"
#include "MergeRows.h"
#include "Passes.h"
#include "ProgramContext.h"
#include "ProgramEmitter.h"
#include "Ptx.h"
#include "SoftmaxSteps.h"
#include "auxiliary/BlockMaskReader.h"
#include "auxiliary/BlockTopK.h"
#include "auxiliary/ConvertValues.h"
#include "auxiliary/PackBlocks.h"
#include "auxiliary/PatternBuilder.h"
#include "auxiliary/PatternLists.h"
#include "auxiliary/PlanIndex.h"
#include "auxiliary/PlanLists.h"
#include "auxiliary/PlanPairs.h"
#include "auxiliary/PlanWindow.h"

namespace sparsec {
#define GEN_PASS_DEF_EMITTILESPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

namespace {

/// Dynamic shared memory is an external array without a size; swizzled buffers need its alignment.
void declareSharedMemory(gpu::GPUModuleOp module) {
  auto b = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::External, sharedMemorySymbol,
                         Attribute(), /*alignment=*/1024, static_cast<unsigned>(AddressSpace::shared));
}

/// Sets the attributes of the function that the launch info and ptxas read.
void setAttributes(LLVM::LLVMFuncOp function, ProgramOp program) {
  Builder b(function.getContext());
  ScheduleAttr schedule = program.getSchedule();
  int64_t threads = threadsOfRoles(program);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  // ptxas takes the register budget at entry from the schedule, or from the number of CTAs on an SM. Roles that share
  // the registers of a CTA have the same number at entry.
  bool isOneRole = schedule.getInstruction() == Instruction::mma_sync && schedule.getProducerRegisters() == 0;
  if (isOneRole && schedule.getConsumerRegisters() != 0)
    function->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(), b.getI32IntegerAttr(schedule.getConsumerRegisters()));
  else
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(schedule.getCtasPerSm()));
  if (schedule.getCluster() > 1)
    function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      b.getDenseI32ArrayAttr({static_cast<int32_t>(schedule.getCluster()), 1, 1}));
  function->setAttr("sparsec.kernel", program.getKernelAttr());
  function->setAttr("sparsec.variant", program.getVariantAttr());
  function->setAttr("sparsec.schedule", schedule);
  function->setAttr("sparsec.alignment", program.getAlignmentAttr());
  if (IntegerAttr panels = program.getMostPanelsAttr())
    function->setAttr("sparsec.most_panels", panels);
  if (IntegerAttr tiles = program.getMostTilesPerSmAttr())
    function->setAttr("sparsec.most_tiles_per_sm", tiles);
  if (program.getSplit())
    function->setAttr("sparsec.split", b.getUnitAttr());
  if (program.getAdjacentColumns())
    function->setAttr("sparsec.adjacent_columns", b.getUnitAttr());
  if (program.getPacked())
    function->setAttr("sparsec.packed", b.getUnitAttr());
  if (hasDependentLaunch(program))
    function->setAttr("sparsec.dependent_launch", b.getUnitAttr());
  function->setAttr("sparsec.shared_memory", program.getSharedMemoryAttr());
  function->setAttr("sparsec.threads", b.getI64IntegerAttr(threads));
}

template <typename Context, typename Ops>
void emitBody(ProgramOp program, LLVM::LLVMFuncOp function, KernelBuilder &b) {
  Context context(program, function, b);
  ProgramEmitter emitter(context);
  Ops ops(context, emitter);
  emitter.emit(ops);
  LLVM::ReturnOp::create(b, ValueRange());
  context.parameters.finish();
}

/// A program has the ops of one family beside those that all programs have.
void emitFamily(ProgramOp program, LLVM::LLVMFuncOp function, KernelBuilder &b) {
  auto emit = emitBody<ProductContext, BlockRows>;
  program.walk([&](TileSoftmaxOp) { emit = emitBody<QueryContext, SoftmaxSteps>; });
  program.walk([&](MergeRowsOp) { emit = emitBody<ProgramContext, MergeRows>; });
  emit(program, function, b);
}

/// The machine kernels that all variants of a kernel share.
void emitAuxiliaries(ProgramOp program) {
  if (hasPatternBuilder(program))
    emitPatternBuilder(program);
  if (hasPattern(program)) {
    emitBlockMaskReader(program);
    emitBlockTopK(program);
  }
  if (hasF8(program))
    emitConvertValues(program);
}

/// Whether an auxiliary kernel of the program's kernel is there already.
bool hasAuxiliary(ProgramOp program, AuxiliaryKind wanted) {
  auto isWanted = [&](LLVM::LLVMFuncOp function) {
    auto kind = function->getAttrOfType<AuxiliaryKindAttr>("sparsec.auxiliary");
    return kind && kind.getValue() == wanted && function->getAttr("sparsec.kernel") == program.getKernelAttr();
  };
  return llvm::any_of(program->getParentOfType<gpu::GPUModuleOp>().getOps<LLVM::LLVMFuncOp>(), isWanted);
}

/// Whether no program of the kernel before this one has a schedule for which the condition holds.
bool isFirst(ProgramOp program, llvm::function_ref<bool(ScheduleAttr schedule, LLVM::LLVMFuncOp function)> condition) {
  auto comesBefore = [&](LLVM::LLVMFuncOp function) {
    auto schedule = function->getAttrOfType<ScheduleAttr>("sparsec.schedule");
    return schedule && function->getAttr("sparsec.kernel") == program.getKernelAttr() && condition(schedule, function);
  };
  return llvm::none_of(program->getParentOfType<gpu::GPUModuleOp>().getOps<LLVM::LLVMFuncOp>(), comesBefore);
}

/// Whether this is the first program of the kernel whose tiles lie in blocks of the pattern or the matrix. Auxiliary
/// kernels have its tiles.
bool isFirstWithoutJointRows(ProgramOp program) {
  auto hasOwnRows = [](ScheduleAttr schedule) { return schedule.getWalk() != Walk::joint; };
  return hasOwnRows(program.getSchedule()) &&
         isFirst(program, [&](ScheduleAttr schedule, LLVM::LLVMFuncOp) { return hasOwnRows(schedule); });
}

/// Whether no program of the kernel before this one had windows or streams of stored blocks: plans are refilled for the
/// first one alone.
bool isFirstWithWindows(ProgramOp program) {
  return isFirst(program, [](ScheduleAttr schedule, LLVM::LLVMFuncOp function) {
    return schedule.getWalk() != Walk::blocks && !function->hasAttr("sparsec.packed");
  });
}

/// The machine kernels that write what the program reads from a plan. Packed values and cut tiles have plans of the
/// host alone.
void emitPlanKernels(ProgramOp program) {
  if (program.getPacked() || program.getCut())
    return;
  const Walk walk = program.getSchedule().getWalk();
  const bool isFirst = isFirstWithWindows(program);
  if (walk == Walk::windows && isFirst)
    emitPlanWindows(program);
  if (walk == Walk::streams && isFirst)
    emitPlanStreams(program);
  // Those of the windows, or of the block rows of a kernel without any.
  const bool hasRows =
      walk == Walk::blocks ? !program.getMostPanelsAttr() : hasAuxiliary(program, AuxiliaryKind::count_windows);
  if (isFirst && hasRows && multipliesDense(program) && !hasAuxiliary(program, AuxiliaryKind::write_lists))
    emitPlanLists(program);
  if (takesPairs(program) && !hasAuxiliary(program, AuxiliaryKind::count_pairs))
    emitPlanPairs(program);
  if (takesTranspose(program) && !hasAuxiliary(program, AuxiliaryKind::count_columns))
    emitPlanIndex(program);
}

void emitProgram(ProgramOp program) {
  Location loc = program.getLoc();
  KernelBuilder b(loc, program.getContext());
  b.setInsertionPoint(program);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {});
  auto function = LLVM::LLVMFuncOp::create(b, program.getSymName(), type);
  b.createBlock(&function.getBody());

  if (isFirstWithoutJointRows(program))
    emitAuxiliaries(program);
  if (program.getSplit() && !multipliesDense(program))
    emitPartMerge(program);
  if (program.getPacked() && !hasAuxiliary(program, AuxiliaryKind::pack_blocks))
    emitPackBlocks(program);
  emitPlanKernels(program);
  emitFamily(program, function, b);
  setAttributes(function, program);
  program.erase();
}

class EmitTiles : public sparsec::impl::EmitTilesPassBase<EmitTiles> {
public:
  using EmitTilesPassBase::EmitTilesPassBase;

  void runOnOperation() override {
    for (auto module : getOperation().getOps<gpu::GPUModuleOp>()) {
      declareSharedMemory(module);
      for (ProgramOp program : llvm::make_early_inc_range(module.getOps<ProgramOp>()))
        emitProgram(program);
    }
  }
};

} // namespace
