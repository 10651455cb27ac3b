// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The request of the user after `random:`.

#ifndef SPARSEC_TOOLS_RUN_RANDOM_H
#define SPARSEC_TOOLS_RUN_RANDOM_H

#include "reader.h"

#include <optional>
#include <vector>

namespace sparsec::run {

/// SHAPE[:density=D][:below=N][:SEED]. What an argument cannot have is for its reader to refuse.
struct RandomSpecification {
  std::vector<int64_t> sizes;
  std::optional<double> density;
  std::optional<int64_t> below;
  uint64_t seed;
};

llvm::Expected<RandomSpecification> parseRandom(llvm::StringRef text, uint64_t defaultSeed);

/// The same without a shape.
llvm::Expected<RandomSpecification> parseRandomWithoutShape(llvm::StringRef text, uint64_t defaultSeed);

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_RANDOM_H
