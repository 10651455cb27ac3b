// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A verified copy of a launch info. The bytes are untrusted: after parse() every table, index and string is in bounds
// and every record means something that the runtime knows, so that nothing that uses them checks again.

#ifndef SPARSEC_RUNTIME_LAUNCH_INFO_READER_H
#define SPARSEC_RUNTIME_LAUNCH_INFO_READER_H

#include "image/elf_file.h"
#include "status.h"

namespace sparsec::runtime {

/// What one launch can hold without allocating.
constexpr uint32_t maxParameters = SPARSEC_MAX_PARAMETERS;
constexpr uint32_t maxTensorMaps = 8;

/// The largest stride in elements. A stride in bytes stays within what tensor maps can say, 2^40.
constexpr int64_t maxStride = int64_t(1) << 38;

/// Blocks and tiles (times the cluster) are at most this large, so that a size up to maxSize, rounded up to either,
/// fits the 32-bit index arithmetic of the kernels.
constexpr int64_t maxTile = 65536;
constexpr int64_t maxSize = SPARSEC_MAX_SIZE;
static_assert(maxSize + maxTile == INT32_MAX);

class LaunchInfo {
public:
  LaunchInfo() = default;
  static Status parse(Bytes bytes, LaunchInfo &outInfo);

  const sparsec_launch_info_t &header() const { return *info; }
  bool isHost() const { return info->target_kind == SPARSEC_TARGET_HOST; }

  const sparsec_kernel_info_t &kernel(uint32_t i) const {
    return record<sparsec_kernel_info_t>(info->kernel_offset, info->kernel_size, i);
  }
  const sparsec_argument_info_t &argument(uint32_t i) const {
    return record<sparsec_argument_info_t>(info->argument_offset, info->argument_size, i);
  }
  const sparsec_variant_info_t &variant(uint32_t i) const {
    return record<sparsec_variant_info_t>(info->variant_offset, info->variant_size, i);
  }
  const sparsec_parameter_info_t &parameter(uint32_t i) const {
    return record<sparsec_parameter_info_t>(info->parameter_offset, info->parameter_size, i);
  }
  const sparsec_tensor_map_info_t &tensorMap(uint32_t i) const {
    return record<sparsec_tensor_map_info_t>(info->tensor_map_offset, info->tensor_map_size, i);
  }
  const sparsec_step_info_t &step(uint32_t i) const {
    return record<sparsec_step_info_t>(info->step_offset, info->step_size, i);
  }

  const sparsec_attention_info_t &attention(uint32_t i) const {
    return record<sparsec_attention_info_t>(info->attention_offset, info->attention_size, i);
  }

  /// Hands the copy to the caller, who frees it with sparsec_launch_info_free.
  sparsec_launch_info_t *release() { return info.release(); }

  struct Free {
    void operator()(sparsec_launch_info_t *memory) const { sparsec_launch_info_free(memory); }
  };
  using Memory = std::unique_ptr<sparsec_launch_info_t, Free>;

private:
  template <typename Record> const Record &record(uint32_t offset, uint32_t size, uint32_t index) const {
    const auto *base = reinterpret_cast<const uint8_t *>(info.get());
    return *reinterpret_cast<const Record *>(base + offset + size_t(size) * index);
  }

  Memory info;
};

/// Checks what the records say (their tables are known to be in bounds).
Status checkRecords(const LaunchInfo &info);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_LAUNCH_INFO_READER_H
