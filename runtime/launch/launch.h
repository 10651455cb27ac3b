// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches that are not those of a kernel's variants.

#ifndef SPARSEC_RUNTIME_LAUNCH_H
#define SPARSEC_RUNTIME_LAUNCH_H

#include "image/module.h"

namespace sparsec::runtime {

/// Enqueues the pattern builder of a kernel that has one: one CTA for every list. The (checked) arguments hold what it
/// takes; see SPARSEC_AUXILIARY_PATTERN_BUILDER.
Status launchPatternBuilder(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, int64_t lists,
                            void *stream);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_LAUNCH_H
