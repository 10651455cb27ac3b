// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The progress callback of plans: what it is told, and what follows when it cancels.

#include "runtime_static_plan_fixture.h"
#include "runtime_window_image.h"
#include "sparsec/runtime.hpp"

#include <stdexcept>

using namespace sparsec::test;

namespace {

/// The reports that a callback got. It cancels at one of its calls.
struct Listener {
  std::vector<std::pair<int64_t, int64_t>> calls;
  size_t cancelAt = SIZE_MAX;

  static int32_t call(void *self, int64_t done, int64_t total) {
    auto *listener = static_cast<Listener *>(self);
    listener->calls.emplace_back(done, total);
    return listener->calls.size() > listener->cancelAt ? -1 : 0;
  }
  sparsec_plan_options_t options(uint32_t flags) {
    auto options = sized<sparsec_plan_options_t>();
    options.flags = flags;
    options.progress = call;
    options.progress_data = this;
    return options;
  }
};

class Progress : public StaticPlanOnFake {
protected:
  void SetUp() override { loadWithPattern(linearWithWindows(), 12, fewMultiprocessors); }

  Listener listenTo(uint32_t flags) {
    Listener listener;
    EXPECT_OK(createPlan(arguments, listener.options(flags)));
    return listener;
  }
};

TEST_F(Progress, RisesFromNothingToAll) {
  for (uint32_t flags :
       {0u, uint32_t(SPARSEC_PLAN_STATIC_PATTERN), uint32_t(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST)}) {
    const Listener listener = listenTo(flags);
    ASSERT_GE(listener.calls.size(), 2u);
    const int64_t total = listener.calls.front().second;
    EXPECT_EQ(listener.calls.front().first, 0);
    EXPECT_EQ(listener.calls.back(), std::pair(total, total));
    for (size_t i = 1; i < listener.calls.size(); ++i) {
      EXPECT_LT(listener.calls[i - 1].first, listener.calls[i].first);
      EXPECT_EQ(listener.calls[i].second, total);
    }
  }
}

/// Putting rows in order takes the time: it has many calls.
TEST_F(Progress, FollowsTheOrderOfTheRows) {
  EXPECT_GT(listenTo(SPARSEC_PLAN_STATIC_PATTERN).calls.size(), 60u);
  EXPECT_EQ(listenTo(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST).calls.size(), 4u) << "three variants";
  EXPECT_EQ(listenTo(0).calls.size(), 4u);
}

TEST_F(Progress, DoesNotChangeThePlan) {
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  const ByteVector before = savePlan();
  listenTo(SPARSEC_PLAN_STATIC_PATTERN);
  EXPECT_EQ(savePlan(), before);
}

TEST_F(Progress, CancelsAtEveryCall) {
  const size_t calls = listenTo(SPARSEC_PLAN_STATIC_PATTERN).calls.size();
  sparsec_plan_destroy(std::exchange(plan, nullptr));
  for (size_t i = 0; i < calls; ++i) {
    Listener listener;
    listener.cancelAt = i;
    refusesPlan(SPARSEC_STATUS_CANCELLED, "the progress callback cancelled the plan", arguments,
                listener.options(SPARSEC_PLAN_STATIC_PATTERN));
    EXPECT_EQ(listener.calls.size(), i + 1) << "it is not called again";
  }
}

/// The bytes behind the struct of a caller of the first version are no callback.
TEST_F(Progress, OlderCallersHaveNone) {
  Listener listener;
  sparsec_plan_options_t options = listener.options(SPARSEC_PLAN_STATIC_PATTERN);
  options.size = 48;
  ASSERT_OK(createPlan(arguments, options));
  EXPECT_TRUE(listener.calls.empty());
  EXPECT_EQ(planInfo().windows, 2);
}

TEST_F(Progress, OfTheCppWrapper) {
  const sparsec::Kernel wrapped(kernel);
  const sparsec_blocks_t matrix = arguments[w].blocks;
  sparsec::PlanOptions options;
  options.flags = SPARSEC_PLAN_STATIC_PATTERN;
  int64_t last = -1;
  options.progress = [&](int64_t done, int64_t total) { return (last = done) > total; };
  const sparsec::Plan good(wrapped, {matrix, {}, {}, {}, {}}, options);
  EXPECT_EQ(good.info().windows, 2);
  EXPECT_GT(last, 60);
  options.progress = [](int64_t, int64_t) { return true; };
  try {
    const sparsec::Plan cancelled(wrapped, {matrix, {}, {}, {}, {}}, options);
    FAIL() << "it must be cancelled";
  } catch (const sparsec::Error &error) {
    EXPECT_EQ(error.code(), SPARSEC_STATUS_CANCELLED);
  }
  options.progress = [](int64_t, int64_t) -> bool { throw std::out_of_range("of the caller"); };
  EXPECT_THROW(sparsec::Plan(wrapped, {matrix, {}, {}, {}, {}}, options), std::out_of_range);
}

} // namespace
