// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fills the parameters that a machine kernel's stage lists, in memory that needs no allocation.

#ifndef SPARSEC_RUNTIME_PARAMETERS_H
#define SPARSEC_RUNTIME_PARAMETERS_H

#include "plan/plan.h"

#include <cstring>
#include <span>

namespace sparsec::runtime {

/// One machine kernel of a launch that is checked.
struct StageLaunch {
  const sparsec_kernel_s &kernel;
  const Stage &stage;
  const sparsec_variant_info_t *variant; // null: an auxiliary kernel, which has no workspaces
  const sparsec_argument_t *arguments;
  Problem problem = {};
  const VariantPlan *plan = nullptr; // may be null
  void *workspace = nullptr;         // may be null
  TileGrid grid = {};
  int64_t workers = 0;
  std::span<const void *const> inputs = {}; // of an auxiliary kernel
  std::span<const int64_t> numbers = {};    // the same
  bool mayStartEarly = false;               // while the stage before it runs
  const sparsec_packed_s *packed = nullptr; // null: the machine kernel reads the stored values
  std::span<const KnownList> lists = {};    // of the plan

  /// The panels that the lists cover: those of the launch, unless its plan serves any number.
  int64_t period() const { return plan && isKnown(plan->period) ? plan->period : grid.panels; }
  /// An argument as the machine kernel takes it.
  const sparsec_argument_t &argument(uint32_t number) const;
  /// Whether the machine kernel may read the index arrays of an argument before the kernel in front of it has ended.
  bool mayReadEarly(uint32_t number) const;
  /// Null where the plan has no such section.
  const void *section(uint32_t number) const { return plan ? plan->sections[number] : nullptr; }
  /// Null where the launch does not use it.
  void *workspaceOf(uint32_t number) const;
};

/// The parameters of one machine kernel in the order of the recipe. On a GPU filling them needs the device's context.
class ParameterPack {
public:
  ParameterPack() = default;
  ParameterPack(const ParameterPack &) = delete;
  ParameterPack &operator=(const ParameterPack &) = delete;

  Status fill(const StageLaunch &launch);
  /// Fills them, again where they were filled before, for a launch with arguments of the same sizes and strides as
  /// those of `from`: only the addresses of its tensor maps change.
  Status fillFrom(const ParameterPack &from, const StageLaunch &launch);

  void **pointers() { return addresses; }
  const uint64_t *hostSlots() const { return slots; }

private:
  void addAll(const StageLaunch &launch);
  void add(const StageLaunch &launch, const sparsec_parameter_info_t &recipe);
  void addField(const sparsec_argument_t &argument, const sparsec_parameter_info_t &recipe);
  void addField(const sparsec_dense_t &tensor, const sparsec_parameter_info_t &recipe);
  void addField(const sparsec_blocks_t &blocks, const sparsec_parameter_info_t &recipe);
  template <typename Value> void add(Value value) {
    static_assert(sizeof(value) <= sizeof(uint64_t));
    slots[count] = 0;
    std::memcpy(&slots[count], &value, sizeof(value));
    addresses[count] = &slots[count];
    ++count;
  }

  uint64_t slots[maxParameters];
  void *addresses[maxParameters];
  CUtensorMap tensorMaps[maxTensorMaps];
  uint32_t count = 0, tensorMapCount = 0;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PARAMETERS_H
