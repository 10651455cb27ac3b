// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/thread_pool.h"

#include <algorithm>

namespace sparsec::runtime {

ThreadPool::ThreadPool(unsigned threadCount) {
  try {
    for (unsigned i = 1; i < threadCount; ++i)
      threads.emplace_back([this] { workerLoop(); });
  } catch (...) {
    stop(); // a joinable thread must not be destroyed
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  jobPosted.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void ThreadPool::work(Job &job) {
  for (;;) {
    int64_t begin = job.next.fetch_add(job.rangeSize, std::memory_order_relaxed);
    if (begin >= job.count)
      return;
    job.function(job.context, begin, std::min(begin + job.rangeSize, job.count));
  }
}

void ThreadPool::workerLoop() {
  uint64_t lastJob = 0;
  std::unique_lock lock(mutex);
  for (;;) {
    jobPosted.wait(lock, [&] { return stopping || (job && jobNumber != lastJob); });
    if (stopping)
      return;
    lastJob = jobNumber;
    Job &current = *job;
    ++busyThreads;
    lock.unlock();
    work(current);
    lock.lock();
    if (--busyThreads == 0)
      jobDone.notify_one();
  }
}

void ThreadPool::runErased(int64_t count, RangeFunction function, const void *context) {
  if (count <= 1) { // waking threads would take longer than the work
    if (count == 1)
      function(context, 0, 1);
    return;
  }
  std::lock_guard oneCaller(callers);
  // Sixteen ranges per thread: small enough to even out, large enough that taking one costs nothing.
  int64_t rangeSize = std::max<int64_t>(1, count / (int64_t(size()) * 16));
  Job current = {function, context, count, rangeSize, 0};
  {
    std::lock_guard lock(mutex);
    job = &current;
    ++jobNumber;
  }
  jobPosted.notify_all();
  work(current);
  std::unique_lock lock(mutex);
  job = nullptr; // threads that have not woken up yet have nothing left to do
  jobDone.wait(lock, [&] { return busyThreads == 0; });
}

} // namespace sparsec::runtime
