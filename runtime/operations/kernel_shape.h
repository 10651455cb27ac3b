// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small facts about the launch info's vocabulary that several files need.

#ifndef SPARSEC_RUNTIME_KERNEL_SHAPE_H
#define SPARSEC_RUNTIME_KERNEL_SHAPE_H

#include "sparsec/launch_info.h"

namespace sparsec::runtime {

/// Number of sparsec_plan_section_t.
constexpr uint32_t planSectionCount = 30;

/// Their names for people.
constexpr const char *planSectionNames[] = {
    "tile offsets",  "tiles",         "window rows",    "column offsets", "columns",       "block offsets",
    "blocks",        "step offsets",  "steps",          "stage offsets",  "stage columns", "stage products",
    "chunk offsets", "chunk blocks",  "row starts",     "row columns",    "row blocks",    "pair starts",
    "pairs",         "packed starts", "packed columns", "packed sources", "column counts", "window counts",
    "pair counts",   "window sizes",  "cut offsets",    "cut tiles",      "joint ranges",  "joint blocks"};
static_assert(sizeof(planSectionNames) / sizeof(planSectionNames[0]) == planSectionCount);

/// Sets of sections as bits: those that describe windows, and those that describe streams.
constexpr uint32_t windowRows = 1u << SPARSEC_PLAN_WINDOW_ROWS;
constexpr uint32_t windowSections = (2u << SPARSEC_PLAN_STEPS) - windowRows;
constexpr uint32_t streamSections =
    windowRows | ((2u << SPARSEC_PLAN_CHUNK_BLOCKS) - (1u << SPARSEC_PLAN_STAGE_OFFSETS));

/// Those of the index of a transposed operand.
constexpr uint32_t rowSections = (2u << SPARSEC_PLAN_ROW_BLOCKS) - (1u << SPARSEC_PLAN_ROW_STARTS);

/// Those of the pairs of a product of two block-sparse matrices.
constexpr uint32_t pairSections = (2u << SPARSEC_PLAN_PAIRS) - (1u << SPARSEC_PLAN_PAIR_STARTS);

/// Those of packed values.
constexpr uint32_t packedSections = (2u << SPARSEC_PLAN_PACKED_SOURCES) - (1u << SPARSEC_PLAN_PACKED_STARTS);

/// Those of tiles that are cut.
constexpr uint32_t cutSections = 1u << SPARSEC_PLAN_CUT_OFFSETS | 1u << SPARSEC_PLAN_CUT_TILES;

/// Those of joint lists of attention.
constexpr uint32_t jointSections = 1u << SPARSEC_PLAN_JOINT_RANGES | 1u << SPARSEC_PLAN_JOINT_BLOCKS;

/// Whether the tiles of the variant have two block rows of a pattern each, and the joint list of both.
constexpr bool takesJointLists(const sparsec_variant_info_t &variant) {
  return (variant.required_sections & jointSections) != 0;
}

/// Whether the variant runs with a plan that cuts tiles.
constexpr bool takesCuts(const sparsec_variant_info_t &variant) {
  return (variant.required_sections & cutSections) != 0;
}

/// Whether the machine kernels of the variant read packed values.
constexpr bool isPacked(const sparsec_variant_info_t &variant) { return variant.packed_block_rows != 0; }

/// Whether the tile rows of the variant are windows whose blocks come in streams.
constexpr bool takesStreams(const sparsec_variant_info_t &variant) {
  return (variant.required_sections & streamSections & ~windowRows) != 0;
}

/// Whether they are windows whose groups have steps.
constexpr bool takesWindows(const sparsec_variant_info_t &variant) {
  return (variant.required_sections & windowSections) != 0 && !takesStreams(variant);
}

/// Whether either describes the blocks as the matrix stores them.
constexpr bool hasWindowsOfBlocks(const sparsec_variant_info_t &variant) {
  return (takesWindows(variant) || takesStreams(variant)) && !isPacked(variant);
}

constexpr bool isF8(uint32_t dtype) { return dtype == SPARSEC_DTYPE_F8E4M3FN || dtype == SPARSEC_DTYPE_F8E5M2; }

/// Bytes; also between the workspaces of a variant.
constexpr int64_t workspaceAlignment = 16;

/// The bytes at the begin of every workspace that hold the tile counter and the flags of sums, in their own places: a
/// byte for each warp of the CTAs of cut tiles, or a 32-bit number for each warp of the tiles in parts.
constexpr int64_t keptWorkspaceBytes = 8192;

constexpr int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

constexpr uint32_t unknownStep = UINT32_MAX;
constexpr uint32_t maxIntegerCompare = 9; // uge, the last predicate of arith.cmpi

/// Whether a step computes with 32-bit integers. These, and loads, are in the regions of attention only.
constexpr bool isIntegerStep(uint32_t op) { return op >= SPARSEC_STEP_I32_ADD && op <= SPARSEC_STEP_F32_TO_I32; }

/// How many of a, b, c of a step are value numbers. A load has another form and is no step here.
constexpr uint32_t stepOperandCount(uint32_t op) {
  switch (op) {
  case SPARSEC_STEP_CONSTANT:
    return 0;
  case SPARSEC_STEP_COPY:
  case SPARSEC_STEP_ROUND_F32:
  case SPARSEC_STEP_ROUND_F16:
  case SPARSEC_STEP_ROUND_BF16:
  case SPARSEC_STEP_NEGATE:
  case SPARSEC_STEP_ABSOLUTE:
  case SPARSEC_STEP_SQRT:
  case SPARSEC_STEP_RSQRT:
  case SPARSEC_STEP_EXP:
  case SPARSEC_STEP_EXP2:
  case SPARSEC_STEP_EXPM1:
  case SPARSEC_STEP_LOG:
  case SPARSEC_STEP_LOG2:
  case SPARSEC_STEP_LOG1P:
  case SPARSEC_STEP_TANH:
  case SPARSEC_STEP_ERF:
  case SPARSEC_STEP_SIN:
  case SPARSEC_STEP_COS:
  case SPARSEC_STEP_FLOOR:
  case SPARSEC_STEP_CEIL:
  case SPARSEC_STEP_I32_TO_F32:
  case SPARSEC_STEP_F32_TO_I32:
    return 1;
  case SPARSEC_STEP_ADD:
  case SPARSEC_STEP_SUBTRACT:
  case SPARSEC_STEP_MULTIPLY:
  case SPARSEC_STEP_DIVIDE:
  case SPARSEC_STEP_MAXIMUM:
  case SPARSEC_STEP_MINIMUM:
  case SPARSEC_STEP_MAXNUM:
  case SPARSEC_STEP_MINNUM:
  case SPARSEC_STEP_COMPARE:
  case SPARSEC_STEP_AND:
  case SPARSEC_STEP_OR:
  case SPARSEC_STEP_XOR:
  case SPARSEC_STEP_I32_ADD:
  case SPARSEC_STEP_I32_SUBTRACT:
  case SPARSEC_STEP_I32_MULTIPLY:
  case SPARSEC_STEP_I32_DIVIDE:
  case SPARSEC_STEP_I32_REMAINDER:
  case SPARSEC_STEP_I32_MINIMUM:
  case SPARSEC_STEP_I32_MAXIMUM:
  case SPARSEC_STEP_I32_AND:
  case SPARSEC_STEP_I32_OR:
  case SPARSEC_STEP_I32_XOR:
  case SPARSEC_STEP_I32_SHIFT_LEFT:
  case SPARSEC_STEP_I32_SHIFT_RIGHT:
  case SPARSEC_STEP_I32_COMPARE:
    return 2;
  case SPARSEC_STEP_FMA:
  case SPARSEC_STEP_SELECT:
    return 3;
  default:
    return unknownStep;
  }
}

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_KERNEL_SHAPE_H
