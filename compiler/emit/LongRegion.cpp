// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LongRegion.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// Two functions of the maths library, or a sine: unrolled, they take seconds to compile.
static constexpr int64_t longestRepeated = 100;
/// Instructions of a loop, as long as that is at least one value: a few values together hide the latency of each other.
static constexpr int64_t longestBody = 2048, mostTogether = 4;

/// As sparsec-lower-math and the division of arith lower them.
int64_t sparsec::instructionsOf(Operation &op) {
  return TypeSwitch<Operation *, int64_t>(&op)
      .Case<arith::ConstantOp>([](auto) { return 0; })
      .Case<arith::DivFOp>([](auto) { return 10; })
      .Case<arith::DivSIOp, arith::RemSIOp>([](auto) { return 20; })
      .Case<math::ExpOp>([](auto) { return 10; })
      .Case<math::ExpM1Op, math::TanhOp, math::LogOp, math::Log2Op, math::Log1pOp>([](auto) { return 25; })
      .Case<math::ErfOp>([](auto) { return 30; })
      .Case<math::SinOp, math::CosOp>([](auto) { return 120; })
      .Default([](auto) { return 1; });
}

int64_t sparsec::instructionsOf(Region &region) {
  int64_t length = 0;
  for (Operation &op : region.front().without_terminator())
    length += instructionsOf(op);
  return length;
}

bool sparsec::isLong(Region &region) { return instructionsOf(region) > longestRepeated; }

Values sparsec::changeInLoop(ProgramContext &context, Region &region, ValueRange values, ChangeValue change) {
  KernelBuilder &b = context.b;
  Type f32 = b.getF32Type();
  int64_t count = values.size();
  Value memory = context.localMemory(count);
  auto pointer = [&](Value index) { return b.elementPointer(memory, f32, index); };

  // A power of two, which divides the number of values.
  int64_t together =
      llvm::bit_floor<uint64_t>(std::clamp<int64_t>(longestBody / instructionsOf(region), 1, mostTogether));
  assert(count % together == 0 && "expects whole groups of four values");
  for (auto [index, value] : llvm::enumerate(values))
    LLVM::StoreOp::create(b, value, pointer(b.i32(index)));
  b.forLoop(b.i32(0), b.i32(count), b.i32(together), {}, [&](Value first, ValueRange) {
    Values changed;
    for (int64_t i = 0; i < together; ++i) {
      Value index = b.add(first, i);
      changed.push_back(change(index, b.load(f32, pointer(index))));
    }
    for (auto [i, value] : llvm::enumerate(changed))
      LLVM::StoreOp::create(b, value, pointer(b.add(first, i)));
    if (instructionsOf(region) > longestBody)
      b.getInsertionBlock()->getParentOp()->setAttr(callsMathAttribute, b.getUnitAttr());
    return Values();
  });
  return llvm::map_to_vector(llvm::seq<int64_t>(0, count),
                             [&](int64_t index) { return b.load(f32, pointer(b.i32(index))); });
}
