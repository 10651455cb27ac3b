// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "JointWalk.h"

#include "sparsec/launch_info.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// Keys from this one on are behind all keys: 2^24 blocks of 64 keys end there.
static constexpr int64_t keyBehindAll = int64_t(1) << 30;

Value JointEntry::block() { return b.bitAnd(entry, int64_t(SPARSEC_JOINT_BLOCK_MASK)); }

Value JointEntry::isPartial() {
  return b.compare(arith::CmpIPredicate::ne, b.bitAnd(ofRow, int64_t(SPARSEC_JOINT_PARTIAL)), b.i32(0));
}

/// The bit times a power of two is a shift. A choice would take a comparison and a selection.
Value JointEntry::keyIfAbsent() {
  constexpr int64_t factor = keyBehindAll / SPARSEC_JOINT_ABSENT;
  static_assert(factor * SPARSEC_JOINT_ABSENT == keyBehindAll);
  return b.mul(b.bitAnd(ofRow, int64_t(SPARSEC_JOINT_ABSENT)), factor);
}

JointWalk::JointWalk(QueryContext &context, ProgramValues &values, JointWalkOp op)
    : context(context), b(context.b), list(values.state<JointList>(op.getList())), blocks(op.getBlocks()) {}

/// The entries of a step. Lists have whole steps.
Values JointWalk::load(Value position) {
  Value entries = context.parameters.get(ParameterKind::plan_section, 0, SPARSEC_PLAN_JOINT_BLOCKS);
  Values loaded;
  for (int64_t i = 0; i < blocks; ++i)
    loaded.push_back(b.loadElement(b.i32Type(), entries, b.add(position, i)));
  return loaded;
}

/// The entries of the next step are loaded while this one is visited.
Values JointWalk::loop(ArrayRef<bool> /*isUsed*/, ValueRange carried, Visit visit) {
  SmallVector<Type> types(blocks, b.i32Type());
  auto loadBefore = [&](Value position) {
    return b.ifThenElse(
        b.less(position, list.end), types, [&] { return load(position); }, [&] { return Values(blocks, b.i32(0)); });
  };
  Values init(carried);
  llvm::append_range(init, loadBefore(list.begin));
  auto result = b.forLoop(list.begin, list.end, b.i32(blocks), init, [&](Value position, ValueRange current) {
    ValueRange entries = current.take_back(blocks), state = current.drop_back(blocks);
    Values next = loadBefore(b.add(position, blocks));
    Values visited = visit(entries, state);
    llvm::append_range(visited, next);
    return visited;
  });
  result.truncate(carried.size());
  return result;
}
