// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HostObject.h"

#include "sparsec/launch_info.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

using namespace mlir;
using namespace sparsec;

std::unique_ptr<llvm::TargetMachine> sparsec::createHostTargetMachine() {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  assert(target && "the x86 back end is part of the LLVM that CMake has found");
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "x86-64-v3", /*Features=*/"", llvm::TargetOptions(), llvm::Reloc::Static,
                                  llvm::CodeModel::Large, llvm::CodeGenOptLevel::Aggressive));
}

std::unique_ptr<llvm::Module> sparsec::translateHostToLLVM(ModuleOp module, llvm::LLVMContext &context,
                                                           llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return nullptr;
  llvmModule->setTargetTriple(machine.getTargetTriple());
  llvmModule->setDataLayout(machine.createDataLayout());
  // Nothing unwinds through a kernel, so there is no .eh_frame, which would need 32-bit relocations.
  for (llvm::Function &function : *llvmModule)
    function.setDoesNotThrow();
  // The large code model would put it into .lrodata; readers expect the usual section.
  if (llvm::GlobalVariable *info = llvmModule->getNamedGlobal(SPARSEC_LAUNCH_INFO_SYMBOL))
    info->setSection(".rodata");
  return llvmModule;
}

void sparsec::emitHostObject(llvm::Module &module, llvm::TargetMachine &machine, llvm::SmallVectorImpl<char> &object) {
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  [[maybe_unused]] bool unsupported =
      machine.addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr, llvm::CodeGenFileType::ObjectFile);
  assert(!unsupported && "the x86 back end writes objects");
  passes.run(module);
}
