// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/saved_plan.h"
#include "image/checksum.h"

#include <algorithm>
#include <cstring>

namespace sparsec::runtime {

namespace {

/// Whether the text has an end and people can read it.
template <size_t size> bool isText(const char (&text)[size]) {
  const char *end = std::find(text, text + size, '\0');
  return end != text + size && std::all_of(text, end, [](char each) { return each >= ' ' && each <= '~'; });
}

Status checkPrefix(Bytes bytes) {
  if (!SavedPlan::isSavedPlan(bytes))
    return invalidPlan("it does not start with its magic number");
  SavedPlanHeader header;
  if (bytes.size() < sizeof(header))
    return invalidPlan("it is truncated: it has ", bytes.size(), " bytes, its header alone needs ", sizeof(header));
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.major != savedPlanMajor || header.minor > savedPlanMinor)
    return invalidPlan("it has version ", header.major, ".", header.minor, ", but this runtime reads version ",
                       savedPlanMajor, ".", savedPlanMinor, ": make the plan again");
  if (header.totalSize > bytes.size())
    return invalidPlan("it is truncated: it says that it has ", header.totalSize, " bytes, but ", bytes.size(),
                       " are there");
  if (header.totalSize != bytes.size())
    return invalidPlan("it is corrupt: it says that it has ", header.totalSize, " bytes, but ", bytes.size(),
                       " are there");
  if (const uint32_t actual = savedPlanChecksum(bytes); actual != header.checksum)
    return invalidPlan("it is corrupt: its checksum is ", actual, ", but it says ", header.checksum);
  return {};
}

} // namespace

uint32_t savedPlanChecksum(Bytes bytes) {
  constexpr size_t field = offsetof(SavedPlanHeader, checksum);
  return crc32WithZeros(bytes.data(), bytes.size(), field, field + sizeof(SavedPlanHeader::checksum));
}

bool SavedPlan::isSavedPlan(Bytes bytes) {
  return bytes.size() >= sizeof(savedPlanMagic) &&
         std::memcmp(bytes.data(), &savedPlanMagic, sizeof(savedPlanMagic)) == 0;
}

Status SavedPlan::read(Bytes bytes, SavedPlan &outPlan) {
  SPARSEC_RETURN_IF_ERROR(checkPrefix(bytes));
  outPlan.words.resize(alignSaved(bytes.size()) / sizeof(uint64_t));
  std::memcpy(outPlan.words.data(), bytes.data(), bytes.size());
  SPARSEC_RETURN_IF_ERROR(outPlan.checkRecords());
  return outPlan.checkSections();
}

Status SavedPlan::checkRecords() const {
  const SavedPlanHeader &head = header();
  const uint64_t records = sizeof(head) + uint64_t(head.listCount) * sizeof(SavedList) +
                           uint64_t(head.variantCount) * sizeof(SavedVariant) +
                           uint64_t(head.sectionCount) * sizeof(SavedSection);
  if (records > head.totalSize)
    return invalidPlan(head.listCount, " lists, ", head.variantCount, " variants and ", head.sectionCount,
                       " sections do not lie within its ", head.totalSize, " bytes");
  if (!isText(head.kernel) || !isText(head.target) || head.reserved != 0)
    return invalidPlan("the name of its kernel or target has no end, or is no text, or a reserved field is not 0");
  for (const SavedVariant &each : variants())
    if (!isText(each.schedule) || !isText(each.reason) || each.reserved != 0)
      return invalidPlan("variant ", &each - variants().data(), ": its schedule or reason has no end, or is no text, ",
                         "or a reserved field is not 0");
  return {};
}

Status SavedPlan::checkSections() const {
  std::vector<uint32_t> present(variants().size());
  const uint64_t first =
      sizeof(SavedPlanHeader) + lists().size_bytes() + variants().size_bytes() + sections().size_bytes();
  for (const SavedSection &each : sections()) {
    if (each.variant >= present.size() || each.section >= planSectionCount)
      return invalidPlan("section ", each.section, " of variant ", each.variant, " is unknown");
    if ((present[each.variant] >> each.section & 1) != 0)
      return invalidPlan(planSectionNames[each.section], " of variant ", each.variant, " are there twice");
    present[each.variant] |= 1u << each.section;
    if (each.offset < first || each.offset % 8 != 0 || each.offset > header().totalSize ||
        each.bytes > header().totalSize - each.offset)
      return invalidPlan(planSectionNames[each.section], " of variant ", each.variant, ", ", each.bytes,
                         " bytes at offset ", each.offset, ", do not lie within its ", header().totalSize, " bytes");
  }
  return {};
}

SectionSet SavedPlan::sectionsOf(size_t variant) const {
  SectionSet set;
  for (const SavedSection &each : sections())
    if (each.variant == variant)
      set[each.section] = Bytes(reinterpret_cast<const uint8_t *>(words.data()) + each.offset, each.bytes);
  return set;
}

Problem SavedPlan::problem() const {
  Problem problem;
  for (size_t i = 0; i < savedSizes.size(); ++i)
    problem.*savedSizes[i] = header().sizes[i];
  return problem;
}

} // namespace sparsec::runtime
