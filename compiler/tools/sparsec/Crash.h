// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the program ends when the compiler is at fault in a way that no call can report.

#ifndef SPARSEC_COMPILER_TOOLS_CRASH_H
#define SPARSEC_COMPILER_TOOLS_CRASH_H

namespace sparsec {

/// From now on a crash (a signal such as SIGSEGV, also on a stack that has overflowed) and a fatal error of LLVM end
/// the program with exit code 3, a line that says "internal error" and the command line to reproduce it. Only a program
/// does this, never the library: signal handlers belong to a whole process.
void handleCrashes(int argc, char **argv);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TOOLS_CRASH_H
