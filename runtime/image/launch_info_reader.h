// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A verified copy of a launch info. The bytes are untrusted: after parse() every table, index and string is in bounds
// and every record means something that the runtime knows, so that nothing that uses them checks again.

#ifndef SPARSEC_RUNTIME_LAUNCH_INFO_READER_H
#define SPARSEC_RUNTIME_LAUNCH_INFO_READER_H

#include "image/elf_file.h"
#include "sparsec/launch_info.hpp"
#include "status.h"

namespace sparsec::runtime {

/// Limits of one launch, which allocates nothing.
constexpr uint32_t maxParameters = SPARSEC_MAX_PARAMETERS;
constexpr uint32_t maxTensorMaps = 8;

/// The largest stride in elements. A stride in bytes stays within what tensor maps can say, 2^40.
constexpr int64_t maxStride = int64_t(1) << 38;

/// Blocks and tiles (times the cluster) are at most this large, so that a size up to maxSize, rounded up to either,
/// fits the 32-bit index arithmetic of the kernels.
constexpr int64_t maxTile = 65536;
constexpr int64_t maxSize = SPARSEC_MAX_SIZE;
static_assert(maxSize + maxTile == INT32_MAX);

/// Number of sparsec_table_id_t, from 1 on.
constexpr uint32_t tableCount = SPARSEC_TABLE_PLAN_COSTS;

class LaunchInfo {
public:
  LaunchInfo() = default;
  static Status parse(Bytes bytes, LaunchInfo &outInfo);

  const sparsec_launch_info_t &header() const { return *info; }
  bool isHost() const { return info->target_kind == SPARSEC_TARGET_HOST; }

  /// All records of a type.
  template <typename Record> Records<Record> all() const {
    const Table &table = tables[tableOf<Record>];
    return {table.first, table.count, table.recordSize};
  }

  Records<sparsec_argument_info_t> argumentsOf(const sparsec_kernel_info_t &kernel) const {
    return all<sparsec_argument_info_t>().slice(kernel.argument_first, kernel.argument_count);
  }
  Records<sparsec_variant_info_t> variantsOf(const sparsec_kernel_info_t &kernel) const {
    return all<sparsec_variant_info_t>().slice(kernel.variant_first, kernel.variant_count);
  }
  Records<sparsec_auxiliary_info_t> auxiliariesOf(const sparsec_kernel_info_t &kernel) const {
    return all<sparsec_auxiliary_info_t>().slice(kernel.auxiliary_first, kernel.auxiliary_count);
  }
  const sparsec_operation_info_t &operationOf(const sparsec_kernel_info_t &kernel) const {
    return all<sparsec_operation_info_t>()[kernel.operation];
  }
  Records<sparsec_operand_info_t> operandsOf(const sparsec_operation_info_t &operation) const {
    return all<sparsec_operand_info_t>().slice(operation.operand_first, operation.operand_count);
  }
  Records<sparsec_attribute_info_t> attributesOf(const sparsec_operation_info_t &operation) const {
    return all<sparsec_attribute_info_t>().slice(operation.attribute_first, operation.attribute_count);
  }
  Records<sparsec_region_info_t> regionsOf(const sparsec_operation_info_t &operation) const {
    return all<sparsec_region_info_t>().slice(operation.region_first, operation.region_count);
  }
  Records<sparsec_input_info_t> inputsOf(const sparsec_region_info_t &region) const {
    return all<sparsec_input_info_t>().slice(region.input_first, region.input_count);
  }
  Records<sparsec_step_info_t> stepsOf(const sparsec_region_info_t &region) const {
    return all<sparsec_step_info_t>().slice(region.step_first, region.step_count);
  }
  Records<sparsec_requirement_info_t> requirementsOf(const sparsec_variant_info_t &variant) const {
    return all<sparsec_requirement_info_t>().slice(variant.requirement_first, variant.requirement_count);
  }
  Records<sparsec_workspace_info_t> workspacesOf(const sparsec_variant_info_t &variant) const {
    return all<sparsec_workspace_info_t>().slice(variant.workspace_first, variant.workspace_count);
  }
  Records<sparsec_stage_info_t> stagesOf(const sparsec_variant_info_t &variant) const {
    return all<sparsec_stage_info_t>().slice(variant.stage_first, variant.stage_count);
  }
  Records<sparsec_plan_cost_info_t> planCostsOf(const sparsec_variant_info_t &variant) const {
    return all<sparsec_plan_cost_info_t>().slice(variant.plan_cost_first, variant.plan_cost_count);
  }
  Records<sparsec_parameter_info_t> parametersOf(const sparsec_stage_info_t &stage) const {
    return all<sparsec_parameter_info_t>().slice(stage.parameter_first, stage.parameter_count);
  }
  Records<sparsec_extent_info_t> extents(uint32_t first, uint32_t count) const {
    return all<sparsec_extent_info_t>().slice(first, count);
  }

  /// Hands the copy to the caller, who frees it with sparsec_launch_info_free.
  sparsec_launch_info_t *release() { return info.release(); }

private:
  struct Free {
    void operator()(sparsec_launch_info_t *memory) const { sparsec_launch_info_free(memory); }
  };
  struct Table {
    const char *first = nullptr;
    uint32_t count = 0, recordSize = 0;
  };

  Status readDirectory();
  Status readTable(const sparsec_table_info_t &entry);
  Status lengthenRecords();
  Records<sparsec_table_info_t> directory() const;

  std::unique_ptr<sparsec_launch_info_t, Free> info;
  Table tables[tableCount + 1]; // by sparsec_table_id_t
};

/// Checks what the records say (their tables are known to be in bounds).
Status checkRecords(const LaunchInfo &info);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_LAUNCH_INFO_READER_H
