// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where ptxas is found, what its report means, and what a run leaves behind. Scripts stand in for ptxas.

#include "Ptxas.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

using namespace sparsec;

namespace {

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

// As ptxas 13.0 prints.
constexpr const char *cleanLog = R"(ptxas info    : 1024 bytes gmem
ptxas info    : Compiling entry function 'linear_0' for 'sm_90a'
ptxas info    : Function properties for linear_0
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 5 barriers, 64 bytes smem
ptxas info    : Compile time = 32.567 ms
ptxas info    : Compiling entry function 'linear_1' for 'sm_90a'
ptxas info    : Function properties for linear_1
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 96 registers, used 1 barriers
)";

// Line 3 belongs to linear_0, line 6 to linear_1.
constexpr const char *ptx = ".visible .entry linear_0(\n{\nret;\n}\n.visible .entry linear_1(\nret;\n";

TEST(PtxasReport, Resources) {
  PtxasReport report = parsePtxasReport(cleanLog, ptx);
  ASSERT_EQ(report.kernels.size(), 2u);
  EXPECT_EQ(report.kernels[0].symbol, "linear_0");
  EXPECT_EQ(report.kernels[0].registers, 168u);
  EXPECT_EQ(report.kernels[0].staticSharedMemory, 64u);
  EXPECT_EQ(report.kernels[1].symbol, "linear_1");
  EXPECT_EQ(report.kernels[1].registers, 96u);
  EXPECT_EQ(report.kernels[1].staticSharedMemory, 0u);
  EXPECT_TRUE(report.problems.empty());
  EXPECT_FALSE(report.isRefused);
}

TEST(PtxasReport, SpillsNameTheKernel) {
  PtxasReport report = parsePtxasReport("ptxas info    : Compiling entry function 'linear_0' for 'sm_90a'\n"
                                        "    16 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads\n",
                                        ptx);
  ASSERT_EQ(report.kernels.size(), 1u);
  EXPECT_EQ(report.kernels[0].spillStoreBytes, 24u);
  EXPECT_EQ(report.kernels[0].spillLoadBytes, 40u);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0],
            (PtxasProblem{"linear_0", "spills registers, 24 bytes of stores and 40 bytes of loads"}));
  EXPECT_FALSE(report.isRefused);
}

TEST(PtxasReport, EveryPerformanceDiagnosticIsAProblem) {
  for (const char *code :
       {"C7508", "C7510", "C7511", "C7512", "C7513", "C7514", "C7515", "C7517", "C7519", "C7520", "C7602"}) {
    std::string diagnostic = std::string("(") + code +
                             ") Potential Performance Loss: wgmma.mma_async instructions are "
                             "serialized in function 'linear_1'";
    PtxasReport report = parsePtxasReport("ptxas info    : " + diagnostic + "\n", ptx);
    ASSERT_EQ(report.problems.size(), 1u) << code;
    EXPECT_EQ(report.problems[0], (PtxasProblem{"linear_1", diagnostic}));
    EXPECT_FALSE(report.isRefused);
  }
}

TEST(PtxasReport, OtherDiagnosticsAreNone) {
  EXPECT_TRUE(parsePtxasReport("ptxas info    : (C7600) something else\n", ptx).problems.empty());
}

TEST(PtxasReport, DiagnosticWithoutKernel) {
  PtxasReport report =
      parsePtxasReport("ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored\n", ptx);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0], (PtxasProblem{"", "(C7508) Potential Performance Loss: 'setmaxnreg' ignored"}));
}

// As ptxas 13.0 prints.
TEST(PtxasReport, TooFewRegistersAtAll) {
  PtxasReport report = parsePtxasReport(
      "ptxas fatal   : (C7602) Insufficient registers (24) to compile instruction at line 983 in function linear_1. "
      "Try to compile with register target of 28 or higher.\nptxas fatal   : Ptx assembly aborted due to errors\n",
      ptx);
  EXPECT_TRUE(report.isRefused);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0],
            (PtxasProblem{"linear_1", "(C7602) Insufficient registers (24) to compile instruction at line 983 in "
                                      "function linear_1. Try to compile with register target of 28 or higher."}));
}

// As ptxas 13.0 prints.
TEST(PtxasReport, LineOfThePtxNamesTheKernel) {
  for (auto [line, symbol] :
       {std::pair(1, "linear_0"), std::pair(3, "linear_0"), std::pair(5, "linear_1"), std::pair(6, "linear_1")}) {
    PtxasReport report = parsePtxasReport(
        "ptxas application ptx input, line " + std::to_string(line) +
            "; fatal   : (C7406) setmaxnreg.dec has register count (64) which is larger than the largest temporal "
            "register count in the program (24)\nptxas fatal   : Ptx assembly aborted due to errors\n",
        ptx);
    EXPECT_TRUE(report.isRefused);
    ASSERT_EQ(report.problems.size(), 1u);
    EXPECT_EQ(report.problems[0].symbol, symbol) << line;
  }
}

//===----------------------------------------------------------------------===//
// Search and run
//===----------------------------------------------------------------------===//

/// A folder of its own as TMPDIR, and an environment without any ptxas.
class PtxasRun : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("ptxas-test", folder));
    saved = std::getenv("PATH");
    for (const char *variable : {"SPARSEC_PTXAS", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"})
      unsetenv(variable);
    setenv("PATH", "/nowhere", 1);
    ASSERT_FALSE(llvm::sys::fs::create_directories(path("tmp")));
    setenv("TMPDIR", path("tmp").c_str(), 1);
  }

  void TearDown() override {
    setenv("PATH", saved.c_str(), 1);
    unsetenv("TMPDIR");
    EXPECT_FALSE(llvm::sys::fs::remove_directories(folder));
  }

  std::string path(const llvm::Twine &name) { return (folder + "/" + name).str(); }

  /// A program at `name` with the given script after `out=` has been set to the file to write.
  std::string makeProgram(const llvm::Twine &name, llvm::StringRef script) {
    std::string program = path(name);
    EXPECT_FALSE(llvm::sys::fs::create_directories(llvm::sys::path::parent_path(program)));
    std::ofstream(program) << "#!/bin/sh\nPATH=/usr/bin:/bin\nfor out; do :; done\n" << script.str() << "\n";
    EXPECT_FALSE(llvm::sys::fs::setPermissions(program, llvm::sys::fs::all_all));
    return program;
  }

  PtxasJob makeJob(llvm::StringRef script) {
    PtxasJob job;
    job.program = makeProgram("bin/ptxas", script);
    job.chip = "sm_90a";
    job.ptx = ".version 8.6";
    return job;
  }

  unsigned countTemporaries() {
    unsigned count = 0;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator entry(path("tmp"), error), end; !error && entry != end;
         entry.increment(error))
      ++count;
    return count;
  }

  llvm::SmallString<128> folder;
  std::string saved;
};

TEST_F(PtxasRun, OptionComesFirst) {
  setenv("SPARSEC_PTXAS", makeProgram("environment/ptxas", "").c_str(), 1);
  std::string named = makeProgram("option/ptxas", "");
  EXPECT_EQ(llvm::cantFail(findPtxas(named, path("bin"))), named);
}

TEST_F(PtxasRun, OptionThatNamesNothing) {
  auto found = findPtxas("/nowhere/ptxas", path("bin"));
  ASSERT_FALSE(bool(found));
  EXPECT_EQ(llvm::toString(found.takeError()), "option ptxas names '/nowhere/ptxas', which is not a program");
}

TEST_F(PtxasRun, EnvironmentComesSecond) {
  std::string named = makeProgram("environment/ptxas", "");
  setenv("SPARSEC_PTXAS", named.c_str(), 1);
  setenv("PATH", llvm::sys::path::parent_path(makeProgram("path/ptxas", "")).str().c_str(), 1);
  EXPECT_EQ(llvm::cantFail(findPtxas("", path("bin"))), named);
  setenv("SPARSEC_PTXAS", "/nowhere/ptxas", 1);
  auto found = findPtxas("", path("bin"));
  ASSERT_FALSE(bool(found));
  EXPECT_EQ(llvm::toString(found.takeError()),
            "environment variable SPARSEC_PTXAS names '/nowhere/ptxas', which is not a program");
}

TEST_F(PtxasRun, BesideTheProgramComesBeforePath) {
  std::string beside = makeProgram("lib/sparsec/ptxas", "");
  makeProgram("bin/sparsec", "");
  setenv("PATH", llvm::sys::path::parent_path(makeProgram("path/ptxas", "")).str().c_str(), 1);
  auto found = findPtxas("", path("bin"));
  ASSERT_TRUE(bool(found));
  EXPECT_TRUE(llvm::sys::fs::equivalent(*found, beside)) << *found;
}

TEST_F(PtxasRun, PathComesBeforeToolkits) {
  std::string onPath = makeProgram("path/ptxas", ""), home = makeProgram("home/bin/ptxas", "");
  setenv("CUDA_HOME", path("home").c_str(), 1);
  EXPECT_EQ(llvm::cantFail(findPtxas("", path("bin"))), home);
  setenv("PATH", path("path").c_str(), 1);
  EXPECT_EQ(llvm::cantFail(findPtxas("", path("bin"))), onPath);
}

TEST_F(PtxasRun, CudaPath) {
  std::string program = makeProgram("toolkit/bin/ptxas", "");
  setenv("CUDA_PATH", path("toolkit").c_str(), 1);
  EXPECT_EQ(llvm::cantFail(findPtxas("", path("bin"))), program);
}

TEST_F(PtxasRun, WheelOrAdvice) {
  if (llvm::sys::fs::exists("/usr/local/cuda/bin/ptxas"))
    GTEST_SKIP() << "the CUDA toolkit comes before the wheel";
  auto missing = findPtxas("", path("bin"));
  ASSERT_FALSE(bool(missing));
  EXPECT_NE(llvm::toString(missing.takeError()).find("nvidia-cuda-nvcc"), std::string::npos);
  std::string program = makeProgram("venv/lib/python3.11/site-packages/nvidia/cu13/bin/ptxas", "");
  setenv("VIRTUAL_ENV", path("venv").c_str(), 1);
  EXPECT_EQ(llvm::cantFail(findPtxas("", path("bin"))), program);
}

TEST_F(PtxasRun, SuccessLeavesNothingBehind) {
  auto result = runPtxas(makeJob("printf cubin > $out; cat <<'END'\n" + std::string(cleanLog) + "END"));
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->cubin, "cubin");
  EXPECT_EQ(result->kernels.size(), 2u);
  EXPECT_EQ(countTemporaries(), 0u);
}

TEST_F(PtxasRun, PassesChipAndFiles) {
  auto result =
      runPtxas(makeJob("[ \"$1 $2 $3 $4\" = '-v -O3 --split-compile=0 -arch=sm_90a' ] || exit 9; cp $5 $out"));
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->cubin, ".version 8.6");
}

TEST_F(PtxasRun, FailureKeepsThePtxAndSaysHowToReproduce) {
  auto result = runPtxas(makeJob("echo 'ptxas fatal: bad instruction' >&2; exit 255"));
  ASSERT_FALSE(bool(result));
  std::string message = llvm::toString(result.takeError());
  llvm::StringRef start("ptxas failed: exit code 255\nptxas fatal: bad instruction\nto reproduce: ");
  ASSERT_TRUE(llvm::StringRef(message).starts_with(start)) << message;
  llvm::SmallVector<llvm::StringRef> command;
  llvm::StringRef(message).drop_front(start.size()).split(command, ' ');
  ASSERT_EQ(command.size(), 8u);
  EXPECT_EQ(command[0], path("bin/ptxas"));
  auto kept = llvm::MemoryBuffer::getFile(command[5]);
  ASSERT_TRUE(bool(kept));
  EXPECT_EQ((*kept)->getBuffer(), ".version 8.6");
  EXPECT_EQ(countTemporaries(), 1u);
}

TEST_F(PtxasRun, SpillsAreProblems) {
  auto result =
      runPtxas(makeJob("printf cubin > $out; echo \"ptxas info : Compiling entry function 'linear_1' for 'sm_90a'\"\n"
                       "echo '  8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads'"));
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->cubin, "cubin");
  EXPECT_EQ(result->kernels[0].spillStoreBytes, 4u);
  ASSERT_EQ(result->problems.size(), 1u);
  EXPECT_EQ(result->problems[0].symbol, "linear_1");
}

TEST_F(PtxasRun, TooFewRegistersAtAllAreAProblem) {
  auto result = runPtxas(makeJob("echo 'ptxas fatal : (C7600) Register allocation failed with register count of 24 in "
                                 "function linear_0.' >&2; exit 255"));
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->cubin, "");
  ASSERT_EQ(result->problems.size(), 1u);
  EXPECT_EQ(result->problems[0].symbol, "linear_0");
  EXPECT_EQ(countTemporaries(), 0u);
}

TEST_F(PtxasRun, NoOutput) {
  auto result = runPtxas(makeJob("exit 0"));
  ASSERT_FALSE(bool(result));
  EXPECT_TRUE(llvm::StringRef(llvm::toString(result.takeError())).starts_with("ptxas wrote no cubin: "));
}

TEST_F(PtxasRun, NoTemporaryFolder) {
  setenv("TMPDIR", "/nowhere", 1);
  auto result = runPtxas(makeJob("exit 0"));
  ASSERT_FALSE(bool(result));
  EXPECT_TRUE(llvm::StringRef(llvm::toString(result.takeError())).starts_with("cannot make a temporary folder: "));
}

} // namespace
