// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads, compares and damages plans.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_SAVED_PLAN_H
#define SPARSEC_TEST_UNIT_RUNTIME_SAVED_PLAN_H

#include "image/checksum.h"
#include "plan/saved_plan.h"
#include "runtime_images.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

namespace sparsec::test {

/// The bytes of every section, by variant and section, with the order, workers and period of every variant.
using PlanContents = std::map<std::tuple<size_t, uint32_t>, ByteVector>;

/// Reads a plan in memory of the host or of the fake device.
inline PlanContents contentsOf(const sparsec_plan_s &plan) {
  PlanContents contents;
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    const runtime::VariantPlan &part = plan.variants[i];
    for (uint32_t section = 0; section < runtime::planSectionCount; ++section)
      if (const auto *bytes = static_cast<const uint8_t *>(part.sections[section]))
        contents[{i, section}].assign(bytes, bytes + part.sectionBytes[section]);
    const int64_t numbers[] = {part.order, part.workers, part.period, part.hasWorkspaces};
    contents[{i, runtime::planSectionCount}].resize(sizeof(numbers));
    std::memcpy(contents[{i, runtime::planSectionCount}].data(), numbers, sizeof(numbers));
  }
  return contents;
}

/// A saved plan with the checksum of its bytes.
inline ByteVector mended(ByteVector saved) {
  const uint32_t checksum = runtime::savedPlanChecksum(saved);
  std::memcpy(saved.data() + offsetof(runtime::SavedPlanHeader, checksum), &checksum, sizeof(checksum));
  return saved;
}

/// Where the record of a variant begins.
inline size_t recordOfVariant(const ByteVector &saved, uint32_t variant) {
  runtime::SavedPlanHeader header;
  std::memcpy(&header, saved.data(), sizeof(header));
  return sizeof(header) + header.listCount * sizeof(runtime::SavedList) + variant * sizeof(runtime::SavedVariant);
}

/// The number of the record of a section; the section must be there.
inline size_t recordOf(const ByteVector &saved, uint32_t variant, uint32_t section) {
  runtime::SavedPlanHeader header;
  std::memcpy(&header, saved.data(), sizeof(header));
  size_t record = recordOfVariant(saved, header.variantCount);
  for (runtime::SavedSection each;; record += sizeof(each)) {
    std::memcpy(&each, saved.data() + record, sizeof(each));
    if (each.variant == variant && each.section == section)
      return record;
  }
}

/// Sets the 32-bit word `index` of a section (counted from its end where it is negative).
inline void setWord(ByteVector &saved, uint32_t variant, uint32_t section, int64_t index, uint32_t value) {
  runtime::SavedSection record;
  std::memcpy(&record, saved.data() + recordOf(saved, variant, section), sizeof(record));
  const int64_t offset = int64_t(record.offset) + 4 * index + (index < 0 ? int64_t(record.bytes) : 0);
  std::memcpy(saved.data() + offset, &value, sizeof(value));
}

/// The plan without the record of the one list that it knows: all behind it moves.
inline ByteVector withoutList(ByteVector saved) {
  const auto record = saved.begin() + ptrdiff_t(sizeof(runtime::SavedPlanHeader));
  saved.erase(record, record + ptrdiff_t(sizeof(runtime::SavedList)));
  runtime::SavedPlanHeader header;
  std::memcpy(&header, saved.data(), sizeof(header));
  header.listCount = 0;
  header.totalSize = saved.size();
  std::memcpy(saved.data(), &header, sizeof(header));
  for (uint32_t i = 0; i < header.sectionCount; ++i) {
    uint8_t *at = saved.data() + recordOfVariant(saved, header.variantCount) + i * sizeof(runtime::SavedSection);
    runtime::SavedSection section;
    std::memcpy(&section, at, sizeof(section));
    section.offset -= sizeof(runtime::SavedList);
    std::memcpy(at, &section, sizeof(section));
  }
  return mended(saved);
}

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_SAVED_PLAN_H
