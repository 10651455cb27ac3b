// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small kernels for the tests of the simulator: the body of a kernel, buffers, and what the machine says.

#ifndef SPARSEC_TEST_SIMULATOR_SNIPPET_H
#define SPARSEC_TEST_SIMULATOR_SNIPPET_H

#include "machine.h"
#include "tensor_map.h"

#include <gtest/gtest.h>

namespace sparsec::simulator {

struct SnippetShape {
  unsigned threads = 32, ctas = 1, cluster = 1;
  unsigned shared = 0; // bytes of the array `smem`
  uint64_t seed = 1;
};

/// A device with its buffers. The parameters of a kernel are the addresses of the buffers in %rd0, %rd1, ...; %r0 is
/// the thread, and %rd15 is four times the thread. There are registers %r0 to %r199, %rd0 to %rd31, %h0 to %h15 (16
/// bits) and %p0 to %p15.
class SnippetDevice {
public:
  template <class T> void add(std::vector<T> &buffer) { addBytes(buffer.data(), buffer.size() * sizeof(T)); }
  void addBytes(void *data, size_t bytes);
  /// Parameter i becomes a tensor map; its address is in %rdI.
  void addMap(const TensorMap &map) { maps.emplace_back(parameterCount++, map); }

  /// Throws what the machine reports.
  void run(const std::string &body, const SnippetShape &shape = {});
  /// The report, or nothing.
  std::string failure(const std::string &body, const SnippetShape &shape = {});

private:
  DeviceMemory memory;
  std::vector<std::pair<unsigned, uint64_t>> pointers;
  std::vector<std::pair<unsigned, TensorMap>> maps;
  unsigned parameterCount = 0;
};

/// Expects that the report of a kernel contains a text.
#define EXPECT_FAILURE(device, text, ...)                                                                              \
  do {                                                                                                                 \
    const std::string report = (device).failure(__VA_ARGS__);                                                          \
    EXPECT_NE(report.find(text), std::string::npos) << "the report is: '" << report << "'";                            \
  } while (false)

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_SNIPPET_H
