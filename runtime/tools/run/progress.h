// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Says on standard error how far long work has come, once it has taken a second.

#ifndef SPARSEC_TOOLS_RUN_PROGRESS_H
#define SPARSEC_TOOLS_RUN_PROGRESS_H

#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

#include <chrono>
#include <string>

namespace sparsec::run {

class Progress {
public:
  using Clock = std::chrono::steady_clock;

  explicit Progress(std::string what, std::string program = "sparsec-run")
      : what(std::move(what)), program(std::move(program)), next(Clock::now() + std::chrono::seconds(1)) {}
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress() {
    if (shown && terminal)
      llvm::errs() << '\n';
  }

  void update(int64_t done, int64_t total) {
    if (Clock::now() < next)
      return;
    // A terminal overwrites the line; elsewhere every message is a line, so there are fewer.
    llvm::errs() << (terminal ? "\r" : "") << fmt::format("{}: {}: {} of {}", program, what, done, total)
                 << (terminal ? "" : "\n");
    next = Clock::now() + std::chrono::seconds(terminal ? 1 : 10);
    shown = true;
  }

private:
  std::string what, program;
  Clock::time_point next;
  bool terminal = llvm::errs().is_displayed(), shown = false;
};

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_PROGRESS_H
