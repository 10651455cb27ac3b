// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verifier of a program checks its roles of warps, and the parts of shared memory that its ops use. The labels in
// the comments are those of SPEC.md.

#include "SparsecDialect.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t barrierBytes = 8, messageBytes = 8; // a slot has a full and an empty barrier, and maybe two messages
constexpr int64_t issuerBytes = 4;
constexpr int64_t swizzleAlignment = 1024; // where the 128-byte swizzle of tensor copies begins again

/// Bytes from `begin` up to `end`.
struct Range {
  int64_t begin, end;
  std::string what; // with its verb

  std::string text() const { return (Twine(what) + " " + Twine(begin) + " to " + Twine(end)).str(); }
};

class SharedMemoryRanges {
public:
  explicit SharedMemoryRanges(ProgramOp program) : program(program) {}

  LogicalResult verify();

private:
  void addRing(RingOp ring);
  void addStaging(StoreOp store);
  void addSums(AddSlicesOp op);
  LogicalResult verifyLimits(ArrayRef<Range> ranges, int64_t begin, int64_t end);
  void add(SmallVectorImpl<Range> &ranges, int64_t begin, int64_t bytes, const Twine &what) {
    int64_t end;
    if (llvm::AddOverflow(begin, bytes, end))
      end = std::numeric_limits<int64_t>::max();
    ranges.push_back({begin, end, what.str()});
  }
  int64_t slices() { return program.getSchedule().getSlices(); }
  bool hasTensorCopies() { return program.getSchedule().getCopy() == Copy::tma; }

  ProgramOp program;
  SmallVector<Range> ofTile, ofCta;
  llvm::DenseSet<std::pair<Operation *, int64_t>> stagings; // by role and offset
  bool isAligned = true;
};

/// Written by hand, sizes may be anything: what does not fit is larger than any memory.
int64_t product(std::initializer_list<int64_t> factors) {
  int64_t result = 1;
  for (int64_t factor : factors)
    if (llvm::MulOverflow(result, factor, result))
      return std::numeric_limits<int64_t>::max();
  return result;
}

int64_t bytesOf(BufferType buffer) {
  return product({buffer.getRows(), buffer.getColumns(), buffer.getElementType().getIntOrFloatBitWidth() / 8});
}

void SharedMemoryRanges::addRing(RingOp ring) {
  RingType type = ring.getType();
  if (std::optional<ArrayRef<int64_t>> offsets = ring.getOffsets())
    for (auto [index, offset, buffer] : llvm::enumerate(*offsets, type.getBuffers())) {
      add(ofTile, offset, product({type.getStages(), bytesOf(cast<BufferType>(buffer))}),
          "buffer " + Twine(index) + " of a ring has");
      isAligned &= !hasTensorCopies() || offset % swizzleAlignment == 0;
    }
  if (std::optional<uint64_t> offset = ring.getBarrierOffset())
    add(ofTile, *offset,
        product({ring.getFullBarriers() + type.getStages(), barrierBytes}) +
            product({type.getStages(), ring.getMessages() ? messageBytes : 0}),
        "the barriers of a ring have");
}

/// Every group of the role has its buffers, which all its stores may use in turn. A buffer has the rows of one matrix
/// instruction. Of several slices the first one stores.
void SharedMemoryRanges::addStaging(StoreOp store) {
  auto role = store->getParentOfType<RoleOp>();
  std::optional<ArrayRef<int64_t>> staging = store.getStaging();
  if (!staging || staging->size() != 3 || !role || !stagings.insert({role, (*staging)[0]}).second)
    return;
  int64_t elementBytes = store.getResult().getType().getElementTypeBitWidth() / 8;
  constexpr int64_t rowsOfInstruction = 64;
  int64_t rows = std::min(cast<AccumulatorType>(store.getAccumulator().getType()).getRows(), rowsOfInstruction);
  add(slices() > 1 ? ofCta : ofTile, (*staging)[0],
      product({int64_t(role.getCount()), (*staging)[2], rows, (*staging)[1], elementBytes}),
      "the staging of a store has");
}

/// Shared memory holds the sums of all slices but the first one.
void SharedMemoryRanges::addSums(AddSlicesOp op) {
  constexpr int64_t sumBytes = 4;
  AccumulatorType type = op.getAccumulator().getType();
  if (std::optional<uint64_t> offset = op.getOffset())
    add(ofCta, int64_t(*offset), product({slices() - 1, type.getRows(), type.getColumns(), sumBytes}),
        "the sums of slices have");
}

LogicalResult SharedMemoryRanges::verifyLimits(ArrayRef<Range> ranges, int64_t begin, int64_t end) {
  for (const Range &range : ranges)
    // program_c2
    if (range.begin < begin || range.end > end)
      return program.emitOpError("expects shared memory from ") << begin << " to " << end << ", but " << range.text();
  return success();
}

LogicalResult SharedMemoryRanges::verify() {
  for (RingOp ring : program.getBody().getOps<RingOp>())
    addRing(ring);
  program.walk([&](StoreOp store) { addStaging(store); });
  program.walk([&](AddSlicesOp op) { addSums(op); });
  program.walk([&](IssuerOp op) {
    if (op.getOffset())
      add(ofCta, *op.getOffset(), issuerBytes, "the issuer has");
  });
  // program_c4
  if (!isAligned)
    return program.emitOpError("expects buffers of tensor copies at multiples of ") << swizzleAlignment << " bytes";

  if (std::optional<uint64_t> total = program.getSharedMemory()) {
    int64_t tiles = program.getSchedule().getConcurrentTiles() * program.getSchedule().getSlices();
    int64_t tileBytes = program.getTileBytes().value_or(*total / tiles);
    if (failed(verifyLimits(ofTile, 0, tileBytes)) || failed(verifyLimits(ofCta, product({tiles, tileBytes}), *total)))
      return failure();
  }
  llvm::stable_sort(ofTile, [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ofTile.size(); ++i) {
    const Range &first = ofTile[i - 1], &second = ofTile[i];
    // program_c3
    if (second.begin < first.end)
      return program.emitOpError("expects shared memory without overlaps, but ")
             << first.text() << ", and " << second.text();
  }
  return success();
}

} // namespace

/// A tensor map knows one length: that of a row of its box, which the swizzle permutes (CUDA Driver API,
/// cuTensorMapEncodeTiled).
static LogicalResult verifyLayouts(ProgramOp program) {
  if (program.getSchedule().getCopy() != Copy::tma)
    return success();
  WalkResult walk = program.walk([](CopyOp copy) {
    auto buffer = cast<BufferType>(copy.getRing().getType().getBuffers()[copy.getIndex()]);
    // program_c8
    constexpr int64_t vectorBytes = 16; // there is nothing to permute in one vector
    const int64_t permuted = buffer.getStrip() > vectorBytes ? buffer.getStrip() : 0;
    if (buffer.getStrip() != 0 && buffer.getSwizzle() == permuted)
      return WalkResult::advance();
    copy.emitOpError("expects a buffer of strips with the swizzle of their length, but got ") << buffer;
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// The threads of a role of warps wait for their own copies, and for each other by a barrier of the CTA. Beside other
/// roles, the warps may share rings with them, and wait for their own warp by its barrier.
static LogicalResult verifyWarps(RoleOp role) {
  auto program = cast<ProgramOp>(role->getParentOp());
  auto roles = llvm::to_vector(program.getBody().getOps<RoleOp>());
  if (roles.size() > 1) {
    bool isBesideThreads = role == roles.front() && llvm::all_of(llvm::drop_begin(roles), [](RoleOp other) {
                             return other.getUnit() == RoleUnit::thread;
                           });
    // program_c5
    if (!isBesideThreads || int64_t(role.getCount()) % RoleOp::warpsOfWarpgroup != 0)
      return role.emitOpError("expects a role of warps to be the only role of its program, to have whole warpgroups "
                              "and to come before roles of one thread, or to come behind them");
    return success();
  }
  // program_c6
  auto walk = role.walk([](Operation *op) {
    if (!isa<AcquireOp, PostOp, WaitOp, TestOp, ReleaseOp>(op))
      return WalkResult::advance();
    op->emitOpError("expects another role to share the ring with: a role of warps has none");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Roles of one thread that follow one another have a warp each of a warpgroup, in front of the warps of other roles.
static LogicalResult verifySharers(ProgramOp program, ArrayRef<RoleOp> sharers) {
  RoleOp first = sharers.front();
  if (first.getUnit() == RoleUnit::warp)
    return verifyWarps(first);
  if (first.getUnit() == RoleUnit::warpgroup)
    return success();
  int64_t most = int64_t(program.getSchedule().getConcurrentTiles()) > 1 ? 1 : RoleOp::warpsOfWarpgroup, warps = 0;
  for (RoleOp sharer : sharers)
    warps += sharer.getWarps() * int64_t(program.getSchedule().getSlices());
  // program_c7
  if (warps > most)
    return first.emitOpError("expects roles of one thread that follow one another, and roles of warps behind them, to "
                             "have at most ")
           << most << " warps, but got " << warps;
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  auto roles = llvm::to_vector(getBody().getOps<RoleOp>());
  for (ArrayRef<RoleOp> rest = roles; !rest.empty(); rest = rest.drop_front(RoleOp::countSharers(rest)))
    if (failed(verifySharers(*this, rest.take_front(RoleOp::countSharers(rest)))))
      return failure();
  if (failed(verifyLayouts(*this)))
    return failure();
  return SharedMemoryRanges(*this).verify();
}
