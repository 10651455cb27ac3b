// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HostObject.h"

#include "sparsec/launch_info.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
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

static bool isHostFunction(llvm::StringRef name) {
#define SPARSEC_NAME(FUNCTION) #FUNCTION,
  static constexpr llvm::StringLiteral names[] = {SPARSEC_HOST_FUNCTIONS(SPARSEC_NAME)};
#undef SPARSEC_NAME
  return llvm::is_contained(names, name);
}

/// The first entry of a symbol table is no symbol, and has no name.
static llvm::Error checkSymbols(const llvm::object::ELF64LEObjectFile &object) {
  for (const llvm::object::ELFSymbolRef &symbol : object.symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name)
      return llvm::joinErrors(flags.takeError(), name.takeError());
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty() && !isHostFunction(*name))
      return llvm::createStringError("the host object refers to " + *name + ", which the runtime does not provide");
  }
  return llvm::Error::success();
}

static llvm::Error checkRelocations(const llvm::object::ELF64LEObjectFile &object) {
  for (const llvm::object::ELFSectionRef section : object.sections()) {
    auto relocated = section.getRelocatedSection();
    if (!relocated)
      return relocated.takeError();
    if (*relocated == object.section_end() ||
        !(llvm::object::ELFSectionRef(**relocated).getFlags() & llvm::ELF::SHF_ALLOC))
      continue;
    for (const llvm::object::RelocationRef &relocation : section.relocations())
      if (relocation.getType() != llvm::ELF::R_X86_64_64) {
        llvm::SmallString<32> type;
        relocation.getTypeName(type);
        return llvm::createStringError("the host object has a relocation of type " + type +
                                       ", which the runtime does not know");
      }
  }
  return llvm::Error::success();
}

llvm::Expected<std::string> sparsec::emitHostObject(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  [[maybe_unused]] bool unsupported =
      machine.addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr, llvm::CodeGenFileType::ObjectFile);
  assert(!unsupported && "the x86 back end writes objects");
  passes.run(module);

  auto object = llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(bytes, "host object"));
  if (!object)
    return object.takeError();
  if (llvm::Error error = checkSymbols(*object))
    return error;
  if (llvm::Error error = checkRelocations(*object))
    return error;
  return bytes.str().str();
}
