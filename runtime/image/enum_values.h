// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Enum fields that a C caller or a file may have filled with any number: to be looked at as numbers, because reading
// them as an enum would be undefined.

#ifndef SPARSEC_RUNTIME_ENUM_VALUES_H
#define SPARSEC_RUNTIME_ENUM_VALUES_H

#include "sparsec/launch_info.hpp" // dtypeBytes

#include <cstdint>
#include <cstring>

namespace sparsec::runtime {

/// The bytes of a line in maps of kind SPARSEC_TENSOR_MAP_BSR_LINES.
inline constexpr uint32_t lineBytes = 128;

/// The number in an enum field.
template <typename Enum> uint32_t enumValue(const Enum &field) {
  uint32_t value;
  static_assert(sizeof(field) == sizeof(value));
  std::memcpy(&value, &field, sizeof(value));
  return value;
}

const char *dtypeName(uint32_t dtype);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_ENUM_VALUES_H
