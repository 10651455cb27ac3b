// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "timer.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace sparsec::bench {

using namespace harness;

Timing FlushedTimer::measure(const std::function<void()> &enqueue) const {
  const CudaDriver &driver = *CudaDriver::get();
  for (int i = 0; i < warmups; ++i)
    enqueue();
  std::vector<CudaEvent> starts(launches), ends(launches);
  for (int i = 0; i < launches; ++i) {
    auto target = reinterpret_cast<uint64_t>(flushBuffer.data());
    driver.check(driver.memsetAsync(target, static_cast<unsigned char>(i), flushBytes, stream.handle()),
                 "cuMemsetD8Async");
    starts[i].record(stream);
    enqueue();
    ends[i].record(stream);
  }
  stream.synchronize();
  std::vector<double> times(launches);
  for (int i = 0; i < launches; ++i)
    times[i] = ends[i].millisecondsSince(starts[i]);
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
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
