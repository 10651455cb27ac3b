// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Says on a terminal what a compilation is doing, once it has taken two seconds.

#ifndef SPARSEC_COMPILER_TOOLS_PROGRESS_H
#define SPARSEC_COMPILER_TOOLS_PROGRESS_H

#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace sparsec {

/// Shows "compiling kernel.mlir: sm_90a: ptxas, 3 s" in one line of standard error, which it takes away again. Where
/// standard error is not a terminal, nobody waits in front of it, and nothing is shown.
class Progress {
public:
  explicit Progress(llvm::StringRef input);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// The phase that begins now.
  void begin(llvm::StringRef phase);
  /// Writes to standard error, in the place of the line.
  void print(llvm::StringRef text);

private:
  using Clock = std::chrono::steady_clock;

  void run();
  void clear();

  const std::string input;
  const Clock::time_point start = Clock::now();
  std::mutex mutex; // of what follows, and of standard error
  std::condition_variable end;
  std::string phase;
  bool ended = false, shown = false;
  std::thread thread;
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_TOOLS_PROGRESS_H
