// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of the DLPack ABI (dmlc.github.io/dlpack, structures of versions 0.x and 1.x) that importing a tensor needs.

#ifndef SPARSEC_RUNTIME_DLPACK_ABI_H
#define SPARSEC_RUNTIME_DLPACK_ABI_H

#include <cstdint>

namespace sparsec::runtime::dlpack {

enum DeviceType : int32_t { cpu = 1, cuda = 2, cudaHost = 3, cudaManaged = 13 };

/// By type; null where a number is none. For messages.
constexpr const char *deviceNames[] = {
    nullptr, "CPU",       "CUDA",   "CUDA host",    "OpenCL", nullptr,  nullptr,   "Vulkan", "Metal",   "VPI",
    "ROCm",  "ROCm host", "ExtDev", "CUDA managed", "oneAPI", "WebGPU", "Hexagon", "MAIA",   "Trainium"};

enum TypeCode : uint8_t {
  intCode = 0,
  floatCode = 2,
  bfloatCode = 4,
  boolCode = 6,
  float8E4m3fnCode = 10,
  float8E5m2Code = 12
};

/// By code, for messages.
constexpr const char *typeNames[] = {"int",
                                     "uint",
                                     "float",
                                     "handle",
                                     "bfloat",
                                     "complex",
                                     "bool",
                                     "float8_e3m4",
                                     "float8_e4m3",
                                     "float8_e4m3b11fnuz",
                                     "float8_e4m3fn",
                                     "float8_e4m3fnuz",
                                     "float8_e5m2",
                                     "float8_e5m2fnuz",
                                     "float8_e8m0fnu",
                                     "float6_e2m3fn",
                                     "float6_e3m2fn",
                                     "float4_e2m1fn"};
/// Whether types of this code differ in their bits.
constexpr bool hasWidths(uint8_t code) { return code < 6; }

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

struct Version {
  uint32_t major, minor;
};
constexpr uint32_t majorVersion = 1;

struct ManagedTensorVersioned {
  Version version;
  void *manager_context;
  void (*deleter)(ManagedTensorVersioned *self);
  uint64_t flags;
  Tensor tensor;
};
constexpr uint64_t readOnlyFlag = 1;

static_assert(sizeof(ManagedTensorVersioned) == 80, "foreign ABI");
static_assert(sizeof(Tensor) == 48 && sizeof(ManagedTensor) == 64, "foreign ABI");

} // namespace sparsec::runtime::dlpack

#endif // SPARSEC_RUNTIME_DLPACK_ABI_H
