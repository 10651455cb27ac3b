// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The images of a file with their verified launch infos.

#ifndef SPARSEC_TOOLS_RUN_LAUNCH_INFO_VIEW_H
#define SPARSEC_TOOLS_RUN_LAUNCH_INFO_VIEW_H

#include "status_error.h"

#include "sparsec/launch_info.hpp"

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

/// The fixed-size name of a record.
template <size_t length> llvm::StringRef nameOf(const char (&name)[length]) {
  return llvm::StringRef(name, length).take_until([](char character) { return character == '\0'; });
}

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_LAUNCH_INFO_VIEW_H
