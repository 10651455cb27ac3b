// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "types.h"

#include <array>

namespace sparsec::simulator {

namespace {

struct TypeFacts {
  std::string_view name;
  uint8_t bytes;
  bool isSigned, isFloat;
};

/// In the order of Type.
constexpr std::array<TypeFacts, 23> facts = {{
    {"pred", 4, false, false}, {"b8", 1, false, false},   {"u8", 1, false, false},    {"s8", 1, true, false},
    {"e4m3", 1, false, true},  {"e5m2", 1, false, true},  {"e4m3x2", 2, false, true}, {"e5m2x2", 2, false, true},
    {"b16", 2, false, false},  {"u16", 2, false, false},  {"s16", 2, true, false},    {"f16", 2, false, true},
    {"bf16", 2, false, true},  {"b32", 4, false, false},  {"u32", 4, false, false},   {"s32", 4, true, false},
    {"f32", 4, false, true},   {"f16x2", 4, false, true}, {"bf16x2", 4, false, true}, {"b64", 8, false, false},
    {"u64", 8, false, false},  {"s64", 8, true, false},   {"f64", 8, false, true},
}};

} // namespace

std::optional<Type> typeNamed(std::string_view name) {
  for (size_t i = 0; i < facts.size(); ++i)
    if (facts[i].name == name)
      return Type(i);
  return std::nullopt;
}

unsigned bytesOf(Type type) { return facts[size_t(type)].bytes; }
bool isSigned(Type type) { return facts[size_t(type)].isSigned; }
bool isFloat(Type type) { return facts[size_t(type)].isFloat; }

} // namespace sparsec::simulator
