// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kernel_test.h"

#include "operations/kernel_shape.h"

#include <algorithm>

namespace sparsec::device_test {

using namespace harness;

namespace {

/// The module of a file, kept until a test of another file asks: PTX is compiled at load.
sparsec_module_t moduleOf(const KernelFile &file) {
  static const KernelFile *current = nullptr;
  static Module module;
  if (current != &file) {
    current = nullptr;
    module = loadModule(session.deviceFor(file), file.bytes);
    current = &file;
  }
  return module.get();
}

testing::Test *makeTest(const KernelFile &file, const KernelRecord &record) {
  switch (record.kind) {
  case SPARSEC_OPERATION_SPMM:
    return makeSpmmTest(file, record);
  case SPARSEC_OPERATION_SDDMM:
    return makeSddmmTest(file, record);
  case SPARSEC_OPERATION_SPGEMM:
  case SPARSEC_OPERATION_SAMPLED_SPGEMM:
    return makeSpgemmTest(file, record);
  case SPARSEC_OPERATION_ATTENTION:
    return record.hasSequences() ? makeSequenceTest(file, record) : makeAttentionTest(file, record);
  case SPARSEC_OPERATION_MERGE:
    return makeMergeTest(file, record);
  }
  throw std::runtime_error(record.name + " computes an operation that has no test");
}

} // namespace

void KernelTest::checkRefusal() const {
  sparsec_module_t module = nullptr;
  sparsec_status_t status = sparsec_module_load(session.deviceFor(file), file.bytes.data(), file.bytes.size(), &module);
  EXPECT_EQ(sparsec_status_code(status), SPARSEC_STATUS_WRONG_DEVICE) << sparsec_status_message(status);
  EXPECT_EQ(module, nullptr);
  sparsec_status_free(status);
  sparsec_module_destroy(module);
}

int64_t KernelTest::multiprocessors() const {
  auto ofDevice = sized<sparsec_device_info_t>();
  check(sparsec_device_info(device(), &ofDevice));
  return ofDevice.multiprocessors;
}

std::optional<size_t> KernelTest::cutVariant() const {
  for (size_t variant = 0; variant < sparsec_kernel_info(kernel)->variant_count; ++variant)
    if (runtime::takesCuts(*sparsec_kernel_variant(kernel, variant)))
      return variant;
  return std::nullopt;
}

std::optional<size_t> KernelTest::splitVariant() const {
  for (size_t variant = 0; variant < sparsec_kernel_info(kernel)->variant_count; ++variant)
    if (sparsec_kernel_variant(kernel, variant)->part_keys != 0)
      return variant;
  return std::nullopt;
}

DeviceBuffer KernelTest::poisonedWorkspace(const Plan &plan) const {
  size_t bytes = 0;
  check(sparsec_plan_workspace_bytes(plan.get(), nullptr, 0, &bytes));
  std::vector<char> contents(bytes, char(0xff));
  std::fill_n(contents.begin(), std::min<size_t>(bytes, runtime::keptWorkspaceBytes), 0);
  return uploadArray(device(), contents);
}

bool KernelTest::areFlagsZero(const DeviceBuffer &workspace) {
  std::vector<char> contents(workspace.bytes());
  workspace.download(contents.data());
  const auto end = contents.begin() + std::min<int64_t>(runtime::keptWorkspaceBytes, int64_t(contents.size()));
  return std::count(contents.begin(), end, 0) == end - contents.begin();
}

void KernelTest::TestBody() {
  if (!session.deviceFor(file))
    GTEST_SKIP() << "skipped: no GPU";
  // The name comes from the source of the kernel.
  EXPECT_EQ(record.name.substr(0, expectedName().size()), expectedName());
  if (!session.runsHere(file))
    return checkRefusal();
  if (subset == Subset::Sanitizer && record.dtype != SPARSEC_DTYPE_BF16)
    GTEST_SKIP() << "skipped: not in the sanitizer subset";
  check(sparsec_module_kernel(moduleOf(file), record.name.c_str(), &kernel));
  runCases();
}

int registerKernelTests(bool forCuda, bool forHost) {
  int count = 0;
  for (const KernelFile &file : session.files)
    for (const KernelRecord &record : file.kernels) {
      if (!(file.isForHost() ? forHost : forCuda))
        continue;
      testing::RegisterTest(file.group.c_str(), record.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [&file, &record]() -> testing::Test * { return makeTest(file, record); });
      ++count;
    }
  return count;
}

} // namespace sparsec::device_test
