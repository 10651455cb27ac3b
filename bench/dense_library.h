// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dense product of cuBLAS, in the same process. The library is loaded at run time.

#ifndef SPARSEC_BENCH_DENSE_LIBRARY_H
#define SPARSEC_BENCH_DENSE_LIBRARY_H

#include "harness/cuda_driver.h"
#include "harness/handles.h"

#include <cstdint>
#include <memory>
#include <string>

namespace sparsec::bench {

// Values of cublas_api.h and library_types.h.
inline constexpr int cublasTranspose = 1, cublasBf16 = 14, cublasComputeF32 = 68;

struct ProductSize {
  int64_t rows, depth, columns; // M, K, N
};

/// The library `name` at `path` (empty: the usual places), or null.
void *openLibrary(const std::string &path, const std::string &name);
/// Throws when a call of cuBLAS failed.
void checkCublas(int result, const char *call);

inline constexpr size_t denseWorkspaceBytes = 32 << 20; // as NVIDIA recommends for sm_90

class DenseLibrary {
public:
  /// Null when there is no cuBLAS at `path` (empty: the usual names).
  static std::unique_ptr<DenseLibrary> open(const std::string &path, const harness::CudaStream &stream);
  ~DenseLibrary();
  DenseLibrary(const DenseLibrary &) = delete;
  DenseLibrary &operator=(const DenseLibrary &) = delete;

  /// Inside of a graph, cuBLAS has no workspace unless it gets one: it would allocate memory in every launch.
  void useWorkspace(const harness::DeviceBuffer &buffer) const;

  /// Y = W X in bf16 with f32 sums. Row-major: X is K x N and Y is M x N; transposed: X is N x K and Y is N x M.
  void multiply(const ProductSize &size, const void *w, const void *x, void *y, bool transposed) const;

private:
  DenseLibrary() = default;

  // The C interface of cuBLAS: handles are pointers, enumerations and results are int.
  using Create = int (*)(void **);
  using Destroy = int (*)(void *);
  using SetStream = int (*)(void *, void *);
  using SetWorkspace = int (*)(void *, void *, size_t);
  using GemmEx = int (*)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
                         const void *, void *, int, int, int, int);
  Destroy destroy = nullptr;
  SetWorkspace setWorkspace = nullptr;
  GemmEx gemmEx = nullptr;
  void *handle = nullptr;
};

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_DENSE_LIBRARY_H
