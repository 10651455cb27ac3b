// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a gpu.module to PTX: what LLVM is told about inline assembly, and what its errors become.

#include "Translate.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sparsec;

namespace {

class Translate : public testing::Test {
protected:
  /// LLVM IR of a kernel with this body.
  std::unique_ptr<llvm::Module> translate(const std::string &body) {
    registerTranslations(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
    module = parseSourceString<ModuleOp>("gpu.module @kernels {\n"
                                         "  llvm.mlir.global external constant @info(dense<7> : tensor<4xi8>) "
                                         "{addr_space = 1 : i32} : !llvm.array<4 x i8>\n"
                                         "  llvm.func @kernel(%p: !llvm.ptr<1>, %f: f32) attributes {nvvm.kernel} {\n" +
                                             body + "\n    llvm.return\n  }\n}",
                                         &context);
    EXPECT_TRUE(module);
    return translateToLLVM(*module->getOps<gpu::GPUModuleOp>().begin(), llvmContext, *machine);
  }

  DialectRegistry registry;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::TargetMachine> machine = createGpuTargetMachine("sm_90a", "+ptx86");
};

TEST_F(Translate, AssemblyWithEffectsIsConvergent) {
  auto llvmModule = translate("llvm.inline_asm has_side_effects \"bar.warp.sync -1;\", \"\" : () -> ()\n"
                              "%x = llvm.inline_asm \"neg.f32 $0, $1;\", \"=f,f\" %f : (f32) -> f32");
  ASSERT_TRUE(llvmModule);
  std::vector<bool> convergent;
  for (llvm::Instruction &instruction : llvm::instructions(*llvmModule->getFunction("kernel")))
    if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
      convergent.push_back(call->isConvergent());
  EXPECT_EQ(convergent, (std::vector<bool>{true, false}));
}

TEST_F(Translate, UnusedGlobalsSurvive) {
  auto llvmModule = translate("%one = llvm.mlir.constant(1 : i32) : i32\nllvm.store %one, %p : i32, !llvm.ptr<1>");
  ASSERT_TRUE(llvmModule);
  optimize(*llvmModule, *machine, kernelPasses);
  auto ptx = emitPtx(*llvmModule, *machine);
  ASSERT_TRUE(bool(ptx));
  EXPECT_NE(ptx->find(".version 8.6"), std::string::npos);
  EXPECT_NE(ptx->find(".target sm_90a"), std::string::npos);
  EXPECT_NE(ptx->find(".visible .entry kernel("), std::string::npos);
  EXPECT_NE(ptx->find(".visible .global .align 1 .b8 info[4] = {7, 7, 7, 7};"), std::string::npos) << *ptx;
}

TEST_F(Translate, BackEndErrorsAreReturned) {
  // There is no register class "Z".
  auto llvmModule = translate("llvm.inline_asm has_side_effects \"use $0;\", \"Z\" %f : (f32) -> ()");
  ASSERT_TRUE(llvmModule);
  auto ptx = emitPtx(*llvmModule, *machine);
  ASSERT_FALSE(bool(ptx));
  std::string message = llvm::toString(ptx.takeError());
  EXPECT_EQ(message.find("LLVM cannot generate code: "), 0u) << message;
  EXPECT_NE(message.find("constraint 'Z'"), std::string::npos) << message;
}

} // namespace
