// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Faults of the compiler, and how they differ from faults of the input. Two passes of the pipeline are replaced when
// this program is linked: one that only works on what other passes made, and one that may refuse the input.

#include "Passes.h"
#include "sparsec/compiler.h"

#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;

namespace {

enum class Behaviour { Succeed, Refuse, LeaveInvalid, RefuseAndLeaveInvalid, LeaveUntranslatable };
Behaviour inAssignSharedMemory, inLowerMath;

class StandIn : public PassWrapper<StandIn, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StandIn)
  StandIn(StringRef name, Behaviour behaviour) : name(name), behaviour(behaviour) {}

  StringRef getArgument() const override { return name; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<LLVM::LLVMDialect>(); }

  void runOnOperation() override {
    Operation *op = getOperation();
    if (name == "sparsec-assign-shared-memory")
      assignOffsets(op);
    if (behaviour == Behaviour::LeaveInvalid || behaviour == Behaviour::RefuseAndLeaveInvalid)
      op->getRegion(0).front().push_back(op->getRegion(0).front().front().clone()); // one name twice
    if (behaviour == Behaviour::LeaveUntranslatable)
      op->walk([](LLVM::LLVMFuncOp function) {
        OpBuilder b(&function.getBody().front(), function.getBody().front().begin());
        Value value =
            UnrealizedConversionCastOp::create(b, function.getLoc(), b.getF32Type(), ValueRange{}).getResult(0);
        Value pointer = LLVM::ZeroOp::create(b, function.getLoc(), LLVM::LLVMPointerType::get(b.getContext()));
        LLVM::StoreOp::create(b, function.getLoc(), value, pointer);
      });
    if (behaviour == Behaviour::Refuse || behaviour == Behaviour::RefuseAndLeaveInvalid) {
      op->emitError("expects something else");
      signalPassFailure();
    }
  }

private:
  /// The pass that emits the tiles reads them: A comes first, and X behind it.
  static void assignOffsets(Operation *module) {
    module->walk([](Operation *op) {
      if (op->getName().getStringRef() == "sparsec.ring")
        op->setAttr("offsets", DenseI64ArrayAttr::get(op->getContext(), {0, 1 << 16}));
    });
  }

  std::string name;
  Behaviour behaviour;
};

} // namespace

std::unique_ptr<Pass> sparsec::createAssignSharedMemoryPass() {
  return std::make_unique<StandIn>("sparsec-assign-shared-memory", inAssignSharedMemory);
}
std::unique_ptr<Pass> sparsec::createLowerMathPass() {
  return std::make_unique<StandIn>("sparsec-lower-math", inLowerMath);
}

namespace {

const std::string kernel = R"mlir(
sparsec.kernel @multiply(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
})mlir";

class InternalError : public testing::Test {
protected:
  void SetUp() override {
    inAssignSharedMemory = inLowerMath = Behaviour::Succeed;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("sparsec-test", folder));
    setenv("TMPDIR", folder.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    EXPECT_FALSE(llvm::sys::fs::remove_directories(folder));
  }

  /// Compiles to a stage and collects what is said.
  sparsec_compile_code_t compile(sparsec_emit_t emit) {
    sparsec_compile_options_t options;
    sparsec_compile_options_init(&options);
    const char *target = "sm_89";
    options.targets = &target;
    options.target_count = 1;
    options.emit = emit;
    options.expect_density = 0.125;
    options.expect_n = 640;
    options.schedule_table = "/dev/null"; // a table without rows
    options.user_data = &said;
    options.diagnostic = [](void *user, sparsec_severity_t, const char *text) {
      *static_cast<std::string *>(user) += text;
    };
    sparsec_compile_result_t result = nullptr;
    sparsec_compile_code_t code = sparsec_compile(kernel.data(), kernel.size(), &options, &result);
    EXPECT_EQ(result, nullptr);
    return code;
  }

  bool says(StringRef text) const { return StringRef(said).contains(text); }

  llvm::SmallString<128> folder;
  std::string said;
};

TEST_F(InternalError, InputThatAPassRefuses) {
  inLowerMath = Behaviour::Refuse;
  EXPECT_EQ(compile(SPARSEC_EMIT_PTX), SPARSEC_COMPILE_INVALID_INPUT);
  EXPECT_TRUE(says("error: expects something else")) << said;
  EXPECT_FALSE(says("internal error")) << said;
}

TEST_F(InternalError, PassThatFails) {
  inAssignSharedMemory = Behaviour::Refuse;
  EXPECT_EQ(compile(SPARSEC_EMIT_TILE), SPARSEC_COMPILE_FAILURE);
  EXPECT_TRUE(says("error: expects something else")) << said;
  EXPECT_TRUE(says("error: internal error: pass sparsec-assign-shared-memory failed; the input is not at fault\n"))
      << said;
}

TEST_F(InternalError, InvalidResultOfAPass) {
  // Not even of a pass that may refuse the input.
  for (Behaviour behaviour : {Behaviour::LeaveInvalid, Behaviour::RefuseAndLeaveInvalid}) {
    inLowerMath = behaviour;
    EXPECT_EQ(compile(SPARSEC_EMIT_PTX), SPARSEC_COMPILE_FAILURE);
    EXPECT_TRUE(says("error: internal error: pass sparsec-lower-math failed; the input is not at fault\n")) << said;
    said.clear();
  }
}

TEST_F(InternalError, ResultThatCannotBeTranslated) {
  inLowerMath = Behaviour::LeaveUntranslatable;
  EXPECT_EQ(compile(SPARSEC_EMIT_PTX), SPARSEC_COMPILE_FAILURE);
  EXPECT_TRUE(says("error: internal error: translation to LLVM IR failed; the input is not at fault\n")) << said;
}

TEST_F(InternalError, CommandReproduces) {
  inAssignSharedMemory = Behaviour::Refuse;
  EXPECT_EQ(compile(SPARSEC_EMIT_TILE), SPARSEC_COMPILE_FAILURE);
  const std::string start = "to reproduce: sparsec ";
  size_t command = said.find(start);
  ASSERT_NE(command, std::string::npos) << said;
  std::string arguments = said.substr(command + start.size());
  auto [path, options] = StringRef(arguments).split(' ');
  EXPECT_EQ(
      options,
      "--arch=sm_89 --emit=tile --expect-density=1.2500000000000000e-01 --expect-n=640 --schedule-table=/dev/null "
      "-o /dev/null\n");
  auto source = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(source) << path.str();
  EXPECT_EQ((*source)->getBuffer(), kernel);
  // The program has the real passes, so that it only has to understand the command.
  EXPECT_EQ(std::system((SPARSEC_PROGRAM " " + arguments).c_str()), 0);
}

/// The handlers of a process for the signals of crashes and interrupts.
std::vector<struct sigaction> getSignalActions() {
  std::vector<struct sigaction> actions;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1})
    sigaction(signal, nullptr, &actions.emplace_back());
  return actions;
}

const std::vector<struct sigaction> actionsAtStart = getSignalActions();

TEST_F(InternalError, SignalHandlersAreLeftToTheProcess) {
  inAssignSharedMemory = Behaviour::Refuse;
  EXPECT_EQ(compile(SPARSEC_EMIT_TILE), SPARSEC_COMPILE_FAILURE);
  for (auto [old, now] : llvm::zip_equal(actionsAtStart, getSignalActions()))
    EXPECT_EQ(old.sa_handler, now.sa_handler);
}

TEST_F(InternalError, NoPlaceForTheSource) {
  inAssignSharedMemory = Behaviour::Refuse;
  setenv("TMPDIR", (folder + "/none").str().c_str(), 1);
  EXPECT_EQ(compile(SPARSEC_EMIT_TILE), SPARSEC_COMPILE_FAILURE);
  EXPECT_TRUE(says("cannot keep the source to reproduce it: ")) << said;
}

} // namespace
