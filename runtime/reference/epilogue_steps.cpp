// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "epilogue_steps.h"
#include "numbers.h"

#include <cmath>
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
  }
  return std::numeric_limits<double>::quiet_NaN();
}

} // namespace sparsec::runtime
