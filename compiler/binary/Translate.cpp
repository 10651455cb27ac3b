// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Translate.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

using namespace mlir;
using namespace sparsec;

void sparsec::registerTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

std::unique_ptr<llvm::TargetMachine> sparsec::createGpuTargetMachine(llvm::StringRef chip, llvm::StringRef features) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Pointers to shared memory in 32 bits, as the hardware has them: half the registers and additions. The back end
    // has no other way to ask for it.
    auto *shortPointers =
        static_cast<llvm::cl::opt<bool> *>(llvm::cl::getRegisteredOptions().lookup("nvptx-short-ptr"));
    assert(shortPointers && "an option of LLVM's NVPTX back end");
    shortPointers->setValue(true);
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  assert(target && "the NVPTX back end is part of the LLVM that CMake has found");
  // The aggressive level removes common values once more, after LLVM's passes have done so.
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(triple, chip, features, llvm::TargetOptions(),
                                                                          /*RM=*/std::nullopt, /*CM=*/std::nullopt,
                                                                          llvm::CodeGenOptLevel::Default));
}

/// MLIR's inline assembly has no convergent attribute, but most instructions that it holds (wgmma, mbarrier, ldmatrix)
/// are executed by all threads of a warp together: LLVM must not move them into divergent code or duplicate them.
static void makeInlineAssemblyConvergent(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
            assembly && assembly->hasSideEffects())
          call->setConvergent();
}

std::unique_ptr<llvm::Module> sparsec::translateToLLVM(gpu::GPUModuleOp module, llvm::LLVMContext &context,
                                                       llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, module.getName());
  if (!llvmModule)
    return nullptr;
  llvmModule->setTargetTriple(machine.getTargetTriple());
  llvmModule->setDataLayout(machine.createDataLayout());
  makeInlineAssemblyConvergent(*llvmModule);
  return llvmModule;
}

void sparsec::optimize(llvm::Module &module, llvm::TargetMachine &machine, llvm::StringRef text) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, text), "LLVM knows the passes of this text");
  passes.run(module, modules);
}

namespace {
/// Collects what LLVM reports while it is alive; without it LLVM would end the process at the first error.
class ErrorCollector : public llvm::DiagnosticHandler {
public:
  explicit ErrorCollector(std::string &errors) : errors(errors) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      stream << (errors.empty() ? "" : "\n");
      info.print(printer);
    }
    return true;
  }

private:
  std::string &errors;
};
} // namespace

llvm::Expected<std::string> sparsec::emitPtx(llvm::Module &module, llvm::TargetMachine &machine) {
  std::string errors;
  module.getContext().setDiagnosticHandler(std::make_unique<ErrorCollector>(errors));
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager passes;
  // The module has been verified where it was translated.
  [[maybe_unused]] bool unsupported = machine.addPassesToEmitFile(
      passes, stream, /*DwoOut=*/nullptr, llvm::CodeGenFileType::AssemblyFile, /*DisableVerify=*/true);
  assert(!unsupported && "the NVPTX back end writes assembly");
  passes.run(module);
  module.getContext().setDiagnosticHandler(std::make_unique<llvm::DiagnosticHandler>());
  if (!errors.empty())
    return llvm::createStringError("LLVM cannot generate code: " + errors);
  return ptx.str().str();
}
