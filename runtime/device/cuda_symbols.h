// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libcuda, loaded on first use. All driver calls go through one table of function pointers, which tests replace.

#ifndef SPARSEC_RUNTIME_CUDA_SYMBOLS_H
#define SPARSEC_RUNTIME_CUDA_SYMBOLS_H

#include "device/cuda_driver.h"
#include "status.h"

#include <functional>

namespace sparsec::runtime {

struct CudaTable {
#define SPARSEC_CUDA_SYMBOL(name, exported, parameters) CUresult(*name) parameters;
#define SPARSEC_CUDA_OPTIONAL_SYMBOL SPARSEC_CUDA_SYMBOL
#include "device/cuda_symbols.def"
#undef SPARSEC_CUDA_SYMBOL
#undef SPARSEC_CUDA_OPTIONAL_SYMBOL
};

/// Fills the table by exported name. UNAVAILABLE names the first function that is missing; optional ones are null then.
Status fillCudaTable(const std::function<void *(const char *)> &find, CudaTable &outTable);

/// Loads and initialises the driver. UNAVAILABLE when there is none.
Status loadCuda(const CudaTable *&outTable);

/// Makes loadCuda return this table (null: the real driver again).
void replaceCudaForTesting(const CudaTable *table);

/// OK for CUDA_SUCCESS, else a status that says what was being done and the driver's error name and text.
Status cudaStatus(const CudaTable &cuda, CUresult result, const char *action);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_CUDA_SYMBOLS_H
