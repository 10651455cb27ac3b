// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WarpSums.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr int64_t bytesOfSum = 4, sumsInVector = vectorBytes / bytesOfSum;
/// The vectors of all lanes lie between two vectors of one lane.
static constexpr int64_t strideOfVectors = warpLanes * vectorBytes;

int64_t sparsec::bytesOfWarpSums(int64_t count) { return count * warpLanes * bytesOfSum; }

Value sparsec::placeOfSums(KernelBuilder &b, Value sums, Value warp, Value lane, int64_t count) {
  Value ofWarp = b.byteOffset(sums, b.mul(b.extend(warp), bytesOfWarpSums(count)));
  return b.byteOffset(ofWarp, b.extend(b.mul(lane, vectorBytes)));
}

void sparsec::storeSums(KernelBuilder &b, Value place, ValueRange sums) {
  for (size_t i = 0; i < sums.size(); i += sumsInVector)
    LLVM::StoreOp::create(b, b.vector(sums.slice(i, sumsInVector)),
                          b.byteOffset(place, int64_t(i / sumsInVector) * strideOfVectors), /*alignment=*/vectorBytes);
}

Values sparsec::loadSums(KernelBuilder &b, Value place, int64_t count) {
  auto type = VectorType::get(sumsInVector, b.getF32Type());
  Values all;
  for (int64_t i = 0; i < count; i += sumsInVector) {
    Value vector = b.load(type, b.byteOffset(place, i / sumsInVector * strideOfVectors));
    for (int64_t j = 0; j < sumsInVector; ++j)
      all.push_back(LLVM::ExtractElementOp::create(b, vector, b.i32(j)));
  }
  return all;
}
