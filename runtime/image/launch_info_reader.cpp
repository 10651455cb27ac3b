// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The outside of a launch info: magic, version, sizes, checksum and the bounds of its tables.

#include "image/launch_info_reader.h"
#include "image/checksum.h"

#include <cstdlib>
#include <cstring>

namespace sparsec::runtime {

namespace {

Status checkPrefix(Bytes bytes) {
  sparsec_launch_info_t header;
  // Version 1 began in the same way, with a header that was no shorter.
  if (bytes.size() < sizeof(header))
    return invalidImage("launch info is truncated: it has ", bytes.size(), " bytes, its header alone needs ",
                        sizeof(header));
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != SPARSEC_LAUNCH_INFO_MAGIC)
    return invalidImage("launch info does not start with its magic number: not written by sparsec");
  if (header.major != SPARSEC_LAUNCH_INFO_MAJOR)
    return makeStatus(SPARSEC_STATUS_VERSION_MISMATCH, "launch info has version ", header.major, ".", header.minor,
                      ", but this runtime reads version ", SPARSEC_LAUNCH_INFO_MAJOR,
                      ".x: compile the kernel again with this version of sparsec");
  if (header.total_size < sizeof(header) || header.total_size > bytes.size())
    return invalidImage("launch info is truncated: it says that it has ", header.total_size, " bytes, but ",
                        bytes.size(), " are there");
  return {};
}

uint32_t checksumOf(const sparsec_launch_info_t &info) {
  constexpr size_t field = offsetof(sparsec_launch_info_t, checksum);
  return crc32WithZeros(reinterpret_cast<const uint8_t *>(&info), info.total_size, field,
                        field + sizeof(info.checksum));
}

Status checkChecksum(const sparsec_launch_info_t &info) {
  const uint32_t actual = checksumOf(info);
  if (actual != info.checksum)
    return invalidImage("launch info is corrupt: its checksum is ", actual, ", but it says ", info.checksum);
  return {};
}

/// Bytes of the records of every table in this version, by sparsec_table_id_t.
constexpr size_t recordSizes[] = {0,
                                  sizeof(sparsec_kernel_info_t),
                                  sizeof(sparsec_argument_info_t),
                                  sizeof(sparsec_operation_info_t),
                                  sizeof(sparsec_operand_info_t),
                                  sizeof(sparsec_attribute_info_t),
                                  sizeof(sparsec_region_info_t),
                                  sizeof(sparsec_input_info_t),
                                  sizeof(sparsec_step_info_t),
                                  sizeof(sparsec_variant_info_t),
                                  sizeof(sparsec_requirement_info_t),
                                  sizeof(sparsec_workspace_info_t),
                                  sizeof(sparsec_stage_info_t),
                                  sizeof(sparsec_parameter_info_t),
                                  sizeof(sparsec_tensor_map_info_t),
                                  sizeof(sparsec_extent_info_t),
                                  sizeof(sparsec_auxiliary_info_t),
                                  sizeof(sparsec_plan_cost_info_t)};
static_assert(std::size(recordSizes) == tableCount + 1);

/// The same in the first minor version of this major one.
constexpr size_t firstRecordSize(uint32_t table) {
  if (table == SPARSEC_TABLE_STAGES)
    return offsetof(sparsec_stage_info_t, consumer_rows);
  return table == SPARSEC_TABLE_VARIANTS ? offsetof(sparsec_variant_info_t, most_panels) : recordSizes[table];
}

/// Whether an older version wrote the table, with fewer fields.
bool isShort(const sparsec_table_info_t &entry) {
  return entry.id != 0 && entry.id <= tableCount && entry.record_size < recordSizes[entry.id];
}

constexpr uint64_t alignUp(uint64_t size) { return (size + 7) / 8 * 8; }

} // namespace

/// Tables that this version does not know are for newer ones.
Status LaunchInfo::readTable(const sparsec_table_info_t &entry) {
  if (entry.id == 0 || entry.id > tableCount)
    return {};
  Table &table = tables[entry.id];
  if (table.first)
    return invalidImage("launch info: table ", entry.id, " is there twice");
  if (entry.record_size < firstRecordSize(entry.id) || entry.record_size % 8 != 0)
    return invalidImage("launch info: records of table ", entry.id, " have ", entry.record_size,
                        " bytes, but at least ", firstRecordSize(entry.id), " and a multiple of 8 are expected");
  if (entry.offset < sizeof(*info) || entry.offset % 8 != 0 || entry.offset > info->total_size ||
      uint64_t(entry.count) * entry.record_size > info->total_size - entry.offset)
    return invalidImage("launch info: ", entry.count, " records of table ", entry.id, " with ", entry.record_size,
                        " bytes each at offset ", entry.offset, " do not lie within its ", info->total_size, " bytes");
  table = {reinterpret_cast<const char *>(info.get()) + entry.offset, entry.count, entry.record_size};
  return {};
}

Status LaunchInfo::readDirectory() {
  const sparsec_launch_info_t &header = *info;
  if (header.directory_size < sizeof(sparsec_table_info_t) || header.directory_size % 8 != 0 ||
      header.directory_offset < sizeof(header) || header.directory_offset % 8 != 0 ||
      header.directory_offset > header.total_size ||
      uint64_t(header.directory_count) * header.directory_size > header.total_size - header.directory_offset)
    return invalidImage("launch info: a directory of ", header.directory_count, " entries of ", header.directory_size,
                        " bytes at offset ", header.directory_offset, " does not lie within its ", header.total_size,
                        " bytes");
  for (const sparsec_table_info_t &entry : directory())
    SPARSEC_RETURN_IF_ERROR(readTable(entry));
  return {};
}

Records<sparsec_table_info_t> LaunchInfo::directory() const {
  return {reinterpret_cast<const char *>(info.get()) + info->directory_offset, info->directory_count,
          info->directory_size};
}

/// Puts tables whose records are shorter than those of this version behind the others, with zeros for the fields that
/// are not there: nothing that reads a record asks how long it is.
Status LaunchInfo::lengthenRecords() {
  uint64_t end = alignUp(info->total_size), size = end;
  for (const sparsec_table_info_t &entry : directory())
    size += isShort(entry) ? entry.count * recordSizes[entry.id] : 0;
  if (size == end)
    return {};
  LaunchInfo longer;
  longer.info.reset(size <= UINT32_MAX ? static_cast<sparsec_launch_info_t *>(std::calloc(1, size)) : nullptr);
  if (!longer.info)
    return outOfMemoryStatus();
  std::memcpy(longer.info.get(), info.get(), info->total_size);
  char *const bytes = reinterpret_cast<char *>(longer.info.get());
  for (uint32_t number = 0; number < info->directory_count; ++number) {
    char *const place = bytes + info->directory_offset + uint64_t(number) * info->directory_size;
    sparsec_table_info_t entry = directory()[number];
    if (!isShort(entry))
      continue;
    const Records<char> records(bytes + entry.offset, entry.count, entry.record_size);
    entry.offset = uint32_t(end);
    for (const char &record : records) {
      std::memcpy(bytes + end, &record, entry.record_size);
      end += recordSizes[entry.id];
    }
    entry.record_size = uint32_t(recordSizes[entry.id]);
    std::memcpy(place, &entry, sizeof(entry));
  }
  longer.info->total_size = uint32_t(size);
  longer.info->checksum = checksumOf(*longer.info);
  SPARSEC_RETURN_IF_ERROR(longer.readDirectory());
  *this = std::move(longer);
  return {};
}

Status LaunchInfo::parse(Bytes bytes, LaunchInfo &outInfo) {
  SPARSEC_RETURN_IF_ERROR(checkPrefix(bytes));
  uint32_t totalSize;
  std::memcpy(&totalSize, bytes.data() + offsetof(sparsec_launch_info_t, total_size), sizeof(totalSize));

  LaunchInfo copy;
  copy.info.reset(static_cast<sparsec_launch_info_t *>(std::malloc(totalSize)));
  if (!copy.info)
    return outOfMemoryStatus();
  std::memcpy(copy.info.get(), bytes.data(), totalSize);
  SPARSEC_RETURN_IF_ERROR(checkChecksum(*copy.info));
  SPARSEC_RETURN_IF_ERROR(copy.readDirectory());
  SPARSEC_RETURN_IF_ERROR(copy.lengthenRecords());
  SPARSEC_RETURN_IF_ERROR(checkRecords(copy));
  outInfo = std::move(copy);
  return {};
}

} // namespace sparsec::runtime

void sparsec_launch_info_free(sparsec_launch_info_t *info) { std::free(info); }
