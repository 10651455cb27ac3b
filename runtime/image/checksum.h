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

/// The checksum of bytes that follow others, whose checksum is `before`.
constexpr uint32_t crc32(const uint8_t *bytes, size_t size, uint32_t before = 0) {
  constexpr std::array<uint32_t, 256> table = makeCrc32Table();
  uint32_t value = ~before;
  for (size_t i = 0; i < size; ++i)
    value = value >> 8 ^ table[(value ^ bytes[i]) & 0xff];
  return ~value;
}

/// The checksum of bytes of which those in [begin, end) count as zero.
constexpr uint32_t crc32WithZeros(const uint8_t *bytes, size_t size, size_t begin, size_t end) {
  uint32_t value = crc32(bytes, begin);
  for (size_t i = begin; i < end; ++i) {
    const uint8_t zero = 0;
    value = crc32(&zero, 1, value);
  }
  return crc32(bytes + end, size - end, value);
}

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_CHECKSUM_H
