// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks: which blocks of a matrix are stored. The same name, size, density and seed give the same mask everywhere.

#ifndef SPARSEC_BENCH_MASKS_H
#define SPARSEC_BENCH_MASKS_H

#include "harness/pattern.h"

#include <span>
#include <string>
#include <vector>

namespace sparsec::bench {

inline constexpr uint64_t maskSeed = 3;

/// A way to make a mask of a given size and density. The density is met as closely as the kind allows.
struct MaskKind {
  const char *name, *meaning;
  harness::BlockPattern (*make)(int64_t blockRows, int64_t blockColumns, double density, uint64_t seed);
};

std::span<const MaskKind> maskKinds();
/// Null when no kind has this name.
const MaskKind *findMaskKind(const std::string &name);
/// "random, uniform, ..."
std::string maskKindNames();

/// A mask of the command line: of a kind, or a given one, which has a size and a density of its own.
struct Mask {
  std::string name; // of the kind, or of the file without its folder and suffix
  const MaskKind *kind = nullptr;
  harness::BlockPattern given; // without a kind

  bool fits(int64_t blockRows, int64_t blockColumns) const;
  harness::BlockPattern make(int64_t blockRows, int64_t blockColumns, double density) const;
};

/// A mask and a density to time it at.
struct MaskCase {
  const Mask *mask;
  double density;
};

/// Every kind at every density, then every given mask at its own one; beside that a random mask of the same density,
/// where the list has random masks.
std::vector<MaskCase> maskCases(const std::vector<Mask> &masks, const std::vector<double> &densities);

/// As a file: line 1 `rows, columns, nonzeros`, line 2 the row offsets, line 3 the column indices.
std::string smtxText(const harness::BlockPattern &pattern);

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_MASKS_H
