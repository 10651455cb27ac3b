// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "random.h"

#include "llvm/ADT/StringExtras.h"

namespace sparsec::run {

using readers::failure;
using readers::view;

static llvm::Error parsePart(llvm::StringRef part, RandomSpecification &random) {
  double density = 0.0;
  int64_t below = 0;
  if (part.consume_front("density=")) {
    if (part.getAsDouble(density) || !(density >= 0.0 && density <= 1.0))
      return failure("expects a density in 0 to 1, but got '{}'", view(part));
    random.density = density;
  } else if (part.consume_front("below=")) {
    if (part.getAsInteger(10, below) || below < 1 || below > readers::maxSize)
      return failure("expects 1 to {} after 'below=', but got '{}'", readers::maxSize, view(part));
    random.below = below;
  } else if (part.getAsInteger(10, random.seed)) {
    return failure("expects a seed or 'density=', but got '{}'", view(part));
  }
  return llvm::Error::success();
}

llvm::Expected<RandomSpecification> parseRandomWithoutShape(llvm::StringRef text, uint64_t defaultSeed) {
  RandomSpecification random = {{}, std::nullopt, std::nullopt, defaultSeed};
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ':', /*MaxSplit=*/-1, /*KeepEmpty=*/!text.empty());
  for (llvm::StringRef part : parts)
    if (llvm::Error error = parsePart(part, random))
      return error;
  return random;
}

llvm::Expected<RandomSpecification> parseRandom(llvm::StringRef text, uint64_t defaultSeed) {
  auto [shape, rest] = text.split(':');
  std::vector<int64_t> sizes;
  for (llvm::StringRef part : llvm::split(shape, 'x')) {
    int64_t size = 0;
    if (part.getAsInteger(10, size) || size < 0 || size > readers::maxSize)
      return failure("expects sizes such as 4096x512 after 'random:', but got '{}'", view(shape));
    sizes.push_back(size);
  }
  auto random = parseRandomWithoutShape(rest, defaultSeed);
  if (random)
    random->sizes = std::move(sizes);
  return random;
}

} // namespace sparsec::run
