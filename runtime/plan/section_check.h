// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks sections of a plan that come from a file, so that no machine kernel reads or writes out of bounds with them,
// waits for ever, or computes a tile twice.

#ifndef SPARSEC_RUNTIME_SECTION_CHECK_H
#define SPARSEC_RUNTIME_SECTION_CHECK_H

#include "plan/saved_plan.h"

namespace sparsec::runtime {

/// The sections of one variant, with what they must fit.
struct SectionCheck {
  const sparsec_kernel_s &kernel;
  size_t number; // of the variant
  const Problem &problem;
  const SectionSet &sections;
  std::span<const KnownList> lists; // that launches must have

  const Variant &variant() const { return kernel.variants[number]; }
  const sparsec_stage_info_t &stage() const { return *variant().first().info; }

  template <typename... Pieces> Status broken(sparsec_plan_section_t section, const Pieces &...pieces) const {
    return invalidPlan(planSectionNames[section], " of variant ", number, ": ", pieces...);
  }
  /// Reads a section of `count` elements.
  template <typename Element>
  Status read(sparsec_plan_section_t section, uint64_t count, std::span<const Element> &out) const {
    SPARSEC_RETURN_IF_ERROR(readAll(section, out));
    if (out.size() == count)
      return {};
    return broken(section, "expects ", count, " elements, but got ", out.size());
  }
  /// Reads a section of any number of elements.
  template <typename Element> Status readAll(sparsec_plan_section_t section, std::span<const Element> &out) const {
    const Bytes bytes = *sections[section];
    if (bytes.size() % sizeof(Element) != 0)
      return broken(section, bytes.size(), " bytes are no whole number of elements of ", sizeof(Element));
    out = {reinterpret_cast<const Element *>(bytes.data()), bytes.size() / sizeof(Element)};
    return {};
  }
  /// Reads `count` + 1 offsets, which ascend from 0.
  template <typename Offset>
  Status readOffsets(sparsec_plan_section_t section, uint64_t count, std::span<const Offset> &out) const {
    SPARSEC_RETURN_IF_ERROR(read(section, count + 1, out));
    if (out[0] != 0)
      return broken(section, "expects 0 at 0, but got ", out[0]);
    for (size_t i = 1; i < out.size(); ++i)
      if (out[i] < out[i - 1])
        return broken(section, "expects at least ", out[i - 1], " at ", i, ", but got ", out[i]);
    return {};
  }
};

/// Numbers that may come once each.
class OnceEach {
public:
  explicit OnceEach(int64_t count) : seen(size_t(count)) {}
  /// False where the number is out of range, or was there before.
  bool insert(int64_t number) {
    if (number < 0 || number >= int64_t(seen.size()) || seen[number])
      return false;
    ++inserted;
    return seen[number] = true;
  }
  bool isComplete() const { return inserted == seen.size(); }

private:
  std::vector<bool> seen;
  size_t inserted = 0;
};

/// The matrix of a product by the block rows of the product: M x K.
struct MatrixShape {
  int64_t rowsOfBlock, columnsOfBlock;
  int64_t blockRows, blockColumns, blocks;
  int64_t depth;
};

/// The counts of windows and streams that the plan tells too.
struct WindowCounts {
  int64_t windows = 0, columns = 0;
};

/// Which block row each group of the windows has (SPARSEC_PLAN_WINDOW_ROWS).
Status checkWindowRows(const SectionCheck &check, const MatrixShape &matrix, int64_t groups,
                       std::span<const int32_t> &outRows);
Status checkWindows(const SectionCheck &check, const MatrixShape &matrix, WindowCounts &outCounts);
Status checkStreams(const SectionCheck &check, const MatrixShape &matrix, WindowCounts &outCounts);

/// The tiles of a variant that cuts them, and what they say of its plan.
Status checkCutTiles(const SectionCheck &check, const MatrixShape &matrix, VariantPlan &part);

/// The joint lists of attention, whose pattern has blocks of `keyBlock` keys.
Status checkJointLists(const SectionCheck &check, int64_t keyBlock);

/// The packed blocks of the argument, whose stored blocks have the shape `stored`.
Status checkPacking(const SectionCheck &check, uint32_t argument, const MatrixShape &stored, MatrixShape &outPacked);

/// The pairs of a product of block-sparse matrices.
Status checkPairs(const SectionCheck &check);

/// Checks all sections, and gives the plan of the variant what they say: its order, workers, period and windows.
Status checkSections(const SectionCheck &check, int64_t period, VariantPlan &part);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_SECTION_CHECK_H
