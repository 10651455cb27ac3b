// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of the DLPack ABI (dmlc.github.io/dlpack, structures of version 0.x) that importing a tensor needs.

#ifndef SPARSEC_RUNTIME_DLPACK_ABI_H
#define SPARSEC_RUNTIME_DLPACK_ABI_H

#include <cstdint>

namespace sparsec::runtime::dlpack {

enum DeviceType : int32_t { cpu = 1, cuda = 2, cudaHost = 3, cudaManaged = 13 };

enum TypeCode : uint8_t { intCode = 0, floatCode = 2, bfloatCode = 4, float8E4m3fnCode = 10, float8E5m2Code = 12 };

struct Device {
  int32_t type; // DeviceType, or one that this library does not use
  int32_t id;
};

struct DataType {
  uint8_t code; // TypeCode, or one that this library does not use
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape;
  int64_t *strides; // elements; null when compact row-major
  uint64_t byte_offset;
};

struct ManagedTensor {
  Tensor tensor;
  void *manager_context;
  void (*deleter)(ManagedTensor *self);
};

static_assert(sizeof(Tensor) == 48 && sizeof(ManagedTensor) == 64, "foreign ABI");

} // namespace sparsec::runtime::dlpack

#endif // SPARSEC_RUNTIME_DLPACK_ABI_H
