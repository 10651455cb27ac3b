// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values of W for launches that follow one another.

#ifndef SPARSEC_BENCH_VALUE_COPIES_H
#define SPARSEC_BENCH_VALUE_COPIES_H

#include <algorithm>
#include <cstddef>

namespace sparsec::bench {

/// Places in one buffer that launches read in turn. All of them have four times the bytes of L2, whose lines are not
/// replaced in the order in which they came: a launch finds none of its values there.
class ValueCopies {
public:
  ValueCopies(size_t bytesOfCopy, size_t l2Bytes)
      : stride(roundUp(std::max<size_t>(bytesOfCopy, 1), alignment)), copies(divideUp(bytesOfAll(l2Bytes), stride)) {}

  /// The bytes that a buffer holds beyond one copy.
  static size_t moreBytes(size_t l2Bytes) { return bytesOfAll(l2Bytes) + alignment; }

  size_t count() const { return copies; }
  /// The first byte of the values of a launch.
  size_t offsetOf(size_t launch) const { return launch % copies * stride; }
  /// A window has every copy equally often.
  size_t launchesOfWindow() const { return roundUp(leastLaunches, copies); }

private:
  static constexpr size_t alignment = 256, timesL2 = 4, leastLaunches = 64;

  static size_t divideUp(size_t number, size_t divisor) { return (number + divisor - 1) / divisor; }
  static size_t roundUp(size_t number, size_t multiple) { return divideUp(number, multiple) * multiple; }
  static size_t bytesOfAll(size_t l2Bytes) { return timesL2 * l2Bytes; }

  size_t stride, copies;
};

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_VALUE_COPIES_H
