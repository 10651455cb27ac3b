// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiled file: one ELF image, or a bundle of images of which a device gets the best.

#ifndef SPARSEC_RUNTIME_IMAGE_H
#define SPARSEC_RUNTIME_IMAGE_H

#include "image/launch_info_reader.h"

namespace sparsec::runtime {

struct Image {
  sparsec_image_format_t format;
  Bytes code; // points into the file
  LaunchInfo info;
};

Status countImages(Bytes file, size_t &outCount);
Status readImage(Bytes file, size_t index, Image &outImage);

/// The best image for a device. A cubin runs on its own capability and on later ones of the same major number, PTX on
/// its own and every later one, arch-specific code (sm_90a) on exactly its own. Among those that run, the highest
/// capability wins, then arch-specific code, then a cubin over PTX.
Status selectImage(Bytes file, const sparsec_device_info_t &device, Image &outImage);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_IMAGE_H
