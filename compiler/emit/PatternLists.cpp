// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PatternLists.h"

#include "Ptx.h"

#include "sparsec/launch_info.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sparsec;

// By ListKind.
static constexpr int64_t startsFields[] = {SPARSEC_FIELD_PARTIAL_STARTS, SPARSEC_FIELD_FULL_STARTS};
static constexpr int64_t indicesFields[] = {SPARSEC_FIELD_PARTIAL_INDICES, SPARSEC_FIELD_FULL_INDICES};

void PatternLists::append(ListKind kind, Value list, Value position, Value block, Value condition) {
  Value first = b.mul(b.extend(list), context.patternField(SPARSEC_FIELD_CAPACITY));
  Value indices = context.patternField(indicesFields[kind]);
  Value entry = b.elementPointer(indices, b.i32Type(), b.add(first, b.extend(position)));
  ptx::storeGlobal(b, entry, block, condition);
}

void PatternLists::storeCounts(Value list, ValueRange counts, Value condition) {
  b.ifThen(condition, [&] {
    for (ListKind kind : listKinds)
      LLVM::StoreOp::create(b, counts[kind],
                            b.elementPointer(context.patternField(startsFields[kind]), b.i32Type(), b.extend(list)));
  });
}

bool sparsec::hasPattern(ProgramOp program) { return bool(patternOf(program)); }

/// Writes the attributes that the launch info and ptxas read from the function.
static void setAttributes(ProgramOp program, LLVM::LLVMFuncOp function, const SideKernelShape &shape) {
  Builder b(function.getContext());
  int64_t threads = shape.warps * warpLanes;
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  function->setAttr("sparsec.kernel", program.getKernelAttr());
  function->setAttr("sparsec.shared_memory", b.getI64IntegerAttr(shape.sharedMemory));
  function->setAttr("sparsec.threads", b.getI64IntegerAttr(threads));
  function->setAttr("sparsec.concurrent_tiles", b.getI64IntegerAttr(shape.tilesOfCta));
  function->setAttr("sparsec.tile_m", b.getI64IntegerAttr(shape.tileM));
  function->setAttr("sparsec.tile_n", b.getI64IntegerAttr(shape.tileN));
  function->setAttr("sparsec.tile_k", b.getI64IntegerAttr(1));
}

LLVM::LLVMFuncOp sparsec::emitBeside(ProgramOp program, const SideKernelShape &shape,
                                     llvm::function_ref<void(AttentionContext &)> emitBody) {
  KernelBuilder b(program.getLoc(), program.getContext());
  b.setInsertionPoint(program);
  std::string name = (program.getKernel() + shape.suffix).str();
  while (SymbolTable::lookupSymbolIn(program->getParentOp(), name))
    name += "_";
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {});
  auto function = LLVM::LLVMFuncOp::create(b, name, type);
  b.createBlock(&function.getBody());
  AttentionContext context(program, function, b);
  emitBody(context);
  LLVM::ReturnOp::create(b, ValueRange());
  context.parameters.finish();
  setAttributes(program, function, shape);
  return function;
}

void sparsec::emitAuxiliary(ProgramOp program, const AuxiliaryShape &shape,
                            llvm::function_ref<void(AttentionContext &)> emitBody) {
  auto pattern = cast<PatternType>(patternOf(program).getType());
  SideKernelShape side = {shape.suffix,          shape.warps,       shape.listsPerCta, pattern.getQueryBlock(),
                          pattern.getKeyBlock(), shape.sharedMemory};
  LLVM::LLVMFuncOp function = emitBeside(program, side, [&](AttentionContext &context) {
    context.tileRows = context.queryBlock; // a list is for a whole block of queries
    emitBody(context);
  });
  function->setAttr("sparsec.auxiliary", AuxiliaryKindAttr::get(program.getContext(), shape.kind));
}
