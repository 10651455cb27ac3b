// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-run: runs one kernel of a compiled file on data from files, checks it and times it.

#include "check.h"
#include "execute.h"
#include "inspect.h"
#include "inspect_plan.h"
#include "numpy.h"
#include "output.h"
#include "report.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"

#include <string>
#include <vector>

using namespace sparsec;
using namespace sparsec::run;
namespace cl = llvm::cl;

static cl::OptionCategory category("sparsec-run options");
static cl::opt<std::string> inputFile(cl::Positional, cl::Required, cl::desc("<compiled file>"), cl::cat(category));
static cl::list<std::string>
    assignments("arg", cl::value_desc("name=value"), cl::cat(category),
                cl::desc("Value of an input. Block-sparse: .smtx, .mtx or .npz file, or\n"
                         "random:MxK:density=D[:SEED]. Dense: .npy file or random:SHAPE[:SEED],\n"
                         "of integers random:SHAPE:below=N[:SEED]. Scalar: a number. Scales of fp8:\n"
                         "scales:NAME. Pattern: .smtx or .npy file, dense, mask,\n"
                         "random:density=D[:SEED] or window:LEFT,RIGHT[:sink=N], as padded lists\n"
                         "behind padded:"));
static cl::list<std::string> outputs("out", cl::value_desc("name=file.npy"), cl::cat(category),
                                     cl::desc("Write a result to a NumPy file (bf16 as float32)"));
static cl::opt<std::string> check("check", cl::ValueOptional, cl::value_desc("rows"), cl::cat(category),
                                  cl::desc("Compare with the reference in double precision: 'all' rows, a number\n"
                                           "of rows, or by default as many as a few seconds allow"));
static cl::opt<std::string> repeat("repeat", cl::init("5"), cl::value_desc("samples"), cl::cat(category),
                                   cl::desc("Timing samples; the median is shown (default 5, 0: no timing)"));
static cl::opt<std::string> device("device", cl::init("auto"), cl::value_desc("auto|cuda[:N]|host"), cl::cat(category),
                                   cl::desc("Where to run (default auto: the first GPU if the file has an image for\n"
                                            "it, else the processor)"));
static cl::opt<std::string> kernelName("kernel", cl::value_desc("name"), cl::cat(category),
                                       cl::desc("The kernel to run, when the file has several"));
static cl::opt<bool> noPlan("no-plan", cl::cat(category), cl::desc("Launch without a plan"));
static cl::opt<std::string> pattern("pattern", cl::init("static"), cl::value_desc("static|dynamic"), cl::cat(category),
                                    cl::desc("What the plan is told of the pattern: it stays as it is, so that the\n"
                                             "plan may hold it in another order (static, the default), or it may\n"
                                             "change between launches (dynamic)"));
static cl::opt<bool> pack("pack", cl::cat(category),
                          cl::desc("Let the plan pack small blocks in larger ones, where they are close\n"
                                   "together. The values are packed before the launches"));
static cl::opt<std::string> loadPlan("load-plan", cl::value_desc("file"), cl::cat(category),
                                     cl::desc("Launch with a plan that --save-plan has written"));
static cl::opt<std::string> savePlan("save-plan", cl::value_desc("file"), cl::cat(category),
                                     cl::desc("Write the plan to a file"));
static cl::opt<bool> inspect("inspect", cl::cat(category),
                             cl::desc("Print the launch info of the file, or what a saved plan holds, and\n"
                                      "stop; needs no GPU"));
static cl::opt<bool> json("json", cl::cat(category), cl::desc("Print JSON instead of a table"));
static cl::extrahelp moreHelp(R"(
Examples:
  sparsec-run kernel.cubin --arg w=pattern.smtx --arg x=random:8192x512 --check --repeat=20
  sparsec-run kernel.cubin --arg w=matrix.mtx --arg x=x.npy --arg beta=0.5 --out y=y.npy
  sparsec-run f8.cubin --arg w=matrix.mtx --arg x=random:512x8192 --arg s=scales:w --arg t=scales:x --check
  sparsec-run attention.cubin --arg q=random:2x8x4096x128 --arg k=random:2x2x4096x128 --arg v=random:2x2x4096x128 \
    --arg p=window:1023,0:sink=4 --check
  sparsec-run kernel.cubin --inspect
  sparsec-run kernel.cubin --arg w=pattern.smtx --arg x=random:8192x512 --save-plan w.plan
  sparsec-run kernel.cubin --arg w=pattern.smtx --arg x=random:8192x512 --load-plan w.plan

Files:
  .smtx  pattern of the Deep Learning Matrix Collection: every nonzero stands for one block (of random values)
  .mtx   Matrix Market, coordinate: cut into the kernel's blocks; fill-in = stored elements / nonzeros
  .npz   SciPy BSR matrix (scipy.sparse.save_npz) with the kernel's blocks; shape may be less than the blocks cover
  .npy   NumPy array: float16, float32, float64, or uint16 as the bits of bf16; int32 or int64 for integers; C order

Scales of fp8: s=scales:w quantises w, with a scale for each block if s is scales, for each row if s is per_row, or one
if s is a scalar, and passes them as s; t=scales:x does so with x (x_scale, per_column, scalar). Else elements of w and
x are rounded to fp8.

Patterns of attention: which key blocks every query block visits.
  mask         what the kernel's mask region makes of every block: full, partial or not visited
  dense        all blocks
  random       every block with probability D; lists of its own for every batch and head
  window       blocks with a key from LEFT before to RIGHT behind a query of theirs (-1: no limit), or among the first N
  .smtx        query blocks x key blocks, the same for all batches and heads
  .npy         bool, or uint8: 0 not visited, 1 full, 2 partial; shape ([[batches,] heads,] query blocks, key blocks)
Except for mask and uint8, blocks are partial if the kernel has a mask region, else full. The kernel gets index arrays,
or behind padded: (padded:mask, padded:p.npy) padded lists.

Check: |got - exact| <= 2 units in the last place of the result type + 1e-6 * sum |w x|, where the second term is
carried through the epilogue; of attention it is what f32 arithmetic and probabilities in the type of V may be off by.
Results start as NaN, so that elements that are never written are seen.

Time: one sample is the wall-clock time of a batch of launches (about 20 ms) and one synchronisation, divided by the
launches. Operands stay in the caches between launches. TFLOP/s counts the blocks that are there: 2 * nnzb * r * c * N;
of attention 4 * D for every query and key that meet, of which density is the share (pattern, causal, window; no mask).
Max rel. error is the largest |got - exact| over the largest |exact|, of the rows that are checked.

Pointers are checked before every launch on a GPU, which takes about 2 us. Kernels of less than 10 us wait for it: the
environment variable SPARSEC_CHECK_MEMORY=0 turns it off.

Exit codes: 0 good, 1 bad input or failed check, 2 wrong usage, 3 internal or driver error, or an output that cannot
be written.
)");

namespace {
/// The options, read and checked.
struct Request {
  DeviceRequest device;
  std::optional<CheckRequest> check;
  PlanRequest plan;
  int64_t samples;
};
} // namespace

/// --check, --check=all or --check=ROWS; nothing for other text.
static std::optional<CheckRequest> parseCheck(llvm::StringRef text) {
  CheckRequest request;
  if (text == "all")
    request.rows = CheckRequest::Rows::all;
  else if (!text.empty())
    request.rows = CheckRequest::Rows::count;
  if (request.rows == CheckRequest::Rows::count && (text.getAsInteger(10, request.count) || request.count < 1))
    return std::nullopt;
  return request;
}

/// Says why --arg or --out is refused; empty if neither is.
static std::string checkAssignments() {
  for (auto *option : {std::addressof(assignments), std::addressof(outputs)}) // cl::list has its own operator&
    for (llvm::StringRef assignment : *option) {
      auto [name, value] = assignment.split('=');
      bool isFile = option == std::addressof(outputs);
      if (name.empty() || value.empty() || (isFile && !value.ends_with(".npy")))
        return fmt::format("expects --{0} {1}, but got --{0} {2}", view(option->ArgStr), view(option->ValueStr),
                           view(assignment));
    }
  llvm::StringSet<> files;
  for (llvm::StringRef output : outputs)
    if (llvm::StringRef file = output.split('=').second; !files.insert(file).second)
      return fmt::format("expects a file of its own for every --out, but got '{}' twice", view(file));
  return "";
}

/// Reads the options of the plan, and says which of them do not go together; empty if all do.
static std::string parsePlan(PlanRequest &request) {
  if (pattern != "static" && pattern != "dynamic")
    return fmt::format("expects --pattern=static or dynamic, but got '{}'", pattern.getValue());
  const bool loads = loadPlan.getNumOccurrences() != 0, saves = savePlan.getNumOccurrences() != 0;
  if ((loads && loadPlan.empty()) || (saves && savePlan.empty()))
    return fmt::format("expects --{}=FILE, but got an empty name",
                       loads && loadPlan.empty() ? "load-plan" : "save-plan");
  if (noPlan && (loads || saves))
    return fmt::format("expects a plan for --{}, but got --no-plan", loads ? "load-plan" : "save-plan");
  if (loads && pattern.getNumOccurrences() != 0)
    return "expects --pattern or --load-plan, but got both: a saved plan has its kind of pattern";
  if (pack && (noPlan || loads || pattern != "static"))
    return "expects --pack with a plan that is made for a static pattern, but got --" +
           std::string(noPlan  ? "no-plan"
                       : loads ? "load-plan: a saved plan has its own packed blocks"
                               : "pattern=dynamic");
  using Kind = PlanRequest::Kind;
  request.kind = noPlan                ? Kind::none
                 : loads               ? Kind::loaded
                 : pattern == "static" ? Kind::forStaticPattern
                                       : Kind::forDynamicPattern;
  request.loadFile = loadPlan;
  request.saveFile = savePlan;
  request.packs = pack;
  return "";
}

/// Reads the values of the options, and says what is wrong with them; empty if nothing is.
static std::string parseOptions(Request &request) {
  std::optional<DeviceRequest> deviceRequest = DeviceRequest::parse(device);
  if (!deviceRequest)
    return fmt::format("expects --device=auto, cuda, cuda:N or host, but got '{}'", device.getValue());
  request.device = *deviceRequest;
  if (check.getNumOccurrences() != 0) {
    request.check = parseCheck(check);
    if (!request.check)
      return fmt::format("expects --check, --check=all or --check=ROWS, but got '{}'", check.getValue());
  }
  if (std::string mistake = parsePlan(request.plan); !mistake.empty())
    return mistake;
  if (llvm::StringRef(repeat).getAsInteger(10, request.samples) || request.samples < 0)
    return fmt::format("expects --repeat=SAMPLES, a number of 0 or more, but got '{}'", repeat.getValue());
  if (kernelName.getNumOccurrences() != 0 && kernelName.empty())
    return "expects --kernel=NAME, but got an empty name";
  return checkAssignments();
}

/// Names the file in errors that it is to blame for.
static llvm::Error inFile(llvm::Error error) {
  return llvm::handleErrors(std::move(error), [](std::unique_ptr<StatusError> status) -> llvm::Error {
    switch (status->code) {
    case SPARSEC_STATUS_INVALID_IMAGE:
    case SPARSEC_STATUS_VERSION_MISMATCH:
    case SPARSEC_STATUS_WRONG_DEVICE:
    case SPARSEC_STATUS_DEVICE_LIMIT:
    case SPARSEC_STATUS_INVALID_PLAN:
      return llvm::make_error<StatusError>(status->code,
                                           fmt::format("'{}': {}", inputFile.getValue(), status->message));
    default:
      return llvm::Error(std::move(status));
    }
  });
}

static llvm::Error inspectFile(llvm::StringRef file) {
  if (isSavedPlan(file))
    return inFile(inspectPlan(llvm::outs(), file, json));
  auto images = readImages(file);
  if (!images)
    return inFile(images.takeError());
  if (json)
    llvm::outs() << llvm::formatv("{0:2}\n", describeImages(*images));
  else
    printImages(llvm::outs(), *images);
  return llvm::Error::success();
}

/// The result that `name=file` asks for.
static llvm::Expected<const HostArgument *> findOutput(HostArguments &host, llvm::StringRef name) {
  const HostArgument *argument = host.find(name);
  if (!argument || !argument->isResult)
    return failure("the kernel has no result '{}'", view(name));
  return argument;
}

static llvm::Error writeOutputs(HostArguments &host) {
  for (llvm::StringRef output : outputs) {
    auto [name, path] = output.split('=');
    auto argument = findOutput(host, name);
    if (!argument)
      return argument.takeError();
    auto bytes = readers::writeNumpy((*argument)->elements.data(), sparsec_dtype_t((*argument)->info->dtype),
                                     (*argument)->sizes);
    if (!bytes)
      return bytes.takeError();
    if (llvm::Error error = writeFile(path, *bytes))
      return error;
  }
  return llvm::Error::success();
}

/// The kernel of --kernel, or the only one.
static llvm::Expected<sparsec_kernel_t> findKernel(sparsec_module_t module) {
  const size_t count = sparsec_module_kernel_count(module);
  sparsec_kernel_t kernel = nullptr;
  if (!kernelName.empty() || count == 1) {
    const char *name = kernelName.empty() ? nullptr : kernelName.c_str();
    if (llvm::Error error = toError(sparsec_module_kernel(module, name, &kernel)))
      return error;
    return kernel;
  }
  std::vector<std::string> names;
  for (size_t index = 0; index < count; ++index) {
    if (llvm::Error error = toError(sparsec_module_kernel_at(module, index, &kernel)))
      return error;
    names.emplace_back(sparsec_kernel_info(kernel)->name);
  }
  return failure("'{}' has {} kernels: add --kernel= and one of {}", inputFile.getValue(), count,
                 fmt::join(names, ", "));
}

/// Runs the kernel; false if a check failed.
static llvm::Expected<bool> runFile(llvm::StringRef file, const Request &request) {
  auto loaded = loadModule(file, request.device);
  if (!loaded)
    return inFile(loaded.takeError());
  auto found = findKernel(loaded->module.get());
  if (!found)
    return found.takeError();
  sparsec_kernel_t kernel = *found;
  auto host = HostArguments::read(kernel, assignments, readers::Limits());
  if (!host)
    return host.takeError();
  for (llvm::StringRef output : outputs) { // before the work, not after it
    auto [name, path] = output.split('=');
    if (llvm::Error error = findOutput(*host, name).takeError())
      return error;
    if (llvm::Error error = checkOutput(path))
      return error;
  }
  if (!request.plan.saveFile.empty())
    if (llvm::Error error = checkOutput(request.plan.saveFile))
      return error;

  Report report = makeReport(*loaded, kernel, inputFile, *host);
  auto execution = execute(*loaded, kernel, *host, request.plan, request.samples);
  if (!execution)
    return execution.takeError();
  report.execution = *execution;
  if (request.check) {
    auto result = checkResult(kernel, *host, *request.check);
    if (!result)
      return result.takeError();
    report.check = *result;
  }
  if (json)
    llvm::outs() << llvm::formatv("{0:2}\n", describeReport(report));
  else
    printTable(llvm::outs(), report);
  llvm::outs().flush();
  if (report.execution.plan && !json)
    printPlan(llvm::errs(), *report.execution.plan);
  if (report.check)
    printCheck(llvm::errs(), *report.check);
  if (llvm::Error error = writeOutputs(*host))
    return error;
  return !report.check || report.check->wrongElements == 0;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &stream) { stream << "sparsec-run " << sparsec_version() << '\n'; });
  if (!cl::ParseCommandLineOptions(argc, argv, "Runs a compiled sparsec kernel on data from files.\n", &llvm::errs()))
    return exitUsage;
  Request request;
  if (std::string mistake = parseOptions(request); !mistake.empty()) {
    llvm::errs() << "sparsec-run: " << mistake << "; see --help\n";
    return exitUsage;
  }

  auto file = readers::readFile(inputFile);
  if (!file)
    return reportError(file.takeError());
  llvm::StringRef bytes = (*file)->getBuffer();
  if (inspect) {
    if (llvm::Error error = inspectFile(bytes))
      return reportError(std::move(error));
    return exitGood;
  }
  auto passed = runFile(bytes, request);
  if (!passed)
    return reportError(passed.takeError());
  return *passed ? exitGood : exitBadInput;
}
