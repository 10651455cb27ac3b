// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProgramEmitter.h"

#include "CutTiles.h"
#include "Ptx.h"
#include "ampere/AmpereOps.h"
#include "hopper/HopperOps.h"
#include "hopper/Products.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr int64_t threadsOfWarpgroup = 128;
static constexpr int64_t warpsOfWarpgroup = threadsOfWarpgroup / warpLanes;
/// The issuer's word: nobody, else the number of the tile in the CTA after that.
static constexpr int64_t noIssuer = 0;
/// A read takes some 30 cycles, and products 500 to 1000.
static constexpr int64_t mostReads = 64;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

ProgramEmitter::ProgramEmitter(ProgramContext &context)
    : context(context), b(context.b), values(b, context.program, context.schedule.getInstruction()) {
  if (context.schedule.getInstruction() == Instruction::wgmma)
    chip = std::make_unique<HopperOps>(*this);
  else
    chip = std::make_unique<AmpereOps>(*this);
}

ProgramEmitter::~ProgramEmitter() = default;

void ProgramEmitter::emit(FamilyOps &ops) {
  family = &ops;
  auto roles = llvm::to_vector(context.program.getBody().getOps<RoleOp>());
  if (roles.size() == 1 && roles.front().getUnit() == RoleUnit::warp)
    return emitWarps(roles.front());
  initBarriers();
  context.waitForKernelInFront();
  warpgroup = ptx::broadcastFirstLane(b, b.shiftRight(context.thread, 7));
  emitRolesFrom(roles, /*firstWarpgroup=*/0);
  // A CTA must not exit while others of its cluster may still write into its shared memory or arrive at its barriers.
  if (context.schedule.getCluster() > 1)
    ptx::barrierCluster(b);
}

void ProgramEmitter::startKernelBehind() {
  if (hasDependentLaunch(context.program))
    ptx::gridDependentsLaunch(b);
}

/// All warps of the CTA are groups of one role, or its slices.
void ProgramEmitter::emitWarps(RoleOp role) {
  isOnlyRole = true;
  context.waitForKernelInFront();
  tileOfCta = hasSlices() ? ptx::broadcastFirstLane(b, b.shiftRight(context.thread, 5)) : b.i32(0);
  makeRings(tileOfCta);
  threadInGroup = b.bitAnd(context.thread, warpLanes - 1);
  emitBlock(role.getBody().front());
}

Value ProgramEmitter::sharedMemoryOf(Value number) {
  std::optional<uint64_t> bytes = context.program.getTileBytes();
  return bytes ? b.byteOffset(context.sharedMemory, b.mul(number, *bytes)) : context.sharedMemory;
}

void ProgramEmitter::makeRings(Value tile) {
  Value base = sharedMemoryOf(tile);
  rings.clear();
  for (RingOp ring : context.program.getBody().getOps<RingOp>())
    rings.try_emplace(ring, context, ring, base);
}

void ProgramEmitter::initBarriers() {
  writeOnes(context);
  b.ifThen(b.equal(context.thread, 0), [&] {
    for (int64_t part = 0; part < partsOfCta(context.schedule); ++part) {
      makeRings(b.i32(part));
      for (RingOp ring : context.program.getBody().getOps<RingOp>())
        if (ring.getBarrierOffset())
          ringOf(ring).initBarriers(postsOf(ring), releasesOf(ring) * releasingCtas(ring));
    }
    ptx::mbarrierInitFence(b);
    IssuerOp issue;
    context.program.walk([&](IssuerOp op) { issue = op; });
    if (issue)
      ptx::storeRelaxed(b, b.byteOffset(context.sharedMemory, *issue.getOffset()), b.i32(noIssuer));
  });
  if (context.schedule.getCluster() > 1)
    ptx::barrierCluster(b);
  else
    ptx::barrierCta(b);
}

/// Arrivals by which a slot of a ring is full: one of the role of one thread that posts it, or of every group of a role
/// of warps; one of every thread of a warp that copies scales, or of one that stages them.
int64_t ProgramEmitter::postsOf(RingOp ring) {
  int64_t posts = 0, scales = 0;
  for (Operation *user : ring->getUsers())
    if (isa<CopyScalesOp>(user))
      scales = warpLanes;
    else if (auto stage = dyn_cast<StageScalesOp>(user); stage && stage.getRing() == ring.getResult())
      scales = 1;
    else if (auto role = user->getParentOfType<RoleOp>(); isa<PostOp>(user))
      posts = role.getUnit() == RoleUnit::warp ? int64_t(role.getCount()) : 1;
  return std::max<int64_t>(posts + scales, 1);
}

/// Arrivals of this CTA by which a slot of a ring is released: one of every group, or of every warp (see RingOp).
int64_t ProgramEmitter::releasesOf(RingOp ring) {
  if (std::optional<uint64_t> releases = ring.getReleases())
    return *releases;
  int64_t releases = 0;
  for (RoleOp role : context.program.getBody().getOps<RoleOp>()) {
    bool isReleasing = role.walk([&](ReleaseOp op) {
                             return op.getRing() == ring.getResult() ? WalkResult::interrupt() : WalkResult::advance();
                           })
                           .wasInterrupted();
    bool byWarps = role.getUnit() == RoleUnit::warpgroup && areThreadsReading(ring);
    releases += isReleasing ? int64_t(role.getCount()) * (byWarps ? warpsOfWarpgroup : 1) : 0;
  }
  return releases;
}

/// Whether threads read the slots of a ring themselves. All warps of a group then release a slot, because no matrix
/// instruction orders their reads before the release of another warp.
bool ProgramEmitter::areThreadsReading(RingOp ring) {
  bool areReading = ring.getMessages();
  context.program.walk(
      [&](LoadFragmentOp load) { areReading |= load.getView().getDefiningOp<ViewOp>().getRing() == ring.getResult(); });
  return areReading || llvm::any_of(ring->getUsers(), [&](Operation *user) {
           auto stage = dyn_cast<StageScalesOp>(user);
           return isa<RowScalesOp, StagedScalesOp>(user) || (stage && stage.getTiles() == ring.getResult());
         });
}

/// A copy with multicast writes into the slots of all CTAs of the cluster: all have to release them.
int64_t ProgramEmitter::releasingCtas(RingOp ring) {
  bool isShared = false;
  context.program.walk([&](CopyOp copy) { isShared |= copy.getMulticast() && copy.getRing() == ring.getResult(); });
  return isShared ? int64_t(context.schedule.getCluster()) : 1;
}

/// The first role has the warpgroups from `firstWarpgroup` on, and so on.
void ProgramEmitter::emitRolesFrom(ArrayRef<RoleOp> roles, int64_t firstWarpgroup) {
  RoleOp first = roles.front();
  size_t sharers = RoleOp::countSharers(roles);
  if (sharers == roles.size())
    return emitRoles(roles, firstWarpgroup);
  int64_t end = firstWarpgroup + first.getWarpgroups(partsOfCta(context.schedule));
  b.ifThenElse(
      b.less(warpgroup, end), TypeRange(),
      [&] {
        emitRoles(roles.take_front(sharers), firstWarpgroup);
        return Values();
      },
      [&] {
        emitRolesFrom(roles.drop_front(sharers), end);
        return Values();
      });
}

int64_t ProgramEmitter::threadsOfCopy() { return hasSlices() ? warpLanes : threadsOfWarps(context.schedule); }

/// Roles of one thread compute their number in their warpgroup.
int64_t ProgramEmitter::threadsOfGroup(RoleOp role) {
  return role.getUnit() == RoleUnit::warp ? warpLanes : threadsOfWarpgroup;
}

/// Roles that share a warpgroup, or another role.
void ProgramEmitter::emitRoles(ArrayRef<RoleOp> sharers, int64_t firstWarpgroup) {
  RoleOp first = sharers.front();
  bool isThread = first.getUnit() == RoleUnit::thread;
  if (first.getRegisters())
    ptx::setRegisters(b, first.getRegisters(), /*increase=*/!isThread);
  int64_t firstWarp = warpsOfWarpgroup * firstWarpgroup;
  for (RoleOp role : sharers) {
    threadInGroup = b.bitAnd(context.thread, threadsOfGroup(role) - 1);
    placeGroup(role, firstWarpgroup, firstWarp);
    makeRings(tileOfCta);
    Block &body = role.getBody().front();
    if (role.getUnit() == RoleUnit::thread)
      b.ifThen(isThreadOfRole(firstWarp), [&] { emitBlock(body); });
    else if (isThread)
      b.ifThen(isWarpOfRole(role), [&] { emitBlock(body); });
    else
      emitBlock(body);
    firstWarp += role.getWarps() * partsOfCta(context.schedule);
  }
}

/// Each of the tiles side by side in a CTA, or of the slices of its tile, has `count` warpgroups of the role, one after
/// the other, or as many warps. In a role of one thread, each has one warp.
void ProgramEmitter::placeGroup(RoleOp role, int64_t firstWarpgroup, int64_t firstWarp) {
  Value inRole = b.sub(warpgroup, firstWarpgroup);
  if (role.getUnit() == RoleUnit::warp)
    inRole = ptx::broadcastFirstLane(b, b.sub(b.shiftRight(context.thread, 5), firstWarp));
  if (partsOfCta(context.schedule) == 1) {
    tileOfCta = b.i32(0);
    group = inRole;
  } else if (role.getUnit() == RoleUnit::thread) {
    tileOfCta = ptx::broadcastFirstLane(b, b.shiftRight(threadInGroup, 5));
    group = b.i32(0);
  } else {
    tileOfCta = b.divide(inRole, role.getCount());
    group = b.sub(inRole, b.mul(tileOfCta, role.getCount()));
  }
}

Value ProgramEmitter::isThreadOfRole(int64_t firstWarp) {
  if (partsOfCta(context.schedule) == 1)
    return b.equal(context.thread, warpLanes * firstWarp);
  Value lane = b.bitAnd(context.thread, warpLanes - 1);
  return b.logicalAnd(b.equal(lane, 0), b.less(tileOfCta, partsOfCta(context.schedule)));
}

/// Warps in front of those of the role have negative numbers in it.
Value ProgramEmitter::isWarpOfRole(RoleOp role) {
  const int64_t parts = partsOfCta(context.schedule), count = parts == 1 ? int64_t(role.getCount()) : parts;
  return b.compare(arith::CmpIPredicate::ult, parts == 1 ? group : tileOfCta, b.i32(count));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Values ProgramEmitter::emitBlock(Block &block) {
  bool hasTerminator = block.mightHaveTerminator();
  for (Operation &op : hasTerminator ? block.without_terminator() : llvm::make_range(block.begin(), block.end()))
    emitOp(op);
  return hasTerminator ? values.flat(block.getTerminator()->getOperands()) : Values();
}

void ProgramEmitter::emitOp(Operation &op) {
  TypeSwitch<Operation *>(&op)
      .Case([&](TileLoopOp loop) { emitTileLoop(loop); })
      .Case([&](TileFollowsOp op) { values.set(op, b.select(tileFollows(), b.i32(1), b.i32(0))); })
      .Case([&](scf::ForOp loop) { emitFor(loop); })
      .Case([&](scf::IfOp branch) { emitIf(branch); })
      .Case([&](scf::WhileOp loop) { emitWhile(loop); })
      .Case([&](LoopOp loop) { emitLoop(loop); })
      .Case([&](WalkOp loop) { emitWalk(loop); })
      .Case([&](GroupOp group) { values.set(group, readGroup(group)); })
      .Case([&](GroupPartOp part) { emitGroupPart(part); })
      .Case([&](ClusterRankOp rank) { values.set(rank, ptx::clusterRank(b)); })
      .Case([&](CursorOp cursor) { emitCursor(cursor); })
      .Case([&](NextOp next) {
        values.set(next, packState(ringOf(next.getRing()).advance(slotOf(next.getCursor()), next.getStep())));
      })
      .Case([&](AcquireOp acquire) { ringOf(acquire.getRing()).waitUntilFree(slotOf(acquire.getCursor())); })
      .Case([&](PostOp post) { emitPost(post); })
      .Case([&](CopyOp copy) { chip->emitCopy(copy); })
      .Case([&](CopyGroupOp group) { emitCopyGroup(group); })
      .Case([&](AwaitCopiesOp await) { ptx::copyAsyncWait(b, await.getOutstanding()); })
      .Case([&](SliceOp slice) { values.set(slice, tileOfCta); })
      .Case([&](BarrierOp op) { op.getGroup() ? ptx::barrierWarp(b) : barrierOfRole(op->getParentOfType<RoleOp>()); })
      .Case([&](math::CountTrailingZerosOp op) {
        Value word = values.one(op.getOperand());
        values.set(op,
                   LLVM::CountTrailingZerosOp::create(b, word.getType(), word, /*is_zero_poison=*/false).getResult());
      })
      .Case([&](SizeOp size) {
        int64_t argument = cast<BlockArgument>(size.getSource()).getArgNumber();
        values.set(size, context.parameters.get(ParameterKind::size, argument, size.getDimension()));
      })
      .Case([&](ReadPlanOp read) { emitReadPlan(read); })
      .Case([&](BlockScaleOp scale) { emitBlockScale(scale); })
      .Case([&](WaitOp wait) { emitWait(wait); })
      .Case([&](TestOp test) { values.set(test, ringOf(test.getRing()).isFull(slotOf(test.getCursor()))); })
      .Case([&](ReleaseOp release) { emitRelease(release); })
      .Case([&](FirstStepOp op) {
        setStep(op, walks[op.getWalk()]->first());
        context.waitBehindPattern();
      })
      .Case([&](NextStepOp op) { setStep(op, walks[op.getWalk()]->next(values.of(op.getStep()))); })
      .Case([&](ReadStepOp op) { values.assign(op.getVisited(), walks[op.getWalk()]->read(values.of(op.getStep()))); })
      .Case([&](ViewOp view) { chip->emitView(view); })
      .Case([&](ZeroOp zero) { values.set(zero, values.zeroSums(zero.getType())); })
      .Case([&](UnsetOp unset) { values.set(unset, values.unsetSums(unset.getType())); })
      .Case([&](SleepOp op) { ptx::sleep(b, op.getNanoseconds()); })
      .Case([&](LoadFragmentOp load) { chip->emitLoadFragment(load); })
      .Case([&](ToFragmentOp op) {
        values.set(op, ptx::packPairs(b, op.getType().getElementType(), values.sums(op.getAccumulator())));
      })
      .Case([&](ProductOp product) { chip->emitProduct(product); })
      .Case([&](AwaitOp await) { chip->emitAwait(await); })
      .Case([&](PromoteOp promote) { emitPromote(promote); })
      .Case([&](AddSlicesOp add) { emitAddSlices(add); })
      // Shared memory must outlive the stores that read it.
      .Case([&](DrainStoresOp) { b.ifThen(isFirstThread(), [&] { ptx::bulkWait(b, 0, /*read=*/false); }); })
      .Case([&](IssuerOp op) { values.set(op, readIssuer(*op.getOffset())); })
      .Case([&](IssueBeginOp op) { emitIssueBegin(op); })
      .Case([&](IssueEndOp op) { setIssuer(*op.getOffset(), b.i32(noIssuer)); })
      .Default([&](Operation *other) {
        if (!family->emit(*other))
          emitArithmetic(*other);
      });
}

void ProgramEmitter::emitArithmetic(Operation &op) {
  assert(isa<arith::ArithDialect>(op.getDialect()) && "other ops have a case of their own");
  IRMapping mapping;
  for (Value operand : op.getOperands())
    mapping.map(operand, values.one(operand));
  values.set(op.getResult(0), b.clone(op, mapping)->getResult(0));
}

void ProgramEmitter::emitTileLoop(TileLoopOp loop) {
  auto emitTile = [&](Value tileRow, Value panel, ValueRange carried) {
    Values arguments{tileRow, panel};
    llvm::append_range(arguments, carried);
    values.assign(loop.getBody().getArguments(), arguments);
    return emitBlock(loop.getBody().front());
  };
  Values inits = values.flat(loop.getInits());
  // The body may read the thread anew, which nothing behind the loop can use.
  auto outside = std::pair(context.thread, threadInGroup);
  auto emitFollowed = [&](Value tileRow, Value panel, ValueRange carried, llvm::function_ref<Value()> follows) {
    tileFollows = follows;
    return emitTile(tileRow, panel, carried);
  };
  Values results = loop.getCounter()    ? emitTilesByCounter(context, tileOfCta, inits, emitFollowed)
                   : loop.getCut()      ? emitCutTiles(context, tileOfCta, inits, emitFollowed)
                   : loop.getPeriodic() ? emitRounds(context, inits, emitTile)
                                        : emitTileRows(context, inits, emitTile);
  std::tie(context.thread, threadInGroup) = outside;
  values.assign(loop.getResults(), results);
}

void ProgramEmitter::emitFor(scf::ForOp loop) {
  Values results =
      b.forLoop(values.one(loop.getLowerBound()), values.one(loop.getUpperBound()), values.one(loop.getStep()),
                values.flat(loop.getInitArgs()), [&](Value index, ValueRange carried) {
                  values.set(loop.getInductionVar(), index);
                  values.assign(loop.getRegionIterArgs(), carried);
                  return emitBlock(*loop.getBody());
                });
  values.assign(loop.getResults(), results);
}

void ProgramEmitter::emitIf(scf::IfOp branch) {
  if (branch.getElseRegion().empty())
    return b.ifThen(values.one(branch.getCondition()), [&] { emitBlock(*branch.thenBlock()); });
  Values results = b.ifThenElse(
      values.one(branch.getCondition()), values.flatTypes(branch.getResultTypes()),
      [&] { return emitBlock(*branch.thenBlock()); }, [&] { return emitBlock(*branch.elseBlock()); });
  values.assign(branch.getResults(), results);
}

void ProgramEmitter::emitWhile(scf::WhileOp loop) {
  Values inits = values.flat(loop.getInits());
  auto emitted = scf::WhileOp::create(b, values.flatTypes(loop.getResultTypes()), inits);
  {
    OpBuilder::InsertionGuard guard(b);
    Values test = emitRegion(loop.getBefore(), emitted.getBefore());
    scf::ConditionOp::create(b, test.front(), ValueRange(test).drop_front());
    scf::YieldOp::create(b, emitRegion(loop.getAfter(), emitted.getAfter()));
  }
  values.assign(loop.getResults(), emitted.getResults());
}

void ProgramEmitter::emitLoop(LoopOp loop) {
  Block &body = loop.getBody().front();
  Values results = b.whileLoop(
      values.flat(loop.getInits()),
      [&](ValueRange carried) {
        values.assign(body.getArguments(), carried);
        Value tested = values.one(body.getArgument(loop.getTested()));
        auto predicate = loop.getTest() == LoopTest::ne ? arith::CmpIPredicate::ne : arith::CmpIPredicate::sge;
        return b.compare(predicate, tested, b.i32(loop.getNumber()));
      },
      [&](ValueRange carried) {
        values.assign(body.getArguments(), carried);
        return emitBlock(body);
      });
  values.assign(loop.getResults(), results);
}

void ProgramEmitter::setWalk(WalkOpInterface op, std::unique_ptr<WalkEmitter> walk) {
  if (llvm::any_of(op->getUsers(), [](Operation *user) { return isa<FirstStepOp>(user); }))
    walk->beginSteps();
  walks[op->getResult(0)] = std::move(walk);
}

void ProgramEmitter::emitWalk(WalkOp loop) {
  WalkEmitter &walk = *walks[loop.getWalk()];
  Block &body = loop.getBody().front();
  auto flat = [&](ValueRange of) { return walk.packsCursors() ? packCursors(of) : values.flat(of); };
  auto assign = [&](ValueRange of, ValueRange emitted) {
    walk.packsCursors() ? assignPacked(of, emitted) : values.assign(of, emitted);
  };
  auto isUsed = llvm::map_to_vector(loop.getVisited(), [](Value visited) { return !visited.use_empty(); });
  Values results = walk.loop(isUsed, flat(loop.getInits()), [&](ValueRange visited, ValueRange carried) {
    values.assign(loop.getVisited(), visited);
    assign(loop.getCarried(), carried);
    emitBlock(body);
    return flat(body.getTerminator()->getOperands());
  });
  assign(loop.getResults(), results);
}

/// Values with each cursor in one register: its slot, and in the lowest bit the parity of its phase.
Values ProgramEmitter::packCursors(ValueRange of) {
  Values packed;
  for (Value value : of) {
    ArrayRef<Value> parts = values.of(value);
    if (isa<CursorType>(value.getType()))
      packed.push_back(b.add(b.shiftLeft(parts[0], 1), parts[1]));
    else
      llvm::append_range(packed, parts);
  }
  return packed;
}

void ProgramEmitter::assignPacked(ValueRange of, ValueRange packed) {
  Values flat;
  for (Value value : of) {
    bool isCursor = isa<CursorType>(value.getType());
    size_t count = isCursor ? 1 : values.flatTypes(value.getType()).size();
    if (isCursor)
      flat.append({b.shiftRight(packed[0], 1), b.bitAnd(packed[0], 1)});
    else
      llvm::append_range(flat, packed.take_front(count));
    packed = packed.drop_front(count);
  }
  values.assign(of, flat);
}

/// Emits the block of a region into another region, behind whose end the builder then is.
Values ProgramEmitter::emitRegion(Region &region, Region &into) {
  Block &block = region.front();
  SmallVector<Type> types = values.flatTypes(block.getArgumentTypes());
  Block *emitted = b.createBlock(&into, {}, types, SmallVector<Location>(types.size(), b.getLoc()));
  values.assign(block.getArguments(), emitted->getArguments());
  return emitBlock(block);
}

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

/// The number of the group for an op that asks for it.
Value ProgramEmitter::readGroup(Operation *op) {
  bool isInLoop = !isa<RoleOp>(op->getParentOp());
  if (!isOnlyRole)
    return isInLoop ? ptx::opaque(b, group) : group;
  if (isInLoop) {
    context.thread = ptx::opaque(b, context.thread);
    threadInGroup = b.bitAnd(context.thread, warpLanes - 1);
  }
  return ptx::broadcastFirstLane(b, b.shiftRight(context.thread, 5));
}

void ProgramEmitter::emitGroupPart(GroupPartOp op) {
  Value number = readGroup(op);
  values.set(op.getGroup(), number);
  values.set(op.getRow(), b.mul(b.divide(number, op.getAcross()), op.getRows()));
  values.set(op.getColumn(), b.mul(b.modulo(number, op.getAcross()), op.getColumns()));
}

template <typename Op> void ProgramEmitter::setStep(Op op, ValueRange step) {
  values.set(op.getResult(), step);
  if (!op.getVisited().empty())
    values.assign(op.getVisited(), walks[op.getWalk()]->read(step));
}

/// Single elements are copied by loads and stores, which are complete at once: they make no group.
void ProgramEmitter::emitCopyGroup(CopyGroupOp op) {
  Block &body = op.getBody().front();
  if (op.getCondition())
    b.ifThen(values.one(op.getCondition()), [&] { emitBlock(body); });
  else
    emitBlock(body);
  if (context.schedule.getCopy() != Copy::scalar)
    ptx::copyAsyncCommit(b);
}

void ProgramEmitter::emitCursor(CursorOp op) {
  Ring &ring = ringOf(op.getRing());
  values.set(op, packState(op.getPosition() ? ring.at(values.one(op.getPosition())) : ring.begin()));
}

void ProgramEmitter::emitReadPlan(ReadPlanOp op) {
  Value section = context.parameters.get(ParameterKind::plan_section, 0, static_cast<int64_t>(op.getSection()));
  values.set(op, b.loadElement(b.i32Type(), section, values.one(op.getIndex())));
}

void ProgramEmitter::emitBlockScale(BlockScaleOp op) {
  int64_t argument = cast<BlockArgument>(op.getScales()).getArgNumber();
  Value scales = context.parameters.get(ParameterKind::pointer, argument);
  values.set(op, b.loadElement(b.getF32Type(), scales, values.one(op.getBlock())));
}

/// A thread has f32 of all columns of its rows, in the order of the columns: of every 8 two neighbours in two rows.
void ProgramEmitter::emitPromote(PromoteOp op) {
  constexpr int64_t columnsOfRow = 2, rowsOfThread = 2, sumsOfColumns = 4;
  Values sums = values.sums(op.getAccumulator()), parts = values.sums(op.getPart());
  int64_t slabs = values.slabs(op.getType()), sumsOfSlab = sums.size() / slabs, partsOfSlab = parts.size() / slabs;
  int64_t first = int64_t(op.getColumn()) * sumsOfSlab / op.getType().getColumns();
  Values scales = op.getRows() ? scalesOfRows(op) : scalesOfColumns(op, partsOfSlab / columnsOfRow);
  for (int64_t slab = 0; slab < slabs; ++slab)
    for (int64_t i = 0; i < partsOfSlab; ++i) {
      Value &sum = sums[slab * sumsOfSlab + first + i], part = parts[slab * partsOfSlab + i];
      int64_t row = slab * rowsOfThread + i % sumsOfColumns / columnsOfRow;
      int64_t column = i / sumsOfColumns * columnsOfRow + i % columnsOfRow;
      Value scale = scales[op.getRows() ? row : column];
      sum = scale ? b.fma(part, scale, sum) : Value(arith::AddFOp::create(b, sum, part));
    }
  values.set(op, values.fromSums(sums));
}

/// Named barriers of a tile come first, one for each group.
void ProgramEmitter::barrierOfRole(RoleOp role) {
  if (isOnlyRole)
    return ptx::barrierCta(b);
  const int64_t groups = role.getCount();
  ptx::barrierNamed(b, b.i32(groups + 1), int64_t(context.schedule.getSlices()) * groups * threadsOfWarpgroup);
}

/// A thread has the same places of the tile in all slices. Its sums go through shared memory in vectors: that of its
/// slice, or a part for each slice but the first one.
void ProgramEmitter::emitAddSlices(AddSlicesOp op) {
  constexpr int64_t sumsOfVector = 4;
  auto role = op->getParentOfType<RoleOp>();
  const int64_t bytesOfVectors = vectorBytes * (isOnlyRole ? int64_t(warpLanes) : threadsOfTile(role));
  Values sums = values.sums(op.getAccumulator());
  auto type = VectorType::get(sumsOfVector, b.getF32Type());
  Value placeOfThread = b.mul(isOnlyRole ? threadInGroup : threadOfTile(), vectorBytes);
  auto placeIn = [&](Value slice) {
    if (isOnlyRole)
      return b.byteOffset(sharedMemoryOf(slice), placeOfThread);
    const int64_t bytesOfSlice = bytesOfVectors * int64_t(sums.size()) / sumsOfVector;
    Value part = b.byteOffset(context.sharedMemory, b.mul(b.sub(slice, 1), bytesOfSlice));
    return b.byteOffset(b.byteOffset(part, *op.getOffset()), placeOfThread);
  };
  Value isFirst = b.equal(tileOfCta, 0);
  b.ifThen(b.logicalNot(isFirst), [&] {
    if (isOnlyRole)
      ptx::barrierWarp(b); // all lanes have read the slots
    Value place = placeIn(tileOfCta);
    for (size_t i = 0; i < sums.size(); i += sumsOfVector)
      LLVM::StoreOp::create(b, b.vector(ValueRange(sums).slice(i, sumsOfVector)),
                            b.byteOffset(place, i / sumsOfVector * bytesOfVectors), /*alignment=*/vectorBytes);
  });
  barrierOfRole(role);
  Values all = b.ifThenElse(
      isFirst, ValueRange(sums).getTypes(),
      [&] {
        Values total = sums;
        for (int64_t slice = 1; slice < int64_t(context.schedule.getSlices()); ++slice)
          for (size_t i = 0; i < sums.size(); i += sumsOfVector) {
            Value loaded = b.load(type, b.byteOffset(placeIn(b.i32(slice)), i / sumsOfVector * bytesOfVectors));
            for (int64_t j = 0; j < sumsOfVector; ++j)
              total[i + j] = b.addF(total[i + j], LLVM::ExtractElementOp::create(b, loaded, b.i32(j)));
          }
        return total;
      },
      [&] { return sums; });
  values.set(op, values.fromSums(all));
}

/// The scales of a thread's rows in a part, times that of the block where it has one.
Values ProgramEmitter::scalesOfRows(PromoteOp op) {
  Value ofBlock = values.one(op.getScale());
  return llvm::map_to_vector<6>(values.of(op.getRows()),
                                [&](Value scale) { return ofBlock ? b.mulF(scale, ofBlock) : scale; });
}

/// The scales of the `count` columns of a part in which a thread has sums; null where there are none. BlockRows has the
/// places of those of columns.
Values ProgramEmitter::scalesOfColumns(PromoteOp op, int64_t count) {
  if (!op.getScale() || op.getScale().getType().isF32())
    return Values(count, values.one(op.getScale()));
  constexpr int64_t groupsOfWarp = 8;
  const bool areOwn = isa<ThreadScalesType>(op.getScale().getType());
  ArrayRef<Value> held = values.of(op.getScale());
  Values scales;
  for (int64_t number = 0; number < count; ++number)
    scales.push_back(areOwn ? held[number] : ptx::fromGroup(b, held[number / groupsOfWarp], number % groupsOfWarp));
  return scales;
}

/// The first lane of a warp posts what all its lanes wrote.
void ProgramEmitter::emitPost(PostOp op) {
  Ring &ring = ringOf(op.getRing());
  Ring::State slot = slotOf(op.getCursor());
  if (!op.getMessages().empty())
    ring.setMessages(slot.slot, values.flat(op.getMessages()));
  bool isWarp = op->getParentOfType<RoleOp>().getUnit() == RoleUnit::warp;
  if (isWarp)
    ptx::barrierWarp(b);
  if (op.getEmpty())
    ptx::mbarrierArrive(b, ring.fullBarrier(slot.slot), isWarp ? isFirstThread() : b.boolean(true));
  else
    ring.expect(slot, values.one(op.getBytes()));
}

/// Neighbouring waits are emitted with the first of them. They test all barriers at once, because one wait after the
/// other takes the latency of a barrier each, and wait in their order only if one is not complete. The tests are in
/// this order too: a test may take the barrier of an earlier phase for that of its own, but not behind one that
/// succeeds.
void ProgramEmitter::emitWait(WaitOp op) {
  if (isa_and_nonnull<WaitOp>(op->getPrevNode()))
    return;
  SmallVector<WaitOp> waits;
  for (Operation *next = op; isa_and_nonnull<WaitOp>(next); next = next->getNextNode())
    waits.push_back(cast<WaitOp>(next));
  auto waitInOrder = [&] {
    for (WaitOp wait : waits)
      ringOf(wait.getRing()).wait(slotOf(wait.getCursor()));
  };
  if (waits.size() > 1) {
    Value areFull;
    for (WaitOp wait : waits) {
      Value isFull = ringOf(wait.getRing()).isFull(slotOf(wait.getCursor()));
      areFull = areFull ? b.logicalAnd(areFull, isFull) : isFull;
    }
    b.ifThen(b.logicalNot(areFull), waitInOrder);
  } else {
    waitInOrder();
  }
  for (WaitOp wait : waits)
    if (wait->getNumResults() > 0)
      values.assign(wait.getResults(), ringOf(wait.getRing()).messages(slotOf(wait.getCursor()).slot));
}

/// Thread q of the group tells CTA q of the cluster. Where threads read the slot, lane q of every warp does, after its
/// whole warp. A role of one thread has no others to wait for.
void ProgramEmitter::emitRelease(ReleaseOp op) {
  auto ring = op.getRing().getDefiningOp<RingOp>();
  if (op.getGroups())
    return releaseForOthers(ring, op);
  bool areReading = areThreadsReading(ring);
  if (areReading && op->getParentOfType<RoleOp>().getUnit() != RoleUnit::thread)
    ptx::barrierWarp(b);
  int64_t cluster = releasingCtas(ring);
  Value releaser = areReading ? b.bitAnd(context.thread, warpLanes - 1) : threadInGroup;
  Value releases = b.less(releaser, cluster);
  if (op.getCondition())
    releases = b.logicalAnd(values.one(op.getCondition()), releases);
  Value empty = ringOf(op.getRing()).emptyBarrier(slotOf(op.getCursor()).slot);
  if (cluster > 1)
    ptx::mbarrierArriveRemote(b, empty, b.bitAnd(releaser, cluster - 1), releases);
  else
    ptx::mbarrierArrive(b, empty, releases);
}

/// By one thread, in its CTA.
void ProgramEmitter::releaseForOthers(RingOp ring, ReleaseOp op) {
  Value groups = values.one(op.getGroups()), empty = ringOf(ring).emptyBarrier(slotOf(op.getCursor()).slot);
  b.ifThen(b.less(b.i32(0), groups), [&] { ptx::mbarrierArriveFor(b, empty, groups); });
}

//===----------------------------------------------------------------------===//
// Barriers of a tile and the issuer
//===----------------------------------------------------------------------===//

int64_t ProgramEmitter::threadsOfTile(RoleOp role) { return int64_t(role.getCount()) * threadsOfWarpgroup; }

void ProgramEmitter::barrierOfTile(RoleOp role, int64_t firstBarrier) {
  ptx::barrierNamed(b, b.add(tileOfCta, firstBarrier), threadsOfTile(role));
}

void ProgramEmitter::setIssuer(int64_t offset, Value issuer) {
  b.ifThen(isFirstThread(), [&] { ptx::storeRelaxed(b, b.byteOffset(context.sharedMemory, offset), issuer); });
}

void ProgramEmitter::emitIssueBegin(IssueBeginOp op) {
  Value self = b.add(tileOfCta, noIssuer + 1);
  b.whileLoop(
      {values.one(op.getIssuer()), b.i32(0)},
      [&](ValueRange state) {
        Value exists = b.compare(arith::CmpIPredicate::ne, state[0], b.i32(noIssuer));
        Value isOther = b.compare(arith::CmpIPredicate::ne, state[0], self);
        return b.logicalAnd(b.logicalAnd(exists, isOther), b.less(state[1], mostReads));
      },
      [&](ValueRange state) { return Values{readIssuer(*op.getOffset()), b.add(state[1], 1)}; });
  setIssuer(*op.getOffset(), self);
}

int64_t sparsec::threadsOfRoles(ProgramOp program) {
  int64_t threads = 0;
  auto roles = llvm::to_vector(program.getBody().getOps<RoleOp>());
  for (size_t i = 0; i < roles.size(); i += RoleOp::countSharers(ArrayRef(roles).drop_front(i)))
    threads += roles[i].getUnit() == RoleUnit::warp
                   ? warpLanes * int64_t(roles[i].getCount())
                   : threadsOfWarpgroup * roles[i].getWarpgroups(partsOfCta(program.getSchedule()));
  return threads;
}
