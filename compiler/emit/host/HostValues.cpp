// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host/HostValues.h"

using namespace mlir;
using namespace sparsec;

Value HostValues::bufferOf(Operation *op, int64_t rows) {
  Value &result = buffers[op];
  if (!result)
    beforeTiles([&] { result = buffer(rows); });
  return result;
}

Value HostValues::zeroedBufferOf(Operation *op, int64_t rows) {
  bool isNew = !buffers.contains(op);
  Value buffer = bufferOf(op, rows);
  if (isNew)
    beforeTiles([&] { clearRows(buffer, rows); });
  return buffer;
}

void HostValues::clearRows(Value buffer, int64_t rows) {
  loop(constant(0), constant(rows), [&](Value row) { storeRow(zeroRow(), buffer, row); });
}

void HostValues::carry(ValueRange inits, ValueRange carried) {
  for (auto [init, value] : llvm::zip_equal(inits, carried)) {
    HostValue onHost = values.find(init)->second;
    if (auto *sum = std::get_if<Sum>(&onHost); sum && sum->isZero) {
      clearRows(sum->buffer, sum->rows);
      sum->isZero = false;
      set(init, onHost);
    }
    set(value, onHost);
  }
}

void HostValues::translate(Block &block) {
  for (Operation &op : block.without_terminator())
    translate(op);
}
