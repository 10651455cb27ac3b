// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel loaded on the fake device, and its launches.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_KERNEL_FIXTURE_H
#define SPARSEC_TEST_UNIT_RUNTIME_KERNEL_FIXTURE_H

#include "runtime_fake_cuda.h"
#include "runtime_images.h"
#include "runtime_views.h"

#include <functional>

namespace sparsec::test {

class KernelOnFake : public ::testing::Test {
protected:
  void TearDown() override {
    sparsec_plan_destroy(plan);
    sparsec_module_destroy(module);
    sparsec_device_destroy(device);
    EXPECT_TRUE(fake.contextStack().empty()) << "the context stack must be as it was";
    EXPECT_FALSE(fake.calledWithoutContext);
    EXPECT_EQ(fake.retainedContexts, 0);
    EXPECT_EQ(fake.loadedModules, 0);
    EXPECT_TRUE(fake.allocations.empty());
  }

  /// The device is in the checking mode; before load().
  void openChecking() {
    auto options = sized<sparsec_device_options_t>();
    options.kind = SPARSEC_TARGET_CUDA;
    options.flags = SPARSEC_DEVICE_CHECK_MEMORY;
    ASSERT_OK(sparsec_device_open(&options, &device));
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

  runtime::Status launch(void *stream = nullptr) {
    const ArgumentArray array(arguments);
    return runtime::Status(sparsec_launch(kernel, plan, array.data(), array.size(), stream));
  }

  runtime::Status launchWith(const sparsec_launch_options_t &options) {
    const ArgumentArray array(arguments);
    return runtime::Status(sparsec_launch_with_options(kernel, plan, array.data(), array.size(), &options));
  }

  /// A plan for these arguments, in place of the one before.
  runtime::Status createPlan(const ArgumentList &of, sparsec_plan_options_t options = sized<sparsec_plan_options_t>()) {
    sparsec_plan_destroy(std::exchange(plan, nullptr));
    options.arguments = of.data();
    options.argument_count = of.size();
    return runtime::Status(sparsec_plan_create(kernel, &options, &plan));
  }

  ByteVector savePlan() {
    size_t bytes = 0, written = 0;
    EXPECT_OK(sparsec_plan_save(plan, nullptr, 0, &bytes));
    ByteVector saved(bytes);
    EXPECT_OK(sparsec_plan_save(plan, saved.data(), saved.size(), &written));
    EXPECT_EQ(written, bytes);
    return saved;
  }

  /// In place of the plan before; none where it fails.
  runtime::Status loadPlan(const ByteVector &saved, const sparsec_plan_options_t *options = nullptr) {
    sparsec_plan_destroy(std::exchange(plan, nullptr));
    return runtime::Status(sparsec_plan_load(kernel, saved.data(), saved.size(), options, &plan));
  }

  sparsec_plan_info_t planInfo(size_t variant = 0) {
    auto info = sized<sparsec_plan_info_t>();
    EXPECT_OK(sparsec_plan_info(plan, variant, &info));
    return info;
  }

  /// The bytes that a launch with the plan needs; the arguments may tell sizes that the plan leaves open.
  size_t workspaceBytes(const ArgumentList &of = {}) {
    size_t bytes = 1;
    EXPECT_OK(sparsec_plan_workspace_bytes(plan, of.data(), of.size(), &bytes));
    return bytes;
  }

  /// No plan is made, the message says why, and all memory is freed.
  void refusesPlan(sparsec_status_code_t code, const std::string &message, const ArgumentList &of,
                   sparsec_plan_options_t options = sized<sparsec_plan_options_t>()) {
    size_t allocations = fake.allocations.size();
    options.arguments = of.data();
    options.argument_count = of.size();
    auto made = reinterpret_cast<sparsec_plan_t>(8);
    EXPECT_STATUS(sparsec_plan_create(kernel, &options, &made), code, message);
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(fake.allocations.size(), allocations);
  }

  runtime::Status chooseVariant(size_t *variant) {
    const ArgumentArray array(arguments);
    return runtime::Status(sparsec_launch_variant(kernel, plan, array.data(), array.size(), variant));
  }

  static void *at(uintptr_t address) { return reinterpret_cast<void *>(address); }

  /// A launch with changed arguments is refused before anything reaches the driver.
  void refuses(const std::string &message, const std::function<void(ArgumentList &)> &change) {
    auto good = arguments;
    change(arguments);
    EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, message);
    EXPECT_TRUE(fake.calls.empty()) << "nothing may reach the driver";
    arguments = good;
  }

  FakeCuda fake;
  sparsec_device_t device = nullptr;
  sparsec_module_t module = nullptr;
  sparsec_kernel_t kernel = nullptr;
  sparsec_plan_t plan = nullptr;
  ArgumentList arguments;
};

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_KERNEL_FIXTURE_H
