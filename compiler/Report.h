// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The report that --verbose prints: the machine kernels of an image, and where the time went.

#ifndef SPARSEC_COMPILER_REPORT_H
#define SPARSEC_COMPILER_REPORT_H

#include "TargetInfo.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sparsec {

/// Wall time of named phases, in the order of their first run.
class PhaseTimes {
public:
  /// Is told every phase as it begins.
  using Listener = std::function<void(llvm::StringRef name)>;
  explicit PhaseTimes(Listener listener = {}) : listener(std::move(listener)) {}

  /// Runs `phase`, adds its time to that of `name`, and gives its result.
  template <typename Phase> auto measure(llvm::StringRef name, Phase phase) {
    if (listener)
      listener(name);
    Timer timer(*this, name);
    return phase();
  }
  /// "time: sparsec 0.090 s (parse 0.001 s, ...), ptxas 0.120 s"
  std::string toString() const;

private:
  using Clock = std::chrono::steady_clock;
  struct Timer {
    Timer(PhaseTimes &times, llvm::StringRef name) : times(times), name(name) {}
    ~Timer() { times.add(name, std::chrono::duration<double>(Clock::now() - start).count()); }
    PhaseTimes &times;
    llvm::StringRef name;
    Clock::time_point start = Clock::now();
  };
  void add(llvm::StringRef name, double elapsed);

  Listener listener;
  std::vector<std::pair<std::string, double>> seconds;
};

/// CTAs of one kernel that an SM holds at once.
int64_t residentCtas(const Chip &chip, int64_t threads, int64_t registers, int64_t sharedMemory);

/// The kernels, arguments and variants of a launch info, to read.
std::string describeLaunchInfo(llvm::ArrayRef<char> launchInfo);

} // namespace sparsec

#endif // SPARSEC_COMPILER_REPORT_H
