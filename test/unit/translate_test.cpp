// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a gpu.module to PTX: what LLVM is told about inline assembly, what its errors become, and kernels compiled
// apart.

#include "EmitKernels.h"
#include "Translate.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"

#include <gtest/gtest.h>

#include <regex>

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
                                             body + "\n    llvm.return\n  }\n" + otherKernels + "}",
                                         &context);
    EXPECT_TRUE(module);
    return translateToLLVM(*module->getOps<gpu::GPUModuleOp>().begin(), llvmContext, *machine);
  }

  static std::unique_ptr<llvm::TargetMachine> makeMachine() { return createGpuTargetMachine("sm_90a", "+ptx86"); }

  std::string otherKernels;
  DialectRegistry registry;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine();
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

/// The text of a kernel, with its labels numbered as if it were alone.
std::string getKernel(const std::string &ptx, const std::string &name) {
  size_t begin = ptx.find(".visible .entry " + name + "(");
  EXPECT_NE(begin, std::string::npos) << ptx;
  std::string text = ptx.substr(begin, ptx.find("\n}", begin) + 2 - begin);
  return std::regex_replace(text, std::regex("BB[0-9]+_"), "BB0_");
}

TEST_F(Translate, KernelsCompiledApartAreAsTogether) {
  otherKernels = R"(
    llvm.mlir.global external @scratch() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
    llvm.func @longer(%p: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
      %scratch = llvm.mlir.addressof @scratch : !llvm.ptr<3>
      %two = llvm.mlir.constant(2 : i32) : i32
      %more = llvm.icmp "sgt" %n, %two : i32
      llvm.cond_br %more, ^store, ^end
    ^store:
      %x = llvm.load %scratch : !llvm.ptr<3> -> i32
      %y = llvm.mul %x, %two : i32
      llvm.inline_asm has_side_effects "st.global.b32 [$0], $1;", "l,r" %p, %y : (!llvm.ptr<1>, i32) -> ()
      llvm.br ^end
    ^end:
      llvm.return
    }
    llvm.func @last() attributes {nvvm.kernel} {
      llvm.return
    })";
  auto whole = translate("llvm.store %f, %p : f32, !llvm.ptr<1>");
  ASSERT_TRUE(whole);
  auto apart = emitKernels(*whole, kernelPasses, makeMachine);
  optimize(*whole, *machine, kernelPasses);
  auto together = emitPtx(*whole, *machine);
  ASSERT_TRUE(apart && together);

  for (const char *name : {"kernel", "longer", "last"})
    EXPECT_EQ(getKernel(*apart, name), getKernel(*together, name));
  EXPECT_EQ(apart->substr(0, apart->find(".visible .entry")), together->substr(0, together->find(".visible .entry")));
  EXPECT_LT(apart->find("entry kernel("), apart->find("entry longer("));
  EXPECT_LT(apart->find("entry longer("), apart->find("entry last("));
  for (const char *once : {".version", "info[4]", "scratch[]"})
    EXPECT_EQ(llvm::StringRef(*apart).count(once), 1u) << once << " in " << *apart;
}

TEST_F(Translate, KernelsThatCallAFunctionStayTogether) {
  otherKernels = R"(
    llvm.func internal @helper(%f: f32) -> f32 attributes {no_inline} {
      llvm.return %f : f32
    }
    llvm.func @other(%p: !llvm.ptr<1>, %f: f32) attributes {nvvm.kernel} {
      %g = llvm.call @helper(%f) : (f32) -> f32
      llvm.store %g, %p : f32, !llvm.ptr<1>
      llvm.return
    })";
  auto whole = translate("%g = llvm.call @helper(%f) : (f32) -> f32\nllvm.store %g, %p : f32, !llvm.ptr<1>");
  ASSERT_TRUE(whole);
  auto ptx = emitKernels(*whole, /*passes=*/"", makeMachine), together = emitPtx(*whole, *machine);
  ASSERT_TRUE(ptx && together);
  EXPECT_EQ(*ptx, *together);
}

TEST_F(Translate, ErrorsOfAllKernelsAreReturned) {
  std::string wrong = "llvm.inline_asm has_side_effects \"use $0;\", \"Z\" %f : (f32) -> ()\n";
  otherKernels = "llvm.func @other(%f: f32) attributes {nvvm.kernel} {\n" + wrong + "llvm.return\n}\n";
  auto whole = translate(wrong);
  ASSERT_TRUE(whole);
  auto ptx = emitKernels(*whole, /*passes=*/"", makeMachine);
  ASSERT_FALSE(bool(ptx));
  std::string message = llvm::toString(ptx.takeError());
  EXPECT_EQ(llvm::StringRef(message).count("LLVM cannot generate code: "), 2u) << message;
}

} // namespace
