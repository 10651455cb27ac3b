// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vocabulary of PTX that all parts of the simulator share.

#ifndef SPARSEC_TEST_SIMULATOR_TYPES_H
#define SPARSEC_TEST_SIMULATOR_TYPES_H

#include <bit>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sparsec::simulator {

inline constexpr int lanesOfWarp = 32;
inline constexpr uint32_t allLanes = 0xffffffff;

enum class Type : uint8_t {
  pred,
  b8,
  u8,
  s8,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  b16,
  u16,
  s16,
  f16,
  bf16,
  b32,
  u32,
  s32,
  f32,
  f16x2,
  bf16x2,
  b64,
  u64,
  s64,
  f64
};

/// The type that a modifier of an opcode names, if it names one.
std::optional<Type> typeNamed(std::string_view name);
unsigned bytesOf(Type type);
inline bool isWide(Type type) { return bytesOf(type) == 8; }
bool isSigned(Type type);
bool isFloat(Type type);

enum class Space : uint8_t { generic, global, shared, sharedCluster, local, param, constant };

/// An error of a program or of its execution. The machine adds where.
struct SimulationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Calls `body` for the lanes of a mask. The loop over all lanes has no conditions, so that it becomes vector code.
template <class Body> void forLanes(uint32_t mask, Body body) {
  if (mask == allLanes) {
    for (int lane = 0; lane < lanesOfWarp; ++lane)
      body(lane);
    return;
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    body(std::countr_zero(rest));
}

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_TYPES_H
