// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The half of sparsec-tune that needs the program sparsec: it fills the work folder with the candidates of a kernel.

#ifndef SPARSEC_TOOLS_TUNE_COMPILE_H
#define SPARSEC_TOOLS_TUNE_COMPILE_H

#include "measurements.h"

namespace sparsec::tune {

struct CompileRequest {
  std::string source;     // kernel.mlir
  std::string kernel;     // of the source; empty: its only one
  std::string arch;       // a chip
  std::string compiler;   // the program; empty: sparsec beside this program, else in PATH
  int64_t candidates = 0; // so many of them, in the order of the model; 0: all
};

/// Compiles what is not there yet. A candidate that does not compile has a log in place of a cubin. False where the
/// deadline came first.
llvm::Expected<bool> compileCandidates(const CompileRequest &request, const WorkFolder &folder,
                                       const Deadline &deadline);

} // namespace sparsec::tune

#endif // SPARSEC_TOOLS_TUNE_COMPILE_H
