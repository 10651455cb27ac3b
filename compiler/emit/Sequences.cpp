// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sequences.h"

#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static int64_t argumentOf(Value value) { return cast<BlockArgument>(value).getArgNumber(); }

static Value larger(KernelBuilder &b, Value left, Value right) { return arith::MaxSIOp::create(b, left, right); }

namespace {

/// A tensor of i32 with one dimension.
class Numbers {
public:
  Numbers(QueryContext &context, Value tensor) : context(context), argument(argumentOf(tensor)) {}

  Value count() { return context.size(argument, 0); }
  Value at(Value index) {
    KernelBuilder &b = context.b;
    return b.loadElement(b.i32Type(), context.parameters.get(ParameterKind::pointer, argument), index);
  }

private:
  QueryContext &context;
  int64_t argument;
};

/// Rows of a packed tensor that belong to a sequence.
struct Rows {
  Value first, count;
};

} // namespace

/// Starts that do not ascend, or that the tensor does not reach, give rows that are there all the same.
static Rows rowsOf(QueryContext &context, Value starts, Value sequence, Value size) {
  KernelBuilder &b = context.b;
  Numbers numbers(context, starts);
  Value zero = b.i32(0), next = b.minimum(b.add(sequence, 1), b.sub(numbers.count(), 1));
  Value first = larger(b, zero, b.minimum(numbers.at(sequence), size));
  Value end = larger(b, first, b.minimum(numbers.at(next), size));
  return {first, b.sub(end, first)};
}

Value sparsec::emitIsInSequence(QueryContext &context, Value starts, Value row) {
  KernelBuilder &b = context.b;
  Numbers numbers(context, starts);
  Value end = numbers.at(b.sub(numbers.count(), 1));
  return b.logicalAnd(b.logicalNot(b.less(row, numbers.at(b.i32(0)))), b.less(row, end));
}

/// The last sequence whose first panel is at most `panel`.
static Value findSequence(KernelBuilder &b, Numbers &starts, Value panel, int64_t rows) {
  Value last = larger(b, b.i32(0), b.sub(starts.count(), 2));
  return b.whileLoop(
      {b.i32(0), last}, [&](ValueRange range) { return b.less(range[0], range[1]); },
      [&](ValueRange range) {
        Value middle = b.divide(b.add(b.add(range[0], range[1]), 1), 2);
        Value firstPanel = b.add(b.divide(starts.at(middle), rows), middle);
        Value isBehind = b.less(panel, firstPanel);
        return Values{b.select(isBehind, range[0], middle), b.select(isBehind, b.sub(middle, 1), range[1])};
      })[0];
}

Values sparsec::emitPackedTile(QueryContext &context, ProgramValues &values, PackedTileOp op) {
  KernelBuilder &b = context.b;
  const int64_t rows = op.getRows();
  Value panel = values.one(op.getPanel());
  Numbers starts(context, op.getStarts());
  Value sequence = findSequence(b, starts, panel, rows);
  Rows queries = rowsOf(context, op.getStarts(), sequence, context.queries());
  Value ofSequence = b.sub(panel, b.add(b.divide(queries.first, rows), sequence));
  Value blocks = b.divide(b.add(queries.count, rows - 1), rows), last = b.sub(blocks, 1);
  Value block = b.select(b.less(ofSequence, blocks), b.sub(last, ofSequence), ofSequence);
  return {b.add(b.mul(sequence, context.heads()), values.one(op.getHead())), block};
}

Values sparsec::emitSequence(QueryContext &context, ProgramValues &values, SequenceOp op) {
  KernelBuilder &b = context.b;
  Value sequence = values.one(op.getBatch());
  Rows queries{b.i32(0), context.queries()}, keys{b.i32(0), context.keys()};
  if (Value starts = op.getQueryStarts())
    queries = rowsOf(context, starts, sequence, context.queries());
  if (Value starts = op.getKeyStarts())
    keys = rowsOf(context, starts, sequence, context.keys());
  if (Value table = op.getPageTable()) // K has the rows of a page
    keys.count = b.mul(keys.count, context.size(argumentOf(table), 1));
  if (Value lengths = op.getKeyLengths())
    keys.count = larger(b, b.i32(0), b.minimum(Numbers(context, lengths).at(sequence), keys.count));
  return {queries.first, queries.count, keys.first, keys.count};
}

/// A page that is not there counts as the nearest one that is.
Values sparsec::emitFindPage(QueryContext &context, ProgramValues &values, FindPageOp op) {
  KernelBuilder &b = context.b;
  const int64_t rows = op.getPages().getType().getDimSize(2), table = argumentOf(op.getTable());
  Value key = values.one(op.getKey()), lastKey = b.sub(values.one(op.getKeys()), 1);
  Value entry =
      context.elementAddress(table, b.i32Type(), {values.one(op.getBatch()), b.divide(b.minimum(key, lastKey), rows)});
  Value lastPage = b.sub(context.size(argumentOf(op.getPages()), 0), 1);
  Value page = larger(b, b.i32(0), b.minimum(b.load(b.i32Type(), entry), lastPage));
  return {page, b.modulo(key, rows)};
}

namespace {

/// Stores zeros into parts of a slot, 16 bytes at a time.
class RowClearing {
public:
  RowClearing(ProgramEmitter &program, ClearRowsOp op)
      : b(program.b), thread(program.threadOfTile()), threads(program.threadsOfTile(op->getParentOfType<RoleOp>())),
        ring(program.ringOf(op.getRing())), from(program.values.flat(op.getFrom())),
        rows(ring.bufferRows(0) / static_cast<int64_t>(from.size())),
        slot(ring.slotPointer(0, program.slotOf(op.getCursor()).slot)) {}

  void emit();

private:
  void clearPart(int64_t part);

  KernelBuilder &b;
  Value thread;
  int64_t threads;
  Ring &ring;
  Values from;
  int64_t rows; // of a part
  Value slot;
};

} // namespace

void RowClearing::emit() {
  for (size_t part = 0; part < from.size(); ++part)
    clearPart(static_cast<int64_t>(part));
}

/// A row is `stripBytes` in each strip of the buffer, in any order of the swizzle.
void RowClearing::clearPart(int64_t part) {
  const int64_t stripBytes = ring.stripBytes(0), vectors = stripBytes / vectorBytes;
  const int64_t strips = ring.bufferColumns(0) * ring.elementBytes(0) / stripBytes;
  Value zeros = b.vector(Values(4, b.i32(0)));
  Value first = b.add(larger(b, b.i32(0), from[part]), b.divide(thread, vectors));
  Value column = b.mul(b.modulo(thread, vectors), vectorBytes);
  b.forLoop(first, b.i32(rows), b.i32(threads / vectors), {}, [&](Value row, ValueRange) {
    Value begin = b.byteOffset(slot, b.add(b.mul(b.add(row, part * rows), stripBytes), column));
    for (int64_t strip = 0; strip < strips; ++strip)
      LLVM::StoreOp::create(b, zeros, b.byteOffset(begin, strip * ring.bufferRows(0) * stripBytes),
                            /*alignment=*/vectorBytes);
    return Values();
  });
}

void sparsec::emitClearRows(ProgramEmitter &program, ClearRowsOp op) {
  RowClearing(program, op).emit();
  ptx::proxyFence(program.b);
  program.barrierOfTile(op->getParentOfType<RoleOp>(), *op.getFirstBarrier());
}
