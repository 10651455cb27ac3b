// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Coefficients of the polynomials that both the GPU (LowerMath.cpp) and the host (host/HostMath.cpp) use for functions
// of `math`: minimax fits of the relative error of the whole function, rounded to f32, the constant term first.

#ifndef SPARSEC_EMIT_MATH_SERIES_H
#define SPARSEC_EMIT_MATH_SERIES_H

namespace sparsec::series {

inline constexpr float ln2 = 0x1.62e430p-1f, ln2Low = -0x1.05c610p-29f; // ln 2 in two parts

/// q in expm1(r) = r + r^2 q(r), for |r| <= ln 2 / 2.
inline constexpr float expm1[] = {0x1.fffffep-2f, 0x1.5554b2p-3f, 0x1.5556f2p-5f, 0x1.1226f0p-7f, 0x1.6b9e3ap-10f};

/// q in erf(x) = x + x q(x^2), for |x| < 1.
inline constexpr float erf[] = {0x1.06eba8p-3f, -0x1.81273ep-2f,  0x1.ce2ce6p-4f, -0x1.b7f71ap-6f,
                                0x1.53f224p-8f, -0x1.a3515ep-11f, 0x1.4771fep-14f};

/// log2(1 - erf(x)), for 1 <= x <= 4. erf(4) rounds to 1.
inline constexpr float log2OfErfc[] = {-0x1.f74b3ep-12f, -0x1.a047b2p+0f, -0x1.d7558cp-1f, -0x1.30c3c8p-3f,
                                       0x1.024f32p-5f,   -0x1.1717f0p-8f, 0x1.1a8c3ap-12f};

} // namespace sparsec::series

#endif // SPARSEC_EMIT_MATH_SERIES_H
