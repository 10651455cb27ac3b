// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "timer.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace sparsec::bench {

using namespace harness;

namespace {

Timing summarize(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front(), times[times.size() / 4], times[times.size() * 3 / 4]};
}

} // namespace

Timing FlushedTimer::measure(const std::function<void()> &enqueue) const {
  for (int i = 0; i < warmups; ++i)
    enqueue();
  std::vector<CudaEvent> starts(launches), ends(launches);
  for (int i = 0; i < launches; ++i) {
    flush.enqueue();
    starts[i].record(stream);
    enqueue();
    ends[i].record(stream);
  }
  stream.synchronize();
  std::vector<double> times(launches);
  for (int i = 0; i < launches; ++i)
    times[i] = ends[i].millisecondsSince(starts[i]);
  return summarize(times);
}

namespace {

/// Mean milliseconds of a launch.
double timeWindow(const CudaStream &stream, const std::function<void()> &enqueue, int count) {
  CudaEvent start, end;
  start.record(stream);
  for (int i = 0; i < count; ++i)
    enqueue();
  end.record(stream);
  stream.synchronize();
  return end.millisecondsSince(start) / count;
}

} // namespace

std::pair<Timing, Timing> timeInWindows(const CudaStream &stream, const std::function<void()> &first,
                                        const std::function<void()> &second) {
  constexpr double windowMilliseconds = 50;
  constexpr int warmWindows = 20, windows = 7;
  const std::function<void()> *kinds[] = {&first, &second};
  std::vector<double> times[2];
  int counts[2];
  for (int kind : {0, 1}) {
    (*kinds[kind])();
    double once = timeWindow(stream, *kinds[kind], /*count=*/3);
    counts[kind] = std::clamp(static_cast<int>(windowMilliseconds / once), 1, 10000);
  }
  for (int window = 0; window < warmWindows + windows; ++window)
    for (int kind : {0, 1}) {
      double time = timeWindow(stream, *kinds[kind], counts[kind]);
      if (window >= warmWindows)
        times[kind].push_back(time);
    }
  return {summarize(times[0]), summarize(times[1])};
}

Timing timeBackToBack(const CudaStream &stream, int windows, int launchesOfWindow,
                      const std::function<void(int number)> &enqueue) {
  constexpr int warmWindows = 3;
  enqueue(0); // what a first launch does besides may not be captured
  stream.synchronize();
  const CudaGraph window(stream, [&] {
    for (int number = 0; number < launchesOfWindow; ++number)
      enqueue(number);
  });
  // The windows are queued, so that only the first one waits for the host.
  std::vector<CudaEvent> bounds(warmWindows + windows + 1);
  bounds.front().record(stream);
  for (int i = 1; i <= warmWindows + windows; ++i) {
    window.launch(stream);
    bounds[i].record(stream);
  }
  stream.synchronize();
  std::vector<double> times(windows);
  for (int i = 0; i < windows; ++i)
    times[i] = bounds[warmWindows + i + 1].millisecondsSince(bounds[warmWindows + i]) / launchesOfWindow;
  return summarize(std::move(times));
}

double copyBytesPerSecond(sparsec_device_t device, const CudaStream &stream) {
  constexpr size_t bytes = 1 << 30;
  constexpr int warmups = 2, copies = 11;
  const CudaDriver &driver = *CudaDriver::get();
  const DeviceBuffer source(device, bytes), destination(device, bytes);
  auto copy = [&] {
    driver.check(driver.copyAsync(reinterpret_cast<uint64_t>(destination.data()),
                                  reinterpret_cast<uint64_t>(source.data()), bytes, stream.handle()),
                 "cuMemcpyDtoDAsync");
  };
  for (int i = 0; i < warmups; ++i)
    copy();
  std::vector<double> times(copies);
  for (double &time : times)
    time = timeWindow(stream, copy, /*count=*/1);
  return 2.0 * bytes / summarize(std::move(times)).medianMilliseconds * 1e3;
}

double hostMicroseconds(const CudaStream &stream, const std::function<void()> &enqueue) {
  // A full queue would make the host wait for the device, so the batches are small and the waits are not counted.
  constexpr int batches = 20, callsPerBatch = 100;
  std::chrono::duration<double, std::micro> total{};
  enqueue();
  stream.synchronize();
  for (int batch = 0; batch < batches; ++batch) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < callsPerBatch; ++i)
      enqueue();
    total += std::chrono::steady_clock::now() - start;
    stream.synchronize();
  }
  return total.count() / (batches * callsPerBatch);
}

} // namespace sparsec::bench
