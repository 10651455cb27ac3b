// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file holds many kernels, which do not call one another. LLVM compiles them by all threads of the machine.

#ifndef SPARSEC_COMPILER_BINARY_KERNELMODULES_H
#define SPARSEC_COMPILER_BINARY_KERNELMODULES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"

#include <vector>

namespace sparsec {

/// The kernels of a module, each in a module of its own, or all in one where they call functions. What becomes of a
/// kernel does not depend on the number of threads.
class KernelModules {
public:
  using MachineFactory = llvm::function_ref<std::unique_ptr<llvm::TargetMachine>()>;

  /// The first kernel's module also holds all global variables. `makeMachine` is called by several threads.
  KernelModules(const llvm::Module &whole, MachineFactory makeMachine);

  /// Runs the passes of this text on every kernel.
  void optimize(llvm::StringRef passes);

  /// Gives the PTX of all kernels, in their order in the module. The error joins the errors of all kernels.
  llvm::Expected<std::string> emitPtx();

private:
  /// One thread at a time works on a job: LLVM's objects belong to a context, which two threads must not use at once.
  struct Job {
    std::string firstFunction;
    std::unique_ptr<llvm::LLVMContext> context;
    std::unique_ptr<llvm::TargetMachine> machine;
    std::unique_ptr<llvm::Module> module;
  };

  void forEachJob(llvm::function_ref<void(size_t)> body);

  std::vector<Job> jobs;      // in the order of the module
  std::vector<size_t> bySize; // the longest kernel first, so that all threads end at about the same time
  llvm::DefaultThreadPool threads;
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_KERNELMODULES_H
