// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime checks starts, lengths and pages in host memory before a launch, so that all of them are in range here.

#include "host/HostSequences.h"

using namespace mlir;
using namespace sparsec;

HostSequences::Tensor HostSequences::tensorParameter(int64_t argument, Type type) {
  auto tensorType = cast<RankedTensorType>(type);
  Tensor tensor{parameter(pointer, ParameterKind::pointer, argument), tensorType.getElementType(), {}};
  for (int64_t dimension = 0; dimension + 1 < tensorType.getRank(); ++dimension)
    tensor.strides.push_back(parameter(i64, ParameterKind::stride, argument, dimension));
  return tensor;
}

void HostSequences::emitSequenceParameters() {
  heads = sizeParameter(argumentOf(attention.getQuery()), 1);
  queryCount = sizeParameter(argumentOf(attention.getQuery()), 2);
  keyHeads = sizeParameter(argumentOf(attention.getKey()), 1);
  keyCount = sizeParameter(argumentOf(attention.getKey()), 2);
  if (Value starts = attention.getQueryStarts()) {
    queryStarts = operandParameter(starts);
    queryBounds = sizeParameter(argumentOf(starts), 0);
  }
  if (Value starts = attention.getKeyStarts())
    keyStarts = operandParameter(starts);
  if (Value lengths = attention.getKeyLengths())
    keyLengths = operandParameter(lengths);
  if (Value table = attention.getPageTable()) {
    pageTable = operandParameter(table);
    pagesOfSequence = sizeParameter(argumentOf(table), 1);
  }
}

Value HostSequences::elementAddress(const Tensor &tensor, ArrayRef<Value> indices) {
  Value offset = indices.empty() ? constant(0) : indices.back();
  for (auto [index, stride] : llvm::zip_first(tensor.strides, indices))
    offset = add(offset, multiply(stride, index));
  return address(tensor.elementType, tensor.data, offset);
}

Value HostSequences::panels(int64_t rows) {
  Value panels = arith::DivSIOp::create(b, add(queryCount, constant(rows - 1)), constant(rows));
  return isPacked() ? add(panels, queryBounds) : panels;
}

HostSequences::QueryBlock HostSequences::blockOfPanel(Value panel, int64_t rows) {
  auto firstPanel = [&](Value sequence) {
    return add(arith::DivSIOp::create(b, loadIndex(queryStarts.data, sequence), constant(rows)), sequence);
  };
  Value sequence = reduce(constant(1), subtract(queryBounds, constant(1)), constant(0),
                          [&](Value number, ValueRange carried) -> Values {
                            Value begins =
                                arith::CmpIOp::create(b, arith::CmpIPredicate::sle, firstPanel(number), panel);
                            return {arith::SelectOp::create(b, begins, number, carried.front())};
                          })
                       .front();
  return {sequence, subtract(panel, firstPanel(sequence))};
}

HostSequences::Sequence HostSequences::sequenceOf(Value number) {
  Value zero = constant(0), next = add(number, constant(1));
  Sequence sequence{number, zero, queryCount, zero, keyCount, {}};
  if (isPacked()) {
    sequence.queryRow = loadIndex(queryStarts.data, number);
    sequence.queries = subtract(loadIndex(queryStarts.data, next), sequence.queryRow);
  }
  if (attention.getKeyStarts()) {
    sequence.keyRow = loadIndex(keyStarts.data, number);
    sequence.keys = subtract(loadIndex(keyStarts.data, next), sequence.keyRow);
  }
  if (attention.getKeyLengths())
    sequence.keys = loadIndex(keyLengths.data, number);
  sequence.position = subtract(sequence.keys, sequence.queries);
  return sequence;
}

SmallVector<Value> HostSequences::queryPlace(const Sequence &sequence, Value head, Value query) {
  if (isPacked())
    return {constant(0), head, add(sequence.queryRow, query)};
  return {sequence.number, head, query};
}

SmallVector<Value> HostSequences::keyPlace(const Sequence &sequence, Value head, Value key) {
  if (attention.getPageTable()) {
    Value entry = elementAddress(pageTable, {sequence.number, arith::DivSIOp::create(b, key, keyCount)});
    return {loadIndex(entry, constant(0)), head, arith::RemSIOp::create(b, key, keyCount)};
  }
  if (attention.getKeyStarts())
    return {constant(0), head, add(sequence.keyRow, key)};
  return {sequence.number, head, key};
}
