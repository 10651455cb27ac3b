// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensor maps: how the tensor memory accelerator of sm_90 finds boxes of an operand.

#ifndef SPARSEC_RUNTIME_TENSOR_MAP_H
#define SPARSEC_RUNTIME_TENSOR_MAP_H

#include "device/device.h"

namespace sparsec::runtime {

/// Encodes the map that the recipe describes for a (checked) argument.
Status encodeTensorMap(const Device &device, const sparsec_tensor_map_info_t &recipe,
                       const sparsec_argument_t &argument, CUtensorMap &outMap);

/// Gives an encoded map the address of another argument that has the same sizes and strides.
Status moveTensorMap(const Device &device, const sparsec_tensor_map_info_t &recipe, const sparsec_argument_t &argument,
                     CUtensorMap &map);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_TENSOR_MAP_H
