// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The variants of attention whose plans have joint lists.
#include "image/record_check.h"
#include "operations/kernel_shape.h"

namespace sparsec::runtime {

namespace {

/// Whether tile rows are the heads of all batches, and panels the tiles of Q's rows.
bool hasTilesOfQueries(const KernelRecords &records, const sparsec_stage_info_t &stage) {
  const auto rows = records.info.extents(stage.row_first, stage.row_count);
  const auto panels = records.info.extents(stage.panel_first, stage.panel_count);
  auto isOfQueries = [&](const sparsec_extent_info_t &extent, uint32_t dimension, uint32_t tile) {
    bool isOfQuery = false;
    for (const sparsec_operand_info_t &operand : records.operands())
      isOfQuery |= operand.slot == SPARSEC_ATTENTION_QUERY && operand.argument == extent.argument;
    return isOfQuery && extent.field == SPARSEC_FIELD_SIZE && extent.dimension == dimension && extent.block == tile &&
           extent.tile == tile && extent.combination == SPARSEC_EXTENT_FACTOR;
  };
  return rows.size() == 2 && isOfQueries(rows[0], 0, 1) && isOfQueries(rows[1], 1, 1) && panels.size() == 1 &&
         isOfQueries(panels[0], 2, stage.tile_m);
}

/// Each half of a divided step has one block.
Status checkDividedSteps(const KernelRecords &records, const sparsec_variant_info_t &variant,
                         const sparsec_argument_info_t &pattern, const std::string &name) {
  const uint32_t keys = records.info.stagesOf(variant)[0].tile_n;
  bool mayDivide = false;
  for (const sparsec_plan_cost_info_t &cost : records.info.planCostsOf(variant))
    mayDivide |= cost.key == SPARSEC_PLAN_COST_DIVIDED_STEP;
  if (!mayDivide || keys == 2 * pattern.block_columns)
    return {};
  return records.broken(name, " has divided steps, but its steps of ", keys, " keys are not two blocks of ",
                        pattern.block_columns);
}

} // namespace

/// A tile with a joint list has two block rows of the pattern. Its stages have been checked.
Status checkJointLists(const KernelRecords &records, const sparsec_variant_info_t &variant, const std::string &name) {
  if (!takesJointLists(variant))
    return {};
  if (variant.required_sections != jointSections || variant.part_keys != 0 || records.info.isHost() ||
      records.operation().kind != SPARSEC_OPERATION_ATTENTION)
    return records.broken(name, " requires plan sections ", variant.required_sections,
                          ", but those of joint lists go together and alone, in attention of a GPU without parts");
  const sparsec_stage_info_t &stage = records.info.stagesOf(variant)[0];
  for (const sparsec_argument_info_t &argument : records.arguments())
    if (argument.kind == SPARSEC_ARGUMENT_PATTERN && stage.tile_m == 2 * argument.block_rows &&
        hasTilesOfQueries(records, stage))
      return checkDividedSteps(records, variant, argument, name);
  return records.broken(name, " has joint lists, but its tiles of ", stage.tile_m,
                        " queries are not two blocks of a pattern");
}

} // namespace sparsec::runtime
