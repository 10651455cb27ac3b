// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Crash.h"

#include "sparsec/compiler.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstring>
#include <string>
#include <unistd.h>

using namespace llvm;

/// "\nto reproduce: sparsec kernel.mlir\n", made before anything can fail.
static std::string reproducer;
/// Erases the line of a terminal, where progress may be shown.
static const char *lineStart = "";

static std::string describeCommand(ArrayRef<char *> arguments) {
  std::string text = "\nto reproduce:";
  raw_string_ostream stream(text);
  for (const char *argument : arguments)
    sys::printArg(stream << ' ', argument, /*Quote=*/false);
  bool readsStandardInput = llvm::is_contained(arguments, StringRef("-"));
  stream << (readsStandardInput ? " (with the same standard input)\n" : "\n");
  return text;
}

/// Nothing here but calls that a signal handler may make.
static void writeToStandardError(const char *text, size_t size) {
  while (size > 0) {
    ssize_t written = write(STDERR_FILENO, text, size);
    if (written <= 0)
      return;
    text += written;
    size -= written;
  }
}

[[noreturn]] static void endInternally(const char *what, const char *details) {
  for (const char *part : {lineStart, "sparsec: error: internal error", what, details})
    writeToStandardError(part, std::strlen(part));
  writeToStandardError(reproducer.data(), reproducer.size());
  _exit(SPARSEC_COMPILE_FAILURE);
}

namespace {
struct Crash {
  int signal;
  const char *name;
};
} // namespace

static constexpr Crash crashes[] = {
    {SIGSEGV, "segmentation fault"}, {SIGBUS, "bus error"}, {SIGFPE, "arithmetic error"},
    {SIGILL, "illegal instruction"}, {SIGABRT, "abort"},    {SIGTRAP, "trap"}};

static void handleSignal(int signal) {
  for (const Crash &crash : crashes)
    if (crash.signal == signal)
      endInternally(": ", crash.name);
  endInternally("", "");
}

/// LLVM calls this instead of ending the process with a code of its own.
static void handleFatalError(void *, const char *message, bool) { endInternally(" in LLVM: ", message); }

void sparsec::handleCrashes(int argc, char **argv) {
  reproducer = describeCommand(ArrayRef(argv, argc));
  if (isatty(STDERR_FILENO))
    lineStart = "\r\033[K";
  install_fatal_error_handler(handleFatalError);

  // A stack that has overflowed has no room for a handler.
  static char handlerStack[1 << 16];
  stack_t stack = {};
  stack.ss_sp = handlerStack;
  stack.ss_size = sizeof(handlerStack);
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = handleSignal;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (const Crash &crash : crashes)
    sigaction(crash.signal, &action, nullptr);
}
