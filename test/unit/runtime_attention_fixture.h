// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of cudaAttention(), or one made from it, loaded on the fake device, with arguments for it.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_ATTENTION_FIXTURE_H
#define SPARSEC_TEST_UNIT_RUNTIME_ATTENTION_FIXTURE_H

#include "runtime_expect.h"
#include "runtime_fake_cuda.h"
#include "runtime_images.h"

namespace sparsec::test {

class AttentionOnFake : public ::testing::Test {
protected:
  enum { q, k, v, pattern, scale, slopes, ids, o, lse };

  void TearDown() override {
    sparsec_module_destroy(module);
    sparsec_device_destroy(device);
    EXPECT_TRUE(fake.contextStack.empty()) << "the context stack must be as it was";
    EXPECT_TRUE(fake.allocations.empty());
    EXPECT_EQ(fake.loadedModules, 0);
  }

  void load(const LaunchInfoBuilder &info) {
    sparsec_module_destroy(module);
    if (!device) {
      ASSERT_OK(sparsec_device_open_cuda(0, &device));
    }
    ByteVector cubin = makeCubin(info.build());
    ASSERT_OK(sparsec_module_load(device, cubin.data(), cubin.size(), &module));
    ASSERT_OK(sparsec_module_kernel(module, nullptr, &kernel));
  }

  runtime::Status launch() {
    return runtime::Status(sparsec_launch(kernel, nullptr, arguments.data(), arguments.size(), nullptr));
  }

  static void *at(uintptr_t address) { return reinterpret_cast<void *>(address); }

  FakeCuda fake;
  sparsec_device_t device = nullptr;
  sparsec_module_t module = nullptr;
  sparsec_kernel_t kernel = nullptr;
  std::vector<sparsec_argument_t> arguments;
};

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_ATTENTION_FIXTURE_H
