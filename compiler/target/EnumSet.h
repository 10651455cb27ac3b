// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A set of values of an enum, for rows of tables.

#ifndef SPARSEC_COMPILER_TARGET_ENUMSET_H
#define SPARSEC_COMPILER_TARGET_ENUMSET_H

#include <cstdint>
#include <initializer_list>

namespace sparsec {

template <typename Enum> class EnumSet {
public:
  constexpr EnumSet() = default;
  constexpr EnumSet(std::initializer_list<Enum> values) {
    for (Enum value : values)
      bits |= bitOf(value);
  }

  constexpr bool contains(Enum value) const { return (bits & bitOf(value)) != 0; }

private:
  static constexpr uint32_t bitOf(Enum value) { return uint32_t(1) << static_cast<unsigned>(value); }

  uint32_t bits = 0;
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_TARGET_ENUMSET_H
