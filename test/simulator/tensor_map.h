// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensor maps: what cuTensorMapEncodeTiled writes and tensor copies read.

#ifndef SPARSEC_TEST_SIMULATOR_TENSOR_MAP_H
#define SPARSEC_TEST_SIMULATOR_TENSOR_MAP_H

#include "memory.h"

#include <functional>

namespace sparsec::simulator {

/// As large as CUtensorMap.
struct TensorMap {
  static constexpr uint32_t magicNumber = 0x534d4150;
  static constexpr int mostDimensions = 5;

  uint32_t magic;
  uint8_t rank, elementBytes, swizzle; // swizzle: 0 to 3 as in the driver's enumeration
  uint8_t reserved;
  uint64_t address;
  uint64_t strides[mostDimensions - 1]; // bytes, of the dimensions but the innermost
  uint64_t sizes[mostDimensions];
  uint16_t box[mostDimensions];
  uint8_t padding[30];
};
static_assert(sizeof(TensorMap) == 128);

/// Where byte `offset` of a box lies: 16-byte units are exchanged as the swizzle says, by the bits of the address.
uint64_t swizzledAddress(uint64_t address, int swizzle);

/// The parts of a box of 16 bytes in shared memory.
struct BoxPart {
  uint64_t shared;       // address of 16 bytes
  uint64_t global;       // address of the first byte that exists
  unsigned first, bytes; // which of the 16 bytes exist
};

/// Checks map, alignment and rank, and calls `body` for all parts of the box at the coordinates. Throws
/// SimulationError.
void forEachPart(const TensorMap &map, std::span<const int32_t> coordinates, uint64_t shared,
                 const std::function<void(const BoxPart &)> &body);
uint64_t boxBytes(const TensorMap &map);

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_TENSOR_MAP_H
