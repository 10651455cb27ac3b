// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA's assembler: where it is, how it runs, and what its report says.

#ifndef SPARSEC_COMPILER_BINARY_PTXAS_H
#define SPARSEC_COMPILER_BINARY_PTXAS_H

#include "LaunchInfoWriter.h"

#include "llvm/ADT/StringMap.h"

namespace sparsec {

/// Where ptxas is: `requested` if it is not empty, SPARSEC_PTXAS, lib/sparsec beside the program's folder, PATH, the
/// CUDA toolkit (CUDA_HOME, CUDA_PATH, /usr/local/cuda), the Python wheel in VIRTUAL_ENV. The first two are not
/// searched further when they name nothing that can run.
llvm::Expected<std::string> findPtxas(llvm::StringRef requested, llvm::StringRef programFolder);

struct PtxasJob {
  std::string program; // from findPtxas
  std::string chip;
  std::string ptx;
  /// Machine kernel -> summary of its schedule, for messages.
  llvm::StringMap<std::string> schedules;
  /// Makes spills and performance diagnostics warnings instead of errors.
  bool allowSpills = false;
};

struct PtxasResult {
  std::string cubin;
  std::vector<KernelResources> kernels;
  std::vector<std::string> warnings;
};

/// Assembles. A failure keeps the PTX in a temporary file, and its message ends with the command that reproduces it;
/// success leaves no file behind.
llvm::Expected<PtxasResult> runPtxas(const PtxasJob &job);

/// What `ptxas -v` printed.
struct PtxasReport {
  std::vector<KernelResources> kernels;
  /// Spills, and diagnostics that the instructions of a pipeline were serialised or a hint was ignored: one line each,
  /// naming the kernel (where ptxas does) and its schedule.
  std::vector<std::string> problems;
};
PtxasReport parsePtxasReport(llvm::StringRef log, const llvm::StringMap<std::string> &schedules);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_PTXAS_H
