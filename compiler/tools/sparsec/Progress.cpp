// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Progress.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace sparsec;

Progress::Progress(StringRef input) : input(input == "-" ? "standard input" : input) {
  if (errs().is_displayed())
    thread = std::thread([this] { run(); });
}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex);
    ended = true;
  }
  end.notify_one();
  if (thread.joinable())
    thread.join();
}

void Progress::begin(StringRef name) {
  std::lock_guard lock(mutex);
  phase = name.str();
}

void Progress::print(StringRef text) {
  std::lock_guard lock(mutex);
  clear();
  errs() << text;
}

/// Back to the start of the line, and erases it.
void Progress::clear() {
  if (shown)
    errs() << "\r\033[K";
  shown = false;
}

void Progress::run() {
  std::unique_lock lock(mutex);
  for (auto next = start + std::chrono::seconds(2); !end.wait_until(lock, next, [this] { return ended; });
       next += std::chrono::seconds(1)) {
    clear();
    int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(next - start).count();
    errs() << formatv("compiling {0}: {1}, {2} s", input, phase, seconds);
    shown = true;
  }
  clear();
}
