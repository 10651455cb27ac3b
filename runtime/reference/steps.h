// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Evaluates the steps of an epilogue or of a region of attention, as the launch info lists them. All values are
// doubles: 32-bit integers are exact in them, comparisons and logic give 0 or 1.

#ifndef SPARSEC_RUNTIME_REFERENCE_STEPS_H
#define SPARSEC_RUNTIME_REFERENCE_STEPS_H

#include "sparsec/launch_info.h"

namespace sparsec::runtime {

/// The relative error of f32 arithmetic that magnitudes are meant for (see sparsec_reference_run).
constexpr double referenceTolerance = 1e-6;

/// The result of one (checked) step, which is no load, on the values before it. What arith leaves open is defined here:
/// integers divided by zero, or shifted by more than 31, give 0, and conversions to i32 stop at its limits (NaN gives
/// 0).
double evaluateStep(const sparsec_step_info_t &step, const double *values);

/// How far the result of a step may be off: its own rounding, and for every operand the change that the operand's error
/// makes. A change to or from NaN does not count. `values` come back as they were.
double stepError(const sparsec_step_info_t &step, double *values, const double *errors, double result);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_STEPS_H
