// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads a host image (an ELF relocatable object, see launch_info.h) into executable memory of this process.

#ifndef SPARSEC_RUNTIME_HOST_IMAGE_H
#define SPARSEC_RUNTIME_HOST_IMAGE_H

#include "image/elf_file.h"

namespace sparsec::runtime {

/// The features that host kernels are compiled for, beyond baseline x86-64.
struct HostFeatures {
  bool avx2, fma, f16c;
};
HostFeatures detectHostFeatures();
/// DEVICE_LIMIT that names the missing instructions.
Status checkHostFeatures(const HostFeatures &features);

class HostImage {
public:
  HostImage() = default;
  ~HostImage();
  HostImage(const HostImage &) = delete;
  HostImage &operator=(const HostImage &) = delete;

  Status load(Bytes object);

  /// The kernel of that name. The object's bytes must still be there.
  Status function(const char *name, sparsec_host_kernel_t &outFunction) const;

private:
  Status placeSections();
  Status relocateSection(const ElfSection &relocations);
  Status symbolAddress(uint64_t number, uint64_t &outAddress) const;
  Status protect();

  ElfFile elf;
  std::vector<uint8_t *> addresses; // of the sections by number; null when not loaded
  uint8_t *memory = nullptr;
  size_t memorySize = 0;
  // [0, readOnlyBegin) is code, then read-only data, then from writableBegin on writable data.
  size_t readOnlyBegin = 0, writableBegin = 0;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_HOST_IMAGE_H
