// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EmitKernels.h"

#include "Translate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/ThreadPool.h"

using namespace sparsec;

namespace {
/// One thread compiles a job, which is a kernel of the module, or the whole module.
struct Job {
  std::string firstFunction;
  unsigned size = 0; // in instructions
  bool keepsVariables = false;
  std::string ptx = {}, error = {};
};
} // namespace

/// Whether no function with a body is used by another one. Then each of them is a kernel.
static bool isOfKernelsAlone(const llvm::Module &module) {
  return llvm::all_of(module, [](const llvm::Function &function) {
    return function.isDeclaration() ? function.isIntrinsic() : function.use_empty();
  });
}

/// The jobs in the order of the module. The first one keeps all global variables.
static std::vector<Job> makeJobs(const llvm::Module &whole, bool isDivided) {
  std::vector<Job> jobs;
  for (const llvm::Function &function : whole)
    if (!function.isDeclaration() && (isDivided || jobs.empty()))
      jobs.push_back({function.getName().str(), function.getInstructionCount(), /*keepsVariables=*/jobs.empty()});
  return jobs;
}

/// Leaves one kernel in a module whose functions have not been read yet.
static void keepKernel(llvm::Module &module, const Job &job) {
  for (llvm::Function &function : module)
    if (function.getName() != job.firstFunction)
      function.deleteBody();
  llvm::cantFail(module.materializeAll());
  for (llvm::Function &function : llvm::make_early_inc_range(module))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
  for (llvm::GlobalVariable &variable : llvm::make_early_inc_range(module.globals()))
    if (!job.keepsVariables && variable.use_empty())
      variable.eraseFromParent();
}

/// A job has its own context, because two threads must not use LLVM's objects of the same one at once.
static void compileJob(Job &job, llvm::MemoryBufferRef bitcode, bool isDivided, llvm::StringRef passes,
                       MachineFactory makeMachine) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine();
  std::unique_ptr<llvm::Module> module = llvm::cantFail(llvm::getLazyBitcodeModule(bitcode, context));
  if (isDivided)
    keepKernel(*module, job);
  else
    llvm::cantFail(module->materializeAll());
  if (!passes.empty())
    optimize(*module, *machine, passes);
  if (llvm::Expected<std::string> ptx = emitPtx(*module, *machine))
    job.ptx = std::move(*ptx);
  else
    job.error = llvm::toString(ptx.takeError());
}

static void forEachJob(llvm::MutableArrayRef<Job> jobs, llvm::function_ref<void(Job &)> body) {
  llvm::SmallVector<Job *> bySize = llvm::map_to_vector(jobs, [](Job &job) { return &job; });
  // The longest one first, so that all threads end at about the same time.
  llvm::stable_sort(bySize, [](const Job *a, const Job *b) { return a->size > b->size; });
  llvm::DefaultThreadPool threads(llvm::hardware_concurrency());
  for (Job *job : bySize)
    threads.async([=] { body(*job); });
  threads.wait();
}

/// A module's text begins with a header: the version, the target and its variables. A file has one header. The first
/// job keeps all variables, so that its header serves.
static llvm::StringRef dropHeader(llvm::StringRef ptx, llvm::StringRef kernel) {
  size_t entry = ptx.find((".visible .entry " + kernel + "(").str());
  assert(entry != llvm::StringRef::npos && "the back end has emitted the kernel");
  return ptx.drop_front(entry);
}

llvm::Expected<std::string> sparsec::emitKernels(const llvm::Module &whole, llvm::StringRef passes,
                                                 MachineFactory makeMachine) {
  const bool isDivided = isOfKernelsAlone(whole);
  std::vector<Job> jobs = makeJobs(whole, isDivided);
  // Bitcode carries a module to another context. It keeps the order of uses, on which the passes and code generation
  // depend where they order instructions.
  llvm::SmallString<0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(whole, stream, /*ShouldPreserveUseListOrder=*/true);
  llvm::MemoryBufferRef buffer(bitcode, whole.getModuleIdentifier());
  forEachJob(jobs, [&](Job &job) { compileJob(job, buffer, isDivided, passes, makeMachine); });

  std::string ptx, errors;
  for (const Job &job : jobs) {
    ptx += ptx.empty() || job.ptx.empty() ? llvm::StringRef(job.ptx) : dropHeader(job.ptx, job.firstFunction);
    if (!job.error.empty())
      errors += (errors.empty() ? "" : "\n") + job.error;
  }
  if (!errors.empty())
    return llvm::createStringError(errors);
  return ptx;
}
