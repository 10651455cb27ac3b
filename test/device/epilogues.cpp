// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "epilogues.h"

#include <cmath>

namespace sparsec::device_test {

namespace {

// The largest slopes, reached near x = 1.41 (gelu) and x = 2.40 (silu).
constexpr double geluSlope = 1.13;
constexpr double siluSlope = 1.10;

double gelu(double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }
double silu(double x) { return x / (1 + std::exp(-x)); }

double everything(double acc, const double *e) { return silu(e[2] * (acc * e[1]) + e[0]) + e[4] * e[3]; }

double everythingError(double magnitude, const double *e) {
  return siluSlope * (std::abs(e[2] * e[1]) * magnitude + std::abs(e[0])) + std::abs(e[4] * e[3]);
}

template <int sines> double withSines(double x) {
  double sum = x;
  for (int i = 0; i < sines; ++i)
    sum += std::sin(x + i) / sines;
  return sum;
}

const Epilogue epilogues[] = {
    {"none", 0, [](double acc, const double *) { return acc; },
     [](double magnitude, const double *) { return magnitude; }},

    {"bias", 1, [](double acc, const double *e) { return acc + e[0]; },
     [](double magnitude, const double *e) { return magnitude + std::abs(e[0]); }},

    {"gelu", 1, [](double acc, const double *e) { return gelu(acc * e[0]); },
     [](double magnitude, const double *e) { return geluSlope * std::abs(e[0]) * magnitude; }},

    {"residual", 2, [](double acc, const double *e) { return acc + e[1] * e[0]; },
     [](double magnitude, const double *e) { return magnitude + std::abs(e[1] * e[0]); }},

    {"softcap", 0, [](double acc, const double *) { return 20 * std::tanh(acc / 20); },
     [](double magnitude, const double *) { return magnitude; }},

    // bias, scale, alpha, residual, beta
    {"everything", 5, everything, everythingError},

    // The same, and a mean of sines, with a slope of at most 1.
    {"long", 5, [](double acc, const double *e) { return withSines<2>(everything(acc, e)); },
     [](double magnitude, const double *e) { return 2 * everythingError(magnitude, e) + 1; }},
    {"longest", 5, [](double acc, const double *e) { return withSines<20>(everything(acc, e)); },
     [](double magnitude, const double *e) { return 2 * everythingError(magnitude, e) + 1; }},
};

} // namespace

const Epilogue *findEpilogue(std::string_view kernelName) {
  for (const Epilogue &epilogue : epilogues)
    if (kernelName.size() > epilogue.name.size() && kernelName.ends_with(epilogue.name) &&
        kernelName[kernelName.size() - epilogue.name.size() - 1] == '_')
      return &epilogue;
  return nullptr;
}

} // namespace sparsec::device_test
