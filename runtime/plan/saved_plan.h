// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The format of saved plans, and what can be read of one without its kernel. docs/abi.md describes it.

#ifndef SPARSEC_RUNTIME_SAVED_PLAN_H
#define SPARSEC_RUNTIME_SAVED_PLAN_H

#include "image/elf_file.h"
#include "operations/kernel_shape.h"
#include "operations/problem.h"
#include "plan/plan.h"

#include <array>
#include <vector>

namespace sparsec::runtime {

constexpr uint64_t savedPlanMagic = 0x4e414c5043525053; // "SPRCPLAN"
constexpr uint16_t savedPlanMajor = 1, savedPlanMinor = 5;

/// The sizes of a problem in the order in which they are saved.
constexpr std::array savedSizes = {&Problem::batches, &Problem::heads,       &Problem::rows,
                                   &Problem::columns, &Problem::depth,       &Problem::keyHeads,
                                   &Problem::blocks,  &Problem::patternRows, &Problem::patternColumns};

/// The lists follow it, then the variants, then the sections, then their contents.
struct SavedPlanHeader {
  uint64_t magic;
  uint16_t major, minor;
  uint32_t checksum; // CRC-32 of all bytes with this field zero
  uint64_t totalSize;
  char kernel[SPARSEC_SYMBOL_LENGTH];
  char target[SPARSEC_NAME_LENGTH];
  uint32_t launchInfoChecksum; // of the image that the kernel is from
  uint32_t multiprocessors;    // of the GPU; host: 0
  uint32_t listCount, variantCount, sectionCount;
  uint32_t reserved;
  int64_t sizes[savedSizes.size()]; // SPARSEC_DYNAMIC: open
};

/// A KnownList.
struct SavedList {
  uint32_t argument, checksum;
  int64_t blocks;
};

struct SavedVariant {
  char schedule[SPARSEC_SYMBOL_LENGTH];
  char reason[SPARSEC_PLAN_REASON_LENGTH];
  uint32_t order; // sparsec_tile_order_t
  uint32_t reserved;
  int64_t residentWorkers; // that the GPU runs at once; host: 0
  int64_t workers, tiles, period, windows, columns;
  double balance;
};

/// Variants may share contents.
struct SavedSection {
  uint32_t variant, section; // section: sparsec_plan_section_t
  uint64_t offset, bytes;    // from the start of the file, a multiple of 8
};

static_assert(sizeof(SavedPlanHeader) % 8 == 0 && sizeof(SavedList) == 16 && sizeof(SavedVariant) % 8 == 0 &&
              sizeof(SavedSection) == 24);

constexpr uint64_t alignSaved(uint64_t size) { return (size + 7) / 8 * 8; }

/// CRC-32 of a saved plan whose field for it counts as zero.
uint32_t savedPlanChecksum(Bytes bytes);

template <typename... Pieces> Status invalidPlan(const Pieces &...pieces) {
  return makeStatus(SPARSEC_STATUS_INVALID_PLAN, "saved plan: ", pieces...);
}

/// The sections of one variant; none: nothing.
using SectionSet = std::array<std::optional<Bytes>, planSectionCount>;

/// A copy of a saved plan. After read() the records and the contents of sections are in bounds, and texts have an end.
/// Their meaning is not checked.
class SavedPlan {
public:
  static Status read(Bytes bytes, SavedPlan &outPlan);
  /// Whether the bytes begin as a saved plan does.
  static bool isSavedPlan(Bytes bytes);

  const SavedPlanHeader &header() const { return *reinterpret_cast<const SavedPlanHeader *>(words.data()); }
  std::span<const SavedList> lists() const {
    return {reinterpret_cast<const SavedList *>(&header() + 1), header().listCount};
  }
  std::span<const SavedVariant> variants() const {
    return {reinterpret_cast<const SavedVariant *>(lists().data() + lists().size()), header().variantCount};
  }
  std::span<const SavedSection> sections() const {
    return {reinterpret_cast<const SavedSection *>(variants().data() + variants().size()), header().sectionCount};
  }
  SectionSet sectionsOf(size_t variant) const;
  Problem problem() const;

private:
  Status checkRecords() const;
  Status checkSections() const;

  std::vector<uint64_t> words;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_SAVED_PLAN_H
