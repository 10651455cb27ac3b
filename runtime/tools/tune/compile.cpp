// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compile.h"

#include "output.h"
#include "progress.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

namespace sparsec::tune {

/// Its address is in this program.
static int anchor;

static llvm::Expected<std::string> findCompiler(const std::string &requested) {
  std::string name = requested.empty() ? "sparsec" : requested;
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
  if (requested.empty())
    if (auto beside = llvm::sys::findProgramByName(name, {llvm::sys::path::parent_path(self)}))
      return *beside;
  if (auto found = llvm::sys::findProgramByName(name); found && llvm::sys::fs::can_execute(*found))
    return *found;
  return failure("there is no compiler '{}': --sparsec=PROGRAM names one", name);
}

static llvm::Error removeFile(const std::string &path) {
  std::error_code error = llvm::sys::fs::remove(path);
  return error ? llvm::createFileError(path, error) : llvm::Error::success();
}

/// Runs the compiler. Its messages go to a file, which is in an error.
static llvm::Error runCompiler(const std::string &program, std::vector<std::string> arguments, const std::string &log) {
  arguments.insert(arguments.begin(), program);
  const std::vector<llvm::StringRef> views(arguments.begin(), arguments.end());
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(log), llvm::StringRef(log)};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(program, views, std::nullopt, redirects, /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                       &message);
  if (code == 0) {
    return removeFile(log);
  }
  if (auto text = readers::readFile(log))
    message += (*text)->getBuffer().trim();
  else
    llvm::consumeError(text.takeError());
  return failure("'{}' failed with exit code {}: {}", program, code, message);
}

/// Names the source, options and compiler that made the files of the work folder.
static llvm::Expected<std::string> stampOf(const CompileRequest &request, const std::string &compiler) {
  auto source = readers::readFile(request.source);
  if (!source)
    return source.takeError();
  auto program = readers::readFile(compiler);
  if (!program)
    return program.takeError();
  return fmt::format("{} {} {} {}\n", hashOf((*source)->getBuffer()), hashOf((*program)->getBuffer()), request.arch,
                     request.kernel);
}

/// Removes the cubins of another source, compiler or chip.
static llvm::Error clearUnless(llvm::StringRef folder, const std::string &stampFile, llvm::StringRef stamp) {
  if (auto old = readers::readFile(stampFile)) {
    if ((*old)->getBuffer() == stamp)
      return llvm::Error::success();
  } else {
    llvm::consumeError(old.takeError());
  }
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(folder, error), end; file != end && !error; file.increment(error))
    if (llvm::StringRef(file->path()).ends_with(".cubin"))
      if (llvm::Error failed = removeFile(file->path()))
        return failed;
  return error ? llvm::createFileError(folder, error) : run::writeFile(stampFile, stamp);
}

/// Asks the compiler for the candidates, and keeps those that are wanted.
static llvm::Expected<std::vector<Candidate>> listCandidates(const CompileRequest &request, const WorkFolder &folder,
                                                             const std::string &compiler) {
  const std::string path = folder.file("candidates.jsonl");
  if (llvm::Error error = runCompiler(
          compiler, {request.source, "--arch=" + request.arch, "--emit=candidates", "-o", path}, path + ".log"))
    return error;
  auto file = readers::readFile(path);
  if (!file)
    return file.takeError();
  auto all = parseCandidates((*file)->getBuffer(), path);
  if (!all)
    return all.takeError();
  auto candidates = candidatesOf(std::move(*all), request.kernel);
  if (!candidates)
    return candidates.takeError();
  if (request.candidates != 0 && size_t(request.candidates) < candidates->size())
    candidates->resize(size_t(request.candidates));
  std::string lines;
  for (const Candidate &candidate : *candidates)
    lines += candidate.row + "\n";
  if (llvm::Error error = run::writeFile(path, lines))
    return error;
  return candidates;
}

static llvm::Error compile(const CompileRequest &request, const WorkFolder &folder, const std::string &compiler,
                           const Candidate &candidate) {
  const std::string cubin = folder.cubin(candidate), table = cubin + ".row.jsonl", log = cubin + ".log";
  if (llvm::Error error = run::writeFile(table, candidate.row + "\n"))
    return error;
  llvm::Error error =
      runCompiler(compiler, {request.source, "--arch=" + request.arch, "--schedule-table=" + table, "-o", cubin}, log);
  return llvm::joinErrors(std::move(error), removeFile(table));
}

llvm::Expected<bool> compileCandidates(const CompileRequest &request, const WorkFolder &folder,
                                       const Deadline &deadline) {
  auto compiler = findCompiler(request.compiler);
  if (!compiler)
    return compiler.takeError();
  auto stamp = stampOf(request, *compiler);
  if (!stamp)
    return stamp.takeError();
  const std::string root = folder.file("");
  if (std::error_code error = llvm::sys::fs::create_directories(root))
    return llvm::createFileError(root, error);
  if (llvm::Error error = clearUnless(root, folder.file("stamp"), *stamp))
    return error;
  auto candidates = listCandidates(request, folder, *compiler);
  if (!candidates)
    return candidates.takeError();
  run::Progress progress("compiling candidates", "sparsec-tune");
  size_t failures = 0;
  std::string firstFailure;
  for (const Candidate &candidate : *candidates) {
    progress.update(int64_t(candidate.number) - 1, int64_t(candidates->size()));
    if (llvm::sys::fs::exists(folder.cubin(candidate)))
      continue;
    if (isOver(deadline))
      return false;
    if (llvm::Error error = compile(request, folder, *compiler, candidate)) {
      std::string text = llvm::toString(std::move(error));
      firstFailure = ++failures == 1 ? text : firstFailure;
    }
  }
  if (failures == candidates->size())
    return failure("no candidate compiles: {}", firstFailure);
  if (failures != 0)
    llvm::errs() << fmt::format("sparsec-tune: {} of {} candidates do not compile; {} has their logs\n", failures,
                                candidates->size(), root);
  return true;
}

} // namespace sparsec::tune
