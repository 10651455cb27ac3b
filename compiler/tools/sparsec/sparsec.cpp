// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec: the command line around sparsec/compiler.h. Reads a file, compiles, writes a file.

#include "Crash.h"
#include "Progress.h"
#include "sparsec/compiler.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

#include <malloc.h>

using namespace llvm;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
/// Like LLVM's parser of named values, but an error lists them.
template <typename Value> class ChoiceParser : public cl::parser<Value> {
public:
  using cl::parser<Value>::parser;

  bool parse(cl::Option &option, StringRef name, StringRef text, Value &value) {
    if (this->findOption(text) < this->getNumOptions())
      return cl::parser<Value>::parse(option, name, text, value);
    SmallVector<StringRef> choices;
    for (unsigned index = 0; index < this->getNumOptions(); ++index)
      choices.push_back(this->getOption(index));
    return option.error("expects one of " + join(choices, ", ") + ", but got '" + text + "'");
  }
};
} // namespace

static cl::OptionCategory category("Options");

static cl::opt<std::string> inputPath(cl::Positional, cl::desc("kernel.mlir (- is standard input)"), cl::Required,
                                      cl::cat(category));
static cl::opt<std::string> outputPath("o", cl::desc("File to write, - is standard output; see below"),
                                       cl::value_desc("file"), cl::cat(category));
static cl::list<std::string> targets("arch", cl::CommaSeparated, cl::value_desc("names"),
                                     cl::desc("Chips that --version lists, or host; several give a bundle from which "
                                              "the runtime picks (default sm_90a)"),
                                     cl::cat(category));
static cl::opt<sparsec_emit_t, false, ChoiceParser<sparsec_emit_t>> emit(
    "emit", cl::desc("What to write instead of the image:"), cl::init(SPARSEC_EMIT_IMAGE),
    cl::values(clEnumValN(SPARSEC_EMIT_MLIR, "mlir", "the input, verified"),
               clEnumValN(SPARSEC_EMIT_SCHEDULE, "schedule", "the input with the schedule of every kernel"),
               clEnumValN(SPARSEC_EMIT_TILE, "tile", "tile ops: loops, ring, copies, chains"),
               clEnumValN(SPARSEC_EMIT_NVVM, "nvvm", "GPU instructions as MLIR"),
               clEnumValN(SPARSEC_EMIT_LLVM, "llvm", "LLVM IR, optimised"), clEnumValN(SPARSEC_EMIT_PTX, "ptx", "PTX"),
               clEnumValN(SPARSEC_EMIT_CUBIN, "cubin", "the image of a GPU (the default)"),
               clEnumValN(SPARSEC_EMIT_CANDIDATES, "candidates", "the schedules to choose from, a line of JSON each"),
               clEnumValN(SPARSEC_EMIT_HOST, "host", "the image of the host, implies --arch=host")),
    cl::cat(category));
static cl::opt<bool> embedPtx("embed-ptx", cl::desc("Put PTX beside the cubins, for chips newer than those of --arch"),
                              cl::cat(category));
static cl::opt<double> expectDensity("expect-density", cl::init(0.25), cl::value_desc("fraction"),
                                     cl::desc("Expected fraction of blocks that are there (default 0.25)"),
                                     cl::cat(category));
static cl::opt<int64_t> expectN("expect-n", cl::init(0), cl::value_desc("columns"),
                                cl::desc("Expected number of columns of X (default 0: many)"), cl::cat(category));
static cl::opt<std::string> scheduleTable("schedule-table", cl::value_desc("file"),
                                          cl::desc("Schedules that were measured, for kernels to take in place of "
                                                   "those that the cost model prefers; sparsec-tune writes it"),
                                          cl::cat(category));
static cl::opt<std::string> ptxas("ptxas", cl::value_desc("program"),
                                  cl::desc("The assembler. Else SPARSEC_PTXAS names it, else it is searched for in "
                                           "../lib/sparsec of this program, PATH, CUDA_HOME, CUDA_PATH, "
                                           "/usr/local/cuda and VIRTUAL_ENV"),
                                  cl::cat(category));
static cl::opt<bool>
    allowSpills("allow-spills", cl::desc("Try no other schedule where ptxas reports spills or serialised instructions"),
                cl::cat(category));
static cl::opt<std::string> dumpDirectory("dump-ir", cl::value_desc("directory"),
                                          cl::desc("Write one numbered file per pass and stage, in a folder per chip"),
                                          cl::cat(category));
static cl::opt<bool> remarks("remarks", cl::desc("Print a table of the schedules that were considered for each kernel"),
                             cl::cat(category));
static cl::opt<bool> verbose("verbose",
                             cl::desc("Print schedules, registers, spills, shared memory, occupancy and times"),
                             cl::cat(category));

static cl::extrahelp examples(R"(
Examples:
  sparsec kernel.mlir -o kernel.cubin                compile for sm_90a
  sparsec kernel.mlir --arch=sm_90a,sm_89,host       one file for three targets: kernel.bundle
  sparsec kernel.mlir --arch=sm_89 --embed-ptx       also runs on chips newer than sm_89
  sparsec kernel.mlir --emit=schedule --remarks      which schedule, and why
  sparsec kernel.mlir --schedule-table=table.jsonl   with the schedules that sparsec-tune found
  sparsec kernel.mlir --emit=ptx                     PTX on standard output
  generate | sparsec - -o kernel.cubin --verbose     from standard input

Without -o, text goes to standard output, and an image to the input's name with .cubin, .o (host) or .bundle, in the
current directory.

Exit codes: 0 good; 1 the input is wrong; 2 the command line is wrong; 3 the compiler, ptxas or writing a file failed.
)");

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::string chooseOutput(sparsec_result_format_t format) {
  if (!outputPath.empty())
    return outputPath;
  const char *extension = "";
  switch (format) {
  case SPARSEC_RESULT_TEXT:
    return "-";
  case SPARSEC_RESULT_CUBIN:
    extension = ".cubin";
    break;
  case SPARSEC_RESULT_HOST_OBJECT:
    extension = ".o";
    break;
  case SPARSEC_RESULT_BUNDLE:
    extension = ".bundle";
    break;
  }
  StringRef stem = inputPath == "-" ? "kernel" : sys::path::stem(inputPath);
  return (stem + extension).str();
}

static Error writeTo(raw_fd_ostream &stream, StringRef path, StringRef contents) {
  stream << contents;
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return error ? createFileError(path, error) : Error::success();
}

/// Whether a file can be written there, as far as it is known before the work.
static std::error_code checkOutput(StringRef path) {
  sys::fs::file_status status;
  if (path == "-")
    return {};
  if (!sys::fs::status(path, status) && !sys::fs::is_regular_file(status))
    return sys::fs::is_directory(status) ? std::make_error_code(std::errc::is_a_directory) : std::error_code();
  StringRef folder = sys::path::parent_path(path);
  if (folder.empty())
    folder = ".";
  if (std::error_code error = sys::fs::access(folder, sys::fs::AccessMode::Write))
    return error;
  return sys::fs::is_directory(folder) ? std::error_code() : std::make_error_code(std::errc::not_a_directory);
}

static int refuseOutput(const Twine &error) {
  WithColor::error(errs(), "sparsec") << "cannot write " << error << "\n";
  return SPARSEC_COMPILE_FAILURE;
}

/// Writes to a temporary file beside `path` and renames it: an existing file is replaced whole or not at all.
static Error writeOutput(StringRef path, StringRef contents) {
  if (path == "-")
    return writeTo(outs(), path, contents);
  // Devices and pipes are written to, not replaced.
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path)) {
    std::error_code error;
    raw_fd_ostream stream(path, error);
    return error ? createFileError(path, error) : writeTo(stream, path, contents);
  }
  return writeToOutput(
      path, [&](raw_ostream &stream) { return writeTo(static_cast<raw_fd_ostream &>(stream), path, contents); });
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static void printVersion(raw_ostream &stream) {
  stream << "sparsec " << sparsec_compiler_version() << " (LLVM " LLVM_VERSION_STRING ")\n"
         << "targets: " << sparsec_compiler_targets() << "\n";
}

static void printDiagnostic(void *progress, sparsec_severity_t, const char *text) {
  static_cast<Progress *>(progress)->print(text);
}

static void showProgress(void *progress, const char *phase) { static_cast<Progress *>(progress)->begin(phase); }

static sparsec_compile_options_t makeOptions(const std::vector<const char *> &targetNames, Progress &progress) {
  sparsec_compile_options_t options;
  sparsec_compile_options_init(&options);
  options.source_name = inputPath == "-" ? "<stdin>" : inputPath.c_str();
  options.targets = targetNames.data();
  options.target_count = targetNames.size();
  options.emit = emit;
  options.embed_ptx = embedPtx;
  options.allow_spills = allowSpills;
  options.remarks = ::remarks;
  options.ptxas = ptxas.c_str();
  options.dump_directory = dumpDirectory.empty() ? nullptr : dumpDirectory.c_str();
  options.expect_density = expectDensity;
  options.expect_n = expectN;
  options.schedule_table = scheduleTable.empty() ? nullptr : scheduleTable.c_str();
  options.diagnostic = printDiagnostic;
  options.progress = showProgress;
  options.user_data = &progress;
  return options;
}

/// Keeps memory that was freed for the next allocation. With the defaults of glibc a compilation spends 3 % of its time
/// on giving memory back and asking for it again (bench/notes/compile-time.md).
static void keepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

int main(int argc, char **argv) {
  keepFreedMemory();
  InitLLVM init(argc, argv);
  handleCrashes(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(printVersion);
  if (!cl::ParseCommandLineOptions(argc, argv, "sparsec: compiles block-sparse kernels\n", &errs()))
    return SPARSEC_COMPILE_INVALID_OPTIONS;

  auto source = MemoryBuffer::getFileOrSTDIN(inputPath, /*IsText=*/true);
  if (!source) {
    WithColor::error(errs(), "sparsec") << "cannot read '" << inputPath << "': " << source.getError().message() << "\n";
    return SPARSEC_COMPILE_INVALID_INPUT;
  }
  if (std::error_code error = checkOutput(outputPath))
    return refuseOutput("'" + outputPath + "': " + error.message());
  if (sys::fs::equivalent(inputPath, outputPath)) {
    WithColor::error(errs(), "sparsec") << "expects -o to name another file than the input, but got '" << outputPath
                                        << "' for both\n";
    return SPARSEC_COMPILE_INVALID_OPTIONS;
  }

  std::vector<const char *> targetNames;
  for (const std::string &target : targets)
    targetNames.push_back(target.c_str());
  std::optional<Progress> progress(std::in_place, inputPath);
  sparsec_compile_options_t options = makeOptions(targetNames, *progress);
  sparsec_compile_result_t result = nullptr;
  sparsec_compile_code_t code =
      sparsec_compile((*source)->getBufferStart(), (*source)->getBufferSize(), &options, &result);
  progress.reset();
  if (code != SPARSEC_COMPILE_OK)
    return code;

  StringRef data(static_cast<const char *>(sparsec_compile_result_data(result)), sparsec_compile_result_size(result));
  if (Error error = writeOutput(chooseOutput(sparsec_compile_result_format(result)), data)) {
    code = sparsec_compile_code_t(refuseOutput(toString(std::move(error))));
  } else if (verbose) {
    errs() << sparsec_compile_result_report(result);
  }
  sparsec_compile_result_free(result);
  return code;
}
