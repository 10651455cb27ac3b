// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that run the tiles of host kernels.

#ifndef SPARSEC_RUNTIME_THREAD_POOL_H
#define SPARSEC_RUNTIME_THREAD_POOL_H

#include "status.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace sparsec::runtime {

/// The calling thread works too: a pool of n threads starts n - 1.
class ThreadPool {
public:
  explicit ThreadPool(unsigned threadCount);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned size() const { return unsigned(threads.size()) + 1; }

  /// Calls body(begin, end) on ranges that cover [0, count) and returns when all are done. Ranges are handed out as
  /// threads become free, because sparse rows differ in work. Calls from several threads run one after the other.
  template <typename Body> void run(int64_t count, const Body &body) {
    runErased(
        count,
        [](const void *context, int64_t begin, int64_t end) { (*static_cast<const Body *>(context))(begin, end); },
        &body);
  }

  /// `run` with a body that returns a Status. All ranges are run. Returns the error of the first range that failed,
  /// whichever thread failed first: the same input gives the same message.
  template <typename Body> Status runChecked(int64_t count, const Body &body) {
    std::mutex errorMutex; // guards what follows
    Status firstError;
    int64_t beginOfFirstError = count;
    run(count, [&](int64_t begin, int64_t end) {
      Status error(guarded([&] { return body(begin, end); }));
      std::lock_guard lock(errorMutex);
      if (error && begin < beginOfFirstError) {
        firstError = std::move(error);
        beginOfFirstError = begin;
      }
    });
    return firstError;
  }

private:
  using RangeFunction = void (*)(const void *context, int64_t begin, int64_t end);

  struct Job {
    RangeFunction function;
    const void *context;
    int64_t count, rangeSize;
    std::atomic<int64_t> next;
  };

  void runErased(int64_t count, RangeFunction function, const void *context);
  void stop();
  void workerLoop();
  static void work(Job &job);

  std::vector<std::thread> threads;
  std::mutex callers; // held for a whole run
  std::mutex mutex;   // guards what follows
  std::condition_variable jobPosted, jobDone;
  Job *job = nullptr;
  uint64_t jobNumber = 0;
  unsigned busyThreads = 0;
  bool stopping = false;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_THREAD_POOL_H
