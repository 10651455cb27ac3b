// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WarpSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

Value WarpSteps::run(Value begin, ValueRange inits, ArrayRef<StringRef> names, Type sumType, Copies copies,
                     Advance advance, Product product, Load load) {
  SmallVector<StringRef> namesOfCopies{"free_slot"};
  llvm::append_range(namesOfCopies, names);
  Values copied{begin};
  llvm::append_range(copied, inits);
  copied = loop(i32(b, ahead), copied, namesOfCopies,
                [&](Value number, ValueRange carried) { return startCopies(number, carried, copies, advance); });

  Values loaded = load ? load(i32(b, 0)) : Values();
  const size_t loadedCount = loaded.size();
  Values state{begin};
  llvm::append_range(state, copied);
  llvm::append_range(state, loaded);
  state.push_back(ZeroOp::create(b, sumType));
  SmallVector<StringRef> namesOfSteps{"slot"};
  llvm::append_range(namesOfSteps, namesOfCopies);
  namesOfSteps.append(loadedCount, "loaded");
  namesOfSteps.push_back("sum");
  Values finished = loop(count, state, namesOfSteps, [&](Value number, ValueRange carried) {
    Value slot = carried.front(), sum = carried.back();
    ValueRange ofCopies = carried.slice(1, copied.size()), loaded = carried.slice(1 + copied.size(), loadedCount);
    // The last step loads its own values once more.
    Values next, later;
    if (load)
      later = load(arith::MinSIOp::create(b, add(b, number, 1), add(b, count, -1)));
    auto meet = [&] {
      if (isAsynchronous)
        AwaitCopiesOp::create(b, ahead - 1);
      BarrierOp::create(b, /*group=*/isSlice);
      next = startCopies(add(b, number, ahead), ofCopies, copies, advance);
    };
    sum = product(number, slot, loaded, sum, meet);
    next.insert(next.begin(), NextOp::create(b, ring, slot));
    llvm::append_range(next, later);
    next.push_back(sum);
    return next;
  });
  return finished.back();
}

/// Starts the copies of step `number`, if there is one. Gives the slot and what is carried for the step after.
WarpSteps::Values WarpSteps::startCopies(Value number, ValueRange slotAndCarried, Copies copies, Advance advance) {
  Value slot = slotAndCarried.front();
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, count);
  auto group = CopyGroupOp::create(b, exists);
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&group.getBody());
    copies(number, slot, slotAndCarried.drop_front());
  }
  Values next{NextOp::create(b, ring, slot)};
  llvm::append_range(next, advance(number, slotAndCarried.drop_front()));
  return next;
}

WarpSteps::Values WarpSteps::loop(Value count, ValueRange inits, ArrayRef<StringRef> names,
                                  function_ref<Values(Value index, ValueRange carried)> body) {
  auto loop = scf::ForOp::create(b, i32(b, 0), count, i32(b, 1), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  for (auto [argument, name] : llvm::zip(loop.getRegionIterArgs(), names))
    named(argument, name);
  scf::YieldOp::create(b, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return Values(loop.getResults());
}
