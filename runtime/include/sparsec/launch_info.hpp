// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/*
 * launch_info.hpp: the tables of a (checked) launch info by the type of their
 * records, and the sizes of element types. Header only. No function takes longer
 * than a search of the directory.
 */
#ifndef SPARSEC_LAUNCH_INFO_HPP
#define SPARSEC_LAUNCH_INFO_HPP

#include "sparsec/launch_info.h"

#include <cstddef>

static_assert(sizeof(sparsec_launch_info_t) == 176, "file format");
static_assert(sizeof(sparsec_table_info_t) == 16, "file format");
static_assert(sizeof(sparsec_kernel_info_t) == 160, "file format");
static_assert(sizeof(sparsec_argument_info_t) == 128, "file format");
static_assert(sizeof(sparsec_operation_info_t) == 32, "file format");
static_assert(sizeof(sparsec_operand_info_t) == 16, "file format");
static_assert(sizeof(sparsec_attribute_info_t) == 16, "file format");
static_assert(sizeof(sparsec_region_info_t) == 24, "file format");
static_assert(sizeof(sparsec_input_info_t) == 8, "file format");
static_assert(sizeof(sparsec_step_info_t) == 24, "file format");
static_assert(sizeof(sparsec_variant_info_t) == 192, "file format");
static_assert(sizeof(sparsec_requirement_info_t) == 16, "file format");
static_assert(sizeof(sparsec_workspace_info_t) == 24, "file format");
static_assert(sizeof(sparsec_stage_info_t) == 224, "file format");
static_assert(sizeof(sparsec_parameter_info_t) == 16, "file format");
static_assert(sizeof(sparsec_tensor_map_info_t) == 40, "file format");
static_assert(sizeof(sparsec_extent_info_t) == 24, "file format");
static_assert(sizeof(sparsec_auxiliary_info_t) == 8, "file format");
static_assert(sizeof(sparsec_plan_cost_info_t) == 8, "file format");
static_assert(sizeof(sparsec_bundle_t) == 40, "file format");
static_assert(sizeof(sparsec_bundle_entry_t) == 104, "file format");

namespace sparsec {

/// Bytes of an element of a sparsec_dtype_t. They are 0 for SPARSEC_DTYPE_NONE and for a number that is no type.
constexpr size_t dtypeBytes(uint32_t dtype) {
  switch (dtype) {
  case SPARSEC_DTYPE_I64:
    return 8;
  case SPARSEC_DTYPE_F32:
  case SPARSEC_DTYPE_I32:
    return 4;
  case SPARSEC_DTYPE_F16:
  case SPARSEC_DTYPE_BF16:
    return 2;
  case SPARSEC_DTYPE_F8E4M3FN:
  case SPARSEC_DTYPE_F8E5M2:
  case SPARSEC_DTYPE_I8:
    return 1;
  }
  return 0;
}

/// The table that holds records of a type.
template <typename Record> inline constexpr sparsec_table_id_t tableOf = sparsec_table_id_t(0);
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_kernel_info_t> = SPARSEC_TABLE_KERNELS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_argument_info_t> = SPARSEC_TABLE_ARGUMENTS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_operation_info_t> = SPARSEC_TABLE_OPERATIONS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_operand_info_t> = SPARSEC_TABLE_OPERANDS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_attribute_info_t> = SPARSEC_TABLE_ATTRIBUTES;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_region_info_t> = SPARSEC_TABLE_REGIONS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_input_info_t> = SPARSEC_TABLE_INPUTS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_step_info_t> = SPARSEC_TABLE_STEPS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_variant_info_t> = SPARSEC_TABLE_VARIANTS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_requirement_info_t> = SPARSEC_TABLE_REQUIREMENTS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_workspace_info_t> = SPARSEC_TABLE_WORKSPACES;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_stage_info_t> = SPARSEC_TABLE_STAGES;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_parameter_info_t> = SPARSEC_TABLE_PARAMETERS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_tensor_map_info_t> = SPARSEC_TABLE_TENSOR_MAPS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_extent_info_t> = SPARSEC_TABLE_EXTENTS;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_auxiliary_info_t> = SPARSEC_TABLE_AUXILIARIES;
template <> inline constexpr sparsec_table_id_t tableOf<sparsec_plan_cost_info_t> = SPARSEC_TABLE_PLAN_COSTS;

/// Records of a table, or a range of them: `for (const sparsec_kernel_info_t &kernel : records)`. Iterators step by the
/// record size of the file, because a newer compiler may have made the records longer.
template <typename Record> class Records {
public:
  class Iterator {
  public:
    Iterator(const char *place, uint32_t size) : place(place), size(size) {}
    const Record &operator*() const { return *reinterpret_cast<const Record *>(place); }
    Iterator &operator++() {
      place += size;
      return *this;
    }
    bool operator!=(const Iterator &other) const { return place != other.place; }

  private:
    const char *place;
    uint32_t size;
  };

  Records() = default;
  Records(const char *first, uint32_t count, uint32_t recordSize)
      : first(first), count(count), recordSize(recordSize) {}

  uint32_t size() const { return count; }
  bool empty() const { return count == 0; }
  const Record &operator[](uint32_t index) const { return *Iterator(first + uint64_t(index) * recordSize, recordSize); }
  /// `length` records from number `begin` on, which must be there.
  Records slice(uint32_t begin, uint32_t length) const {
    return {first + uint64_t(begin) * recordSize, length, recordSize};
  }
  Iterator begin() const { return {first, recordSize}; }
  Iterator end() const { return {first + uint64_t(count) * recordSize, recordSize}; }

private:
  const char *first = nullptr;
  uint32_t count = 0, recordSize = sizeof(Record);
};

/// All records of a type. There are none if the table is missing.
template <typename Record> Records<Record> recordsOf(const sparsec_launch_info_t &info) {
  const char *base = reinterpret_cast<const char *>(&info);
  for (const auto &table :
       Records<sparsec_table_info_t>(base + info.directory_offset, info.directory_count, info.directory_size))
    if (table.id == uint32_t(tableOf<Record>))
      return {base + table.offset, table.count, table.record_size};
  return {};
}

} // namespace sparsec

#endif // SPARSEC_LAUNCH_INFO_HPP
