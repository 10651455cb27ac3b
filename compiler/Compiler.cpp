// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C API: parse once, then for every target run the passes (Pipeline.cpp), LLVM and ptxas (binary/).

#include "sparsec/compiler.h"

#include "Bundle.h"
#include "CheckText.h"
#include "Conversions.h"
#include "EmitKernels.h"
#include "Failure.h"
#include "HostObject.h"
#include "IrDump.h"
#include "ListCandidates.h"
#include "Passes.h"
#include "Pipeline.h"
#include "Ptxas.h"
#include "ReadBack.h"
#include "Report.h"
#include "ScheduleAttempts.h"
#include "TargetInfo.h"
#include "Translate.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

#include <set>

using namespace mlir;
using namespace sparsec;

struct sparsec_compile_result_s {
  std::string data;
  sparsec_result_format_t format = SPARSEC_RESULT_TEXT;
  std::string report;
};

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static constexpr StringLiteral emitNames[] = {"image", "mlir", "schedule", "tile", "nvvm",
                                              "llvm",  "ptx",  "cubin",    "host", "candidates"};

static bool isImage(sparsec_emit_t emit) {
  return emit == SPARSEC_EMIT_IMAGE || emit == SPARSEC_EMIT_CUBIN || emit == SPARSEC_EMIT_HOST;
}

/// Whether the pipeline of a target goes through a stage.
static bool hasStage(StringRef target, sparsec_emit_t emit) {
  if (llvm::is_contained(
          {SPARSEC_EMIT_IMAGE, SPARSEC_EMIT_MLIR, SPARSEC_EMIT_SCHEDULE, SPARSEC_EMIT_TILE, SPARSEC_EMIT_LLVM}, emit))
    return true;
  bool onGpu = findChip(target);
  return onGpu == (emit != SPARSEC_EMIT_HOST);
}

/// PTX of a chip like sm_89 runs on every newer one, that of sm_90a on nothing else.
static bool isPtxPortable(StringRef target) {
  const Chip *chip = findChip(target);
  return chip && !chip->archSpecific;
}

static std::vector<std::string> getTargets(const sparsec_compile_options_t &options) {
  if (options.target_count)
    return {options.targets, options.targets + options.target_count};
  return {options.emit == SPARSEC_EMIT_HOST ? std::string(hostTarget) : "sm_90a"};
}

/// An error names the option as the driver spells it, without the dashes.
static llvm::Error checkOptions(const sparsec_compile_options_t &options, ArrayRef<std::string> targets) {
  if (static_cast<size_t>(options.emit) >= std::size(emitNames))
    return llvm::createStringError("expects emit to be 0 to 9, but got " + std::to_string(options.emit));
  StringRef emit = emitNames[options.emit];
  std::set<StringRef> seen;
  for (const std::string &target : targets) {
    if (!isKnownTarget(target))
      return llvm::createStringError("expects arch to be one of " + knownTargets() + ", but got " +
                                     (target.empty() ? "an empty name" : target));
    if (!seen.insert(target).second)
      return llvm::createStringError("expects every arch once, but got " + target + " twice");
    if (!hasStage(target, options.emit))
      return llvm::createStringError("arch " + target + " has no stage " + emit);
  }
  if (!isImage(options.emit) && targets.size() > 1)
    return llvm::createStringError("emit " + emit + " expects one arch, but got " + std::to_string(targets.size()));
  if (options.embed_ptx && !isImage(options.emit))
    return llvm::createStringError("embed-ptx expects an image, but got emit " + emit);
  if (options.embed_ptx && llvm::none_of(targets, isPtxPortable))
    return llvm::createStringError("embed-ptx expects an arch whose PTX newer chips accept, but got only " +
                                   llvm::join(targets, ", "));
  if (!(options.expect_density > 0 && options.expect_density <= 1))
    return llvm::createStringError("expects expect-density above 0 and at most 1, but got " +
                                   llvm::formatv("{0}", options.expect_density).str());
  if (options.expect_n < 0)
    return llvm::createStringError("expects expect-n of at least 0, but got " + std::to_string(options.expect_n));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

namespace {
/// Hands the caller every diagnostic with its source line. Remarks wait: those on an attempt to compile that came to
/// nothing are dropped.
class DiagnosticForwarder : public SourceMgrDiagnosticHandler {
public:
  DiagnosticForwarder(llvm::SourceMgr &sources, MLIRContext *context, const sparsec_compile_options_t &options)
      : SourceMgrDiagnosticHandler(sources, context, stream), stream(text), options(options) {
    setHandler([this](Diagnostic &diagnostic) { forward(diagnostic); });
  }

  void dropRemarks() { remarks.clear(); }
  void forwardRemarks() {
    for (const std::string &remark : std::exchange(remarks, {}))
      options.diagnostic(options.user_data, SPARSEC_SEVERITY_REMARK, remark.c_str());
  }

private:
  void forward(Diagnostic &diagnostic) {
    if (!options.diagnostic)
      return;
    text.clear();
    emitDiagnostic(diagnostic);
    sparsec_severity_t severity = getSeverity(diagnostic.getSeverity());
    if (severity == SPARSEC_SEVERITY_REMARK)
      remarks.push_back(text);
    else
      options.diagnostic(options.user_data, severity, text.c_str());
  }

  static sparsec_severity_t getSeverity(DiagnosticSeverity severity) {
    switch (severity) {
    case DiagnosticSeverity::Error:
      return SPARSEC_SEVERITY_ERROR;
    case DiagnosticSeverity::Warning:
      return SPARSEC_SEVERITY_WARNING;
    case DiagnosticSeverity::Note:
    case DiagnosticSeverity::Remark:
      return SPARSEC_SEVERITY_REMARK;
    }
    llvm_unreachable("unknown severity");
  }

  std::string text;
  llvm::raw_string_ostream stream;
  std::vector<std::string> remarks;
  const sparsec_compile_options_t &options;
};
} // namespace

/// Makes the remarks of all passes diagnostics.
static void enableRemarks(MLIRContext &context) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis = categories.failed = ".*";
  [[maybe_unused]] LogicalResult enabled = remark::enableOptimizationRemarks(
      context, /*streamer=*/nullptr, std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
      /*printAsEmitRemarks=*/true);
  assert(succeeded(enabled) && "a new context has no remark engine yet");
}

/// Reports what belongs to no line of the input.
static void report(const sparsec_compile_options_t &options, sparsec_severity_t severity, const Twine &message) {
  if (options.diagnostic)
    options.diagnostic(options.user_data, severity,
                       ((severity == SPARSEC_SEVERITY_ERROR ? "error: " : "warning: ") + message + "\n").str().c_str());
}

//===----------------------------------------------------------------------===//
// Compilation of one source
//===----------------------------------------------------------------------===//

namespace {
class Compilation {
public:
  Compilation(const sparsec_compile_options_t &options, std::vector<std::string> targets,
              sparsec_compile_result_s &result)
      : options(options), targets(std::move(targets)), result(result),
        times([this](StringRef phase) { announce(phase); }) {}

  sparsec_compile_code_t run(StringRef text);

private:
  sparsec_compile_code_t compile(ModuleOp module, DiagnosticForwarder &diagnostics);
  std::optional<sparsec_compile_code_t> attempt(ModuleOp module, ScheduleAttempts &attempts);
  std::optional<sparsec_compile_code_t> compileForGpu(ModuleOp module, const Chip &chip, IrDump &dump,
                                                      ScheduleAttempts &attempts);
  sparsec_compile_code_t compileForHost(ModuleOp module, IrDump &dump);
  LogicalResult runPasses(ModuleOp module, StringRef target, IrDump &dump, PassFailure &failure);
  void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine, StringRef passes, IrDump &dump);
  sparsec_compile_code_t findAssembler();
  std::optional<sparsec_compile_code_t> judge(const PtxasResult &assembled, StringRef launchInfo,
                                              ScheduleAttempts &attempts);
  sparsec_compile_code_t finish();

  void announce(StringRef phase) {
    if (!options.progress)
      return;
    std::string prefix = target.empty() ? "" : target.str() + ": ";
    if (attemptNumber > 1)
      prefix += "attempt " + std::to_string(attemptNumber) + ": ";
    options.progress(options.user_data, (prefix + phase).str().c_str());
  }
  sparsec_compile_code_t fail(const Twine &message) {
    report(options, SPARSEC_SEVERITY_ERROR, message);
    return SPARSEC_COMPILE_FAILURE;
  }
  sparsec_compile_code_t failInternally(const Twine &what, StringRef target);

  const sparsec_compile_options_t &options;
  std::vector<std::string> targets;
  sparsec_compile_result_s &result;
  std::string assembler; // empty where none is needed
  StringRef source;
  StringRef target; // the one that is being compiled
  unsigned attemptNumber = 0;
  bool hasF8 = false; // the module that is compiled
  std::vector<BundleImage> images;
  PhaseTimes times;
};
} // namespace

/// The last named stage that the passes have to reach.
static Stage getLastStage(sparsec_emit_t emit) {
  switch (emit) {
  case SPARSEC_EMIT_MLIR:
  case SPARSEC_EMIT_CANDIDATES:
    return Stage::Mlir;
  case SPARSEC_EMIT_SCHEDULE:
    return Stage::Schedule;
  case SPARSEC_EMIT_TILE:
    return Stage::Tile;
  case SPARSEC_EMIT_NVVM:
    return Stage::Nvvm;
  default:
    return Stage::Llvm;
  }
}

static std::string getLaunchInfo(llvm::Module &module) {
  auto *global = module.getNamedGlobal(SPARSEC_LAUNCH_INFO_SYMBOL);
  return cast<llvm::ConstantDataArray>(global->getInitializer())->getRawDataValues().str();
}

/// Says that the compiler is at fault, with a command that fails in the same way.
sparsec_compile_code_t Compilation::failInternally(const Twine &what, StringRef target) {
  std::string arguments = (" --arch=" + target).str();
  if (options.emit != SPARSEC_EMIT_IMAGE)
    arguments += (" --emit=" + emitNames[options.emit]).str();
  sparsec_compile_options_t defaults;
  sparsec_compile_options_init(&defaults);
  if (options.expect_density != defaults.expect_density)
    arguments += llvm::formatv(" --expect-density={0:e16}", options.expect_density);
  if (options.expect_n != defaults.expect_n)
    arguments += llvm::formatv(" --expect-n={0}", options.expect_n);
  if (options.schedule_table)
    arguments += llvm::formatv(" --schedule-table={0}", options.schedule_table);
  return fail(describeInternalError(what, source, arguments));
}

/// A source holds kernels and nothing else: what passes make has the rest of the module for itself.
static LogicalResult checkContents(ModuleOp module, StringRef source) {
  if (module.getBody()->empty())
    return module.emitError("expects at least one sparsec.kernel, but got ")
           << (source.trim().empty() ? "an empty text" : "none");
  for (Operation &op : *module.getBody()) {
    if (!isa<KernelOp>(op))
      return op.emitError("expects only sparsec.kernel in a module, but got ") << op.getName();
  }
  return success();
}

sparsec_compile_code_t Compilation::run(StringRef text) {
  source = text;
  DialectRegistry registry;
  registry.insert<SparsecDialect>();
  registerConversions(registry);
  registerTranslations(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false); // the source line is enough
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(source, options.source_name), llvm::SMLoc());
  DiagnosticForwarder forwarder(sources, &context, options);
  if (options.remarks)
    enableRemarks(context);

  OwningOpRef<ModuleOp> module;
  times.measure("parse", [&] {
    if (succeeded(checkText(sources, context)) && succeeded(checkNames(sources, context)))
      module = parseSourceFile<ModuleOp>(sources, &context);
  });
  if (!module || failed(checkContents(*module, source)))
    return SPARSEC_COMPILE_INVALID_INPUT;
  if (sparsec_compile_code_t code = findAssembler())
    return code;
  for (const std::string &target : targets) {
    this->target = target;
    if (sparsec_compile_code_t code = compile(*module, forwarder))
      return code;
  }
  return finish();
}

/// Looks for ptxas before the work, not after it.
sparsec_compile_code_t Compilation::findAssembler() {
  if (!isImage(options.emit) || llvm::none_of(targets, [](StringRef target) { return findChip(target); }))
    return SPARSEC_COMPILE_OK;
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  StringRef requested = options.ptxas ? options.ptxas : "";
  auto program = findPtxas(requested, llvm::sys::path::parent_path(self));
  if (program) {
    assembler = *program;
    return SPARSEC_COMPILE_OK;
  }
  fail(llvm::toString(program.takeError()));
  return requested.empty() ? SPARSEC_COMPILE_FAILURE : SPARSEC_COMPILE_INVALID_OPTIONS;
}

/// Compiles for the target, with other schedules as long as ptxas refuses some.
sparsec_compile_code_t Compilation::compile(ModuleOp module, DiagnosticForwarder &diagnostics) {
  ScheduleAttempts attempts(module);
  std::optional<sparsec_compile_code_t> code;
  for (attemptNumber = 1; !code; ++attemptNumber) {
    diagnostics.dropRemarks();
    OwningOpRef<ModuleOp> copy = module.clone();
    attempts.apply(*copy);
    code = attempt(*copy, attempts);
  }
  diagnostics.forwardRemarks();
  return *code;
}

/// Nothing if another attempt is to be made; its dump replaces this one's.
std::optional<sparsec_compile_code_t> Compilation::attempt(ModuleOp module, ScheduleAttempts &attempts) {
  SmallString<128> folder;
  if (options.dump_directory)
    llvm::sys::path::append(folder, options.dump_directory, target);
  IrDump dump(folder);
  if (llvm::Error error = dump.create())
    return fail("cannot make the dump directory: " + llvm::toString(std::move(error)));

  hasF8 = llvm::any_of(module.getOps<KernelOp>(), [](KernelOp kernel) {
    return llvm::any_of(kernel.getBody().getArgumentTypes(), [](Type type) {
      auto matrix = dyn_cast<BsrType>(type);
      return matrix && matrix.hasF8();
    });
  });
  PassFailure failure;
  if (failed(runPasses(module, target, dump, failure)))
    return failure.isInputWrong ? SPARSEC_COMPILE_INVALID_INPUT
                                : failInternally("pass " + failure.pass + " failed", target);
  std::optional<sparsec_compile_code_t> code = SPARSEC_COMPILE_OK;
  if (options.emit == SPARSEC_EMIT_CANDIDATES) {
    if (failed(listCandidates(module, {options.expect_density, options.expect_n}, result.data)))
      return SPARSEC_COMPILE_INVALID_INPUT;
  } else if (getLastStage(options.emit) != Stage::Llvm) {
    llvm::raw_string_ostream stream(result.data);
    module.print(stream, dumpFlags());
  } else if (const Chip *chip = findChip(target)) {
    code = compileForGpu(module, *chip, dump, attempts);
  } else {
    code = compileForHost(module, dump);
  }
  if (llvm::Error error = dump.takeError())
    return fail("cannot write a dump: " + llvm::toString(std::move(error)));
  return code;
}

LogicalResult Compilation::runPasses(ModuleOp module, StringRef target, IrDump &dump, PassFailure &failure) {
  PipelineOptions pipeline;
  pipeline.chip = target.str();
  pipeline.expectDensity = options.expect_density;
  pipeline.expectN = options.expect_n;
  pipeline.scheduleTable = options.schedule_table ? options.schedule_table : "";

  const bool isForGpu = findChip(target);
  const Stage last = getLastStage(options.emit);
  auto run = [&](bool verifies, function_ref<void(OpPassManager &)> addPasses) {
    PassManager passes(module.getContext());
    passes.enableVerifier(verifies);
    passes.addInstrumentation(std::make_unique<NotePassFailure>(failure));
    if (dump.isEnabled())
      passes.addInstrumentation(std::make_unique<DumpAfterPass>(dump));
    addPasses(passes);
    return passes.run(module);
  };
  auto compileToLlvm = [&] {
    if (!isForGpu)
      return run(/*verifies=*/false, addHostConversionPasses);
    // Modules of machine ops are large: each verification takes 1.7 % of a compilation (bench/notes/compile-time.md).
    // MLIR does not verify a module that a pass leaves as it is, and most modules have no maths to lower.
    auto addEmission = [&](OpPassManager &passes) { addGpuEmissionPasses(passes, last); };
    LogicalResult result = run(/*verifies=*/false, addEmission);
    if (succeeded(result))
      result = run(/*verifies=*/true, addGpuMathPass);
    return failed(result) ? result : run(/*verifies=*/false, addGpuConversionPasses);
  };
  return times.measure("passes", [&] {
    LogicalResult result = run(/*verifies=*/true, [&](OpPassManager &passes) {
      isForGpu ? addGpuPasses(passes, pipeline, last) : addHostPasses(passes, last);
      if (isForGpu && last == Stage::Nvvm)
        addGpuEmissionPasses(passes, last);
    });
    if (failed(result) || last != Stage::Llvm)
      return result;
    result = compileToLlvm();
    return failed(result) ? result : run(/*verifies=*/true, addCastRemovalPass);
  });
}

std::optional<sparsec_compile_code_t> Compilation::compileForGpu(ModuleOp module, const Chip &chip, IrDump &dump,
                                                                 ScheduleAttempts &attempts) {
  llvm::LLVMContext context;
  auto makeMachine = [&] {
    return createGpuTargetMachine(chip.name, "+" + std::string(hasF8 ? chip.ptxFeatureOfF8 : chip.ptxFeature));
  };
  auto machine = makeMachine();
  gpu::GPUModuleOp gpuModule = *module.getOps<gpu::GPUModuleOp>().begin();
  auto llvmModule = times.measure("translation", [&] { return translateToLLVM(gpuModule, context, *machine); });
  if (!llvmModule)
    return failInternally("translation to LLVM IR failed", chip.name);
  const bool isTextWanted = dump.isEnabled() || options.emit == SPARSEC_EMIT_LLVM;
  if (isTextWanted)
    optimizeModule(*llvmModule, *machine, kernelPasses, dump);
  if (options.emit == SPARSEC_EMIT_LLVM)
    return SPARSEC_COMPILE_OK;

  std::string launchInfo = getLaunchInfo(*llvmModule);
  const StringRef passesLeft = isTextWanted ? "" : kernelPasses;
  auto ptx = times.measure("code generation", [&] { return emitKernels(*llvmModule, passesLeft, makeMachine); });
  if (!ptx)
    return failInternally(llvm::toString(ptx.takeError()), chip.name);
  dump.write("ptx.ptx", *ptx);
  if (options.emit == SPARSEC_EMIT_PTX) {
    result.data = std::move(*ptx);
    return SPARSEC_COMPILE_OK;
  }

  auto assembled = times.measure("ptxas", [&] { return runPtxas({assembler, std::string(chip.name), *ptx}); });
  if (!assembled)
    return fail(llvm::toString(assembled.takeError()));
  if (auto code = judge(*assembled, launchInfo, attempts); code != SPARSEC_COMPILE_OK)
    return code;
  // The launch info in the cubin learns what ptxas reported.
  auto embedded = findLaunchInfo({assembled->cubin.data(), assembled->cubin.size()});
  if (!embedded)
    return fail(llvm::toString(embedded.takeError()));
  setResources(*embedded, assembled->kernels);
  result.report += describeLaunchInfo(*embedded);
  if (llvm::Error error = sealElf({assembled->cubin.data(), assembled->cubin.size()}))
    return failInternally(llvm::toString(std::move(error)), chip.name);
  dump.write("cubin.cubin", assembled->cubin);
  images.push_back({std::string(chip.name), SPARSEC_IMAGE_ELF, std::move(assembled->cubin), ""});
  if (options.embed_ptx && isPtxPortable(chip.name)) {
    sealPtx(*ptx, {launchInfo.data(), launchInfo.size()});
    images.push_back({std::string(chip.name), SPARSEC_IMAGE_PTX, std::move(*ptx), std::move(launchInfo)});
  }
  return SPARSEC_COMPILE_OK;
}

sparsec_compile_code_t Compilation::compileForHost(ModuleOp module, IrDump &dump) {
  llvm::LLVMContext context;
  auto machine = createHostTargetMachine();
  auto llvmModule = times.measure("translation", [&] { return translateHostToLLVM(module, context, *machine); });
  if (!llvmModule)
    return failInternally("translation to LLVM IR failed", hostTarget);
  optimizeModule(*llvmModule, *machine, hostPasses, dump);
  if (options.emit == SPARSEC_EMIT_LLVM)
    return SPARSEC_COMPILE_OK;

  std::string launchInfo = getLaunchInfo(*llvmModule);
  auto object = times.measure("code generation", [&] { return emitHostObject(*llvmModule, *machine); });
  if (!object)
    return failInternally(llvm::toString(object.takeError()), hostTarget);
  if (llvm::Error error = sealElf({object->data(), object->size()}))
    return failInternally(llvm::toString(std::move(error)), hostTarget);
  result.report += describeLaunchInfo(ArrayRef(launchInfo.data(), launchInfo.size()));
  images.push_back({std::string(hostTarget), SPARSEC_IMAGE_ELF, std::move(*object), ""});
  dump.write("object.o", images.back().image);
  return SPARSEC_COMPILE_OK;
}

/// Runs LLVM's passes, with the text before and after where somebody wants it.
void Compilation::optimizeModule(llvm::Module &module, llvm::TargetMachine &machine, StringRef passes, IrDump &dump) {
  auto print = [&] {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, /*AAW=*/nullptr);
    return text;
  };
  if (dump.isEnabled())
    dump.write("llvm.ll", print());
  times.measure("optimisation", [&] { optimize(module, machine, passes); });
  if (dump.isEnabled())
    dump.write("llvm-optimized.ll", print());
  if (options.emit == SPARSEC_EMIT_LLVM)
    result.data = print();
}

/// Whether what ptxas made is to be taken. Nothing if there are schedules left to try instead.
std::optional<sparsec_compile_code_t> Compilation::judge(const PtxasResult &assembled, StringRef launchInfo,
                                                         ScheduleAttempts &attempts) {
  ArrayRef<char> info(launchInfo.data(), launchInfo.size());
  bool isAllowed = assembled.problems.empty() || (options.allow_spills && !assembled.cubin.empty());
  if (!isAllowed && attempts.refuse(assembled.problems, info))
    return std::nullopt;
  if (assembled.cubin.empty())
    return failInternally("ptxas takes no schedule of " + describe(assembled.problems.back(), info), target);
  if (failed(attempts.reportRefusalsByHand(info)))
    return SPARSEC_COMPILE_INVALID_INPUT;
  for (const PtxasProblem &problem : assembled.problems)
    report(options, SPARSEC_SEVERITY_WARNING,
           describe(problem, info) + (isAllowed ? "" : "; no other schedule does without"));
  return SPARSEC_COMPILE_OK;
}

sparsec_compile_code_t Compilation::finish() {
  result.report += times.toString();
  if (!isImage(options.emit))
    return SPARSEC_COMPILE_OK;
  if (images.size() > 1) {
    result.format = SPARSEC_RESULT_BUNDLE;
    result.data = writeBundle(images);
  } else {
    result.format = images[0].target == hostTarget ? SPARSEC_RESULT_HOST_OBJECT : SPARSEC_RESULT_CUBIN;
    result.data = std::move(images[0].image);
  }
  if (llvm::Error error = readBack(result.data))
    return failInternally(llvm::toString(std::move(error)), target);
  return SPARSEC_COMPILE_OK;
}

//===----------------------------------------------------------------------===//
// C API
//===----------------------------------------------------------------------===//

void sparsec_compile_options_init(sparsec_compile_options_t *options) {
  *options = {};
  options->source_name = "<memory>";
  options->expect_density = 0.25;
}

sparsec_compile_code_t sparsec_compile(const char *source, size_t size, const sparsec_compile_options_t *options,
                                       sparsec_compile_result_t *out_result) {
  sparsec_compile_options_t defaults;
  sparsec_compile_options_init(&defaults);
  const sparsec_compile_options_t &chosen = options ? *options : defaults;

  *out_result = nullptr;
  std::vector<std::string> targets = getTargets(chosen);
  if (llvm::Error error = checkOptions(chosen, targets)) {
    report(chosen, SPARSEC_SEVERITY_ERROR, llvm::toString(std::move(error)));
    return SPARSEC_COMPILE_INVALID_OPTIONS;
  }
  auto result = std::make_unique<sparsec_compile_result_s>();
  sparsec_compile_code_t code = Compilation(chosen, std::move(targets), *result).run({source, size});
  if (code == SPARSEC_COMPILE_OK)
    *out_result = result.release();
  return code;
}

const void *sparsec_compile_result_data(sparsec_compile_result_t result) { return result->data.data(); }
size_t sparsec_compile_result_size(sparsec_compile_result_t result) { return result->data.size(); }
sparsec_result_format_t sparsec_compile_result_format(sparsec_compile_result_t result) { return result->format; }
const char *sparsec_compile_result_report(sparsec_compile_result_t result) { return result->report.c_str(); }
void sparsec_compile_result_free(sparsec_compile_result_t result) { delete result; }

const char *sparsec_compiler_version(void) { return SPARSEC_VERSION; }

const char *sparsec_compiler_targets(void) {
  static const std::string names = knownTargets();
  return names.c_str();
}
