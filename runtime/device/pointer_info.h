// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks the CUDA driver about the memory behind a pointer.

#ifndef SPARSEC_RUNTIME_POINTER_INFO_H
#define SPARSEC_RUNTIME_POINTER_INFO_H

#include "device/device.h"

namespace sparsec::runtime {

struct PointerInfo {
  enum class Kind { unknown, device, pinned, managed };

  Kind kind = Kind::unknown;
  int32_t ordinal = -1;      // of the device whose memory it is
  bool isReachable = false;  // for kernels of the device that was asked for, by the same pointer
  bool isContiguous = false; // all of the range is there; of reserved addresses some may have no memory behind them
  uintptr_t begin = 0;       // the range: an allocation, or what was reserved together
  uint64_t bytes = 0;
};

/// Legal while a stream is captured. Needs the device's context to be current.
Status queryPointer(const Device &device, uintptr_t address, PointerInfo &outInfo);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_POINTER_INFO_H
