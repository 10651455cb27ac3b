// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime checks starts, lengths and pages in host memory before a launch, so that all of them are in range here.

#include "host/HostSequences.h"

using namespace mlir;
using namespace sparsec;

HostSequences::HostSequences(ProgramOp program, KeyLoopOp keyLoop) : HostProgram(program), keyLoop(keyLoop) {
  ChainOp chain = *keyLoop.getBody().getOps<ChainOp>().begin();
  query = chain.getA().getDefiningOp<LoadRowsOp>().getSource();
  key = chain.getX().getDefiningOp<LoadRowsOp>().getSource();
}

Value HostSequences::panels() {
  Value rows = constant(queryBlock());
  Value panels = arith::DivSIOp::create(b, add(sizeOf(query, 2), constant(queryBlock() - 1)), rows);
  return isPacked() ? add(panels, sizeOf(keyLoop.getQueryStarts(), 0)) : panels;
}

HostSequences::QueryBlock HostSequences::blockOfPanel(Value panel) {
  Value starts = tensorOf(keyLoop.getQueryStarts()).data;
  auto firstPanel = [&](Value sequence) {
    return add(arith::DivSIOp::create(b, loadIndex(starts, sequence), constant(queryBlock())), sequence);
  };
  Value end = subtract(sizeOf(keyLoop.getQueryStarts(), 0), constant(1));
  Value sequence = reduce(constant(1), end, constant(0), [&](Value number, ValueRange carried) -> Values {
                     Value begins = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, firstPanel(number), panel);
                     return {arith::SelectOp::create(b, begins, number, carried.front())};
                   }).front();
  return {sequence, subtract(panel, firstPanel(sequence))};
}

HostValues::Sequence HostSequences::sequenceOf(Value number) {
  Value zero = constant(0), next = add(number, constant(1));
  Sequence sequence{number, zero, sizeOf(query, 2), zero, sizeOf(key, 2), {}};
  if (Value packed = keyLoop.getQueryStarts()) {
    Value starts = tensorOf(packed).data;
    sequence.queryRow = loadIndex(starts, number);
    sequence.queries = subtract(loadIndex(starts, next), sequence.queryRow);
  }
  if (Value packed = keyLoop.getKeyStarts()) {
    Value starts = tensorOf(packed).data;
    sequence.keyRow = loadIndex(starts, number);
    sequence.keys = subtract(loadIndex(starts, next), sequence.keyRow);
  }
  if (Value lengths = keyLoop.getKeyLengths())
    sequence.keys = loadIndex(tensorOf(lengths).data, number);
  sequence.position = subtract(sequence.keys, sequence.queries);
  return sequence;
}

SmallVector<Value> HostSequences::queryPlace(const Sequence &sequence, Value head, Value query) {
  if (isPacked())
    return {constant(0), head, add(sequence.queryRow, query)};
  return {sequence.number, head, query};
}

SmallVector<Value> HostSequences::keyPlace(const Sequence &sequence, Value head, Value position) {
  if (Value table = keyLoop.getPageTable()) {
    Value rowsOfPage = sizeOf(key, 2);
    Value entry = elementAddress(tensorOf(table), {sequence.number, arith::DivSIOp::create(b, position, rowsOfPage)});
    return {loadIndex(entry, constant(0)), head, arith::RemSIOp::create(b, position, rowsOfPage)};
  }
  if (keyLoop.getKeyStarts())
    return {constant(0), head, add(sequence.keyRow, position)};
  return {sequence.number, head, position};
}
