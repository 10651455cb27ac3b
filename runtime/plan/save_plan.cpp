// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Saves plans. Their sections are read back from the device: copies on the host would double the memory of every plan,
// and few plans are saved, each of them once.
#include "plan/saved_plan.h"

#include <algorithm>
#include <cstring>

namespace sparsec::runtime {

namespace {

/// Where everything lies in the bytes of a saved plan.
class PlanLayout {
public:
  explicit PlanLayout(const sparsec_plan_s &plan) : plan(plan) {
    addSections();
    totalSize = sizeof(SavedPlanHeader) + plan.lists.size() * sizeof(SavedList) +
                plan.variants.size() * sizeof(SavedVariant) + sections.size() * sizeof(SavedSection);
    for (size_t i = 0; i < sections.size(); ++i)
      place(i);
  }

  size_t bytes() const { return totalSize; }
  Status write(std::vector<uint8_t> &outBytes) const;

private:
  void addSections();
  void place(size_t number);
  SavedPlanHeader header() const;
  SavedVariant variant(size_t number) const;

  const sparsec_plan_s &plan;
  std::vector<SavedSection> sections;
  std::vector<const void *> sources; // of the sections, in memory of the device
  uint64_t totalSize = 0;
};

void PlanLayout::addSections() {
  for (uint32_t variant = 0; variant < plan.variants.size(); ++variant)
    for (uint32_t section = 0; section < planSectionCount; ++section)
      if (const VariantPlan &part = plan.variants[variant]; part.sections[section]) {
        sections.push_back({variant, section, 0, part.sectionBytes[section]});
        sources.push_back(part.sections[section]);
      }
}

/// Sections that share memory on the device share bytes.
void PlanLayout::place(size_t number) {
  const auto same = std::find(sources.begin(), sources.begin() + ptrdiff_t(number), sources[number]);
  if (const size_t first = same - sources.begin(); first != number) {
    sections[number].offset = sections[first].offset;
    return;
  }
  sections[number].offset = totalSize;
  totalSize += alignSaved(sections[number].bytes);
}

SavedPlanHeader PlanLayout::header() const {
  const Module &module = *plan.module;
  SavedPlanHeader header = {};
  header.magic = savedPlanMagic;
  header.major = savedPlanMajor;
  header.minor = savedPlanMinor;
  header.totalSize = totalSize;
  std::memcpy(header.kernel, plan.kernel->info->name, sizeof(header.kernel));
  std::memcpy(header.target, module.info.header().target, sizeof(header.target));
  header.launchInfoChecksum = module.info.header().checksum;
  header.multiprocessors = module.device->isHost() ? 0 : uint32_t(module.device->info.multiprocessors);
  header.listCount = uint32_t(plan.lists.size());
  header.variantCount = uint32_t(plan.variants.size());
  header.sectionCount = uint32_t(sections.size());
  for (size_t i = 0; i < savedSizes.size(); ++i)
    header.sizes[i] = plan.problem.*savedSizes[i];
  return header;
}

SavedVariant PlanLayout::variant(size_t number) const {
  const VariantPlan &part = plan.variants[number];
  const Variant &variant = plan.kernel->variants[number];
  const bool isHost = plan.module->device->isHost();
  SavedVariant saved = {};
  std::memcpy(saved.schedule, variant.info->schedule, sizeof(saved.schedule));
  std::memcpy(saved.reason, part.reason, sizeof(saved.reason));
  saved.order = part.order;
  saved.residentWorkers = variant.first().residentWorkers;
  // On the host they are the threads of the device.
  saved.workers = isHost ? 0 : part.workers;
  saved.tiles = part.tiles;
  saved.period = part.period;
  saved.windows = part.windows;
  saved.columns = part.columns;
  saved.balance = part.balance;
  return saved;
}

Status PlanLayout::write(std::vector<uint8_t> &outBytes) const {
  outBytes.assign(totalSize, 0);
  uint8_t *const buffer = outBytes.data();
  SavedPlanHeader head = header();
  uint8_t *next = buffer + sizeof(head);
  for (const KnownList &list : plan.lists) {
    const SavedList saved = {list.argument, list.checksum, list.blocks};
    std::memcpy(next, &saved, sizeof(saved));
    next += sizeof(saved);
  }
  for (size_t i = 0; i < plan.variants.size(); ++i, next += sizeof(SavedVariant)) {
    const SavedVariant saved = variant(i);
    std::memcpy(next, &saved, sizeof(saved));
  }
  if (!sections.empty())
    std::memcpy(next, sections.data(), sections.size() * sizeof(SavedSection));
  for (size_t i = 0; i < sections.size(); ++i)
    if (std::find(sources.begin(), sources.begin() + ptrdiff_t(i), sources[i]) == sources.begin() + ptrdiff_t(i))
      SPARSEC_RETURN_IF_ERROR(
          plan.module->device->download(buffer + sections[i].offset, sources[i], sections[i].bytes));
  std::memcpy(buffer, &head, sizeof(head));
  head.checksum = savedPlanChecksum(outBytes);
  std::memcpy(buffer, &head, sizeof(head));
  return {};
}

} // namespace

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_plan_save(sparsec_plan_t plan, void *buffer, size_t buffer_bytes, size_t *out_bytes) {
  return guarded([&]() -> Status {
    if (!out_bytes)
      return invalidArgument("out_bytes is NULL");
    *out_bytes = 0;
    if (!plan)
      return invalidArgument("plan is NULL");
    if (plan->isRefilled)
      return invalidArgument("plan: one that was made with SPARSEC_PLAN_REFILL cannot be saved");
    const PlanLayout layout(*plan);
    if (buffer && buffer_bytes < layout.bytes())
      return invalidArgument("buffer: the plan needs ", layout.bytes(), " bytes, but buffer_bytes is ", buffer_bytes);
    if (buffer) {
      // A copy that fails leaves the caller's memory as it was.
      std::vector<uint8_t> bytes;
      SPARSEC_RETURN_IF_ERROR(layout.write(bytes));
      std::memcpy(buffer, bytes.data(), bytes.size());
    }
    *out_bytes = layout.bytes();
    return {};
  });
}
