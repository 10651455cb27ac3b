// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda_symbols.h"

#include <atomic>
#include <dlfcn.h>

namespace sparsec::runtime {

Status fillCudaTable(const std::function<void *(const char *)> &find, CudaTable &outTable) {
#define SPARSEC_CUDA_SYMBOL(name, exported, parameters)                                                                \
  outTable.name = reinterpret_cast<decltype(outTable.name)>(find(exported));                                           \
  if (!outTable.name)                                                                                                  \
    return makeStatus(SPARSEC_STATUS_UNAVAILABLE, "the CUDA driver is too old: libcuda.so.1 has no ", exported,        \
                      " (expects CUDA 12.0 or later)");
#define SPARSEC_CUDA_OPTIONAL_SYMBOL(name, exported, parameters)                                                       \
  outTable.name = reinterpret_cast<decltype(outTable.name)>(find(exported));
#include "device/cuda_symbols.def"
#undef SPARSEC_CUDA_SYMBOL
#undef SPARSEC_CUDA_OPTIONAL_SYMBOL
  return {};
}

namespace {

/// The driver as dlopen finds it, and why not if it does not.
struct Library {
  CudaTable table = {};
  Status status;

  Library() {
    // The handle is kept for the life of the process: contexts and modules of other libraries live in it.
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    status = handle ? fillCudaTable([=](const char *name) { return dlsym(handle, name); }, table)
                    : makeStatus(SPARSEC_STATUS_UNAVAILABLE, "no CUDA driver: cannot load libcuda.so.1");
  }
};

std::atomic<const CudaTable *> replacement = nullptr;

} // namespace

Status loadCuda(const CudaTable *&outTable) {
  const CudaTable *table = replacement.load();
  if (!table) {
    static const Library library;
    if (library.status)
      return makeStatus(library.status->code, library.status->message);
    table = &library.table;
  }
  CUresult result = table->cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_STUB_LIBRARY)
    return makeStatus(SPARSEC_STATUS_UNAVAILABLE, "no CUDA device: the driver found none");
  SPARSEC_RETURN_IF_ERROR(cudaStatus(*table, result, "initialising the CUDA driver"));
  outTable = table;
  return {};
}

void replaceCudaForTesting(const CudaTable *table) { replacement = table; }

Status cudaStatus(const CudaTable &cuda, CUresult result, const char *action) {
  if (result == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *text = nullptr;
  // Both leave the pointer null for an error that this driver does not know.
  cuda.cuGetErrorName(result, &name);
  cuda.cuGetErrorString(result, &text);
  sparsec_status_code_t code =
      result == CUDA_ERROR_OUT_OF_MEMORY ? SPARSEC_STATUS_OUT_OF_MEMORY : SPARSEC_STATUS_DRIVER_ERROR;
  return makeStatus(code, action, " failed: ", name ? name : "unknown error", " (", int(result), text ? ", " : "",
                    text ? text : "", ")");
}

} // namespace sparsec::runtime
