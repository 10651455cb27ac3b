// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiled kernels that the tests run, found in a folder and read without a device.

#ifndef SPARSEC_TEST_DEVICE_KERNEL_FILES_H
#define SPARSEC_TEST_DEVICE_KERNEL_FILES_H

#include "harness/handles.h"

#include "sparsec/launch_info.hpp"

#include <filesystem>

namespace sparsec::device_test {

/// The target of one image of a file.
struct ImageTarget {
  sparsec_target_kind_t kind;
  int capability; // 10 * major + minor
  bool archSpecific;
  bool isPtx;
};

struct KernelRecord {
  std::string name;
  sparsec_operation_kind_t kind;
  sparsec_dtype_t dtype; // of all inputs; merge: of the first part
  /// The blocks of the M x K matrix, or of the pattern: queries and keys, 0 without one.
  int64_t blockRows, blockColumns;
  int64_t blockDepth;                         // SpGEMM: columns of a block of A; blocks of the result are the others
  bool isTransposed;                          // SpMM: the matrix is stored as K x M
  sparsec_layout_t denseLayout, resultLayout; // SpMM; the layout of B is the dense one of SDDMM
  sparsec_layout_t leftLayout;                // SDDMM
  sparsec_dtype_t resultDtype;
  sparsec_dtype_t secondDtype;               // merge: of the second part
  int64_t headDimension;                     // attention, as all below; merge: D, or SPARSEC_DYNAMIC
  int64_t valueDimension;                    // 0: the same
  int64_t windowLeft = -1, windowRight = -1; // -1: no limit
  bool isCausal, hasWindow, hasMask, hasScale, hasSinks, hasLse;
  bool hasQueryStarts, hasKeyStarts, hasKeyLengths;
  int64_t pageRows; // 0: K and V have no pages

  bool hasSequences() const { return hasQueryStarts || hasKeyStarts || hasKeyLengths; }
};

struct KernelFile {
  std::filesystem::path path;
  std::string group; // name of the folder that holds the file: the target
  std::vector<char> bytes;
  std::vector<ImageTarget> targets;
  std::vector<KernelRecord> kernels; // the same in all images

  bool isForHost() const;
  /// The first kernel that computes an operation, and runs without a plan, or null.
  const KernelRecord *find(sparsec_operation_kind_t kind) const;
  /// Whether an image of the file runs on a device of this kind and capability.
  bool runsOn(sparsec_target_kind_t kind, int capability) const;
};

/// All compiled files below a folder, in the order of their paths. Throws when one cannot be read.
std::vector<KernelFile> findKernelFiles(const std::filesystem::path &folder);

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_KERNEL_FILES_H
