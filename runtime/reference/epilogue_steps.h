// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Evaluates the epilogue region of a kernel, as the launch info lists it, in double.

#ifndef SPARSEC_RUNTIME_REFERENCE_EPILOGUE_STEPS_H
#define SPARSEC_RUNTIME_REFERENCE_EPILOGUE_STEPS_H

#include "sparsec/launch_info.h"

namespace sparsec::runtime {

/// The result of one (checked) step on the values before it.
double evaluateStep(const sparsec_step_info_t &step, const double *values);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_EPILOGUE_STEPS_H
