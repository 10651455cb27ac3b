// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-device-tests: runs a folder of compiled kernels and compares the results with double precision. Needs no
// compiler and no CUDA toolkit. Everything but the command line is in kernel_test.cpp and launch_test.cpp.

#include "options.h"
#include "problem.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <getopt.h>
#include <gtest/gtest.h>

namespace sparsec::device_test {

Session session;

namespace {

constexpr const char *usage = R"(usage: sparsec-device-tests [options] [GoogleTest options]
  --kernels=DIR     folder of compiled kernels (default: the environment variable SPARSEC_DEVICE_KERNELS)
  --device=KIND     cuda, host or all (default): the kernels to run
  --subset=SUBSET   all (default for CUDA), quick (default for the host), simulator or sanitizer
  --pattern=FILE    also run this .smtx pattern; each nonzero stands for one block
)";

struct Options {
  std::string kernels = std::getenv("SPARSEC_DEVICE_KERNELS") ? std::getenv("SPARSEC_DEVICE_KERNELS") : "";
  std::string device = "all";
  std::string subset;
};

[[noreturn]] void exitWithUsage(const std::string &message) {
  fmt::print(stderr, "error: {}\n{}", message, usage);
  std::exit(2);
}

[[noreturn]] void printUsageAndExit() {
  fmt::print("{}", usage);
  std::exit(0);
}

Subset parseSubset(const std::string &text) {
  if (text == "all")
    return Subset::All;
  if (text == "quick")
    return Subset::Quick;
  if (text == "simulator")
    return Subset::Simulator;
  if (text == "sanitizer")
    return Subset::Sanitizer;
  exitWithUsage(fmt::format("--subset expects all, quick, simulator or sanitizer, but got '{}'", text));
}

Options parseCommandLine(int argc, char **argv) {
  static const option longOptions[] = {
      {"kernels", required_argument, nullptr, 'k'}, {"device", required_argument, nullptr, 'd'},
      {"subset", required_argument, nullptr, 's'},  {"pattern", required_argument, nullptr, 'p'},
      {"help", no_argument, nullptr, 'h'},          {}};
  Options options;
  for (int key; (key = getopt_long(argc, argv, "", longOptions, nullptr)) != -1;) {
    if (key == 'k')
      options.kernels = optarg;
    else if (key == 'd')
      options.device = optarg;
    else if (key == 's')
      options.subset = optarg;
    else if (key == 'p')
      setPatternFile(optarg);
    else if (key == 'h')
      printUsageAndExit();
    else
      exitWithUsage("unknown option");
  }
  if (options.device != "cuda" && options.device != "host" && options.device != "all")
    exitWithUsage(fmt::format("--device expects cuda, host or all, but got '{}'", options.device));
  return options;
}

void openHost() {
  sparsec_device_t device = nullptr;
  harness::check(sparsec_device_open_host(0, &device));
  session.host.reset(device);
}

/// Leaves session.cuda null when there is no GPU.
void openCuda() {
  sparsec_device_t device = nullptr;
  int32_t count = 0;
  harness::check(sparsec_cuda_device_count(&count));
  if (count == 0)
    return;
  harness::check(sparsec_device_open_cuda(0, &device));
  session.cuda.reset(device);
  auto info = sparsec::sized<sparsec_device_info_t>();
  harness::check(sparsec_device_info(device, &info));
  session.cudaCapability = info.compute_capability;
  fmt::print("device: {} (compute capability {})\n", info.name, info.compute_capability);
}

int runTests(const Options &options) {
  if (!options.subset.empty())
    session.cudaSubset = session.hostSubset = parseSubset(options.subset);
  if (options.device != "cuda")
    openHost();
  if (options.device != "host")
    openCuda();
  if (options.device == "cuda" && !session.cuda) {
    fmt::print("skipped: no GPU\n");
    return 0;
  }
  if (options.kernels.empty())
    exitWithUsage("no kernels: give --kernels or set SPARSEC_DEVICE_KERNELS (build_kernels.sh fills such a folder)");
  session.files = findKernelFiles(options.kernels);
  if (registerKernelTests(options.device != "host", options.device != "cuda") == 0)
    exitWithUsage(fmt::format("no compiled kernels for --device={} in '{}'", options.device, options.kernels));
  return RUN_ALL_TESTS();
}

} // namespace
} // namespace sparsec::device_test

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    return sparsec::device_test::runTests(sparsec::device_test::parseCommandLine(argc, argv));
  } catch (const std::exception &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
