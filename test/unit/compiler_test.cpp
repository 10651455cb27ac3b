// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface of the compiler: options, results, diagnostics and threads.

#include "sparsec/compiler.h"

#include "llvm/Support/FileSystem.h"

#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

const std::string kernel = R"mlir(
sparsec.kernel @multiply(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
})mlir";

struct Compilation {
  sparsec_compile_code_t code;
  std::string data, report, diagnostics;
  sparsec_result_format_t format = sparsec_result_format_t(0);
};

sparsec_compile_options_t defaults() {
  sparsec_compile_options_t options;
  sparsec_compile_options_init(&options);
  return options;
}

Compilation compile(const std::string &source, sparsec_compile_options_t options) {
  Compilation compilation;
  options.user_data = &compilation;
  options.diagnostic = [](void *user, sparsec_severity_t, const char *text) {
    static_cast<Compilation *>(user)->diagnostics += text;
  };
  sparsec_compile_result_t result = nullptr;
  compilation.code = sparsec_compile(source.data(), source.size(), &options, &result);
  EXPECT_EQ(compilation.code == SPARSEC_COMPILE_OK, result != nullptr);
  if (result) {
    compilation.data.assign(static_cast<const char *>(sparsec_compile_result_data(result)),
                            sparsec_compile_result_size(result));
    compilation.report = sparsec_compile_result_report(result);
    compilation.format = sparsec_compile_result_format(result);
    sparsec_compile_result_free(result);
  }
  return compilation;
}

TEST(Compiler, TextStage) {
  sparsec_compile_options_t options = defaults();
  options.emit = SPARSEC_EMIT_MLIR;
  Compilation compilation = compile(kernel, options);
  EXPECT_EQ(compilation.code, SPARSEC_COMPILE_OK);
  EXPECT_EQ(compilation.format, SPARSEC_RESULT_TEXT);
  EXPECT_NE(compilation.data.find("sparsec.kernel @multiply"), std::string::npos);
  EXPECT_EQ(compilation.diagnostics, "");
  EXPECT_EQ(compilation.report.find("time: sparsec "), 0u);
}

TEST(Compiler, HostImage) {
  sparsec_compile_options_t options = defaults();
  options.emit = SPARSEC_EMIT_HOST;
  Compilation compilation = compile(kernel, options);
  EXPECT_EQ(compilation.code, SPARSEC_COMPILE_OK) << compilation.diagnostics;
  EXPECT_EQ(compilation.format, SPARSEC_RESULT_HOST_OBJECT);
  EXPECT_EQ(compilation.data.substr(0, 4), "\177ELF");
}

TEST(Compiler, SourceNeedsNoTerminator) {
  std::string longer = kernel + "%";
  sparsec_compile_options_t options = defaults();
  options.emit = SPARSEC_EMIT_MLIR;
  sparsec_compile_result_t result = nullptr;
  EXPECT_EQ(sparsec_compile(longer.data(), kernel.size(), &options, &result), SPARSEC_COMPILE_OK);
  sparsec_compile_result_free(result);
}

TEST(Compiler, DiagnosticsNameTheSource) {
  sparsec_compile_options_t options = defaults();
  EXPECT_EQ(compile("sparsec.kernel oops\n", options).diagnostics.find("<memory>:1:16: error: "), 0u);
  options.source_name = "name.mlir";
  Compilation compilation = compile("sparsec.kernel oops\n", options);
  EXPECT_EQ(compilation.code, SPARSEC_COMPILE_INVALID_INPUT);
  EXPECT_EQ(compilation.diagnostics.find("name.mlir:1:16: error: "), 0u) << compilation.diagnostics;
  EXPECT_NE(compilation.diagnostics.find("\nsparsec.kernel oops\n"), std::string::npos) << compilation.diagnostics;
}

TEST(Compiler, DiagnosticsMayBeIgnored) {
  sparsec_compile_result_t result = nullptr;
  EXPECT_EQ(sparsec_compile("?", 1, nullptr, &result), SPARSEC_COMPILE_INVALID_INPUT);
  EXPECT_EQ(result, nullptr);
}

TEST(Compiler, EmptySource) {
  Compilation compilation = compile("", defaults());
  EXPECT_EQ(compilation.code, SPARSEC_COMPILE_INVALID_INPUT);
  EXPECT_NE(compilation.diagnostics.find("expects at least one sparsec.kernel, but got an empty text"),
            std::string::npos);
}

/// The error of options that differ from the defaults by `change`.
std::string optionsError(void (*change)(sparsec_compile_options_t &)) {
  sparsec_compile_options_t options = defaults();
  change(options);
  Compilation compilation = compile(kernel, options);
  EXPECT_EQ(compilation.code, SPARSEC_COMPILE_INVALID_OPTIONS);
  return compilation.diagnostics;
}

template <size_t count> void setTargets(sparsec_compile_options_t &options, const char *const (&targets)[count]) {
  options.targets = targets;
  options.target_count = count;
}

TEST(CompilerOptions, UnknownTarget) {
  EXPECT_EQ(optionsError([](auto &options) {
              static const char *const targets[] = {"sm_70"};
              setTargets(options, targets);
            }),
            "error: expects arch to be one of " + std::string(sparsec_compiler_targets()) + ", but got sm_70\n");
}

TEST(CompilerOptions, RepeatedTarget) {
  EXPECT_EQ(optionsError([](auto &options) {
              static const char *const targets[] = {"sm_89", "sm_89"};
              setTargets(options, targets);
            }),
            "error: expects every arch once, but got sm_89 twice\n");
}

TEST(CompilerOptions, TextOfSeveralTargets) {
  EXPECT_EQ(optionsError([](auto &options) {
              static const char *const targets[] = {"sm_89", "sm_90a"};
              setTargets(options, targets);
              options.emit = SPARSEC_EMIT_PTX;
            }),
            "error: emit ptx expects one arch, but got 2\n");
}

TEST(CompilerOptions, StageThatATargetLacks) {
  EXPECT_EQ(optionsError([](auto &options) {
              static const char *const targets[] = {"host"};
              setTargets(options, targets);
              options.emit = SPARSEC_EMIT_PTX;
            }),
            "error: arch host has no stage ptx\n");
  EXPECT_EQ(optionsError([](auto &options) {
              static const char *const targets[] = {"sm_89"};
              setTargets(options, targets);
              options.emit = SPARSEC_EMIT_HOST;
            }),
            "error: arch sm_89 has no stage host\n");
}

TEST(CompilerOptions, EmbeddedPtx) {
  EXPECT_EQ(optionsError([](auto &options) { options.embed_ptx = 1; }),
            "error: embed-ptx expects an arch whose PTX newer chips accept, but got only sm_90a\n");
  EXPECT_EQ(optionsError([](auto &options) {
              options.embed_ptx = 1;
              options.emit = SPARSEC_EMIT_LLVM;
            }),
            "error: embed-ptx expects an image, but got emit llvm\n");
}

TEST(CompilerOptions, Ranges) {
  EXPECT_EQ(optionsError([](auto &options) { options.emit = static_cast<sparsec_emit_t>(10); }),
            "error: expects emit to be 0 to 9, but got 10\n");
  EXPECT_EQ(optionsError([](auto &options) { options.expect_density = 0; }),
            "error: expects expect-density above 0 and at most 1, but got 0.00\n");
  EXPECT_EQ(optionsError([](auto &options) { options.expect_density = 1.5; }),
            "error: expects expect-density above 0 and at most 1, but got 1.50\n");
  EXPECT_EQ(optionsError([](auto &options) { options.expect_n = -1; }),
            "error: expects expect-n of at least 0, but got -1\n");
}

TEST(Compiler, Progress) {
  static const char *const targets[] = {"sm_89"};
  sparsec_compile_options_t options = defaults();
  setTargets(options, targets);
  options.emit = SPARSEC_EMIT_PTX;
  std::vector<std::string> phases;
  options.user_data = &phases;
  options.progress = [](void *user, const char *phase) {
    static_cast<std::vector<std::string> *>(user)->push_back(phase);
  };
  sparsec_compile_result_t result = nullptr;
  EXPECT_EQ(sparsec_compile(kernel.data(), kernel.size(), &options, &result), SPARSEC_COMPILE_OK);
  sparsec_compile_result_free(result);
  EXPECT_EQ(phases,
            (std::vector<std::string>{"parse", "sm_89: passes", "sm_89: translation", "sm_89: code generation"}));
}

/// A program that stands for ptxas and finds too few registers whatever it is given.
class RefusingPtxas {
public:
  RefusingPtxas() {
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("ptxas", "", path));
    std::ofstream(path.c_str())
        << "#!/bin/sh\necho 'ptxas fatal : (C7602) Insufficient registers (24) to compile instruction at line 9 in "
           "function multiply.'\nexit 255\n";
    EXPECT_FALSE(llvm::sys::fs::setPermissions(path, llvm::sys::fs::all_all));
  }
  ~RefusingPtxas() { EXPECT_FALSE(llvm::sys::fs::remove(path)); }

  llvm::SmallString<128> path;
};

TEST(Compiler, TriesTheNextSchedule) {
  static const char *const targets[] = {"sm_89"};
  RefusingPtxas ptxas;
  sparsec_compile_options_t options = defaults();
  setTargets(options, targets);
  options.ptxas = ptxas.path.c_str();
  struct Heard {
    std::set<std::string> phases;
    std::string diagnostics;
  } heard;
  options.user_data = &heard;
  options.progress = [](void *user, const char *phase) { static_cast<Heard *>(user)->phases.insert(phase); };
  options.diagnostic = [](void *user, sparsec_severity_t, const char *text) {
    static_cast<Heard *>(user)->diagnostics += text;
  };
  sparsec_compile_result_t result = nullptr;
  EXPECT_EQ(sparsec_compile(kernel.data(), kernel.size(), &options, &result), SPARSEC_COMPILE_FAILURE);
  EXPECT_TRUE(heard.phases.contains("sm_89: ptxas"));
  EXPECT_TRUE(heard.phases.contains("sm_89: attempt 2: passes"));
  EXPECT_TRUE(heard.phases.contains("sm_89: attempt 2: ptxas"));
  EXPECT_EQ(heard.diagnostics.find("error: internal error: ptxas takes no schedule of kernel multiply (schedule "), 0u)
      << heard.diagnostics;
  EXPECT_NE(heard.diagnostics.find("): (C7602) Insufficient registers (24) to compile"), std::string::npos);
  EXPECT_NE(heard.diagnostics.find("to reproduce: sparsec "), std::string::npos);
}

TEST(Compiler, ManyThreads) {
  sparsec_compile_options_t options = defaults();
  options.emit = SPARSEC_EMIT_PTX;
  std::string expected = compile(kernel, options).data;
  EXPECT_NE(expected.find(".entry"), std::string::npos);
  std::vector<Compilation> compilations(4);
  std::vector<std::thread> threads;
  threads.reserve(compilations.size());
  for (Compilation &compilation : compilations)
    threads.emplace_back([&compilation, &options] { compilation = compile(kernel, options); });
  for (std::thread &thread : threads)
    thread.join();
  for (const Compilation &compilation : compilations)
    EXPECT_EQ(compilation.data, expected);
}

} // namespace
