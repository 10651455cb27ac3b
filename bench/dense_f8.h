// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dense product of fp8 matrices by cublasLt, which is loaded at run time.

#ifndef SPARSEC_BENCH_DENSE_F8_H
#define SPARSEC_BENCH_DENSE_F8_H

#include "dense_library.h"
#include "harness/handles.h"

namespace sparsec::bench {

class DenseF8Product {
public:
  /// Null when there is no cublasLt at `path` (empty: the usual names), or when it cannot multiply these matrices.
  static std::unique_ptr<DenseF8Product> open(const std::string &path, const ProductSize &size, sparsec_device_t device,
                                              const harness::CudaStream &stream);

  /// Y = W X of f8E4M3FN in bf16, with sums that are added in f32 every 128 of K (the library's default). X is N x K
  /// and Y is N x M.
  void multiply(const void *w, const void *x, void *y) const;

private:
  DenseF8Product(sparsec_device_t device, const harness::CudaStream &stream)
      : stream(stream), workspace(device, denseWorkspaceBytes) {}

  bool load(const std::string &path);
  bool describe(const ProductSize &size);
  int chooseAlgorithm();

  // The C interface of cublasLt: handles and descriptors are pointers, enumerations and results are int.
  using Destroy = int (*)(void *);
  using Owned = std::unique_ptr<void, Destroy>;
  /// cublasLtMatmulHeuristicResult_t
  struct Choice {
    uint64_t algorithm[8];
    size_t workspaceBytes;
    int status;
    float waves;
    int reserved[4];
  };
  struct Functions {
    int (*create)(void **);
    Destroy destroy;
    int (*createDescription)(void **, int, int);
    int (*setAttribute)(void *, int, const void *, size_t);
    Destroy destroyDescription;
    int (*createLayout)(void **, int, uint64_t, uint64_t, int64_t);
    Destroy destroyLayout;
    int (*createPreference)(void **);
    int (*setPreference)(void *, int, const void *, size_t);
    Destroy destroyPreference;
    int (*findAlgorithms)(void *, void *, void *, void *, void *, void *, void *, int, Choice *, int *);
    int (*multiply)(void *, void *, const void *, const void *, void *, const void *, void *, const void *,
                    const void *, void *, void *, void *, const uint64_t *, void *, size_t, void *);
  };
  Owned layoutOf(int type, int64_t rows, int64_t columns) const;

  static int keep(void *) { return 0; }

  const harness::CudaStream &stream;
  harness::DeviceBuffer workspace;
  Functions lt = {};
  Owned library = {nullptr, keep}, description = {nullptr, keep};
  Owned layoutOfW = {nullptr, keep}, layoutOfX = {nullptr, keep}, layoutOfY = {nullptr, keep};
  Choice choice = {};
};

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_DENSE_F8_H
