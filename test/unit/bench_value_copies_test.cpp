// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The places of the values of W for launches that follow one another.

#include "value_copies.h"

#include <gtest/gtest.h>

namespace sparsec::bench {
namespace {

constexpr size_t l2Bytes = 50'000'000;

TEST(BenchValueCopies, CopiesFillFourTimesL2) {
  const ValueCopies copies(29'527'040, l2Bytes);
  EXPECT_EQ(copies.count(), 7u);
  EXPECT_EQ(copies.offsetOf(0), 0u);
  EXPECT_EQ(copies.offsetOf(6), 6u * 29'527'040);
  EXPECT_EQ(copies.offsetOf(7), 0u);
  EXPECT_EQ(ValueCopies(4 * l2Bytes, l2Bytes).count(), 1u);
}

TEST(BenchValueCopies, CopiesAreAligned) {
  const ValueCopies copies(1000, l2Bytes);
  EXPECT_EQ(copies.offsetOf(1), 1024u);
}

TEST(BenchValueCopies, AWindowHasEveryCopyEquallyOften) {
  EXPECT_EQ(ValueCopies(29'527'040, l2Bytes).launchesOfWindow(), 70u);
  EXPECT_EQ(ValueCopies(2'000'000, l2Bytes).launchesOfWindow(), 100u);
}

TEST(BenchValueCopies, CopiesFitInTheBuffer) {
  for (size_t bytes : {size_t{1000}, size_t{2'000'000}, size_t{29'527'041}, 5 * l2Bytes}) {
    const ValueCopies copies(bytes, l2Bytes);
    EXPECT_LE(copies.offsetOf(copies.count() - 1) + bytes, bytes + ValueCopies::moreBytes(l2Bytes));
  }
}

} // namespace
} // namespace sparsec::bench
