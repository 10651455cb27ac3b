// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dense_library.h"

#include <dlfcn.h>
#include <stdexcept>
#include <vector>

namespace sparsec::bench {

namespace {

// Values of cublas_api.h.
constexpr int operationNone = 0;
constexpr int defaultAlgorithm = -1;

} // namespace

void checkCublas(int result, const char *call) {
  if (result != 0)
    throw std::runtime_error(std::string(call) + " failed with status " + std::to_string(result));
}

void *openLibrary(const std::string &path, const std::string &name) {
  std::vector<std::string> paths = {name + ".so.13", name + ".so.12", name + ".so",
                                    "/usr/local/cuda/lib64/" + name + ".so"};
  if (!path.empty())
    paths = {path};
  void *library = nullptr;
  for (const std::string &file : paths)
    if (!library)
      library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  return library;
}

std::unique_ptr<DenseLibrary> DenseLibrary::open(const std::string &path, const harness::CudaStream &stream) {
  void *library = openLibrary(path, "libcublas");
  if (!library)
    return nullptr;
  auto create = reinterpret_cast<Create>(dlsym(library, "cublasCreate_v2"));
  auto setStream = reinterpret_cast<SetStream>(dlsym(library, "cublasSetStream_v2"));
  std::unique_ptr<DenseLibrary> result(new DenseLibrary);
  result->destroy = reinterpret_cast<Destroy>(dlsym(library, "cublasDestroy_v2"));
  result->gemmEx = reinterpret_cast<GemmEx>(dlsym(library, "cublasGemmEx"));
  result->setWorkspace = reinterpret_cast<SetWorkspace>(dlsym(library, "cublasSetWorkspace_v2"));
  if (!create || !setStream || !result->destroy || !result->gemmEx || !result->setWorkspace)
    return nullptr;
  checkCublas(create(&result->handle), "cublasCreate");
  checkCublas(setStream(result->handle, stream.handle()), "cublasSetStream");
  return result;
}

DenseLibrary::~DenseLibrary() {
  if (handle)
    destroy(handle);
}

void DenseLibrary::useWorkspace(const harness::DeviceBuffer &buffer) const {
  checkCublas(setWorkspace(handle, buffer.data(), buffer.bytes()), "cublasSetWorkspace");
}

void DenseLibrary::multiply(const ProductSize &size, const void *w, const void *x, void *y, bool transposed) const {
  int m = static_cast<int>(size.rows), k = static_cast<int>(size.depth), n = static_cast<int>(size.columns);
  float one = 1, zero = 0;
  // cuBLAS is column-major: a row-major A x B matrix is for it a B x A matrix.
  int result = transposed ? gemmEx(handle, cublasTranspose, operationNone, m, n, k, &one, w, cublasBf16, k, x,
                                   cublasBf16, k, &zero, y, cublasBf16, m, cublasComputeF32, defaultAlgorithm)
                          : gemmEx(handle, operationNone, operationNone, n, m, k, &one, x, cublasBf16, n, w, cublasBf16,
                                   k, &zero, y, cublasBf16, n, cublasComputeF32, defaultAlgorithm);
  checkCublas(result, "cublasGemmEx");
}

} // namespace sparsec::bench
