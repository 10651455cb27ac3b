// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value of the program becomes no, one or several values of the kernel: a cursor is a slot and the parity of its
// phase, a pending accumulator a struct of registers. Loops and branches carry them side by side.

#include "ProgramEmitter.h"

#include "Ptx.h"
#include "Ring.h"
#include "StagedStore.h"
#include "StoreTile.h"
#include "hopper/Products.h"
#include "hopper/TensorCopy.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t threadsOfWarpgroup = 128, rowsOfWarp = 16;

class ProgramEmitter {
public:
  explicit ProgramEmitter(SpmmContext &context) : context(context), b(context.b) {}

  void emit();

private:
  // Roles.
  void initBarriers();
  int64_t releasesOf(RingOp ring);
  void emitRolesFrom(ArrayRef<RoleOp> roles, int64_t firstWarpgroup);
  void emitRole(RoleOp role, int64_t firstWarpgroup);

  // Blocks of ops. The values of the terminator's operands come back.
  Values emitBlock(Block &block);
  void emitOp(Operation &op);
  void emitArithmetic(Operation &op);

  // Values.
  ArrayRef<Value> of(Value value) { return values.find(value)->second; }
  Value one(Value value) { return value ? of(value).front() : Value(); }
  Values flat(ValueRange of);
  SmallVector<Type> flatTypes(TypeRange types);
  /// Gives values of the program their parts of `emitted`, each as many as its type has.
  void assign(ValueRange of, ValueRange emitted);
  Ring &ringOf(Value ring) { return rings.find(ring)->second; }
  Ring::State slotOf(Value cursor) { return unpackState<Ring::State>(of(cursor)); }

  // Control flow.
  void emitTileLoop(TileLoopOp loop);
  void emitWalk(WalkBlocksOp walk);
  void emitIf(scf::IfOp branch);

  void emitGroup(GroupOp op);
  void emitRowBlocks(RowBlocksOp op);
  void emitRelease(ReleaseOp op);
  void emitProduct(ProductOp op);
  void emitStore(StoreOp op);
  WgmmaOperand operandOf(Value view, Value cursor);

  SpmmContext &context;
  KernelBuilder &b;
  llvm::DenseMap<Value, Values> values;
  llvm::DenseMap<Value, Ring> rings;
  Value warpgroup, threadInGroup;
  Value group; // of the role that is emitted
};

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void ProgramEmitter::emit() {
  for (RingOp ring : context.program.getBody().getOps<RingOp>())
    rings.try_emplace(ring, context, ring);
  initBarriers();
  warpgroup = ptx::broadcastFirstLane(b, b.shiftRight(context.thread, 7));
  threadInGroup = b.bitAnd(context.thread, threadsOfWarpgroup - 1);
  emitRolesFrom(llvm::to_vector(context.program.getBody().getOps<RoleOp>()), /*firstWarpgroup=*/0);
  // A CTA must not exit while others of its cluster may still write into its shared memory or arrive at its barriers.
  if (context.schedule.getCluster() > 1)
    ptx::barrierCluster(b);
}

void ProgramEmitter::initBarriers() {
  b.ifThen(b.equal(context.thread, 0), [&] {
    for (RingOp ring : context.program.getBody().getOps<RingOp>())
      ringOf(ring).initBarriers(releasesOf(ring) * context.schedule.getCluster());
    ptx::mbarrierInitFence(b);
  });
  if (context.schedule.getCluster() > 1)
    ptx::barrierCluster(b);
  else
    ptx::barrierCta(b);
}

/// Groups of this CTA that release every slot of a ring.
int64_t ProgramEmitter::releasesOf(RingOp ring) {
  int64_t groups = 0;
  for (RoleOp role : context.program.getBody().getOps<RoleOp>()) {
    bool releases = role.walk([&](ReleaseOp op) {
                          return op.getRing() == ring.getResult() ? WalkResult::interrupt() : WalkResult::advance();
                        })
                        .wasInterrupted();
    groups += releases ? role.getCount() : 0;
  }
  return groups;
}

/// The first role has the warpgroups from `firstWarpgroup` on, and so on.
void ProgramEmitter::emitRolesFrom(ArrayRef<RoleOp> roles, int64_t firstWarpgroup) {
  RoleOp first = roles.front();
  if (roles.size() == 1)
    return emitRole(first, firstWarpgroup);
  int64_t end = firstWarpgroup + first.getWarpgroups();
  b.ifThenElse(
      b.less(warpgroup, end), TypeRange(),
      [&] {
        emitRole(first, firstWarpgroup);
        return Values();
      },
      [&] {
        emitRolesFrom(roles.drop_front(), end);
        return Values();
      });
}

void ProgramEmitter::emitRole(RoleOp role, int64_t firstWarpgroup) {
  bool isThread = role.getUnit() == RoleUnit::thread;
  if (role.getRegisters())
    ptx::setRegisters(b, role.getRegisters(), /*increase=*/!isThread);
  group = b.sub(warpgroup, firstWarpgroup);
  Block &body = role.getBody().front();
  if (isThread)
    b.ifThen(b.equal(context.thread, threadsOfWarpgroup * firstWarpgroup), [&] { emitBlock(body); });
  else
    emitBlock(body);
}

//===----------------------------------------------------------------------===//
// Ops and values
//===----------------------------------------------------------------------===//

Values ProgramEmitter::emitBlock(Block &block) {
  bool hasTerminator = block.mightHaveTerminator();
  for (Operation &op : hasTerminator ? block.without_terminator() : llvm::make_range(block.begin(), block.end()))
    emitOp(op);
  return hasTerminator ? flat(block.getTerminator()->getOperands()) : Values();
}

void ProgramEmitter::emitOp(Operation &op) {
  TypeSwitch<Operation *>(&op)
      .Case([&](TileLoopOp loop) { emitTileLoop(loop); })
      .Case([&](WalkBlocksOp walk) { emitWalk(walk); })
      .Case([&](scf::IfOp branch) { emitIf(branch); })
      .Case([&](GroupOp group) { emitGroup(group); })
      .Case([&](ClusterRankOp rank) { values[rank] = {ptx::clusterRank(b)}; })
      .Case([&](RowBlocksOp blocks) { emitRowBlocks(blocks); })
      .Case([&](CursorOp cursor) { values[cursor] = packState(ringOf(cursor.getRing()).begin()); })
      .Case([&](NextOp next) { values[next] = packState(ringOf(next.getRing()).advance(slotOf(next.getCursor()))); })
      .Case([&](AcquireOp acquire) { ringOf(acquire.getRing()).waitUntilFree(slotOf(acquire.getCursor())); })
      .Case([&](PostOp post) { ringOf(post.getRing()).expect(slotOf(post.getCursor())); })
      .Case([&](CopyOp copy) {
        emitTensorCopy(context, copy, ringOf(copy.getRing()), slotOf(copy.getCursor()), flat(copy.getCoordinates()),
                       one(copy.getBlockColumn()));
      })
      .Case([&](WaitOp wait) { ringOf(wait.getRing()).wait(slotOf(wait.getCursor())); })
      .Case([&](ReleaseOp release) { emitRelease(release); })
      .Case([&](ViewOp view) {
        values[view] = {emitWgmmaView(b, view, ringOf(view.getRing()), one(view.getRow()), one(view.getColumn()))};
      })
      .Case([&](ZeroOp zero) { values[zero] = {LLVM::ZeroOp::create(b, flatTypes(zero.getType())[0])}; })
      .Case([&](ProductOp product) { emitProduct(product); })
      .Case(
          [&](AwaitOp await) { values[await] = {ptx::wgmmaWait(b, await.getOutstanding(), one(await.getPending()))}; })
      .Case([&](StoreOp store) { emitStore(store); })
      // Shared memory must outlive the stores that read it.
      .Case([&](DrainStoresOp) { b.ifThen(b.equal(threadInGroup, 0), [&] { ptx::bulkWait(b, 0, /*read=*/false); }); })
      .Default([&](Operation *arithmetic) { emitArithmetic(*arithmetic); });
}

void ProgramEmitter::emitArithmetic(Operation &op) {
  assert(isa<arith::ArithDialect>(op.getDialect()) && "other ops have a case of their own");
  IRMapping mapping;
  for (Value operand : op.getOperands())
    mapping.map(operand, one(operand));
  values[op.getResult(0)] = {b.clone(op, mapping)->getResult(0)};
}

Values ProgramEmitter::flat(ValueRange all) {
  Values result;
  for (Value value : all)
    llvm::append_range(result, of(value));
  return result;
}

SmallVector<Type> ProgramEmitter::flatTypes(TypeRange types) {
  SmallVector<Type> result;
  for (Type type : types)
    TypeSwitch<Type>(type)
        .Case([&](CursorType) { result.append(2, b.i32Type()); })
        .Case<AccumulatorType, PendingType>(
            [&](auto sum) { result.push_back(wgmmaSumType(b, sum.getRows(), sum.getColumns())); })
        .Default([&](Type same) { result.push_back(same); });
  return result;
}

void ProgramEmitter::assign(ValueRange all, ValueRange emitted) {
  for (Value value : all) {
    size_t count = flatTypes(value.getType()).size();
    values[value] = Values(emitted.take_front(count));
    emitted = emitted.drop_front(count);
  }
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void ProgramEmitter::emitTileLoop(TileLoopOp loop) {
  Block &body = loop.getBody().front();
  Values results = emitRounds(context, flat(loop.getInits()), [&](Value tileRow, Value panel, ValueRange carried) {
    Values arguments{tileRow, panel};
    llvm::append_range(arguments, carried);
    assign(body.getArguments(), arguments);
    return emitBlock(body);
  });
  assign(loop.getResults(), results);
}

/// A loop that uses columns loads the one of the next block while it works on this one.
void ProgramEmitter::emitWalk(WalkBlocksOp walk) {
  Block &body = walk.getBody().front();
  Value first = one(walk.getFirst()), end = one(walk.getEnd());
  Values inits = flat(walk.getInits());
  if (body.getArgument(1).use_empty()) {
    Values results = b.forLoop(first, end, b.i32(1), inits, [&](Value block, ValueRange carried) {
      assign(body.getArgument(0), block);
      assign(body.getArguments().drop_front(2), carried);
      return emitBlock(body);
    });
    return assign(walk.getResults(), results);
  }
  int64_t matrix = cast<BlockArgument>(walk.getMatrix()).getArgNumber();
  Value columns = context.parameters.get(ParameterKind::col_idx, matrix);
  auto columnOf = [&](Value block) { return b.loadElement(b.i32Type(), columns, block); };
  Value last = b.sub(end, 1);
  Value isEmpty = b.compare(arith::CmpIPredicate::sge, first, end);
  Value firstColumn = b.ifThenElse(
      isEmpty, {b.i32Type()}, [&] { return Values{b.i32(0)}; }, [&] { return Values{columnOf(first)}; })[0];
  inits.push_back(firstColumn);
  Values results = b.forLoop(first, end, b.i32(1), inits, [&](Value block, ValueRange carried) {
    Value nextColumn = columnOf(b.minimum(b.add(block, 1), last));
    assign(body.getArguments().take_front(2), {block, carried.back()});
    assign(body.getArguments().drop_front(2), carried.drop_back());
    Values next = emitBlock(body);
    next.push_back(nextColumn);
    return next;
  });
  assign(walk.getResults(), ValueRange(results).drop_back());
}

void ProgramEmitter::emitIf(scf::IfOp branch) {
  Values results = b.ifThenElse(
      one(branch.getCondition()), flatTypes(branch.getResultTypes()), [&] { return emitBlock(*branch.thenBlock()); },
      [&] { return emitBlock(*branch.elseBlock()); });
  assign(branch.getResults(), results);
}

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

void ProgramEmitter::emitGroup(GroupOp op) {
  bool isInLoop = !isa<RoleOp>(op->getParentOp());
  values[op] = {isInLoop ? ptx::opaque(b, group) : group};
}

void ProgramEmitter::emitRowBlocks(RowBlocksOp op) {
  int64_t matrix = cast<BlockArgument>(op.getMatrix()).getArgNumber();
  Value rowPtr = context.parameters.get(ParameterKind::row_ptr, matrix), row = one(op.getBlockRow());
  values[op.getFirst()] = {b.loadElement(b.i32Type(), rowPtr, row)};
  values[op.getEnd()] = {b.loadElement(b.i32Type(), rowPtr, b.add(row, 1))};
}

/// Thread q of the group tells CTA q of the cluster.
void ProgramEmitter::emitRelease(ReleaseOp op) {
  int64_t cluster = context.schedule.getCluster();
  Value releases = b.less(threadInGroup, cluster);
  if (op.getCondition())
    releases = b.logicalAnd(one(op.getCondition()), releases);
  Value empty = ringOf(op.getRing()).emptyBarrier(slotOf(op.getCursor()).slot);
  if (cluster > 1)
    ptx::mbarrierArriveRemote(b, empty, b.bitAnd(threadInGroup, cluster - 1), releases);
  else
    ptx::mbarrierArrive(b, empty, releases);
}

WgmmaOperand ProgramEmitter::operandOf(Value view, Value cursor) {
  auto op = view.getDefiningOp<ViewOp>();
  return {one(view), op, ringOf(op.getRing()), slotOf(cursor).slot};
}

void ProgramEmitter::emitProduct(ProductOp op) {
  values[op] = {emitWgmmaProduct(b, operandOf(op.getA(), op.getACursor()), operandOf(op.getB(), op.getBCursor()),
                                 one(op.getAccumulator()), op.getDepth())};
}

void ProgramEmitter::emitStore(StoreOp op) {
  TilePosition position{one(op.getBlockRow()), one(op.getRow()), one(op.getColumn())};
  AccumulatorFragment fragment;
  fragment.slabs = 1;
  fragment.groups = cast<AccumulatorType>(op.getAccumulator().getType()).getColumns() / 8;
  fragment.values = b.unpack(one(op.getAccumulator()));
  // The store's thread coordinates are computed here, once per tile: kept from tile to tile they would take registers
  // that the accumulators need.
  Value warp = b.shiftRight(ptx::opaque(b, threadInGroup), 5);
  fragment.row = b.add(one(op.getGroupRow()), b.mul(warp, rowsOfWarp));
  fragment.column = one(op.getGroupColumn());
  if (op.getStaged())
    emitStagedStore(context, op, position, fragment, one(op.getGroup()));
  else
    emitDirectStore(context, op, position, fragment);
}

} // namespace

bool sparsec::hasRoles(ProgramOp program) { return !program.getBody().getOps<RoleOp>().empty(); }

int64_t sparsec::threadsOfRoles(ProgramOp program) {
  int64_t warpgroups = 0;
  for (RoleOp role : program.getBody().getOps<RoleOp>())
    warpgroups += role.getWarpgroups();
  return threadsOfWarpgroup * warpgroups;
}

void sparsec::emitRoles(SpmmContext &context) { ProgramEmitter(context).emit(); }
