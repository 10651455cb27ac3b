// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flushes L2 between launches, and measures the rates of the device with which short launches are compared.

#ifndef SPARSEC_BENCH_L2_FLUSH_H
#define SPARSEC_BENCH_L2_FLUSH_H

#include "harness/cuda_driver.h"
#include "harness/handles.h"

namespace sparsec::bench {

/// The bytes of L2 of the current device.
size_t l2Bytes();

/// Puts work on a stream after which L2 holds nothing that a launch needs, and no line that has to be written back. A
/// memset alone leaves lines that are dirty: a launch that reads W would write as many bytes to memory as it reads.
class L2Flush {
public:
  L2Flush(sparsec_device_t device, const harness::CudaStream &stream);
  L2Flush(const L2Flush &) = delete;
  L2Flush &operator=(const L2Flush &) = delete;
  ~L2Flush();

  void enqueue() const;
  /// Puts a kernel on the stream that does nothing.
  void enqueueEmptyKernel() const;

private:
  void launch(void *function, unsigned grid, void **parameters) const;

  const harness::CudaStream &stream;
  harness::DeviceBuffer buffer; // several times L2
  unsigned ctas;                // that read it
  uint32_t passes;              // each of 16 bytes for every thread
  void *module = nullptr, *readAll = nullptr, *doNothing = nullptr;
};

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_L2_FLUSH_H
