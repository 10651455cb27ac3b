// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checking mode of a device: whether its kernels can reach what pointers point to, up to the last byte.

#ifndef SPARSEC_RUNTIME_MEMORY_CHECK_H
#define SPARSEC_RUNTIME_MEMORY_CHECK_H

#include "arguments/checked_argument.h"
#include "arguments/footprint.h"

namespace sparsec::runtime {

// All of these do nothing where the device is not in the checking mode.

/// Memory that a kernel of the device reads or writes; `name` is that of the pointer.
Status checkMemory(const Device &device, const char *name, const Footprint &footprint);

/// All memory of a checked argument.
Status checkMemory(const Device &device, const Subject &subject, const sparsec_argument_t &argument);

/// All arguments of a launch, all of them checked.
Status checkMemory(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments);

/// The lists of checked blocks; not their values.
Status checkListMemory(const Device &device, const Subject &subject, const sparsec_blocks_t &blocks);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_MEMORY_CHECK_H
