// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a module of LLVM ops to an x86-64 ELF relocatable object that the runtime loads without a linker
// (launch_info.h). Between the two steps runs `optimize` (Translate.h).

#ifndef SPARSEC_COMPILER_BINARY_HOSTOBJECT_H
#define SPARSEC_COMPILER_BINARY_HOSTOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

#include <string>

namespace sparsec {

/// x86-64-v3 with the large code model and static relocation: every address in the code is a full 64-bit one, so that
/// R_X86_64_64 is the only relocation.
std::unique_ptr<llvm::TargetMachine> createHostTargetMachine();

/// The module as LLVM IR for `machine`, not optimised. Null after an error has been reported on an operation.
std::unique_ptr<llvm::Module> translateHostToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
                                                  llvm::TargetMachine &machine);

/// Runs the back end, and returns the object file if the runtime can load it: it refers to no function of the process
/// but those of SPARSEC_HOST_FUNCTIONS, and has no relocation but R_X86_64_64 in the sections that are loaded.
llvm::Expected<std::string> emitHostObject(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_HOSTOBJECT_H
