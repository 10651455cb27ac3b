// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScoreTransform.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

ScoreTransform::ScoreTransform(QueryContext &context, const QueryTile &tile)
    : context(context), b(context.b), form(context.scoreForm), tile(tile), scale(context), cap(context),
      region(context, tile, *context.softmax.score, RegionSplit::ofScore(form),
             form.scaled ? form.scaled->value : Value()) {}

Values ScoreTransform::initialProducts(const ScorePositions &positions, int64_t count) {
  Values sums(count, b.f32(0));
  if (!form.bias)
    return sums;
  Value slope = biasSlope();
  const PositionSum &distance = form.bias->distance;
  for (auto [index, sum] : llvm::enumerate(sums))
    sum = b.fma(slope, b.f32(positions.distanceFromFirst(distance, index)),
                b.mulF(slope, positions.firstAsFloat(distance, index)));
  return sums;
}

/// The slope in terms of products.
Value ScoreTransform::biasSlope() {
  Value zero = b.i32(0);
  Value slope =
      context.computeValues(*context.softmax.score, {b.f32(0), tile.batch, tile.head, zero, zero}, form.bias->slope)[0];
  return b.mulF(slope, b.divF(b.f32(form.bias->sign * log2e), scale.factor()));
}

Values ScoreTransform::apply(const ScorePositions &positions, ValueRange products) {
  return form.isCapped() ? applyCap(positions, products) : applyRegion(positions, products);
}

Values ScoreTransform::applyRegion(const ScorePositions &positions, ValueRange products) {
  if (!form.scaled)
    return Values(products);
  if (form.isCapped() && !form.scaled->hasApproximateCap)
    return llvm::map_to_vector(products, [&](Value product) { return cap.evaluateByExponential(product); });
  auto scaled = [&](Value product) -> Value {
    // LLVM merges the scale with factors of the region where the region lets its ops be regrouped.
    return arith::MulFOp::create(b, product, scale.scale(), arith::FastMathFlags::reassoc);
  };
  return region.changeScores(
      positions, positions.keyTerms().score, products,
      [&](const SoftmaxRegion::Place &place, Value product) { return region.apply(scaled(product), place); },
      [&](const ScorePosition &position, Value product) { return region.apply(scaled(product), position); });
}

Values ScoreTransform::applyCap(const ScorePositions &positions, ValueRange products) {
  SmallVector<Type> types(products.size(), b.getF32Type());
  return cap.withPolynomial(products, /*isHidden=*/Value(), types, [&](const TanhPolynomial *polynomial) {
    if (!polynomial)
      return applyRegion(positions, products);
    Values scores(products);
    for (Value &score : scores)
      score = cap.evaluate(*polynomial, score, /*multiplier=*/1, /*addend=*/b.f32(0));
    return scores;
  });
}
