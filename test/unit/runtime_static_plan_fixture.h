// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of static patterns on the fake device, and what they hold.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_STATIC_PLAN_FIXTURE_H
#define SPARSEC_TEST_UNIT_RUNTIME_STATIC_PLAN_FIXTURE_H

#include "plan/plan.h"
#include "runtime_linear_fixture.h"

namespace sparsec::test {

class StaticPlanOnFake : public LinearOnFake {
protected:
  /// The multiprocessors of four clusters of two: one for each tile of two windows and two panels.
  static constexpr int fewMultiprocessors = 8;

  /// Five block rows and four block columns of 64 x 64 elements, and a width of 1024.
  void loadWithPattern(const LaunchInfoBuilder &info, int parameterCount, int multiprocessors = 132) {
    fake.multiprocessors = multiprocessors;
    load(info);
    setArguments(5 * 64, 4 * 64, 1024);
    setPattern({{0, 1}, {3}, {0, 1}, {3, 2}, {1, 0}});
    fake.parameterCount = parameterCount;
  }

  auto createPlanWith(uint32_t flags, bool isWidthOpen = false) {
    auto options = sized<sparsec_plan_options_t>();
    options.flags = flags;
    ArgumentList known = arguments;
    if (isWidthOpen)
      known[x] = known[y] = {};
    return createPlan(known, options);
  }

  template <typename Element>
  std::vector<Element> section(sparsec_plan_section_t section, size_t count, size_t variant = 0) {
    const auto *elements = static_cast<const Element *>(plan->variants[variant].sections[section]);
    return elements ? std::vector<Element>(elements, elements + count) : std::vector<Element>();
  }

  /// The machine kernel that a launch takes.
  std::string launched() {
    fake.launches.clear();
    EXPECT_OK(launch());
    return fake.launches.empty() ? "" : fake.launches.back().function;
  }
};

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_STATIC_PLAN_FIXTURE_H
