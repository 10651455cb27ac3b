// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One test for every compiled kernel. What its cases are depends on the family.

#ifndef SPARSEC_TEST_DEVICE_KERNEL_TEST_H
#define SPARSEC_TEST_DEVICE_KERNEL_TEST_H

#include "options.h"

#include <gtest/gtest.h>
#include <optional>

namespace sparsec::device_test {

class KernelTest : public testing::Test {
public:
  KernelTest(const KernelFile &file, const KernelRecord &record)
      : file(file), record(record), subset(session.subsetFor(file)) {}

  void TestBody() final;

protected:
  /// The text that the kernel's name must begin with by its launch info.
  virtual std::string expectedName() const = 0;
  virtual void runCases() = 0;

  sparsec_device_t device() const { return session.deviceFor(file); }
  /// Bytes of poison around every tensor. A multiple of 256, so that it does not change alignments.
  size_t guardBytes() const { return subset == Subset::Sanitizer ? 0 : 4096; }
  int64_t multiprocessors() const;
  /// The number of the variant whose tiles plans cut, if there is one.
  std::optional<size_t> cutVariant() const;
  /// The number of the variant that splits K or keys into parts, if there is one.
  std::optional<size_t> splitVariant() const;
  /// A workspace for launches with the plan: what launches keep is zero, and the rest is NaN, as another kernel may
  /// leave it.
  harness::DeviceBuffer poisonedWorkspace(const harness::Plan &plan) const;
  /// Whether launches have left what they keep in a workspace as it was.
  static bool areFlagsZero(const harness::DeviceBuffer &workspace);

  const KernelFile &file;
  const KernelRecord &record;
  Subset subset;
  sparsec_kernel_t kernel = nullptr;

private:
  void checkRefusal() const;
};

KernelTest *makeSpmmTest(const KernelFile &file, const KernelRecord &record);
KernelTest *makeSddmmTest(const KernelFile &file, const KernelRecord &record);
KernelTest *makeSpgemmTest(const KernelFile &file, const KernelRecord &record);
KernelTest *makeAttentionTest(const KernelFile &file, const KernelRecord &record);
KernelTest *makeMergeTest(const KernelFile &file, const KernelRecord &record);
KernelTest *makeSequenceTest(const KernelFile &file, const KernelRecord &record);

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_KERNEL_TEST_H
