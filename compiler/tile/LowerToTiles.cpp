// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pass sparsec-lower-to-tiles: every sparsec.kernel becomes one program of tile ops per schedule, in values form or,
// for a GPU, with roles from the start. The family of the kernel builds it.

#include "Family.h"
#include "Passes.h"
#include "ProgramBuilder.h"

namespace sparsec {
#define GEN_PASS_DEF_LOWERTOTILESPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

static bool isNarrow(Use use) { return use == Use::narrow || use == Use::narrowAndMisaligned; }

/// The name of a program is that of its kernel with this suffix.
static std::string suffixOf(KernelOp kernel, ScheduleAttr schedule, Use use) {
  const std::string unaligned = "_unaligned";
  if (schedule.isForHost())
    return ".host"; // the kernel is a symbol of the same module
  if (use == Use::parts)
    return "_parts" + (schedule.getWalk() == Walk::streams ? std::to_string(schedule.getTileN()) : "");
  if (use == Use::cut)
    return "_cut";
  if (use == Use::packed)
    return "_packed" + (schedule.getWalk() == Walk::blocks ? "" : "_" + stringifyWalk(schedule.getWalk()).str());
  if (use != Use::any)
    return "_narrow" + std::to_string(schedule.getTileN()) + (use == Use::narrowAndMisaligned ? unaligned : "");
  if (schedule.getWalk() != Walk::blocks)
    return ("_" + stringifyWalk(schedule.getWalk())).str();
  return schedule == kernel.getScheduleAttr() ? "" : unaligned;
}

/// Bytes of the smallest element that a kernel reads or writes.
static int64_t smallestElement(KernelOp kernel) {
  unsigned bits = 64;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes())) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bits = std::min(bits, tensor.getElementTypeBitWidth());
    if (auto matrix = dyn_cast<BsrType>(type))
      bits = std::min(bits, matrix.getElementType().getIntOrFloatBitWidth());
  }
  return bits / 8;
}

/// The bytes that every pointer and stride must be a multiple of. cp.async and TMA move 16 bytes at a time; a scalar
/// copy reads single elements.
int64_t ProgramBuilder::alignment() {
  switch (schedule.getCopy()) {
  case Copy::unpack:
    return smallestElement(kernel);
  case Copy::scalar:
    return elementType().getIntOrFloatBitWidth() / 8;
  case Copy::vector:
    return bytesOfVector;
  case Copy::tma:
  case Copy::cp_async:
    if (use == Use::narrowAndMisaligned)
      return elementType().getIntOrFloatBitWidth() / 8;
    return unitOfRows();
  }
  llvm_unreachable("all copies are covered");
}

/// Whether a program for few columns is also the fastest one for more columns, where it has few tiles: then nothing
/// counts but the time of a tile. That of mma.sync takes longer than the others (bench/notes/small-widths.md).
bool ProgramBuilder::runsFewTiles() { return use == Use::narrow && schedule.getInstruction() == Instruction::wgmma; }

/// How many tiles for each multiprocessor count as few: as many as run at once. Wide tiles may be twice as many, if two
/// share a multiprocessor. Streams would take longer, because they have fewer tiles than there are multiprocessors then
/// (bench/notes/small-products.md).
int64_t ProgramBuilder::fewTiles() {
  constexpr int64_t wide = 128;
  const int64_t atOnce = schedule.getCtasPerSm();
  return int64_t(schedule.getTileN()) >= wide && atOnce > 1 ? 2 * atOnce : atOnce;
}

void ProgramBuilder::build(OpBuilder &moduleBuilder, SymbolTable &programs, int64_t variant, Use wanted) {
  ImplicitLocOpBuilder b(kernel.getLoc(), moduleBuilder);
  use = wanted;
  std::string name = kernel.getSymName().str() + suffixOf(kernel, schedule, use);
  auto numberIf = [&](bool isLimited, int64_t number) {
    return isLimited ? b.getI64IntegerAttr(number) : IntegerAttr();
  };
  auto program =
      ProgramOp::create(b, name, kernel.getSymName(), schedule, variant, alignment(),
                        /*most_panels=*/numberIf(isNarrow(use), 1),
                        /*most_tiles_per_sm=*/numberIf(runsFewTiles(), fewTiles()),
                        /*split=*/use == Use::parts, /*cut=*/use == Use::cut, /*adjacent_columns=*/false,
                        /*packed=*/use == Use::packed, /*shared_memory=*/IntegerAttr(), /*tile_bytes=*/IntegerAttr());
  programs.insert(program);

  Block *body = b.createBlock(&program.getBody());
  for (BlockArgument argument : kernel.getBody().getArguments())
    mapping.map(argument, body->addArgument(argument.getType(), argument.getLoc()));
  for (Type type : kernel.getResultTypes())
    results.push_back(body->addArgument(type, kernel.getLoc()));

  buildBody(b);
}

void ProgramBuilder::buildBody(ImplicitLocOpBuilder &b) {
  auto tileLoop = TileLoopOp::create(b);
  Block &tile = tileLoop.getBody().front();
  b.setInsertionPoint(tile.getTerminator());
  buildTile(b, tile.getArgument(0), tile.getArgument(1));
}

void ProgramBuilder::setEpilogue(OpBuilder &b, StoreOp store, Region &epilogue) {
  // An epilogue sees nothing from outside. A mapping of its own, because several stores may have the same one.
  IRMapping arguments;
  if (!epilogue.empty())
    return epilogue.cloneInto(&store.getEpilogue(), arguments);
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&store.getEpilogue());
  YieldOp::create(b, store.getLoc(), ValueRange{body->addArgument(b.getF32Type(), store.getLoc())});
}

using ProgramList = SmallVector<std::pair<ScheduleAttr, Use>>;

/// Programs that split K come in front of narrow ones that have as many columns. The narrow ones are for launches
/// without a plan, and for plans with few blocks.
static void addSplit(KernelOp kernel, ProgramList &programs) {
  ArrayAttr split = kernel.getSplitSchedulesAttr();
  if (!split)
    return;
  for (auto schedule : split.getAsRange<ScheduleAttr>()) {
    auto isBehind = [&](const auto &program) {
      return !isNarrow(program.second) || program.first.getTileN() >= schedule.getTileN();
    };
    programs.insert(llvm::find_if(programs, isBehind), {schedule, Use::parts});
  }
}

/// The schedules of a kernel's programs in order of preference, with the calls that each program is for. The narrowest
/// schedule and others of few columns get a second program for rows that begin anywhere, if rows of an operand may do
/// so (see Family). It is the only one where the schedule in front has as many columns and takes all other calls.
static ProgramList programsOf(KernelOp kernel) {
  const Family &family = familyOf(kernel);
  const size_t narrow = kernel.getNarrowSchedules() ? kernel.getNarrowSchedules()->size() : 0; // they come first
  ProgramList programs;
  constexpr int64_t fewColumns = 64;
  auto isMisalignedToo = [&](size_t number, ScheduleAttr schedule) {
    const bool isNarrowest = number == 0 || (number < narrow && schedule.getTileN() <= fewColumns);
    return narrow > 0 && isNarrowest && family.hasRowsOfResultColumns(kernel) && schedule.getCopy() == Copy::cp_async;
  };
  int64_t columnsBefore = 0; // of the schedule in front
  for (auto [number, schedule] : llvm::enumerate(kernel.getSchedules())) {
    if (number >= narrow && schedule == kernel.getScheduleAttr() && family.mayCutTiles(kernel))
      programs.emplace_back(schedule, Use::cut); // in front of the program for whole tiles
    const bool isForMisaligned = isMisalignedToo(number, schedule);
    if (!isForMisaligned || number >= narrow || columnsBefore != int64_t(schedule.getTileN()))
      programs.emplace_back(schedule, number < narrow ? Use::narrow : Use::any);
    if (isForMisaligned)
      programs.emplace_back(schedule, Use::narrowAndMisaligned);
    columnsBefore = schedule.getTileN();
  }
  addSplit(kernel, programs);
  if (family.hasParts() && !kernel.getScheduleAttr().isForHost()) {
    auto isMain = [&](const auto &program) {
      return program.first == kernel.getScheduleAttr() && program.second == Use::any;
    };
    programs.insert(std::next(llvm::find_if(programs, isMain)), {kernel.getScheduleAttr(), Use::parts});
  }
  return programs;
}

/// A copy of the kernel whose matrix has packed blocks. It is in no module.
static OwningOpRef<KernelOp> withPackedBlocks(KernelOp kernel) {
  ArrayRef<int64_t> block = *kernel.getPackedBlock();
  OwningOpRef<KernelOp> copy = kernel.clone();
  TypedValue<BsrType> matrix = familyOf(*copy).packedMatrix(*copy);
  BsrType stored = matrix.getType();
  auto packed = BsrType::get(kernel.getContext(), stored.getRows(), stored.getColumns(), stored.getElementType(),
                             block[0], block[1], stored.getTransposed());
  matrix.setType(packed);
  copy->setFunctionType(
      FunctionType::get(kernel.getContext(), copy->getBody().getArgumentTypes(), kernel.getResultTypes()));
  return copy;
}

namespace {

/// Builds the programs of one kernel in the order of its variants.
class KernelLowering {
public:
  KernelLowering(KernelOp kernel, OpBuilder &builder, SymbolTable &programs)
      : kernel(kernel), builder(builder), programs(programs) {}

  /// Packed values come behind the programs for few columns, and before all others: they are faster, where there are
  /// any.
  void run() {
    ProgramList all = programsOf(kernel);
    auto isForFewColumns = [&](const auto &program) {
      ArrayAttr split = kernel.getSplitSchedulesAttr();
      return isNarrow(program.second) || (split && llvm::is_contained(split, program.first));
    };
    auto *others = llvm::find_if_not(all, isForFewColumns);
    for (auto [schedule, use] : llvm::make_range(all.begin(), others))
      build(kernel, schedule, use);
    buildPacked();
    for (auto [schedule, use] : llvm::make_range(others, all.end()))
      build(kernel, schedule, use);
  }

private:
  void build(KernelOp source, ScheduleAttr schedule, Use use) {
    familyOf(source).makeBuilder(source, schedule)->build(builder, programs, variant++, use);
  }
  void buildPacked() {
    ArrayAttr schedules = kernel.getPackedSchedulesAttr();
    if (!schedules)
      return;
    OwningOpRef<KernelOp> packed = withPackedBlocks(kernel);
    for (auto schedule : schedules.getAsRange<ScheduleAttr>())
      build(*packed, schedule, Use::packed);
  }

  KernelOp kernel;
  OpBuilder &builder;
  SymbolTable &programs;
  int64_t variant = 0;
};

class LowerToTiles : public sparsec::impl::LowerToTilesPassBase<LowerToTiles> {
public:
  using LowerToTilesPassBase::LowerToTilesPassBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    auto all = llvm::to_vector(module.getOps<KernelOp>());
    for (KernelOp kernel : all)
      if (!kernel.getSchedule())
        return kernel.emitOpError("expects a schedule; run sparsec-select-schedule first");
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    SymbolTable kernels(module);
    auto isForHost = [](KernelOp kernel) { return kernel.getScheduleAttr().isForHost(); };
    for (KernelOp kernel : llvm::make_filter_range(all, isForHost)) {
      builder.setInsertionPoint(kernel);
      KernelLowering(kernel, builder, kernels).run();
    }
    if (!all.empty() && llvm::all_of(all, isForHost))
      return success();
    builder.setInsertionPointToEnd(module.getBody());
    auto gpuModule = gpu::GPUModuleOp::create(builder, module.getLoc(), "kernels");
    kernels.insert(gpuModule); // under another name if a kernel has this one
    SymbolTable programs(gpuModule);
    for (KernelOp kernel : llvm::make_filter_range(all, std::not_fn(isForHost))) {
      builder.setInsertionPointToEnd(gpuModule.getBody());
      KernelLowering(kernel, builder, programs).run();
    }
    return success();
  }
};

} // namespace
