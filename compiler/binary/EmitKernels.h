// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file holds many kernels, which do not call one another. LLVM compiles them by all threads of the machine.

#ifndef SPARSEC_COMPILER_BINARY_EMITKERNELS_H
#define SPARSEC_COMPILER_BINARY_EMITKERNELS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace sparsec {

using MachineFactory = llvm::function_ref<std::unique_ptr<llvm::TargetMachine>()>;

/// Gives the PTX of all kernels of a module, in their order there. Each kernel has a module and a thread for itself,
/// which runs LLVM's passes of the text `passes` and the back end. Kernels that call functions stay together. The text
/// of a kernel does not depend on the number of threads. Several threads call `makeMachine`. The error joins the errors
/// of all kernels.
llvm::Expected<std::string> emitKernels(const llvm::Module &whole, llvm::StringRef passes, MachineFactory makeMachine);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_EMITKERNELS_H
