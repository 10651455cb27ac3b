// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps.h"
#include "numbers.h"
#include "operations/kernel_shape.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace sparsec::runtime {

namespace {

bool compare(uint32_t predicate, double a, double b) {
  bool isUnordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case SPARSEC_COMPARE_FALSE:
    return false;
  case SPARSEC_COMPARE_OEQ:
    return a == b;
  case SPARSEC_COMPARE_OGT:
    return a > b;
  case SPARSEC_COMPARE_OGE:
    return a >= b;
  case SPARSEC_COMPARE_OLT:
    return a < b;
  case SPARSEC_COMPARE_OLE:
    return a <= b;
  case SPARSEC_COMPARE_ONE:
    return !isUnordered && a != b;
  case SPARSEC_COMPARE_ORD:
    return !isUnordered;
  case SPARSEC_COMPARE_UEQ:
    return isUnordered || a == b;
  case SPARSEC_COMPARE_UGT:
    return !(a <= b);
  case SPARSEC_COMPARE_UGE:
    return !(a < b);
  case SPARSEC_COMPARE_ULT:
    return !(a >= b);
  case SPARSEC_COMPARE_ULE:
    return !(a > b);
  case SPARSEC_COMPARE_UNE:
    return a != b;
  case SPARSEC_COMPARE_UNO:
    return isUnordered;
  }
  return true;
}

/// arith.maximumf and minimumf: NaN if either is NaN, and -0 < +0.
double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

double minimum(double a, double b) { return -maximum(-a, -b); }

/// Towards zero, as the conversion instructions of GPUs do it.
int32_t toInteger(double value) {
  if (std::isnan(value))
    return 0;
  return int32_t(std::clamp(std::trunc(value), double(INT32_MIN), double(INT32_MAX)));
}

/// arith.cmpi
bool compareIntegers(uint32_t predicate, int32_t a, int32_t b) {
  auto x = uint32_t(a), y = uint32_t(b);
  const bool results[] = {a == b, a != b, a<b, a <= b, a> b, a >= b, x<y, x <= y, x> y, x >= y};
  static_assert(std::size(results) == maxIntegerCompare + 1);
  return results[predicate];
}

/// A step from 32-bit integers to one. Sums and products wrap.
int32_t evaluateInteger(uint32_t op, int32_t a, int32_t b) {
  auto x = uint32_t(a), y = uint32_t(b);
  switch (op) {
  case SPARSEC_STEP_I32_ADD:
    return int32_t(x + y);
  case SPARSEC_STEP_I32_SUBTRACT:
    return int32_t(x - y);
  case SPARSEC_STEP_I32_MULTIPLY:
    return int32_t(x * y);
  case SPARSEC_STEP_I32_DIVIDE: // in 64 bits, where the lowest integer divided by -1 does not trap
    return b == 0 ? 0 : int32_t(uint32_t(int64_t(a) / b));
  case SPARSEC_STEP_I32_REMAINDER:
    return b == 0 ? 0 : int32_t(int64_t(a) % b);
  case SPARSEC_STEP_I32_MINIMUM:
    return std::min(a, b);
  case SPARSEC_STEP_I32_MAXIMUM:
    return std::max(a, b);
  case SPARSEC_STEP_I32_AND:
    return int32_t(x & y);
  case SPARSEC_STEP_I32_OR:
    return int32_t(x | y);
  case SPARSEC_STEP_I32_XOR:
    return int32_t(x ^ y);
  case SPARSEC_STEP_I32_SHIFT_LEFT:
    return y > 31 ? 0 : int32_t(x << y);
  case SPARSEC_STEP_I32_SHIFT_RIGHT:
    return y > 31 ? 0 : a >> b;
  }
  return 0;
}

/// Whether f32 arithmetic rounds the result of a step.
bool rounds(uint32_t op) {
  switch (op) {
  case SPARSEC_STEP_CONSTANT:
  case SPARSEC_STEP_COPY:
  case SPARSEC_STEP_SELECT:
  case SPARSEC_STEP_COMPARE:
  case SPARSEC_STEP_AND:
  case SPARSEC_STEP_OR:
  case SPARSEC_STEP_XOR:
    return false;
  }
  return !isIntegerStep(op) || op == SPARSEC_STEP_I32_TO_F32;
}

} // namespace

double evaluateStep(const sparsec_step_info_t &step, const double *values) {
  // Unused operands may hold any number.
  auto value = [&](uint32_t number) { return values[number]; };
  switch (step.op) {
  case SPARSEC_STEP_CONSTANT:
    return step.immediate;
  case SPARSEC_STEP_COPY:
    return value(step.a);
  case SPARSEC_STEP_ROUND_F32:
    return roundToF32(value(step.a));
  case SPARSEC_STEP_ROUND_F16:
    return roundToF16(value(step.a));
  case SPARSEC_STEP_ROUND_BF16:
    return roundToBf16(value(step.a));
  case SPARSEC_STEP_ADD:
    return value(step.a) + value(step.b);
  case SPARSEC_STEP_SUBTRACT:
    return value(step.a) - value(step.b);
  case SPARSEC_STEP_MULTIPLY:
    return value(step.a) * value(step.b);
  case SPARSEC_STEP_DIVIDE:
    return value(step.a) / value(step.b);
  case SPARSEC_STEP_NEGATE:
    return -value(step.a);
  case SPARSEC_STEP_ABSOLUTE:
    return std::fabs(value(step.a));
  case SPARSEC_STEP_MAXIMUM:
    return maximum(value(step.a), value(step.b));
  case SPARSEC_STEP_MINIMUM:
    return minimum(value(step.a), value(step.b));
  case SPARSEC_STEP_MAXNUM:
    return std::fmax(value(step.a), value(step.b));
  case SPARSEC_STEP_MINNUM:
    return std::fmin(value(step.a), value(step.b));
  case SPARSEC_STEP_FMA:
    return std::fma(value(step.a), value(step.b), value(step.c));
  case SPARSEC_STEP_SQRT:
    return std::sqrt(value(step.a));
  case SPARSEC_STEP_RSQRT:
    return 1 / std::sqrt(value(step.a));
  case SPARSEC_STEP_EXP:
    return std::exp(value(step.a));
  case SPARSEC_STEP_EXP2:
    return std::exp2(value(step.a));
  case SPARSEC_STEP_EXPM1:
    return std::expm1(value(step.a));
  case SPARSEC_STEP_LOG:
    return std::log(value(step.a));
  case SPARSEC_STEP_LOG2:
    return std::log2(value(step.a));
  case SPARSEC_STEP_LOG1P:
    return std::log1p(value(step.a));
  case SPARSEC_STEP_TANH:
    return std::tanh(value(step.a));
  case SPARSEC_STEP_ERF:
    return std::erf(value(step.a));
  case SPARSEC_STEP_SIN:
    return std::sin(value(step.a));
  case SPARSEC_STEP_COS:
    return std::cos(value(step.a));
  case SPARSEC_STEP_FLOOR:
    return std::floor(value(step.a));
  case SPARSEC_STEP_CEIL:
    return std::ceil(value(step.a));
  case SPARSEC_STEP_SELECT:
    return value(step.a) != 0 ? value(step.b) : value(step.c);
  case SPARSEC_STEP_COMPARE:
    return compare(step.c, value(step.a), value(step.b));
  case SPARSEC_STEP_AND:
    return value(step.a) != 0 && value(step.b) != 0;
  case SPARSEC_STEP_OR:
    return value(step.a) != 0 || value(step.b) != 0;
  case SPARSEC_STEP_XOR:
    return (value(step.a) != 0) != (value(step.b) != 0);
  case SPARSEC_STEP_I32_TO_F32:
    return value(step.a);
  case SPARSEC_STEP_F32_TO_I32:
    return toInteger(value(step.a));
  case SPARSEC_STEP_I32_COMPARE:
    return compareIntegers(step.c, toInteger(value(step.a)), toInteger(value(step.b)));
  }
  if (isIntegerStep(step.op))
    return evaluateInteger(step.op, toInteger(value(step.a)), toInteger(value(step.b)));
  return std::numeric_limits<double>::quiet_NaN();
}

double stepError(const sparsec_step_info_t &step, double *values, const double *errors, double result) {
  double error = rounds(step.op) ? referenceTolerance * std::fabs(result) : 0.0;
  const uint32_t operands[] = {step.a, step.b, step.c};
  for (uint32_t i = 0; i < stepOperandCount(step.op); ++i) {
    if (errors[operands[i]] == 0.0)
      continue;
    const double exact = values[operands[i]];
    double change = 0.0;
    for (double moved : {exact - errors[operands[i]], exact + errors[operands[i]]}) {
      values[operands[i]] = moved;
      change = std::fmax(change, std::fabs(evaluateStep(step, values) - result));
    }
    values[operands[i]] = exact;
    error += change;
  }
  return error;
}

} // namespace sparsec::runtime
