// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Handlers of instructions that work on each lane alone, made of functions of one value.

#ifndef SPARSEC_TEST_SIMULATOR_LANES_H
#define SPARSEC_TEST_SIMULATOR_LANES_H

#include "machine.h"

namespace sparsec::simulator {

/// The words in which a lane holds a value: registers of up to 32 bits have 32.
template <class T> using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T> T load(Word<T> word) {
  if constexpr (sizeof(T) == sizeof(Word<T>))
    return std::bit_cast<T>(word);
  else
    return T(word);
}

template <class T> Word<T> store(T value) {
  if constexpr (sizeof(T) == sizeof(Word<T>))
    return std::bit_cast<Word<T>>(value);
  else
    return std::make_unsigned_t<T>(value);
}

/// at[0] = function(at[1], ...), with values of the types of the function.
template <auto function> struct PerLane;

template <class R, class A, R (*function)(A)> struct PerLane<function> {
  static void run(Warp &warp, const Instruction &i, uint32_t mask) {
    auto *d = warp.at<Word<R>>(i.at[0]);
    const auto *a = warp.at<Word<A>>(i.at[1]);
    forLanes(mask, [=](int lane) { d[lane] = store<R>(function(load<A>(a[lane]))); });
  }
};

template <class R, class A, class B, R (*function)(A, B)> struct PerLane<function> {
  static void run(Warp &warp, const Instruction &i, uint32_t mask) {
    auto *d = warp.at<Word<R>>(i.at[0]);
    const auto *a = warp.at<Word<A>>(i.at[1]);
    const auto *b = warp.at<Word<B>>(i.at[2]);
    forLanes(mask, [=](int lane) { d[lane] = store<R>(function(load<A>(a[lane]), load<B>(b[lane]))); });
  }
};

template <class R, class A, class B, class C, R (*function)(A, B, C)> struct PerLane<function> {
  static void run(Warp &warp, const Instruction &i, uint32_t mask) {
    auto *d = warp.at<Word<R>>(i.at[0]);
    const auto *a = warp.at<Word<A>>(i.at[1]);
    const auto *b = warp.at<Word<B>>(i.at[2]);
    const auto *c = warp.at<Word<C>>(i.at[3]);
    forLanes(mask,
             [=](int lane) { d[lane] = store<R>(function(load<A>(a[lane]), load<B>(b[lane]), load<C>(c[lane]))); });
  }
};

template <auto function> constexpr Handler perLane = &PerLane<function>::run;

/// Handlers of one operation by the C type of its operands; null where PTX has none.
struct ByType {
  Handler u16 = nullptr, s16 = nullptr, u32 = nullptr, s32 = nullptr, u64 = nullptr, s64 = nullptr, f32 = nullptr;

  /// Types of bits count as unsigned.
  Handler of(Type type) const {
    switch (type) {
    case Type::b16:
    case Type::u16:
      return u16;
    case Type::s16:
      return s16;
    case Type::b32:
    case Type::u32:
      return u32;
    case Type::s32:
      return s32;
    case Type::b64:
    case Type::u64:
      return u64;
    case Type::s64:
      return s64;
    case Type::f32:
      return f32;
    default:
      return nullptr;
    }
  }
};

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_LANES_H
