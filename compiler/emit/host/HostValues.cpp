// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host/HostValues.h"

using namespace mlir;
using namespace sparsec;

Value HostValues::bufferOf(Operation *op, int64_t vectors) {
  Value &result = buffers[op];
  if (!result)
    beforeTiles([&] { result = buffer(vectors); });
  return result;
}

Value HostValues::zeroedBufferOf(Operation *op, int64_t vectors) {
  bool isNew = !buffers.contains(op);
  Value buffer = bufferOf(op, vectors);
  if (isNew)
    beforeTiles([&] { clear(buffer, vectors); });
  return buffer;
}

void HostValues::clear(Value buffer, int64_t vectors) {
  loop(constant(0), constant(vectors), [&](Value index) { storeVector(constantVector(0), buffer, index); });
}

void HostValues::carry(ValueRange inits, ValueRange carried) {
  for (auto [init, value] : llvm::zip_equal(inits, carried)) {
    HostValue onHost = values.find(init)->second;
    if (auto *sum = std::get_if<Sum>(&onHost); sum && sum->isZero) {
      clear(sum->buffer, sum->vectors);
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
