// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPARSEC_BENCH_HARNESS_PARALLEL_H
#define SPARSEC_BENCH_HARNESS_PARALLEL_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace sparsec::harness {

/// Calls body(begin, end) for pieces of [0, count) of `grain` items on all cores. The body must not throw.
template <typename Body> void parallelFor(int64_t count, int64_t grain, const Body &body) {
  int64_t pieces = (count + grain - 1) / grain;
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t piece = next++; piece < pieces; piece = next++)
      body(piece * grain, std::min(count, (piece + 1) * grain));
  };
  int64_t threadCount = std::min<int64_t>(std::max(1u, std::thread::hardware_concurrency()), pieces);
  std::vector<std::jthread> helpers;
  for (int64_t i = 1; i < threadCount; ++i)
    helpers.emplace_back(work);
  work();
}

} // namespace sparsec::harness

#endif // SPARSEC_BENCH_HARNESS_PARALLEL_H
