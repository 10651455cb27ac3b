// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPARSEC_BENCH_TIMER_H
#define SPARSEC_BENCH_TIMER_H

#include "l2_flush.h"

#include <functional>
#include <utility>

namespace sparsec::bench {

struct Timing {
  double medianMilliseconds, bestMilliseconds;
  double lowerQuartile, upperQuartile; // in milliseconds
};

/// How launches are timed: one at a time with a flushed L2, back to back in long windows at the power limit, or back to
/// back in short windows whose launches have other values of W each.
enum class TimingMode { Flushed, Steady, BackToBack };

/// Times work on a stream with events, one launch at a time, with the L2 cache flushed before each.
class FlushedTimer {
public:
  FlushedTimer(sparsec_device_t device, const harness::CudaStream &stream, int launches)
      : stream(stream), launches(launches), flush(device, stream) {}

  /// `enqueue` puts one launch on the stream.
  Timing measure(const std::function<void()> &enqueue) const;
  /// Puts a kernel on the stream that does nothing. Its time is a part of every other time.
  void enqueueEmptyKernel() const { flush.enqueueEmptyKernel(); }

private:
  static constexpr int warmups = 3;

  const harness::CudaStream &stream;
  int launches;
  L2Flush flush;
};

/// Times two kinds of launches in turn, each back to back in windows of about 50 ms, after two seconds of both. The
/// card is then at its power limit, and the two have the same clock.
std::pair<Timing, Timing> timeInWindows(const harness::CudaStream &stream, const std::function<void()> &first,
                                        const std::function<void()> &second);

/// Times windows of launches that follow one another, as a server runs them. A window is a CUDA graph, so that the host
/// does not bound launches that are shorter than its calls. `enqueue` puts launch `number` of a window on the stream.
Timing timeBackToBack(const harness::CudaStream &stream, int windows, int launchesOfWindow,
                      const std::function<void(int number)> &enqueue);

/// The bytes that a copy of 1 GiB inside the device's memory reads and writes in a second.
double copyBytesPerSecond(sparsec_device_t device, const harness::CudaStream &stream);

/// Mean host time of a call in microseconds, over batches that the driver's queue holds.
double hostMicroseconds(const harness::CudaStream &stream, const std::function<void()> &enqueue);

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_TIMER_H
