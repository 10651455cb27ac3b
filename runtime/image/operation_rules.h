// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slots, attributes, regions and plan costs of each operation of launch_info.h, in one table with their names. The
// checks of a launch info walk it.

#ifndef SPARSEC_RUNTIME_OPERATION_RULES_H
#define SPARSEC_RUNTIME_OPERATION_RULES_H

#include "sparsec/launch_info.h"

#include <span>

namespace sparsec::runtime {

/// A set of small numbers as bits.
template <typename... Numbers> constexpr uint32_t setOf(Numbers... numbers) { return ((1u << numbers) | ... | 0u); }
constexpr bool isIn(uint32_t set, uint32_t number) { return number < 32 && (set >> number & 1) != 0; }

constexpr uint32_t anyRank = UINT32_MAX;
constexpr uint32_t anyType = UINT32_MAX;
constexpr uint32_t noSlot = 0; // slots begin with 1

/// The operands that a slot may have.
struct SlotRule {
  uint32_t slot;
  const char *name;
  uint32_t least, most; // how many operands
  uint32_t kinds;       // set of sparsec_argument_kind_t
  uint32_t types;       // set of sparsec_dtype_t
  uint32_t rank;
  bool isResult;
  uint32_t layouts;  // set of sparsec_layout_t
  bool hasBroadcast; // of an epilogue: rank and layout follow from it
};

struct AttributeRule {
  uint32_t key;
  const char *name;
  int64_t least, most;
  bool isOptional;
};

struct RegionRule {
  uint32_t slot;
  const char *name;
  uint32_t inputs;  // set of sparsec_input_kind_t
  bool hasIntegers; // 32-bit integers, and loads
};

/// The variants that need a number for their plans.
enum class PlanCostUse { all, windowsOrStreams, packedValues, jointLists, none };

/// A number that the plans of the operation use.
struct PlanCostRule {
  uint32_t key;
  const char *name;
  uint32_t least, most;
  PlanCostUse use;
};

struct OperationRule {
  uint32_t kind;
  const char *name;
  uint32_t extraSlot; // of the operands that regions use; noSlot: there are no regions
  std::span<const SlotRule> slots;
  std::span<const AttributeRule> attributes; // each is there once, an optional one at most once
  std::span<const RegionRule> regions;       // each is there at most once
  std::span<const PlanCostRule> planCosts;   // each variant has each that it needs once
  bool hasPairs = false;                     // of blocks, which all its variants take from the plan
};

/// Null if there is no such operation.
const OperationRule *findOperation(uint32_t kind);
/// Null if the operation has no such slot.
const SlotRule *findSlot(const OperationRule &operation, uint32_t slot);
const RegionRule *findRegion(const OperationRule &operation, uint32_t slot);
const PlanCostRule *findPlanCost(const OperationRule &operation, uint32_t key);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_OPERATION_RULES_H
