// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-mask: writes a mask of sparsec-bench as an .smtx file, so that other programs multiply by the same matrix.

#include "masks.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>

int main(int argc, char **argv) {
  using namespace sparsec::bench;
  int64_t rows = 0, columns = 0;
  char end;
  const MaskKind *kind = argc == 4 ? findMaskKind(argv[1]) : nullptr;
  double density = kind ? std::atof(argv[3]) : 0;
  if (!kind || std::sscanf(argv[2], "%ldx%ld%c", &rows, &columns, &end) != 2 || rows <= 0 || columns <= 0 ||
      !(density > 0 && density <= 1)) {
    fmt::print(stderr, "usage: sparsec-mask KIND ROWSxCOLUMNS DENSITY, in blocks; the kinds are {}\n", maskKindNames());
    return 2;
  }
  fmt::print("{}", smtxText(kind->make(rows, columns, density, maskSeed)));
  return 0;
}
