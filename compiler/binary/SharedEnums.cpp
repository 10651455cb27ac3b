// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dialect's enums and those of the launch info have the same numbers.

#include "SparsecDialect.h"

#include "sparsec/launch_info.h"

using namespace sparsec;

static_assert(uint32_t(TensorMapKind::dense) == SPARSEC_TENSOR_MAP_DENSE &&
              uint32_t(TensorMapKind::bsr_values) == SPARSEC_TENSOR_MAP_BSR_VALUES &&
              uint32_t(TensorMapKind::bsr_edge_values) == SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES &&
              uint32_t(TensorMapKind::bsr_lines) == SPARSEC_TENSOR_MAP_BSR_LINES &&
              uint32_t(TensorMapKind::bsr_edge_rows) == SPARSEC_TENSOR_MAP_BSR_EDGE_ROWS &&
              uint32_t(TensorMapKind::dense_clipped) == SPARSEC_TENSOR_MAP_DENSE_CLIPPED);
static_assert(JointListOp::noBlock == SPARSEC_JOINT_ABSENT * 3);
static_assert(uint32_t(PlanSection::window_rows) == SPARSEC_PLAN_WINDOW_ROWS &&
              uint32_t(PlanSection::column_offsets) == SPARSEC_PLAN_COLUMN_OFFSETS &&
              uint32_t(PlanSection::columns) == SPARSEC_PLAN_COLUMNS &&
              uint32_t(PlanSection::block_offsets) == SPARSEC_PLAN_BLOCK_OFFSETS &&
              uint32_t(PlanSection::blocks) == SPARSEC_PLAN_BLOCKS &&
              uint32_t(PlanSection::step_offsets) == SPARSEC_PLAN_STEP_OFFSETS &&
              uint32_t(PlanSection::steps) == SPARSEC_PLAN_STEPS &&
              uint32_t(PlanSection::stage_offsets) == SPARSEC_PLAN_STAGE_OFFSETS &&
              uint32_t(PlanSection::stage_columns) == SPARSEC_PLAN_STAGE_COLUMNS &&
              uint32_t(PlanSection::stage_products) == SPARSEC_PLAN_STAGE_PRODUCTS &&
              uint32_t(PlanSection::chunk_offsets) == SPARSEC_PLAN_CHUNK_OFFSETS &&
              uint32_t(PlanSection::chunk_blocks) == SPARSEC_PLAN_CHUNK_BLOCKS &&
              uint32_t(PlanSection::row_starts) == SPARSEC_PLAN_ROW_STARTS &&
              uint32_t(PlanSection::row_columns) == SPARSEC_PLAN_ROW_COLUMNS &&
              uint32_t(PlanSection::row_blocks) == SPARSEC_PLAN_ROW_BLOCKS &&
              uint32_t(PlanSection::pair_starts) == SPARSEC_PLAN_PAIR_STARTS &&
              uint32_t(PlanSection::pairs) == SPARSEC_PLAN_PAIRS &&
              uint32_t(PlanSection::packed_starts) == SPARSEC_PLAN_PACKED_STARTS &&
              uint32_t(PlanSection::packed_columns) == SPARSEC_PLAN_PACKED_COLUMNS &&
              uint32_t(PlanSection::packed_sources) == SPARSEC_PLAN_PACKED_SOURCES &&
              uint32_t(PlanSection::column_counts) == SPARSEC_PLAN_COLUMN_COUNTS &&
              uint32_t(PlanSection::window_counts) == SPARSEC_PLAN_WINDOW_COUNTS &&
              uint32_t(PlanSection::pair_counts) == SPARSEC_PLAN_PAIR_COUNTS &&
              uint32_t(PlanSection::window_sizes) == SPARSEC_PLAN_WINDOW_SIZES);
static_assert(uint32_t(WorkspaceKind::scratch) == SPARSEC_WORKSPACE_SCRATCH &&
              uint32_t(WorkspaceKind::tile_counter) == SPARSEC_WORKSPACE_TILE_COUNTER &&
              uint32_t(WorkspaceKind::tile_sums) == SPARSEC_WORKSPACE_TILE_SUMS &&
              uint32_t(WorkspaceKind::sum_flags) == SPARSEC_WORKSPACE_SUM_FLAGS);
static_assert(uint32_t(AuxiliaryKind::pattern_builder) == SPARSEC_AUXILIARY_PATTERN_BUILDER &&
              uint32_t(AuxiliaryKind::block_mask_reader) == SPARSEC_AUXILIARY_BLOCK_MASK_READER &&
              uint32_t(AuxiliaryKind::pack_blocks) == SPARSEC_AUXILIARY_PACK_BLOCKS &&
              uint32_t(AuxiliaryKind::count_columns) == SPARSEC_AUXILIARY_COUNT_COLUMNS &&
              uint32_t(AuxiliaryKind::write_index) == SPARSEC_AUXILIARY_WRITE_INDEX &&
              uint32_t(AuxiliaryKind::count_windows) == SPARSEC_AUXILIARY_COUNT_WINDOWS &&
              uint32_t(AuxiliaryKind::write_windows) == SPARSEC_AUXILIARY_WRITE_WINDOWS &&
              uint32_t(AuxiliaryKind::count_pairs) == SPARSEC_AUXILIARY_COUNT_PAIRS &&
              uint32_t(AuxiliaryKind::write_pairs) == SPARSEC_AUXILIARY_WRITE_PAIRS &&
              uint32_t(AuxiliaryKind::convert_values) == SPARSEC_AUXILIARY_CONVERT_VALUES &&
              uint32_t(AuxiliaryKind::top_k_blocks) == SPARSEC_AUXILIARY_TOP_K_BLOCKS &&
              uint32_t(AuxiliaryKind::write_lists) == SPARSEC_AUXILIARY_WRITE_LISTS);
