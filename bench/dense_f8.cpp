// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dense_f8.h"

#include <dlfcn.h>

namespace sparsec::bench {

namespace {

// Values of cublasLt.h and library_types.h.
constexpr int typeF32 = 0, typeF8E4M3 = 28;
constexpr int attributeTransposeA = 3, preferenceWorkspace = 1;

template <typename Function> bool find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

} // namespace

std::unique_ptr<DenseF8Product> DenseF8Product::open(const std::string &path, const ProductSize &size,
                                                     sparsec_device_t device, const harness::CudaStream &stream) {
  std::unique_ptr<DenseF8Product> result(new DenseF8Product(device, stream));
  return result->load(path) && result->describe(size) ? std::move(result) : nullptr;
}

bool DenseF8Product::load(const std::string &path) {
  void *file = openLibrary(path, "libcublasLt");
  bool isComplete = file && find(file, "cublasLtCreate", lt.create) && find(file, "cublasLtDestroy", lt.destroy) &&
                    find(file, "cublasLtMatmulDescCreate", lt.createDescription) &&
                    find(file, "cublasLtMatmulDescSetAttribute", lt.setAttribute) &&
                    find(file, "cublasLtMatmulDescDestroy", lt.destroyDescription) &&
                    find(file, "cublasLtMatrixLayoutCreate", lt.createLayout) &&
                    find(file, "cublasLtMatrixLayoutDestroy", lt.destroyLayout) &&
                    find(file, "cublasLtMatmulPreferenceCreate", lt.createPreference) &&
                    find(file, "cublasLtMatmulPreferenceSetAttribute", lt.setPreference) &&
                    find(file, "cublasLtMatmulPreferenceDestroy", lt.destroyPreference) &&
                    find(file, "cublasLtMatmulAlgoGetHeuristic", lt.findAlgorithms) &&
                    find(file, "cublasLtMatmul", lt.multiply);
  if (!isComplete)
    return false;
  void *handle = nullptr;
  checkCublas(lt.create(&handle), "cublasLtCreate");
  library = Owned(handle, lt.destroy);
  return true;
}

DenseF8Product::Owned DenseF8Product::layoutOf(int type, int64_t rows, int64_t columns) const {
  void *layout = nullptr;
  checkCublas(lt.createLayout(&layout, type, rows, columns, /*leading dimension=*/rows), "cublasLtMatrixLayoutCreate");
  return {layout, lt.destroyLayout};
}

/// cublasLt is column-major, and takes fp8 with K contiguous alone: W and X are K x M and K x N for it, and Y is M x N.
bool DenseF8Product::describe(const ProductSize &size) {
  void *handle = nullptr;
  checkCublas(lt.createDescription(&handle, cublasComputeF32, typeF32), "cublasLtMatmulDescCreate");
  description = Owned(handle, lt.destroyDescription);
  checkCublas(lt.setAttribute(handle, attributeTransposeA, &cublasTranspose, sizeof(cublasTranspose)),
              "cublasLtMatmulDescSetAttribute");
  layoutOfW = layoutOf(typeF8E4M3, size.depth, size.rows);
  layoutOfX = layoutOf(typeF8E4M3, size.depth, size.columns);
  layoutOfY = layoutOf(cublasBf16, size.rows, size.columns);
  return chooseAlgorithm() > 0;
}

/// The number of algorithms that were found: 1 or none.
int DenseF8Product::chooseAlgorithm() {
  void *handle = nullptr;
  checkCublas(lt.createPreference(&handle), "cublasLtMatmulPreferenceCreate");
  Owned preference(handle, lt.destroyPreference);
  checkCublas(lt.setPreference(handle, preferenceWorkspace, &denseWorkspaceBytes, sizeof(denseWorkspaceBytes)),
              "cublasLtMatmulPreferenceSetAttribute");
  int found = 0;
  int status = lt.findAlgorithms(library.get(), description.get(), layoutOfW.get(), layoutOfX.get(), layoutOfY.get(),
                                 layoutOfY.get(), handle, /*requested=*/1, &choice, &found);
  return status == 0 ? found : 0;
}

void DenseF8Product::multiply(const void *w, const void *x, void *y) const {
  float one = 1, zero = 0;
  checkCublas(lt.multiply(library.get(), description.get(), &one, w, layoutOfW.get(), x, layoutOfX.get(), &zero, y,
                          layoutOfY.get(), y, layoutOfY.get(), choice.algorithm, workspace.data(), denseWorkspaceBytes,
                          stream.handle()),
              "cublasLtMatmul");
}

} // namespace sparsec::bench
