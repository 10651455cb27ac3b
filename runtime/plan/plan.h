// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan: sections of device memory that kernels read, one set for every variant of the kernel.

#ifndef SPARSEC_RUNTIME_PLAN_H
#define SPARSEC_RUNTIME_PLAN_H

#include "arguments/views.h"
#include "device/allocation.h"
#include "plan/workspaces.h"

namespace sparsec::runtime {

/// A plan's data for one variant. An operation that needs more adds sections; kernels name those they read.
struct VariantPlan {
  sparsec_tile_order_t order = SPARSEC_TILE_ORDER_FIXED;
  int64_t workers = SPARSEC_DYNAMIC; // known where there are lists, or all sizes are
  int64_t tiles = SPARSEC_DYNAMIC;   // known where all sizes are
  int64_t period = SPARSEC_DYNAMIC;  // panels of lists that serve any number of panels
  double balance = 1;
  size_t bytes = 0;
  int64_t windows = 0, columns = 0;            // how many windows there are, and the sum of their columns
  const void *sections[planSectionCount] = {}; // by sparsec_plan_section_t; null when absent
  size_t sectionBytes[planSectionCount] = {};
  bool hasWorkspaces = false; // launches use those of the variant
  char reason[SPARSEC_PLAN_REASON_LENGTH] = {};

  /// Whether it has all sections of a set of bits.
  bool hasSections(uint32_t set) const {
    for (uint32_t section = 0; section < planSectionCount; ++section)
      if ((set >> section & 1) != 0 && !sections[section])
        return false;
    return true;
  }
};

/// The sections of all variants, to lie in one piece of device memory. Their host memory must stay until upload().
/// Variants may share sections: those of the same host memory.
class SectionList {
public:
  template <typename Element>
  void add(VariantPlan &variant, sparsec_plan_section_t section, const std::vector<Element> &elements) {
    add(variant, section, elements.data(), elements.size() * sizeof(Element));
  }
  /// A section without elements may have any source.
  void add(VariantPlan &variant, sparsec_plan_section_t section, const void *source, size_t bytes);
  /// Gives the plan its memory, with all sections, in the order of the options' stream. Waits for the stream.
  Status upload(sparsec_plan_s &plan, const sparsec_plan_options_t &options) const;

private:
  struct Place {
    const void **section;
    size_t offset;
    const void *source;
    size_t bytes; // to copy
  };

  std::vector<Place> places;
  size_t totalBytes = 0;
};

} // namespace sparsec::runtime

struct sparsec_plan_s {
  sparsec_kernel_t kernel = nullptr;
  std::shared_ptr<sparsec::runtime::Module> module; // keeps the kernel and the device
  sparsec::runtime::Problem problem;                // of its launches; SPARSEC_DYNAMIC: open
  sparsec::runtime::KnownLists lists;               // of its launches, where the pattern is static
  std::vector<sparsec::runtime::VariantPlan> variants;
  bool isRefilled = false;             // made with SPARSEC_PLAN_REFILL
  sparsec::runtime::Allocation memory; // holds all sections
  double milliseconds = 0;
};

namespace sparsec::runtime {

/// A plan without variants.
std::unique_ptr<sparsec_plan_s> newPlan(sparsec_kernel_s &kernel);

/// The tiles of a variant whose plan has this number of windows, or none: a window is a tile row, and some windows may
/// have fewer block rows than others.
TileGrid tileGridOf(const sparsec_kernel_s &kernel, const sparsec_stage_info_t &stage, const Problem &problem,
                    int64_t windows);
/// Notes how many windows the plan of the variant has, and so how many tiles.
void setWindows(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem, int64_t windows,
                int64_t columns, VariantPlan &part);

/// The plan of a variant that holds nothing: its tiles, and the workers of launches without lists.
VariantPlan planWithoutSections(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem);

/// How launches share out the tiles of a variant if there are no lists.
sparsec_tile_order_t orderWithoutLists(const sparsec_kernel_s &kernel, const Variant &variant);

/// The arguments of a plan's options: all open where there are none.
class PlanArguments {
public:
  PlanArguments(const sparsec_kernel_s &kernel, const sparsec_plan_options_t &options)
      : isGiven(options.arguments || options.argument_count != 0), options(options),
        allOpen(isGiven ? 0 : kernel.info->argument_count) {}

  const sparsec_argument_t *data() const { return isGiven ? options.arguments : allOpen.data(); }
  size_t size() const { return isGiven ? options.argument_count : allOpen.size(); }

private:
  bool isGiven;
  const sparsec_plan_options_t &options;
  std::vector<sparsec_argument_t> allOpen;
};

/// Whether all variants can count the tiles.
Status checkTileCounts(const sparsec_kernel_s &kernel, const Problem &problem);

/// Whether a kernel runs lists again and again.
bool takesPeriod(const sparsec_kernel_s &kernel, const Stage &stage);

/// Whether the plan is for launches of the kernel with these sizes.
Status checkPlan(const sparsec_kernel_s &kernel, const sparsec_plan_s &plan, const Problem &problem);

/// Whether sizes that both know are the same. `what` has those of the problem, in the message.
Status checkPlanSizes(const sparsec_plan_s &plan, const Problem &problem, const char *what,
                      sparsec_status_code_t code = SPARSEC_STATUS_INVALID_ARGUMENT);

/// The CTAs of a launch with so many workers.
inline int64_t ctasOf(const sparsec_stage_info_t &stage, int64_t workers) {
  return ceilDivide(workers, int64_t(stage.concurrent_tiles)) * int64_t(stage.cluster);
}

/// How launches with the plan of a variant, whose first stage is `stage`, use its workspaces.
WorkspaceUse useOf(const VariantPlan &part, const Stage &stage);

/// Bytes of the workspaces of a variant for a launch of this problem, whose parts are chosen; SPARSEC_DYNAMIC where the
/// problem leaves a size open that workspaces need.
int64_t workspaceBytes(const sparsec_plan_s &plan, const Problem &problem, size_t variant);

/// The keys of a tile in a launch.
enum class Keys {
  together, ///< are not split
  inParts,  ///< are split where that is faster
};
/// Bytes that are enough for a launch with the plan and this problem, whichever variant it takes.
int64_t workspaceBytes(const sparsec_plan_s &plan, const Problem &problem, Keys keys);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PLAN_H
