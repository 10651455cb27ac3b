// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of sparsec-bench.

#ifndef SPARSEC_BENCH_OPTIONS_H
#define SPARSEC_BENCH_OPTIONS_H

#include "dense_library.h"
#include "masks.h"
#include "timer.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sparsec::bench {

struct Options {
  std::vector<std::string> kernels, scheduleDirs;
  std::vector<ProductSize> sizes = {{8192, 8192, 8192}};
  std::vector<Mask> masks;
  std::vector<double> densities = {1, 0.5, 0.25, 0.1, 0.05};
  std::vector<std::map<std::string, std::string>> cases;
  bool withPlan = true, withOpenPlan = false, withPacked = false, withRefilled = false, withoutPlan = true;
  bool isPatternStatic = true; // plans may hold it in another order
  bool withBytesBound = false; // also the time of moving the bytes of every case
  TimingMode mode = TimingMode::Flushed;
  int launches = 15;
  std::string cublas, cublasLt, json;
};

/// Text of the form MxKxN; nothing when it is another.
std::optional<ProductSize> readSize(const std::string &text);

/// Ends the program with a message when the command line is wrong.
Options parseCommandLine(int argc, char **argv);

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_OPTIONS_H
