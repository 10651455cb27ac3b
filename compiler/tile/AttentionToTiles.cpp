// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of attention: for every block of queries the key blocks that it sees, with an online softmax between the
// two products, then the store.

#include "ProgramBuilder.h"

using namespace mlir;
using namespace sparsec;

namespace {

class AttentionBuilder : public ProgramBuilder {
public:
  AttentionBuilder(KernelOp kernel, AttentionOp attention, ScheduleAttr schedule)
      : ProgramBuilder(kernel, schedule), attention(attention) {}

private:
  void buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) override;
  Type elementType() override { return attention.getQuery().getType().getElementType(); }
  /// Steps for one key block. Without a pattern a block is what a step takes.
  int64_t chunks();
  Value lookup(Value value) { return value ? mapping.lookup(value) : Value(); }
  SmallVector<Value> buildStep(ImplicitLocOpBuilder &b, Value tile, Value queries, ValueRange arguments);
  SoftmaxOp buildSoftmax(ImplicitLocOpBuilder &b, Value tile, Value block, Value scores, Value output, Value state);

  AttentionOp attention;
};

int64_t AttentionBuilder::chunks() {
  Value pattern = attention.getPattern();
  int64_t keyBlock = pattern ? cast<PatternType>(pattern.getType()).getKeyBlock() : schedule.getTileN();
  return std::max<int64_t>(1, keyBlock / schedule.getTileN());
}

void AttentionBuilder::buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) {
  Value tile = TileOp::create(b, tileRow, panel);
  MLIRContext *context = b.getContext();
  int64_t rows = schedule.getTileM();
  auto queryType = BufferType::get(context, rows, attention.getHeadDimension(), elementType());
  Value queries = LoadRowsOp::create(b, queryType, lookup(attention.getQuery()), tile, /*block=*/Value());
  Value output = ZeroOp::create(b, AccumulatorType::get(context, rows, attention.getValueDimension()));
  Value state = SoftmaxBeginOp::create(b, SoftmaxStateType::get(context, rows), /*softmax=*/Value());

  SmallVector<Value> inits{output, state};
  auto loop = KeyLoopOp::create(b, ValueRange(inits).getTypes(), lookup(attention.getPattern()), tile, inits,
                                lookup(attention.getQueryStarts()), lookup(attention.getKeyStarts()),
                                lookup(attention.getKeyLengths()), lookup(attention.getPageTable()),
                                attention.getCausal(), attention.getWindowAttr(), chunks());
  {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Type> types{BlockType::get(context), output.getType(), state.getType()};
    Block *body = b.createBlock(&loop.getBody(), {}, types, SmallVector<Location>(3, b.getLoc()));
    YieldOp::create(b, buildStep(b, tile, queries, body->getArguments()));
  }
  StoreRowsOp::create(b, loop.getResult(0), loop.getResult(1), ValueRange{tile}, results[0], /*end=*/Value(),
                      attention.getLse() ? results[1] : Value(), lookup(attention.getSinks()));
}

/// One key block; arguments: block, output, state. Gives output and state.
SmallVector<Value> AttentionBuilder::buildStep(ImplicitLocOpBuilder &b, Value tile, Value queries,
                                               ValueRange arguments) {
  MLIRContext *context = b.getContext();
  int64_t rows = schedule.getTileM(), keys = schedule.getTileN(), headDimension = attention.getHeadDimension();
  auto keyType = BufferType::get(context, keys, headDimension, elementType());
  auto valueType = BufferType::get(context, keys, attention.getValueDimension(), elementType());
  Value k = LoadRowsOp::create(b, keyType, lookup(attention.getKey()), tile, arguments[0]);
  Value zero = ZeroOp::create(b, AccumulatorType::get(context, rows, keys));
  Value scores = ChainOp::create(b, queries, k, zero, /*scales=*/Value(), /*x_scale=*/Value(),
                                 b.getDenseI64ArrayAttr({headDimension}),
                                 /*a_transposed=*/false, /*x_transposed=*/true);
  SoftmaxOp softmax = buildSoftmax(b, tile, arguments[0], scores, arguments[1], arguments[2]);
  Value v = LoadRowsOp::create(b, valueType, lookup(attention.getValue()), tile, arguments[0]);
  Value output = FragmentChainOp::create(b, softmax.getProbabilities(), v, softmax.getNewOutput());
  return {output, softmax.getNewState()};
}

SoftmaxOp AttentionBuilder::buildSoftmax(ImplicitLocOpBuilder &b, Value tile, Value block, Value scores, Value output,
                                         Value state) {
  SmallVector<Value> extras = llvm::map_to_vector(attention.getExtras(), [&](Value extra) { return lookup(extra); });
  Type element = schedule.isForHost() ? b.getF32Type() : elementType(); // the host rounds no probabilities
  auto type = FragmentType::get(b.getContext(), schedule.getTileM(), schedule.getTileN(), element);
  auto softmax =
      SoftmaxOp::create(b, type, state.getType(), output.getType(), scores, state, output, tile, block,
                        lookup(attention.getScale()), extras, attention.getCausal(), attention.getWindowAttr());
  attention.getScore().cloneInto(&softmax.getScore(), mapping);
  attention.getMask().cloneInto(&softmax.getMask(), mapping);
  return softmax;
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeAttentionBuilder(KernelOp kernel, AttentionOp attention,
                                                              ScheduleAttr schedule) {
  return std::make_unique<AttentionBuilder>(kernel, attention, schedule);
}
