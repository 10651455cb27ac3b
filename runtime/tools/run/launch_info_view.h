// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the record tables of a verified launch info.

#ifndef SPARSEC_TOOLS_RUN_LAUNCH_INFO_VIEW_H
#define SPARSEC_TOOLS_RUN_LAUNCH_INFO_VIEW_H

#include "status_error.h"

namespace sparsec::run {

/// One image of a file.
struct ImageView {
  OwnedLaunchInfo info;
  sparsec_image_format_t format;

  bool isPtx() const { return format == SPARSEC_IMAGE_PTX; }
  /// Whether ptxas has measured the kernels: their registers, spills and static shared memory.
  bool isMeasured() const { return !isPtx() && info->target_kind == SPARSEC_TARGET_CUDA; }
};

/// The images of a file.
llvm::Expected<std::vector<ImageView>> readImages(llvm::StringRef file);

/// A record of a table; records of later versions are longer, so the stride comes from the file.
template <typename Record>
const Record &recordAt(const sparsec_launch_info_t &info, uint32_t offset, uint32_t size, uint32_t index) {
  return *reinterpret_cast<const Record *>(reinterpret_cast<const char *>(&info) + offset + size_t(index) * size);
}

inline const sparsec_kernel_info_t &kernelAt(const sparsec_launch_info_t &info, uint32_t index) {
  return recordAt<sparsec_kernel_info_t>(info, info.kernel_offset, info.kernel_size, index);
}
inline const sparsec_argument_info_t &argumentAt(const sparsec_launch_info_t &info, uint32_t index) {
  return recordAt<sparsec_argument_info_t>(info, info.argument_offset, info.argument_size, index);
}
inline const sparsec_variant_info_t &variantAt(const sparsec_launch_info_t &info, uint32_t index) {
  return recordAt<sparsec_variant_info_t>(info, info.variant_offset, info.variant_size, index);
}
inline const sparsec_parameter_info_t &parameterAt(const sparsec_launch_info_t &info, uint32_t index) {
  return recordAt<sparsec_parameter_info_t>(info, info.parameter_offset, info.parameter_size, index);
}
inline const sparsec_tensor_map_info_t &tensorMapAt(const sparsec_launch_info_t &info, uint32_t index) {
  return recordAt<sparsec_tensor_map_info_t>(info, info.tensor_map_offset, info.tensor_map_size, index);
}
inline const sparsec_attention_info_t &attentionAt(const sparsec_launch_info_t &info, uint32_t index) {
  return recordAt<sparsec_attention_info_t>(info, info.attention_offset, info.attention_size, index);
}

/// The fixed-size name of a record.
template <size_t length> llvm::StringRef nameOf(const char (&name)[length]) {
  return llvm::StringRef(name, length).take_until([](char character) { return character == '\0'; });
}

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_LAUNCH_INFO_VIEW_H
