// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CRC-32 (IEEE 802.3), as in zlib.

#ifndef SPARSEC_RUNTIME_CHECKSUM_H
#define SPARSEC_RUNTIME_CHECKSUM_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace sparsec::runtime {

constexpr std::array<uint32_t, 256> makeCrc32Table() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
    table[i] = value;
  }
  return table;
}

constexpr uint32_t crc32(const uint8_t *bytes, size_t size) {
  constexpr std::array<uint32_t, 256> table = makeCrc32Table();
  uint32_t value = 0xffffffffu;
  for (size_t i = 0; i < size; ++i)
    value = value >> 8 ^ table[(value ^ bytes[i]) & 0xff];
  return ~value;
}

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_CHECKSUM_H
