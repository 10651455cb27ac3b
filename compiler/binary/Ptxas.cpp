// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ptxas.h"

#include "WriteFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Where it is
//===----------------------------------------------------------------------===//

static std::string joinPath(StringRef folder, const Twine &rest) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, rest);
  return path.str().str();
}

/// Folders in which ptxas may lie besides PATH, best first.
static std::vector<std::string> getFoldersAfterPath() {
  std::vector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (auto toolkit = llvm::sys::Process::GetEnv(variable))
      folders.push_back(joinPath(*toolkit, "bin"));
  folders.push_back("/usr/local/cuda/bin");

  // The wheel nvidia-cuda-nvcc, whose folder has changed its name between major versions of CUDA.
  if (auto environment = llvm::sys::Process::GetEnv("VIRTUAL_ENV")) {
    std::error_code end;
    for (llvm::sys::fs::directory_iterator python(joinPath(*environment, "lib"), end), last; !end && python != last;
         python.increment(end))
      for (const char *package : {"cu13", "cuda_nvcc"})
        folders.push_back(joinPath(python->path(), llvm::Twine("site-packages/nvidia/") + package + "/bin"));
  }
  return folders;
}

llvm::Expected<std::string> sparsec::findPtxas(StringRef requested, StringRef programFolder) {
  auto findNamed = [](StringRef name, StringRef source) -> llvm::Expected<std::string> {
    auto program = llvm::sys::findProgramByName(name);
    if (program && llvm::sys::fs::can_execute(*program))
      return *program;
    return llvm::createStringError(source + " names '" + name + "', which is not a program");
  };
  if (!requested.empty())
    return findNamed(requested, "option ptxas");
  if (auto named = llvm::sys::Process::GetEnv("SPARSEC_PTXAS"); named && !named->empty())
    return findNamed(*named, "environment variable SPARSEC_PTXAS");

  if (auto program = llvm::sys::findProgramByName("ptxas", {joinPath(programFolder, "../lib/sparsec")}))
    return *program;
  if (auto program = llvm::sys::findProgramByName("ptxas"))
    return *program;
  for (const std::string &folder : getFoldersAfterPath())
    if (auto program = llvm::sys::findProgramByName("ptxas", {folder}))
      return *program;
  return llvm::createStringError(
      "cannot find ptxas, the assembler of the CUDA toolkit: install the toolkit 12.8 or newer or "
      "the Python package nvidia-cuda-nvcc, or name the program with --ptxas or SPARSEC_PTXAS");
}

//===----------------------------------------------------------------------===//
// The messages of ptxas
//===----------------------------------------------------------------------===//

/// Diagnostics after which a kernel runs much slower than its schedule promises: setmaxnreg ignored (C7508), WGMMA
/// serialised or waits put between (C7510 to C7520, C7602).
static constexpr StringLiteral performanceDiagnostics[] = {"(C7508)", "(C7510)", "(C7511)", "(C7512)",
                                                           "(C7513)", "(C7514)", "(C7515)", "(C7517)",
                                                           "(C7519)", "(C7520)", "(C7602)"};
/// With which ptxas gives up: setmaxnreg takes or leaves too many registers (C7406), or a kernel does not work with so
/// few at all (C7600, C7602).
static constexpr StringLiteral fatalDiagnostics[] = {"(C7406)", "(C7600)", "(C7602)"};

static bool hasAny(StringRef line, ArrayRef<StringLiteral> codes) {
  return llvm::any_of(codes, [&](StringRef code) { return line.contains(code); });
}

/// The number in front of `unit`: 24 for " 24 bytes spill stores".
static unsigned getNumberBefore(StringRef line, StringRef unit) {
  size_t end = line.find(unit);
  if (end == StringRef::npos)
    return 0;
  StringRef digits = line.take_front(end).rtrim();
  digits = digits.substr(digits.find_last_not_of("0123456789") + 1);
  unsigned number = 0;
  (void)to_integer(digits, number);
  return number;
}

static StringRef getQuotedAfter(StringRef line, StringRef phrase) {
  StringRef rest = line.substr(std::min(line.find(phrase), line.size()));
  return rest.split('\'').second.split('\'').first;
}

/// The kernel that the PTX has at a line, counted from 1.
static StringRef findKernelAt(StringRef ptx, unsigned line) {
  StringRef kernel;
  for (StringRef rest = ptx; line > 0 && !rest.empty(); --line) {
    auto [text, next] = rest.split('\n');
    size_t entry = text.find(".entry ");
    if (entry != StringRef::npos)
      kernel = text.substr(entry).drop_front(StringRef(".entry ").size()).take_until([](char c) { return c == '('; });
    rest = next;
  }
  return kernel;
}

/// "function 'k'", "in function k.", or "ptx input, line 1307;".
static StringRef findKernel(StringRef line, StringRef ptx) {
  if (line.contains("function '"))
    return getQuotedAfter(line, "function '");
  auto isOfName = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; };
  if (StringRef rest = line.split(" in function ").second; !rest.empty())
    return rest.take_while(isOfName);
  unsigned number = 0;
  if (StringRef rest = line.split(", line ").second; !rest.consumeInteger(10, number))
    return findKernelAt(ptx, number);
  return "";
}

PtxasReport sparsec::parsePtxasReport(StringRef log, StringRef ptx) {
  PtxasReport report;
  SmallVector<StringRef> lines;
  log.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    bool isFatal = line.contains("fatal") && hasAny(line, fatalDiagnostics);
    if (isFatal || hasAny(line, performanceDiagnostics)) {
      report.problems.push_back({findKernel(line, ptx).str(), line.substr(line.find("(C")).str()});
      report.isRefused |= isFatal;
    } else if (line.contains("Compiling entry function")) {
      report.kernels.push_back({getQuotedAfter(line, "entry function '").str()});
    } else if (!report.kernels.empty() && line.contains("bytes spill stores")) {
      KernelResources &kernel = report.kernels.back();
      kernel.spillStoreBytes += getNumberBefore(line, "bytes spill stores");
      kernel.spillLoadBytes += getNumberBefore(line, "bytes spill loads");
    } else if (!report.kernels.empty() && line.contains("Used ")) {
      report.kernels.back().registers = getNumberBefore(line, "registers");
      report.kernels.back().staticSharedMemory = getNumberBefore(line, "bytes smem");
    }
  }
  for (const KernelResources &kernel : report.kernels)
    if (kernel.spillStoreBytes || kernel.spillLoadBytes)
      report.problems.push_back({kernel.symbol, "spills registers, " + std::to_string(kernel.spillStoreBytes) +
                                                    " bytes of stores and " + std::to_string(kernel.spillLoadBytes) +
                                                    " bytes of loads"});
  return report;
}

//===----------------------------------------------------------------------===//
// How it runs
//===----------------------------------------------------------------------===//

static llvm::Expected<std::string> readFile(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return createFileError(path, file.getError());
  return (*file)->getBuffer().str();
}

llvm::Expected<PtxasResult> sparsec::runPtxas(const PtxasJob &job) {
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("sparsec", folder))
    return llvm::createStringError("cannot make a temporary folder: " + error.message());
  std::string ptxPath = joinPath(folder, "kernel.ptx"), cubinPath = joinPath(folder, "kernel.cubin");
  std::string logPath = joinPath(folder, "ptxas.log");
  bool keepPtx = false;
  llvm::scope_exit cleanUp([&] {
    // A file that cannot be removed does no harm.
    (void)llvm::sys::fs::remove(cubinPath);
    (void)llvm::sys::fs::remove(logPath);
    if (!keepPtx) {
      (void)llvm::sys::fs::remove(ptxPath);
      (void)llvm::sys::fs::remove(folder);
    }
  });
  if (llvm::Error error = writeFile(ptxPath, job.ptx))
    return error;

  std::string arch = "-arch=" + job.chip;
  // By all threads of the machine. The kernels are the same, however many there are.
  SmallVector<StringRef> command = {job.program, "-v", "-O3", "--split-compile=0", arch, ptxPath, "-o", cubinPath};
  auto fail = [&](const Twine &message) {
    keepPtx = true;
    std::string reproducer;
    llvm::raw_string_ostream stream(reproducer);
    for (StringRef argument : ArrayRef(command).drop_back())
      llvm::sys::printArg(stream << ' ', argument, /*Quote=*/false);
    return llvm::createStringError(message + "\nto reproduce:" + reproducer + " kernel.cubin");
  };

  std::string launchError;
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(logPath), StringRef(logPath)};
  int exitCode = llvm::sys::ExecuteAndWait(job.program, command, /*Env=*/std::nullopt, redirects, /*SecondsToWait=*/0,
                                           /*MemoryLimit=*/0, &launchError);
  llvm::Expected<std::string> log = readFile(logPath);
  if (!log)
    llvm::consumeError(log.takeError());
  std::string text = log ? StringRef(*log).trim().str() : "";
  PtxasReport report = parsePtxasReport(text, job.ptx);
  if (exitCode != 0 && report.isRefused)
    return PtxasResult{"", std::move(report.kernels), std::move(report.problems)};
  if (exitCode != 0)
    return fail("ptxas failed: " + (launchError.empty() ? "exit code " + std::to_string(exitCode) : launchError) +
                (text.empty() ? "" : "\n" + text));
  llvm::Expected<std::string> cubin = readFile(cubinPath);
  if (!cubin)
    return fail("ptxas wrote no cubin: " + llvm::toString(cubin.takeError()));
  return PtxasResult{std::move(*cubin), std::move(report.kernels), std::move(report.problems)};
}
