// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two GPUs in one process: each launch runs in the context of its own, and pointers of the other are refused by name.

#include "runtime_attention_fixture.h"
#include "runtime_linear_fixture.h"
#include "sparsec/runtime.hpp"

using namespace sparsec::test;

namespace {

/// A kernel with its memory on one device.
struct OnDevice {
  OnDevice(int ordinal, const LaunchInfoBuilder &info, uint32_t flags = 0)
      : device(sparsec::Device::cuda(ordinal, flags)), cubin(makeCubin(info.build())),
        module(device, cubin.data(), cubin.size()), rowPtr(device, std::vector<int32_t>{0, 1}),
        colIdx(device, std::vector<int32_t>{0}), values(device, 64 * 64 * 2), x(device, 64 * 128 * 2),
        bias(device, 64 * 4), y(device, 64 * 128 * 2) {}

  sparsec_blocks_t matrix() const {
    return sparsec_blocks_bsr(64, 64, 64, 64, 1, rowPtr.as<int32_t>(), colIdx.as<int32_t>(), SPARSEC_DTYPE_BF16,
                              values.data());
  }
  ArgumentList arguments() const {
    return {matrix(), sparsec_dense_2d(x.data(), SPARSEC_DTYPE_BF16, 64, 128),
            sparsec_dense_1d(bias.data(), SPARSEC_DTYPE_F32, 64), 0.5,
            sparsec_dense_2d(y.data(), SPARSEC_DTYPE_BF16, 64, 128)};
  }
  /// The status of a plan that the runtime must refuse.
  sparsec_status_t createPlan(const ArgumentList &list) const {
    auto options = sized<sparsec_plan_options_t>();
    options.arguments = list.data();
    options.argument_count = list.size();
    sparsec_plan_t plan = nullptr;
    return sparsec_plan_create(module.kernel().handle(), &options, &plan);
  }

  sparsec_status_t launch(const ArgumentList &list, sparsec_plan_t plan = nullptr) const {
    return sparsec_launch(module.kernel().handle(), plan, list.data(), list.size(), nullptr);
  }

  sparsec::Device device;
  ByteVector cubin;
  sparsec::Module module;
  sparsec::Buffer rowPtr, colIdx, values, x, bias, y;
};

enum { w, x, bias, alpha, y };

class TwoDevices : public ::testing::Test {
protected:
  TwoDevices() { fake.deviceCount = 2; }
  void TearDown() override {
    EXPECT_FALSE(fake.calledWithoutContext);
    EXPECT_TRUE(fake.allocations.empty());
  }
  FakeCuda fake;
};

TEST_F(TwoDevices, EachRunsInItsOwnContext) {
  OnDevice first(0, cudaLinear()), second(1, cudaLinear());
  EXPECT_EQ(second.device.info().ordinal, 1);
  EXPECT_EQ(fake.allocations.at(second.x.data()).ordinal, 1);
  for (const OnDevice *each : {&second, &first, &second}) {
    ASSERT_OK(each->launch(each->arguments()));
    EXPECT_EQ(fake.launches.back().ordinal, each->device.info().ordinal);
  }
  EXPECT_TRUE(fake.contextStack().empty());
}

TEST_F(TwoDevices, ViewsThatSayWhereTheyAreMayNotBeMixedUp) {
  OnDevice first(0, cudaLinear()), second(1, cudaLinear());
  const char *const names[] = {"argument 0 'w'", "argument 1 'x'", "argument 2 'bias'", "", "argument 4 'y'"};
  for (int i : {w, x, bias, y}) {
    ArgumentList mixed = first.arguments();
    mixed[i] = second.arguments()[i];
    (i == w ? mixed[i].blocks.device : mixed[i].dense.device) = 1;
    EXPECT_STATUS(first.launch(mixed), SPARSEC_STATUS_INVALID_ARGUMENT,
                  std::string(names[i]) + ": expects memory of device 0, but got memory of device 1");
  }
  ArgumentList ofFirst = first.arguments();
  ofFirst[w].blocks.device = 0;
  EXPECT_STATUS(second.createPlan(ofFirst), SPARSEC_STATUS_INVALID_ARGUMENT,
                "argument 0 'w': expects memory of device 1, but got memory of device 0");
  ofFirst[w].blocks.device = SPARSEC_PLACE_HOST;
  EXPECT_STATUS(second.createPlan(ofFirst), SPARSEC_STATUS_INVALID_ARGUMENT,
                "argument 0 'w': expects memory of device 1, but got memory of the host");
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(TwoDevices, CheckingModeFindsPointersOfTheOther) {
  OnDevice first(0, cudaLinear(), SPARSEC_DEVICE_CHECK_MEMORY), second(1, cudaLinear(), SPARSEC_DEVICE_CHECK_MEMORY);
  EXPECT_OK(first.launch(first.arguments()));
  EXPECT_OK(second.launch(second.arguments()));
  fake.launches.clear();
  ArgumentList mixed = second.arguments();
  mixed[y] = first.arguments()[y];
  EXPECT_STATUS(second.launch(mixed), SPARSEC_STATUS_INVALID_ARGUMENT,
                "argument 4 'y': data needs 16384 bytes of memory of device 1, but it is memory of device 0");
  EXPECT_STATUS(second.createPlan(first.arguments()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "argument 0 'w': full.starts needs 8 bytes of memory of device 1, but it is memory of device 0");
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(TwoDevices, PlansBelongToTheirDevice) {
  OnDevice first(0, cudaLinear()), second(1, cudaLinear());
  const sparsec::Plan plan(first.module.kernel(), {first.matrix(), {}, {}, {}, {}});
  EXPECT_STATUS(second.launch(second.arguments(), plan.handle()), SPARSEC_STATUS_INVALID_ARGUMENT,
                "plan is for a kernel of another module");
}

TEST_F(TwoDevices, PatternsBelongToTheirDevice) {
  const sparsec_blocks_t shape = shapeOf(64, 128, 1, 1, 100, 300);
  const sparsec::Device first = sparsec::Device::cuda(0);
  const OnDevice second(1, cudaAttention());
  const sparsec::Pattern lists(first, shape);
  EXPECT_EQ(lists.view().device, 0);
  ArgumentList known(9);
  known[3] = lists;
  EXPECT_STATUS(second.createPlan(known), SPARSEC_STATUS_INVALID_ARGUMENT,
                "argument 3 'pattern': expects memory of device 1, but got memory of device 0");
  const sparsec_dense_t any = sparsec_dense_1d(second.x.data(), SPARSEC_DTYPE_F32, 1);
  const sparsec_dense_t ids = sparsec_dense_2d(second.x.data(), SPARSEC_DTYPE_I32, 2, 300);
  const sparsec::Kernel kernel = second.module.kernel();
  for (bool isFromMask : {false, true})
    try {
      if (isFromMask)
        lists.update(kernel, static_cast<const uint8_t *>(second.x.data()));
      else
        lists.update(kernel, {any, any, any, lists, 1.0, any, ids, any, any});
      FAIL() << "expects an exception";
    } catch (const sparsec::Error &error) {
      EXPECT_STREQ(error.what(), "kernel 'attention' is loaded for device 1, but the lists are in memory of device 0");
    }
}

} // namespace
