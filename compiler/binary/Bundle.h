// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bundle: several images in one file, among which the runtime picks (launch_info.h).

#ifndef SPARSEC_COMPILER_BINARY_BUNDLE_H
#define SPARSEC_COMPILER_BINARY_BUNDLE_H

#include "sparsec/launch_info.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace sparsec {

struct BundleImage {
  std::string target;
  sparsec_image_format_t format = SPARSEC_IMAGE_ELF;
  /// An ELF file, or PTX text without a terminating zero.
  std::string image;
  /// PTX only: an ELF file holds its own.
  std::string launchInfo;
};

/// The bytes of a bundle. Images and launch infos start at multiples of 16 bytes, PTX text gets its terminating zero.
std::string writeBundle(llvm::ArrayRef<BundleImage> images);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_BUNDLE_H
