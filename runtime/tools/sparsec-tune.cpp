// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-tune: measures the schedules that a kernel may have, and writes the best one in a table that sparsec reads.

#include "compile.h"
#include "gpu_measurer.h"
#include "output.h"
#include "ranking.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace sparsec;
using namespace sparsec::run;
using namespace sparsec::tune;
namespace cl = llvm::cl;

static cl::OptionCategory category("sparsec-tune options");
static cl::opt<std::string> source(cl::Positional, cl::desc("[kernel.mlir]"), cl::cat(category));
static cl::list<std::string> patternFolders("patterns", cl::value_desc("folder"), cl::cat(category),
                                            cl::desc("Measure on all .smtx, .mtx and .npz files of a folder"));
static cl::list<std::string> patternTexts("pattern", cl::value_desc("value"), cl::cat(category),
                                          cl::desc("Measure on a block-sparse matrix, as sparsec-run --arg takes it:\n"
                                                   "a file or random:MxK:density=D[:SEED]"));
static cl::opt<int64_t> columns("columns", cl::init(8192), cl::value_desc("N"), cl::cat(category),
                                cl::desc("Columns of X, where the kernel leaves them open (default 8192).\n"
                                         "Up to 256 columns, and for results of few tiles, launches may take narrow\n"
                                         "variants, which are not tuned"));
static cl::opt<std::string> output("o", cl::value_desc("table.jsonl"), cl::cat(category),
                                   cl::desc("The table to write the best schedule to, beside the rows of other\n"
                                            "problems (default: table.jsonl in the work folder)"));
static cl::opt<std::string> work("work", cl::value_desc("folder"), cl::cat(category),
                                 cl::desc("Where candidates and measurements are kept, for the next run to go on\n"
                                          "with (default: the kernel's name with .tune)"));
static cl::opt<std::string> arch("arch", cl::init("sm_90a"), cl::value_desc("chip"), cl::cat(category),
                                 cl::desc("The chip to compile for (default sm_90a)"));
static cl::opt<std::string> kernelName("kernel", cl::value_desc("name"), cl::cat(category),
                                       cl::desc("The kernel to tune, when the file has several"));
static cl::opt<int64_t> candidateCount("candidates", cl::init(0), cl::value_desc("count"), cl::cat(category),
                                       cl::desc("Only so many candidates, the first ones in the order of the cost\n"
                                                "model (default 0: all)"));
static cl::opt<int64_t> launches("launches", cl::init(15), cl::value_desc("count"), cl::cat(category),
                                 cl::desc("Timed launches of each candidate; the median counts (default 15)"));
static cl::opt<double> timeLimit("time-limit", cl::init(0), cl::value_desc("seconds"), cl::cat(category),
                                 cl::desc("Stop after this time; the next run goes on (default 0: none)"));
static cl::opt<int32_t> device("device", cl::init(0), cl::value_desc("N"), cl::cat(category),
                               cl::desc("The number of the GPU (default 0)"));
static cl::opt<std::string> compiler("sparsec", cl::value_desc("program"), cl::cat(category),
                                     cl::desc("The compiler (default: sparsec beside this program, else in PATH)"));
static cl::opt<bool> compileOnly("compile-only", cl::cat(category),
                                 cl::desc("Fill the work folder with compiled candidates, and stop; needs no GPU"));
static cl::opt<bool> measureOnly("measure-only", cl::cat(category),
                                 cl::desc("Measure the candidates in the work folder; needs no compiler"));
static cl::extrahelp moreHelp(R"(
Examples:
  sparsec-tune kernel.mlir --patterns matrices -o table.jsonl
  sparsec-tune kernel.mlir --pattern random:8192x8192:density=0.25 --columns 4096 --time-limit 600
  sparsec kernel.mlir --schedule-table=table.jsonl

Two machines, of which one has the compiler and the other one the GPU:
  sparsec-tune kernel.mlir --compile-only --work kernel.tune
  sparsec-tune --measure-only --work kernel.tune --patterns matrices -o table.jsonl

The kernel is a product of a block-sparse and a dense matrix. Its candidates are those of sparsec --emit=candidates:
tiles, clusters and consumers of the cost model, with all numbers of stages that fit. Inputs are random. Every candidate
runs with a plan for a dynamic pattern. Its result is compared with rows of the reference in double precision. Only then
its launches are timed with events, one at a time, with the L2 cache flushed before each.

Files of the work folder:
  candidates.jsonl    the candidates, a line each; their cubins are 0001.cubin and so on
  measurements.jsonl  a line for each candidate and pattern, which bench/plot_sweep.py draws. A run leaves out what is
                      there for the same cubin, pattern, columns, device and driver

The best candidate has the least geometric mean of its times, as ratios to the best of each pattern.

Exit codes: 0 good, also at the time limit; 1 bad input; 2 wrong usage; 3 internal or driver error, or an output that
cannot be written.
)");

/// Says what is wrong with the options; empty if nothing is.
static std::string checkOptions() {
  if (compileOnly && measureOnly)
    return "expects --compile-only or --measure-only, but got both";
  if (measureOnly && !source.empty())
    return "expects no kernel with --measure-only, but got '" + source + "'";
  if (!measureOnly && source.empty())
    return "expects a kernel, or --measure-only and --work";
  if (measureOnly && work.empty())
    return "expects --work=FOLDER with --measure-only";
  if (!compileOnly && patternFolders.empty() && patternTexts.empty())
    return "expects --patterns=FOLDER or --pattern=VALUE";
  if (arch == "host")
    return "the host has one schedule for each kernel op: there is nothing to tune";
  if (columns < 1 || launches < 1 || candidateCount < 0 || timeLimit < 0)
    return "expects --columns and --launches above 0, and --candidates and --time-limit of at least 0";
  return "";
}

static bool isMatrixFile(llvm::StringRef path) {
  return path.ends_with(".smtx") || path.ends_with(".mtx") || path.ends_with(".npz");
}

/// The files of the folders, by name, and then the other ones.
static llvm::Expected<std::vector<Pattern>> findPatterns() {
  std::vector<std::string> texts;
  for (const std::string &folder : patternFolders) {
    std::vector<std::string> files;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator file(folder, error), end; file != end && !error; file.increment(error))
      if (isMatrixFile(file->path()))
        files.push_back(file->path());
    if (error)
      return failure("cannot read the folder '{}': {}", folder, error.message());
    if (files.empty())
      return failure("the folder '{}' has no file .smtx, .mtx or .npz", folder);
    std::sort(files.begin(), files.end());
    texts.insert(texts.end(), files.begin(), files.end());
  }
  texts.insert(texts.end(), patternTexts.begin(), patternTexts.end());
  std::vector<Pattern> patterns;
  for (const std::string &text : texts) {
    if (!isMatrixFile(text)) {
      patterns.push_back({text, ""});
      continue;
    }
    auto file = readers::readFile(text);
    if (!file)
      return file.takeError();
    patterns.push_back({text, hashOf((*file)->getBuffer())});
  }
  return patterns;
}

/// Writes the best candidate into the table.
static llvm::Error writeTable(const std::string &path, const Ranking &ranking, const Setting &setting) {
  std::string old;
  if (llvm::sys::fs::exists(path)) {
    auto file = readers::readFile(path);
    if (!file)
      return file.takeError();
    old = (*file)->getBuffer().str();
  }
  auto table = updateTable(old, path, ranking, setting);
  if (!table)
    return table.takeError();
  if (llvm::Error error = writeFile(path, *table))
    return error;
  const Rank &best = ranking.ranks.front();
  llvm::outs() << fmt::format("\n{}: {}\n", path, best.candidate->name);
  return llvm::Error::success();
}

/// Measures, and says what came of it.
static llvm::Error measureCandidates(const WorkFolder &folder, const Deadline &deadline) {
  const std::string listed = folder.file("candidates.jsonl"),
                    table = output.empty() ? folder.file("table.jsonl") : output.getValue();
  if (llvm::Error error = checkOutput(table))
    return error;
  auto patterns = findPatterns();
  if (!patterns)
    return patterns.takeError();
  auto file = readers::readFile(listed);
  if (!file)
    return file.takeError();
  auto all = parseCandidates((*file)->getBuffer(), listed);
  if (!all)
    return all.takeError();
  auto candidates = candidatesOf(std::move(*all), kernelName);
  if (!candidates)
    return candidates.takeError();
  auto journal = Journal::open(folder.file("measurements.jsonl"));
  if (!journal)
    return journal.takeError();
  auto measurer = openGpuMeasurer(folder, device, columns, launches);
  if (!measurer)
    return measurer.takeError();
  auto finished = measureAll(folder, *candidates, *patterns, **measurer, deadline, *journal);
  const Setting &setting = (*measurer)->setting();
  printRanking(llvm::outs(), *candidates, *patterns, setting, *journal);
  if (!finished)
    return finished.takeError();
  if (!*finished)
    llvm::errs() << "sparsec-tune: stopped at the time limit; the next run goes on\n";
  const Ranking ranking = rank(*candidates, *patterns, setting, *journal);
  if (ranking.ranks.empty())
    return failure("no candidate was measured on all patterns with a result that is right");
  return writeTable(table, ranking, setting);
}

static llvm::Error runHalves() {
  Deadline deadline;
  if (timeLimit > 0)
    deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeLimit));
  const WorkFolder folder(work.empty() ? (llvm::sys::path::stem(source) + ".tune").str() : work.getValue());
  if (!measureOnly) {
    auto finished = compileCandidates({source, kernelName, arch, compiler, candidateCount}, folder, deadline);
    if (!finished)
      return finished.takeError();
    if (!*finished) {
      llvm::errs() << "sparsec-tune: stopped at the time limit; the next run goes on\n";
      return llvm::Error::success();
    }
  }
  return compileOnly ? llvm::Error::success() : measureCandidates(folder, deadline);
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &stream) { stream << "sparsec-tune " << sparsec_version() << '\n'; });
  if (!cl::ParseCommandLineOptions(argc, argv, "Measures the schedules of a sparsec kernel.\n", &llvm::errs()))
    return exitUsage;
  if (std::string mistake = checkOptions(); !mistake.empty()) {
    llvm::errs() << "sparsec-tune: " << mistake << "; see --help\n";
    return exitUsage;
  }
  try {
    if (llvm::Error error = runHalves())
      return reportError(std::move(error), "sparsec-tune");
  } catch (const std::exception &exception) { // of the timer: the driver
    llvm::errs() << "sparsec-tune: error: " << exception.what() << '\n';
    return exitInternal;
  }
  return exitGood;
}
