// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The outside of a launch info: magic, version, sizes, checksum and the bounds of its tables.

#include "launch_info_reader.h"
#include "checksum.h"

#include <cstdlib>
#include <cstring>

namespace sparsec::runtime {

namespace {

Status checkPrefix(Bytes bytes) {
  if (bytes.size() < sizeof(sparsec_launch_info_t))
    return invalidImage("launch info is truncated: it has ", bytes.size(), " bytes, its header alone needs ",
                        sizeof(sparsec_launch_info_t));
  sparsec_launch_info_t header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != SPARSEC_LAUNCH_INFO_MAGIC)
    return invalidImage("launch info does not start with its magic number: not written by sparsec");
  if (header.major != SPARSEC_LAUNCH_INFO_MAJOR)
    return makeStatus(SPARSEC_STATUS_VERSION_MISMATCH, "launch info has version ", header.major, ".", header.minor,
                      ", but this runtime reads version ", SPARSEC_LAUNCH_INFO_MAJOR, ".x");
  if (header.total_size < sizeof(header) || header.total_size > bytes.size())
    return invalidImage("launch info is truncated: it says that it has ", header.total_size, " bytes, but ",
                        bytes.size(), " are there");
  return {};
}

Status checkChecksum(sparsec_launch_info_t &info) {
  uint32_t expected = info.checksum;
  info.checksum = 0;
  uint32_t actual = crc32(reinterpret_cast<const uint8_t *>(&info), info.total_size);
  info.checksum = expected;
  if (actual != expected)
    return invalidImage("launch info is corrupt: its checksum is ", actual, ", but it says ", expected);
  return {};
}

struct Table {
  const char *name;
  uint32_t offset, count, size;
  size_t knownSize; // of the record in this version
};

Status checkTable(const Table &table, uint32_t totalSize) {
  if (table.count == 0)
    return {};
  if (table.size < table.knownSize || table.size % 8 != 0)
    return invalidImage("launch info: ", table.name, " records have ", table.size, " bytes, but at least ",
                        table.knownSize, " and a multiple of 8 are expected");
  if (table.offset < sizeof(sparsec_launch_info_t) || table.offset % 8 != 0 || table.offset > totalSize ||
      uint64_t(table.count) * table.size > totalSize - table.offset)
    return invalidImage("launch info: ", table.count, " ", table.name, " records of ", table.size, " bytes at offset ",
                        table.offset, " do not lie within its ", totalSize, " bytes");
  return {};
}

Status checkTables(const sparsec_launch_info_t &info) {
  const Table tables[] = {
      {"kernel", info.kernel_offset, info.kernel_count, info.kernel_size, sizeof(sparsec_kernel_info_t)},
      {"argument", info.argument_offset, info.argument_count, info.argument_size, sizeof(sparsec_argument_info_t)},
      {"variant", info.variant_offset, info.variant_count, info.variant_size, sizeof(sparsec_variant_info_t)},
      {"parameter", info.parameter_offset, info.parameter_count, info.parameter_size, sizeof(sparsec_parameter_info_t)},
      {"tensor map", info.tensor_map_offset, info.tensor_map_count, info.tensor_map_size,
       sizeof(sparsec_tensor_map_info_t)},
      {"step", info.step_offset, info.step_count, info.step_size, sizeof(sparsec_step_info_t)},
  };
  for (const Table &table : tables)
    SPARSEC_RETURN_IF_ERROR(checkTable(table, info.total_size));
  return {};
}

} // namespace

Status LaunchInfo::parse(Bytes bytes, LaunchInfo &outInfo) {
  SPARSEC_RETURN_IF_ERROR(checkPrefix(bytes));
  sparsec_launch_info_t header;
  std::memcpy(&header, bytes.data(), sizeof(header));

  LaunchInfo copy;
  copy.info.reset(static_cast<sparsec_launch_info_t *>(std::malloc(header.total_size)));
  if (!copy.info)
    return outOfMemoryStatus();
  std::memcpy(copy.info.get(), bytes.data(), header.total_size);
  SPARSEC_RETURN_IF_ERROR(checkChecksum(*copy.info));
  SPARSEC_RETURN_IF_ERROR(checkTables(*copy.info));
  SPARSEC_RETURN_IF_ERROR(checkRecords(copy));
  outInfo = std::move(copy);
  return {};
}

} // namespace sparsec::runtime

void sparsec_launch_info_free(sparsec_launch_info_t *info) { std::free(info); }
