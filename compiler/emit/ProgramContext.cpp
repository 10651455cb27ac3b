// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProgramContext.h"

#include "Ptx.h"
#include "TargetInfo.h"

#include "sparsec/launch_info.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Type ParameterList::typeOf(ParameterKind kind, int64_t index) {
  Builder b(function.getContext());
  auto pointer = [&](AddressSpace space) {
    return LLVM::LLVMPointerType::get(b.getContext(), static_cast<unsigned>(space));
  };
  switch (kind) {
  case ParameterKind::tensor_map:
    return pointer(AddressSpace::generic);
  case ParameterKind::pointer:
  case ParameterKind::row_ptr:
  case ParameterKind::col_idx:
  case ParameterKind::plan_section:
  case ParameterKind::workspace:
  case ParameterKind::input:
    return pointer(AddressSpace::global);
  case ParameterKind::size:
  case ParameterKind::tile_rows:
  case ParameterKind::tile_panels:
  case ParameterKind::tile_period:
  case ParameterKind::parts:
    return b.getI32Type();
  case ParameterKind::stride:
  case ParameterKind::number:
    return b.getI64Type();
  case ParameterKind::scalar:
    return b.getF32Type();
  case ParameterKind::pattern_field:
    switch (index) {
    case SPARSEC_FIELD_ENCODING:
    case SPARSEC_FIELD_BATCHES:
    case SPARSEC_FIELD_HEADS:
    case SPARSEC_FIELD_READ_EARLY:
      return b.getI32Type();
    case SPARSEC_FIELD_CAPACITY:
      return b.getI64Type();
    default:
      return pointer(AddressSpace::global);
    }
  }
  llvm_unreachable("all kinds are covered");
}

Value ParameterList::get(ParameterKind kind, int64_t argument, int64_t index) {
  auto parameter = ParameterAttr::get(function.getContext(), kind, argument, index);
  Block &entry = function.getBody().front();
  for (auto [position, known] : llvm::enumerate(recipe))
    if (known == parameter)
      return entry.getArgument(position);
  recipe.push_back(parameter);
  return entry.addArgument(typeOf(kind, index), function.getLoc());
}

/// The number of an attribute in a list, to which it is added where it is not there yet.
template <typename Attr> static int64_t numberIn(SmallVectorImpl<Attr> &list, Attr attribute) {
  const auto *known = llvm::find(list, attribute);
  int64_t index = known - list.begin();
  if (known == list.end())
    list.push_back(attribute);
  return index;
}

Value ParameterList::tensorMap(TensorMapAttr map) {
  return get(ParameterKind::tensor_map, map.getArgument(), numberIn(tensorMaps, map));
}

Value ParameterList::workspace(WorkspaceAttr workspace) {
  return get(ParameterKind::workspace, 0, numberIn(workspaces, workspace));
}

void ParameterList::finish() {
  Builder b(function.getContext());
  Block &entry = function.getBody().front();
  function.setFunctionType(
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), llvm::to_vector(entry.getArgumentTypes())));
  for (auto [position, parameter] : llvm::enumerate(recipe)) {
    if (parameter.getKind() != ParameterKind::tensor_map)
      continue;
    // A tensor map is 128 bytes by value that the copy engine reads from constant memory, at a multiple of 64 bytes.
    function.setArgAttr(position, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), 128)));
    function.setArgAttr(position, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
    function.setArgAttr(position, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  }
  auto array = [&](auto &attributes) {
    return b.getArrayAttr(SmallVector<Attribute>(attributes.begin(), attributes.end()));
  };
  function->setAttr("sparsec.parameters", array(recipe));
  function->setAttr("sparsec.tensor_maps", array(tensorMaps));
  if (!workspaces.empty())
    function->setAttr("sparsec.workspaces", array(workspaces));
}

//===----------------------------------------------------------------------===//
// Context
//===----------------------------------------------------------------------===//

int64_t sparsec::threadsOfWarps(ScheduleAttr schedule) {
  return 32 * schedule.getConsumersM() * schedule.getConsumersN();
}

static const Chip *chipOf(ProgramOp program) {
  auto target = program->getParentOfType<ModuleOp>()->getAttrOfType<TargetAttr>("sparsec.target");
  return target ? findChip(target.getChip()) : nullptr;
}

bool sparsec::hasDependentLaunch(ProgramOp program) {
  const Chip *chip = chipOf(program);
  return chip && chip->hasDependentLaunch();
}

/// Whether a program's loads of scales, which are no part of a pattern, may be among its first ones.
static bool readsScales(ProgramOp program) {
  return program
      .walk([](Operation *op) {
        auto walk = dyn_cast<BlockWalkOp>(op);
        const bool readsThem = isa<BlockScaleOp, ColumnScalesOp, CopyScalesOp, StageScalesOp>(op);
        return readsThem || (walk && walk.getScales()) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Programs for few columns, in slices. CTAs that start early crowd on the multiprocessors that have room first: where
/// these take five or six, a launch takes longer, with four it gains (bench/notes/small-widths-rows.md).
static bool mayReadPatternEarly(ProgramOp program) {
  constexpr int64_t mostCtas = 4;
  if (!hasDependentLaunch(program) || !program.getMostPanelsAttr() || program.getSchedule().getSlices() == 1)
    return false;
  const Chip &chip = *chipOf(program);
  const int64_t bytes = int64_t(program.getSharedMemory().value_or(0)) + chip.reservedSharedMemoryPerCta;
  return chip.sharedMemoryPerMultiprocessor / bytes <= mostCtas && !readsScales(program);
}

int64_t sparsec::partsOfCta(ScheduleAttr schedule) { return schedule.getConcurrentTiles() * schedule.getSlices(); }

ProgramContext::ProgramContext(ProgramOp program, LLVM::LLVMFuncOp function, KernelBuilder &b)
    : program(program), schedule(program.getSchedule()), b(b), parameters(function) {
  Value base = LLVM::AddressOfOp::create(b, b.pointerType(AddressSpace::shared), sharedMemorySymbol);
  sharedMemory = ptx::opaque(b, base);
  thread = ptx::threadIndex(b);
}

ProductContext::ProductContext(ProgramOp program, LLVM::LLVMFuncOp function, KernelBuilder &b)
    : ProgramContext(program, function, b) {
  auto addSource = [&](Value source) {
    int64_t argument = cast<BlockArgument>(source).getArgNumber();
    auto type = dyn_cast<BsrType>(source.getType());
    if (!type || (matrix && argument != matrixArgument))
      return false;
    matrixArgument = argument;
    matrix = type;
    return true;
  };
  program.walk([&](RowBlocksOp blocks) { addSource(blocks.getMatrix()); });
  program.walk([&](CopyBlocksOp copy) { addSource(copy.getSource()); });
  CopyOp copyOfDense;
  program.walk([&](CopyOp copy) {
    const bool bringsScales = llvm::any_of(copy.getRing().getUsers(), [&](Operation *user) {
      auto stage = dyn_cast<StageScalesOp>(user);
      return stage && stage.getTiles() == copy.getRing();
    });
    if (!bringsScales && (!addSource(copy.getSource()) || copy.getDepthRows()))
      copyOfDense = copy; // of a spgemm with a pattern the last one, that of B; B may be A
  });
  denseArgument = cast<BlockArgument>(copyOfDense.getSource()).getArgNumber();
  program.walk([&](ViewOp view) {
    if (view.getRing() == copyOfDense.getRing() && view.getIndex() == copyOfDense.getIndex())
      denseTransposed = view.getType().getMajor() == Major::k;
  });
  program.walk([&](StoreOp store) { resultArgument = cast<BlockArgument>(store.getResult()).getArgNumber(); });
  element = matrix.getElementType();
  if (mayReadPatternEarly(program))
    earlyPattern = matrixArgument;
}

/// A launch may start while the kernel in front of it still runs: nothing before this reads or writes global memory. A
/// program may wait behind its loads of a static pattern instead. So may the kernel behind it, which is let in at once.
void ProgramContext::waitForKernelInFront() {
  if (!hasDependentLaunch(program))
    return;
  if (!earlyPattern)
    return ptx::gridDependencyWait(b);
  Value isEarly = parameters.get(ParameterKind::pattern_field, *earlyPattern, SPARSEC_FIELD_READ_EARLY);
  b.ifThenElse(
      b.equal(isEarly, 0), TypeRange(),
      [&] {
        ptx::gridDependencyWait(b);
        return KernelBuilder::Values();
      },
      [&] {
        ptx::gridDependentsLaunch(b);
        return KernelBuilder::Values();
      });
}

void ProgramContext::waitBehindPattern() {
  if (earlyPattern)
    ptx::gridDependencyWait(b);
}

Value ProgramContext::elementAddress(int64_t argument, Type type, ValueRange indices) {
  Value offset = b.i64(0);
  for (auto [dimension, index] : llvm::enumerate(indices)) {
    Value term = b.extend(index);
    if (dimension + 1 < indices.size())
      term = b.mul(term, parameters.get(ParameterKind::stride, argument, dimension));
    offset = b.add(offset, term);
  }
  return b.elementPointer(parameters.get(ParameterKind::pointer, argument), type, offset);
}

Value ProgramContext::localMemory(int64_t count) {
  if (!local) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(thread.getParentBlock());
    local = LLVM::AllocaOp::create(b, b.pointerType(AddressSpace::generic), b.getF32Type(), b.i64(count));
  }
  // Stores of accumulators of several sizes share it.
  if (local.getArraySize().getDefiningOp<arith::ConstantIntOp>().value() < count) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(local);
    local.getArraySizeMutable().assign(b.i64(count));
  }
  return local;
}

//===----------------------------------------------------------------------===//
// Tile loop
//===----------------------------------------------------------------------===//

/// Tile row and panel of position `tile` of the raster: groups of `group_m` tile rows, inside a group panel after
/// panel.
static KernelBuilder::Values rasterPosition(ProgramContext &context, Value tile, Value tileRows, Value panels) {
  KernelBuilder &b = context.b;
  if (context.schedule.getGroupM() == 1)
    return {b.divide(tile, panels), b.modulo(tile, panels)};
  // At most all rows: the number of tiles fits 32 bits, and so does that of a group.
  Value groupM = b.minimum(b.i32(context.schedule.getGroupM()), tileRows);
  Value tilesPerGroup = b.mul(panels, groupM);
  Value firstRow = b.mul(b.divide(tile, tilesPerGroup), groupM);
  Value inGroup = b.modulo(tile, tilesPerGroup);
  Value rowsInGroup = b.minimum(groupM, b.sub(tileRows, firstRow)); // the last group may be smaller
  return {b.add(firstRow, b.modulo(inGroup, rowsInGroup)), b.divide(inGroup, rowsInGroup)};
}

static Value tilesOfGrid(ProgramContext &context) {
  return context.b.mul(context.parameters.get(ParameterKind::tile_rows),
                       context.parameters.get(ParameterKind::tile_panels));
}

TileRange sparsec::emitTileRange(ProgramContext &context, Value worker, Value workers) {
  KernelBuilder &b = context.b;
  ParameterList &parameters = context.parameters;
  TileRange range;
  if (context.program.getSplit()) { // has no lists
    range.begin = worker;
    range.end = tilesOfGrid(context);
    range.step = workers;
    return range;
  }
  Value offsets = parameters.get(ParameterKind::plan_section, 0, SPARSEC_PLAN_TILE_OFFSETS);
  range.tiles = parameters.get(ParameterKind::plan_section, 0, SPARSEC_PLAN_TILES);
  range.planned = b.isNotNull(offsets);
  Type i32 = b.i32Type();
  auto ends = b.ifThenElse(
      range.planned, {i32, i32, i32},
      [&] {
        return KernelBuilder::Values{b.loadElement(i32, offsets, worker), b.loadElement(i32, offsets, b.add(worker, 1)),
                                     b.i32(1)};
      },
      [&] { return KernelBuilder::Values{worker, tilesOfGrid(context), workers}; });
  range.begin = ends[0];
  range.end = ends[1];
  range.step = ends[2];
  return range;
}

KernelBuilder::Values sparsec::emitTileCoordinates(ProgramContext &context, const TileRange &range, Value tile) {
  KernelBuilder &b = context.b;
  Value tileRows = context.parameters.get(ParameterKind::tile_rows);
  Value panels = context.parameters.get(ParameterKind::tile_panels);
  Type i32 = b.i32Type();
  if (!range.planned)
    return rasterPosition(context, tile, tileRows, panels);
  return b.ifThenElse(
      range.planned, {i32, i32},
      [&] {
        Value entry = b.mul(tile, 2);
        return KernelBuilder::Values{b.loadElement(i32, range.tiles, entry),
                                     b.loadElement(i32, range.tiles, b.add(entry, 1))};
      },
      [&] { return rasterPosition(context, tile, tileRows, panels); });
}

KernelBuilder::Values sparsec::emitTileRows(ProgramContext &context, ValueRange carried, TileRowBody body) {
  KernelBuilder &b = context.b;
  int64_t cluster = context.schedule.getCluster();
  TileRange range = emitTileRange(context, b.divide(ptx::blockIndex(b), cluster), b.divide(ptx::gridSize(b), cluster));
  return b.forLoop(range.begin, range.end, range.step, carried, [&](Value tile, ValueRange state) {
    auto coordinates = emitTileCoordinates(context, range, tile);
    return body(coordinates[0], coordinates[1], state);
  });
}

/// The tiles of a range, with their panels counted from `firstPanel` on, up to the first that is beyond the result.
static KernelBuilder::Values emitRound(ProgramContext &context, const TileRange &range, Value firstPanel,
                                       ValueRange carried, TileRowBody body) {
  KernelBuilder &b = context.b;
  Type i32 = b.i32Type();
  Value panels = context.parameters.get(ParameterKind::tile_panels);
  Values state{range.begin};
  llvm::append_range(state, carried);
  auto result = b.whileLoop(
      state, {i32, i32},
      [&](ValueRange state) {
        auto coordinates = b.ifThenElse(
            b.less(state[0], range.end), {i32, i32},
            [&] {
              Values found = emitTileCoordinates(context, range, state[0]);
              return Values{found[0], b.add(firstPanel, found[1])};
            },
            [&] { return Values{b.i32(0), panels}; });
        return std::pair(b.less(coordinates[1], panels), coordinates);
      },
      [&](ValueRange state, ValueRange coordinates) {
        Values after = body(coordinates[0], coordinates[1], state.drop_front());
        // Kept from tile to tile the step would take a register that the accumulators need.
        Value workers = b.divide(ptx::opaque(b, ptx::gridSize(b)), context.schedule.getCluster());
        Values next{b.add(state[0], b.select(range.planned, b.i32(1), workers))};
        llvm::append_range(next, after);
        return next;
      });
  return Values(llvm::drop_begin(result));
}

KernelBuilder::Values sparsec::emitRounds(ProgramContext &context, ValueRange carried, TileRowBody body) {
  KernelBuilder &b = context.b;
  int64_t cluster = context.schedule.getCluster();
  Value panels = context.parameters.get(ParameterKind::tile_panels);
  Value period = context.parameters.get(ParameterKind::tile_period);
  return b.forLoop(b.i32(0), panels, period, carried, [&](Value firstPanel, ValueRange state) {
    // The ends of the list are looked up anew in every round, so that nothing else of them is kept.
    Value block = ptx::opaque(b, ptx::blockIndex(b));
    TileRange range = emitTileRange(context, b.divide(block, cluster), b.divide(ptx::gridSize(b), cluster));
    return emitRound(context, range, firstPanel, state, body);
  });
}

/// The tiles of one of the tiles side by side in a CTA. Neighbours in the order of workers are on different SMs: where
/// tiles are few, each has an SM to itself. A role of one thread has few registers: it computes the range anew for
/// every tile.
static TileRange rangeOfTile(ProgramContext &context, Value tileOfCta) {
  KernelBuilder &b = context.b;
  Value grid = ptx::opaque(b, ptx::gridSize(b)), block = ptx::opaque(b, ptx::blockIndex(b));
  return emitTileRange(context, b.add(b.mul(tileOfCta, grid), block),
                       b.mul(grid, context.schedule.getConcurrentTiles()));
}

namespace {
/// The number of the tile after `tile`, from the launch's counter if it has one. It is taken once.
class NextNumber {
public:
  NextNumber(ProgramContext &context, Value tileOfCta, Value tile)
      : context(context), tileOfCta(tileOfCta), tile(tile) {}

  /// The number, less the step of the range.
  Value take();
  /// Whether it is one of the worker's tiles (i1).
  Value isTile();

private:
  ProgramContext &context;
  Value tileOfCta, tile, taken;
};
} // namespace

/// Every tile that is done takes one number of the counter, so that it is zero again at the end. A launch with a
/// counter has no lists: its range ends with the grid.
Value NextNumber::take() {
  if (taken)
    return taken;
  KernelBuilder &b = context.b;
  Value counter = context.parameters.workspace(
      WorkspaceAttr::get(b.getContext(), WorkspaceKind::tile_counter, /*bytes=*/sizeof(uint32_t)));
  taken = b.ifThenElse(
      b.isNotNull(counter), b.i32Type(),
      [&] { return Values{ptx::fetchIncrement(b, counter, b.sub(tilesOfGrid(context), 1))}; },
      [&] { return Values{tile}; })[0];
  return taken;
}

Value NextNumber::isTile() {
  TileRange range = rangeOfTile(context, tileOfCta);
  return context.b.less(context.b.add(take(), range.step), range.end);
}

/// The number of the next tile is taken at the end of the body, when the copies of this tile have started and the
/// consumers still have a ring of them to work on. A number that is taken before would keep a tile from workers that
/// are free by then.
KernelBuilder::Values sparsec::emitTilesByCounter(ProgramContext &context, Value tileOfCta, ValueRange carried,
                                                  FollowedTileBody body) {
  KernelBuilder &b = context.b;
  TileRange first = rangeOfTile(context, tileOfCta);
  Values state(carried);
  state.push_back(b.sub(first.begin, first.step));
  Values result = b.whileLoop(
      state, {b.i32Type()},
      [&](ValueRange state) {
        TileRange range = rangeOfTile(context, tileOfCta);
        Value tile = b.add(state.back(), range.step);
        return std::pair(b.less(tile, range.end), Values{tile});
      },
      [&](ValueRange state, ValueRange found) {
        TileRange range = rangeOfTile(context, tileOfCta);
        Value tile = found[0];
        Values coordinates = emitTileCoordinates(context, range, tile);
        NextNumber next(context, tileOfCta, tile);
        Values after = body(coordinates[0], coordinates[1], state.drop_back(), [&] { return next.isTile(); });
        after.push_back(next.take());
        return after;
      });
  result.pop_back();
  return result;
}
