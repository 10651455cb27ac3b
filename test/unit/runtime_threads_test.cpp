// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Everything that threads may do at once, from 8 of them, over the fake driver and on the host. What it finds depends
// on ThreadSanitizer (preset tsan): without it, only crashes and wrong results.

#include "runtime_fake_cuda.h"
#include "runtime_images.h"
#include "runtime_views.h"
#include "sparsec/runtime.hpp"

#include <atomic>
#include <barrier>
#include <functional>
#include <thread>

using namespace sparsec::test;

namespace {

constexpr int threadCount = 8, rounds = 40;

using Job = std::function<void(int thread)>;

/// Every thread does all jobs again and again, each beginning with another one, so that all of them meet.
void runOnThreads(const std::vector<Job> &jobs) {
  std::barrier start(threadCount);
  std::vector<std::thread> threads;
  threads.reserve(threadCount);
  for (int thread = 0; thread < threadCount; ++thread)
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      for (size_t step = 0; step < rounds * jobs.size(); ++step)
        jobs[(step + thread) % jobs.size()](thread);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Plans on their way from the thread that made them to one that uses and destroys them.
class Exchange {
public:
  ~Exchange() { sparsec_plan_destroy(slot.load()); }
  sparsec_plan_t swap(sparsec_plan_t plan) { return slot.exchange(plan, std::memory_order_acq_rel); }

private:
  std::atomic<sparsec_plan_t> slot = nullptr;
};

sparsec_status_t launch(sparsec_kernel_t kernel, sparsec_plan_t plan, const ArgumentList &arguments) {
  return sparsec_launch(kernel, plan, arguments.data(), arguments.size(), nullptr);
}

using OwnedPlan = sparsec::detail::Owner<sparsec_plan_t, sparsec_plan_destroy>;
using OwnedLauncher = sparsec::detail::Owner<sparsec_launcher_t, sparsec_launcher_destroy>;

/// A plan for these arguments.
OwnedPlan createPlan(sparsec_kernel_t kernel, const ArgumentList &arguments) {
  auto options = sized<sparsec_plan_options_t>();
  options.arguments = arguments.data();
  options.argument_count = arguments.size();
  sparsec_plan_t plan = nullptr;
  EXPECT_OK(sparsec_plan_create(kernel, &options, &plan));
  return OwnedPlan(plan);
}

int64_t tilesOf(const OwnedPlan &plan) {
  auto info = sized<sparsec_plan_info_t>();
  EXPECT_OK(sparsec_plan_info(plan.get(), 0, &info));
  return info.tiles;
}

OwnedLauncher createLauncher(sparsec_kernel_t kernel, const OwnedPlan &plan, const ArgumentList &arguments) {
  const auto options = sized<sparsec_launch_options_t>();
  sparsec_launcher_t launcher = nullptr;
  EXPECT_OK(sparsec_launcher_create(kernel, plan.get(), arguments.data(), arguments.size(), &options, &launcher));
  return OwnedLauncher(launcher);
}

/// A product on the fake device.
struct FakeProduct {
  explicit FakeProduct(const sparsec::Device &device)
      : rowPtr(device, std::vector<int32_t>{0, 2, 3}), colIdx(device, std::vector<int32_t>{0, 2, 1}),
        values(device, 3 * 64 * 64 * 2), x(device, 192 * 512 * 2), bias(device, 128 * 4), y(device, 128 * 512 * 2) {}

  sparsec_blocks_t matrix() const {
    return sparsec_blocks_bsr(128, 192, 64, 64, 3, rowPtr.as<int32_t>(), colIdx.as<int32_t>(), SPARSEC_DTYPE_BF16,
                              values.data());
  }
  ArgumentList arguments() const {
    return {matrix(), sparsec_dense_2d(x.data(), SPARSEC_DTYPE_BF16, 192, 512),
            sparsec_dense_1d(bias.data(), SPARSEC_DTYPE_F32, 128), 0.5,
            sparsec_dense_2d(y.data(), SPARSEC_DTYPE_BF16, 128, 512)};
  }

  sparsec::Buffer rowPtr, colIdx, values, x, bias, y;
};

TEST(Threads, ProductsOnAGpu) {
  FakeCuda fake;
  fake.recording = false;
  {
    const sparsec::Device device = sparsec::Device::cuda(0, SPARSEC_DEVICE_CHECK_MEMORY);
    const ByteVector cubin = makeCubin(cudaLinear().build());
    const sparsec::Module module(device, cubin.data(), cubin.size());
    sparsec_kernel_t kernel = module.kernel().handle();
    const FakeProduct product(device);
    const OwnedPlan shared = createPlan(kernel, product.arguments());
    const OwnedLauncher launcher = createLauncher(kernel, shared, product.arguments());
    Exchange exchange;
    runOnThreads({
        [&](int) { EXPECT_OK(launch(kernel, shared.get(), product.arguments())); },
        [&](int) { EXPECT_OK(sparsec_launcher_run(launcher.get(), nullptr)); },
        [&](int) {
          const OwnedLauncher own = createLauncher(kernel, shared, product.arguments());
          const ArgumentList again = product.arguments();
          EXPECT_OK(sparsec_launcher_rebind(own.get(), again.data(), again.size()));
          EXPECT_OK(sparsec_launcher_run(own.get(), nullptr));
        },
        [&](int) {
          sparsec_plan_t other = exchange.swap(createPlan(kernel, product.arguments()).release());
          EXPECT_OK(launch(kernel, other, product.arguments())); // null at first
          sparsec_plan_destroy(other);
        },
        [&](int) { // the plan is the last to know the module
          auto own = std::make_unique<sparsec::Module>(device, cubin.data(), cubin.size());
          const OwnedPlan plan = createPlan(own->kernel().handle(), product.arguments());
          EXPECT_OK(launch(own->kernel().handle(), plan.get(), product.arguments()));
          own.reset();
          EXPECT_EQ(tilesOf(plan), 2);
        },
        [&](int) { // the same context, retained once more
          const sparsec::Device own = sparsec::Device::cuda();
          const sparsec::Buffer memory(own, std::vector<int32_t>{1, 2, 3});
          EXPECT_THAT(memory.download<int32_t>(), ::testing::ElementsAre(1, 2, 3));
        },
        [&](int) {
          ArgumentList wrong = product.arguments();
          wrong.pop_back();
          EXPECT_STATUS(launch(kernel, nullptr, wrong), SPARSEC_STATUS_INVALID_ARGUMENT, "but got 4");
        },
    });
  }
  EXPECT_FALSE(fake.calledWithoutContext);
  EXPECT_EQ(fake.retainedContexts, 0);
  EXPECT_EQ(fake.loadedModules, 0);
  EXPECT_TRUE(fake.allocations.empty());
}

TEST(Threads, PatternsOnAGpu) {
  FakeCuda fake;
  fake.recording = false;
  {
    const sparsec::Device device = sparsec::Device::cuda();
    const ByteVector cubin = makeCubin(cudaAttentionWithBuilder().build());
    const sparsec::Module module(device, cubin.data(), cubin.size());
    const sparsec::Kernel kernel = module.kernel();
    const sparsec_blocks_t shape = shapeOf(64, 128, 2, 1, 100, 300);
    const sparsec::Buffer mask(device, std::vector<uint8_t>(12, SPARSEC_BLOCK_FULL)), memory(device, 2 * 8 * 300 * 128);
    const sparsec::Pattern shared(device, shape, std::vector<uint8_t>(12, SPARSEC_BLOCK_PARTIAL));
    const std::vector<sparsec::Pattern> own = [&] {
      std::vector<sparsec::Pattern> patterns;
      patterns.reserve(threadCount);
      for (int thread = 0; thread < threadCount; ++thread)
        patterns.emplace_back(device, shape);
      return patterns;
    }();
    const OwnedPlan allOpen = createPlan(kernel.handle(), ArgumentList(9));
    auto tensor = [&](int64_t heads, int64_t length) {
      return sparsec_dense_bhsd(memory.data(), SPARSEC_DTYPE_BF16, 2, heads, length, 64);
    };
    auto ids = [&] { return sparsec_dense_2d(memory.data(), SPARSEC_DTYPE_I32, 2, 300); };
    const sparsec::Buffer o(device, 2 * 8 * 100 * 128), lse(device, 2 * 8 * 100 * 4);
    auto arguments = [&](const sparsec_blocks_t &pattern) {
      sparsec_dense_t result = tensor(8, 100);
      result.data = o.data();
      return ArgumentList{tensor(8, 100), tensor(2, 300), tensor(2, 300),
                          pattern,        0.125,          sparsec_dense_1d(memory.data(), SPARSEC_DTYPE_F32, 8),
                          ids(),          result,         sparsec_dense_3d(lse.data(), SPARSEC_DTYPE_F32, 2, 8, 100)};
    };
    runOnThreads({
        [&](int thread) { own[thread].update(kernel, mask.as<uint8_t>()); },
        [&](int thread) {
          sparsec_dense_t any = ids();
          own[thread].update(kernel, {any, any, any, own[thread], 0.125, any, any, any, any});
        },
        [&](int thread) {
          for (const sparsec::Pattern *pattern : {&own[thread], &shared})
            EXPECT_OK(launch(kernel.handle(), nullptr, arguments(pattern->view())));
        },
        [&](int) { EXPECT_OK(launch(kernel.handle(), allOpen.get(), arguments(shared.view()))); },
        [&](int) { EXPECT_EQ(tilesOf(createPlan(kernel.handle(), arguments(shared.view()))), 32); },
        [&](int) {
          const sparsec::Pattern made(device, shape);
          made.update(kernel, mask.as<uint8_t>());
        },
    });
  }
  EXPECT_FALSE(fake.calledWithoutContext);
  EXPECT_EQ(fake.loadedModules, 0);
  EXPECT_TRUE(fake.allocations.empty());
}

#ifdef SPARSEC_HAS_TEST_HOST_OBJECT

/// A product on the host with a result of its own.
struct HostProduct {
  static constexpr int64_t m = 70, k = 50, n = 37;
  std::vector<int32_t> rowPtr = {0, 2, 2, 3, 6, 7}, colIdx = {3, 0, 1, 2, 0, 3, 1};
  std::vector<float> values = std::vector<float>(7 * 256, 0.01f), x = std::vector<float>(k * n, 0.5f),
                     y = std::vector<float>(m * n);

  sparsec_blocks_t matrix() const {
    return sparsec_blocks_bsr(m, k, 16, 16, 7, rowPtr.data(), colIdx.data(), SPARSEC_DTYPE_F32, values.data());
  }
  ArgumentList arguments() {
    return {matrix(), sparsec_dense_2d(x.data(), SPARSEC_DTYPE_F32, k, n),
            sparsec_dense_2d(y.data(), SPARSEC_DTYPE_F32, m, n)};
  }
};

TEST(Threads, ProductsOnTheHost) {
  const sparsec::Device device = sparsec::Device::host(3);
  const ByteVector object = hostObject(hostProduct());
  const sparsec::Module module(device, object.data(), object.size());
  sparsec_kernel_t kernel = module.kernel().handle();
  HostProduct products[threadCount];
  const OwnedPlan shared = createPlan(kernel, products[0].arguments());
  ASSERT_OK(launch(kernel, nullptr, products[0].arguments()));
  const std::vector<float> expected = products[0].y;
  auto launchAndCompare = [&](sparsec_kernel_t kernel, sparsec_plan_t plan, HostProduct &product) {
    std::fill(product.y.begin(), product.y.end(), -7.0f);
    EXPECT_OK(launch(kernel, plan, product.arguments()));
    EXPECT_EQ(product.y, expected);
  };
  Exchange exchange;
  runOnThreads({
      [&](int thread) { launchAndCompare(kernel, shared.get(), products[thread]); },
      [&](int thread) {
        sparsec_plan_t plan = exchange.swap(createPlan(kernel, products[thread].arguments()).release());
        launchAndCompare(kernel, plan, products[thread]);
        sparsec_plan_destroy(plan);
      },
      [&](int thread) {
        const sparsec::Device own = sparsec::Device::host(2);
        const sparsec::Module again(own, object.data(), object.size());
        launchAndCompare(again.kernel().handle(), nullptr, products[thread]);
      },
      [&](int thread) {
        double row[HostProduct::n];
        auto arguments = products[thread].arguments();
        EXPECT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 3, 4, row, nullptr));
        EXPECT_NEAR(row[5], expected[3 * HostProduct::n + 5], 1e-5);
      },
  });
}

#endif // SPARSEC_HAS_TEST_HOST_OBJECT

TEST(Threads, PatternsOnTheHost) {
  const sparsec::Device device = sparsec::Device::host(2);
  FakeCuda fake;
  fake.recording = false;
  const sparsec::Device gpu = sparsec::Device::cuda();
  LaunchInfoBuilder info = cudaAttention();
  info.arguments[3].block_rows = 2;
  info.arguments[3].block_columns = 3;
  const ByteVector cubin = makeCubin(info.build());
  const sparsec::Module module(gpu, cubin.data(), cubin.size());
  std::vector<int32_t> ids = {0, 0, 0, 0, 0, 1, 1, 1};
  const sparsec_dense_t view = sparsec_dense_2d(ids.data(), SPARSEC_DTYPE_I32, 1, 8);
  const sparsec_blocks_t shape = shapeOf(2, 3, 1, 1, 8, 8);
  std::vector<sparsec::Pattern> own;
  own.reserve(threadCount);
  for (int thread = 0; thread < threadCount; ++thread)
    own.emplace_back(device, shape);
  const std::vector<uint8_t> mask = {1, 2, 0, 1, 2, 0, 2, 2, 2, 0, 2, 1};
  runOnThreads({
      [&](int thread) {
        own[thread].update(module.kernel(), mask.data());
        const sparsec_blocks_t lists = own[thread].view();
        EXPECT_OK(sparsec_blocks_check(&lists));
      },
      [&](int thread) {
        own[thread].update(module.kernel(), {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, view, 0.0, 0.0});
        const sparsec_blocks_t lists = own[thread].view();
        EXPECT_EQ(lists.full.starts[3], 1);
      },
      [&](int) {
        const sparsec::Pattern made(device, shape, module.kernel(), {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, view, 0.0, 0.0});
        EXPECT_EQ(made.view().capacity, 6) << "partial blocks";
      },
  });
}

} // namespace
