// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The outside of a launch info: magic, version, sizes, checksum and the bounds of its tables.

#include "image/launch_info_reader.h"
#include "image/checksum.h"

#include <cstdlib>
#include <cstring>

namespace sparsec::runtime {

namespace {

/// The header of version 1.0 ended before the table of attention records, with 4 bytes of padding.
constexpr size_t firstHeaderSize = 240;

size_t headerSize(const sparsec_launch_info_t &header) {
  return header.minor == 0 ? firstHeaderSize : sizeof(sparsec_launch_info_t);
}

Status checkPrefix(Bytes bytes) {
  if (bytes.size() < firstHeaderSize)
    return invalidImage("launch info is truncated: it has ", bytes.size(), " bytes, its header alone needs ",
                        firstHeaderSize);
  sparsec_launch_info_t header = {};
  std::memcpy(&header, bytes.data(), firstHeaderSize);
  if (header.magic != SPARSEC_LAUNCH_INFO_MAGIC)
    return invalidImage("launch info does not start with its magic number: not written by sparsec");
  if (header.major != SPARSEC_LAUNCH_INFO_MAJOR)
    return makeStatus(SPARSEC_STATUS_VERSION_MISMATCH, "launch info has version ", header.major, ".", header.minor,
                      ", but this runtime reads version ", SPARSEC_LAUNCH_INFO_MAJOR, ".x");
  if (header.total_size < headerSize(header) || header.total_size > bytes.size())
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

Status checkTable(const Table &table, const sparsec_launch_info_t &header) {
  if (table.count == 0)
    return {};
  if (table.size < table.knownSize || table.size % 8 != 0)
    return invalidImage("launch info: ", table.name, " records have ", table.size, " bytes, but at least ",
                        table.knownSize, " and a multiple of 8 are expected");
  uint32_t totalSize = header.total_size;
  if (table.offset < headerSize(header) || table.offset % 8 != 0 || table.offset > totalSize ||
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
    SPARSEC_RETURN_IF_ERROR(checkTable(table, info));
  if (info.minor == 0)
    return {};
  return checkTable(
      {"attention", info.attention_offset, info.attention_count, info.attention_size, sizeof(sparsec_attention_info_t)},
      info);
}

/// Makes a (checked) launch info of version 1.0 one of today: moves its tables behind the longer header, and says that
/// a CTA works on one tile at a time, for which it has a zero.
Status growHeader(LaunchInfo::Memory &info) {
  constexpr uint32_t growth = sizeof(sparsec_launch_info_t) - firstHeaderSize;
  LaunchInfo::Memory grown(static_cast<sparsec_launch_info_t *>(std::calloc(1, size_t(info->total_size) + growth)));
  if (!grown)
    return outOfMemoryStatus();
  std::memcpy(grown.get(), info.get(), offsetof(sparsec_launch_info_t, attention_offset));
  std::memcpy(grown.get() + 1, reinterpret_cast<const uint8_t *>(info.get()) + firstHeaderSize,
              info->total_size - firstHeaderSize);
  for (uint32_t *offset : {&grown->kernel_offset, &grown->argument_offset, &grown->variant_offset,
                           &grown->parameter_offset, &grown->tensor_map_offset, &grown->step_offset})
    *offset += growth;
  grown->total_size += growth;
  auto *variant = reinterpret_cast<uint8_t *>(grown.get()) + grown->variant_offset;
  for (uint32_t i = 0; i < grown->variant_count; ++i, variant += grown->variant_size)
    reinterpret_cast<sparsec_variant_info_t *>(variant)->tiles_per_cta = 1;
  info = std::move(grown);
  return {};
}

} // namespace

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
  SPARSEC_RETURN_IF_ERROR(checkTables(*copy.info));
  if (copy.info->minor == 0)
    SPARSEC_RETURN_IF_ERROR(growHeader(copy.info));
  SPARSEC_RETURN_IF_ERROR(checkRecords(copy));
  outInfo = std::move(copy);
  return {};
}

} // namespace sparsec::runtime

void sparsec_launch_info_free(sparsec_launch_info_t *info) { std::free(info); }
