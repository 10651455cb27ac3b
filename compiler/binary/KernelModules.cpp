// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelModules.h"

#include "Translate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"

#include <numeric>

using namespace sparsec;

/// Whether no function with a body is used by another one. Then each of them is a kernel.
static bool isOfKernelsAlone(const llvm::Module &module) {
  return llvm::all_of(module, [](const llvm::Function &function) {
    return function.isDeclaration() ? function.isIntrinsic() : function.use_empty();
  });
}

/// Leaves one kernel in a module whose functions have not been read yet.
static void keepKernel(llvm::Module &module, llvm::StringRef kernel, bool keepsVariables) {
  for (llvm::Function &function : module)
    if (function.getName() != kernel)
      function.deleteBody();
  llvm::cantFail(module.materializeAll());
  for (llvm::Function &function : llvm::make_early_inc_range(module))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
  for (llvm::GlobalVariable &variable : llvm::make_early_inc_range(module.globals()))
    if (!keepsVariables && variable.use_empty())
      variable.eraseFromParent();
}

KernelModules::KernelModules(const llvm::Module &whole, MachineFactory makeMachine)
    : threads(llvm::hardware_concurrency()) {
  const bool isDivided = isOfKernelsAlone(whole);
  std::vector<unsigned> sizes;
  for (const llvm::Function &function : whole) {
    if (function.isDeclaration() || (!isDivided && !jobs.empty()))
      continue;
    jobs.push_back({function.getName().str(), std::make_unique<llvm::LLVMContext>(), nullptr, nullptr});
    sizes.push_back(function.getInstructionCount());
  }
  bySize.resize(jobs.size());
  std::iota(bySize.begin(), bySize.end(), 0);
  llvm::stable_sort(bySize, [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });

  // Bitcode carries a module to another context. It keeps the order of uses, on which the passes and code generation
  // depend where they order instructions.
  llvm::SmallString<0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(whole, stream, /*ShouldPreserveUseListOrder=*/true);
  llvm::MemoryBufferRef buffer(bitcode, whole.getModuleIdentifier());
  forEachJob([&](size_t index) {
    Job &job = jobs[index];
    job.machine = makeMachine();
    job.module = llvm::cantFail(llvm::getLazyBitcodeModule(buffer, *job.context));
    if (isDivided)
      keepKernel(*job.module, job.firstFunction, /*keepsVariables=*/index == 0);
    else
      llvm::cantFail(job.module->materializeAll());
  });
}

void KernelModules::forEachJob(llvm::function_ref<void(size_t)> body) {
  for (size_t index : bySize)
    threads.async([=] { body(index); });
  threads.wait();
}

void KernelModules::optimize(llvm::StringRef passes) {
  forEachJob([&](size_t index) { sparsec::optimize(*jobs[index].module, *jobs[index].machine, passes); });
}

/// A module's text begins with a header: the version, the target and its variables. A file has one header. The first
/// kernel's module has all variables, so that its header serves.
static llvm::StringRef dropHeader(llvm::StringRef ptx, llvm::StringRef kernel) {
  size_t entry = ptx.find((".visible .entry " + kernel + "(").str());
  assert(entry != llvm::StringRef::npos && "the back end has emitted the kernel");
  return ptx.drop_front(entry);
}

llvm::Expected<std::string> KernelModules::emitPtx() {
  std::vector<std::string> texts(jobs.size());
  std::vector<std::string> errors(jobs.size());
  forEachJob([&](size_t index) {
    llvm::Expected<std::string> text = sparsec::emitPtx(*jobs[index].module, *jobs[index].machine);
    if (text)
      texts[index] = std::move(*text);
    else
      errors[index] = llvm::toString(text.takeError());
  });
  llvm::erase(errors, "");
  if (!errors.empty())
    return llvm::createStringError(llvm::join(errors, "\n"));
  std::string ptx;
  for (auto [job, text] : llvm::zip_equal(jobs, texts))
    ptx += ptx.empty() ? llvm::StringRef(text) : dropHeader(text, job.firstFunction);
  return ptx;
}
