// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tensor_map.h"

#include <algorithm>
#include <fmt/format.h>

namespace sparsec::simulator {

uint64_t swizzledAddress(uint64_t address, int swizzle) {
  const uint64_t key = address >> 7 & ((uint64_t(1) << swizzle) - 1);
  return address ^ key << 4;
}

uint64_t boxBytes(const TensorMap &map) {
  uint64_t bytes = map.elementBytes;
  for (int dimension = 0; dimension < map.rank; ++dimension)
    bytes *= map.box[dimension];
  return bytes;
}

void forEachPart(const TensorMap &map, std::span<const int32_t> coordinates, uint64_t shared,
                 const std::function<void(const BoxPart &)> &body) {
  if (map.magic != TensorMap::magicNumber)
    throw SimulationError("copies by something that is no tensor map");
  if (coordinates.size() != map.rank)
    throw SimulationError(
        fmt::format("copies with {} coordinates by a tensor map of {}", coordinates.size(), map.rank));
  constexpr uint64_t sharedAlignment = 128;
  if (shared % sharedAlignment != 0)
    throw SimulationError(fmt::format("the box at {:#x} is not aligned to 128 bytes", shared));
  const uint64_t elementBytes = map.elementBytes, rowBytes = map.box[0] * elementBytes;
  const uint64_t rows = boxBytes(map) / rowBytes;
  for (uint64_t row = 0; row < rows; ++row) {
    // The coordinates of the row.
    uint64_t rest = row, address = map.address;
    bool isInside = true;
    for (int dimension = 1; dimension < map.rank; ++dimension) {
      const int64_t at = coordinates[size_t(dimension)] + int64_t(rest % map.box[dimension]);
      rest /= map.box[dimension];
      isInside &= at >= 0 && at < int64_t(map.sizes[dimension]);
      address += uint64_t(at) * map.strides[dimension - 1];
    }
    for (uint64_t unit = 0; unit < rowBytes; unit += granuleBytes) {
      const int64_t from = coordinates[0] * int64_t(elementBytes) + int64_t(unit);
      const int64_t end = int64_t(map.sizes[0] * elementBytes);
      const int64_t first = std::clamp<int64_t>(-from, 0, granuleBytes);
      const int64_t last = std::clamp<int64_t>(end - from, first, granuleBytes);
      BoxPart part = {swizzledAddress(shared + row * rowBytes + unit, map.swizzle), address + uint64_t(from + first),
                      unsigned(first), isInside ? unsigned(last - first) : 0};
      body(part);
    }
  }
}

} // namespace sparsec::simulator
