// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA's assembler: where it is, how it runs, and what its report says.

#ifndef SPARSEC_COMPILER_BINARY_PTXAS_H
#define SPARSEC_COMPILER_BINARY_PTXAS_H

#include "LaunchInfoWriter.h"

namespace sparsec {

/// Where ptxas is: `requested` if it is not empty, SPARSEC_PTXAS, lib/sparsec beside the program's folder, PATH, the
/// CUDA toolkit (CUDA_HOME, CUDA_PATH, /usr/local/cuda), the Python wheel in VIRTUAL_ENV. The first two are not
/// searched further when they name nothing that can run.
llvm::Expected<std::string> findPtxas(llvm::StringRef requested, llvm::StringRef programFolder);

struct PtxasJob {
  std::string program; // from findPtxas
  std::string chip;
  std::string ptx;
};

/// Why a machine kernel is not what its schedule promises: it spills, its instructions are serialised, a hint is
/// ignored, or registers do not suffice at all.
struct PtxasProblem {
  /// Empty where ptxas does not tell which.
  std::string symbol;
  std::string reason;

  bool operator==(const PtxasProblem &) const = default;
};

struct PtxasResult {
  /// Empty where registers do not suffice; then there are problems.
  std::string cubin;
  std::vector<KernelResources> kernels;
  std::vector<PtxasProblem> problems;
};

/// Assembles. A failure keeps the PTX in a temporary file, and its message ends with the command that reproduces it;
/// all else leaves no file behind.
llvm::Expected<PtxasResult> runPtxas(const PtxasJob &job);

/// The text that `ptxas -v` printed.
struct PtxasReport {
  std::vector<KernelResources> kernels;
  std::vector<PtxasProblem> problems;
  /// ptxas has given up, for the last of the problems.
  bool isRefused = false;
};
/// `ptx` is what has been assembled: ptxas may name a line of it in place of a kernel.
PtxasReport parsePtxasReport(llvm::StringRef log, llvm::StringRef ptx);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_PTXAS_H
