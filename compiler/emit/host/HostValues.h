// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of a program, and what they are on the host. Sums and operands are buffers on the stack, and an op that takes
// a sum changes it in its place: programs in values form use every sum once.

#ifndef SPARSEC_EMIT_HOST_HOST_VALUES_H
#define SPARSEC_EMIT_HOST_HOST_VALUES_H

#include "host/HostBuilder.h"

#include <variant>

namespace sparsec {

class HostValues : protected HostBuilder {
public:
  virtual ~HostValues() = default;

protected:
  using HostBuilder::HostBuilder;

  /// `!sparsec.tile`.
  struct Tile {
    Value row, panel;
  };

  /// `!sparsec.block` in a loop over the blocks of a row: the part of a block that one step multiplies.
  struct Step {
    Value block;         // its number in memory
    Value firstK, depth; // the elements of K that count
    Value chunk;
  };

  /// `!sparsec.buffer`, an operand of a product. `outer` counts rows of A and columns of X.
  struct Factor {
    // Elements in memory: (outer, k) is at start + outer * outerStride + k * depthStride.
    Value data, start, outerStride, depthStride;
    Type elementType;
    bool isDepthContiguous;
    Value outer, depth;           // those inside the matrix and the block
    Value firstOuter, firstDepth; // places of the first element in the matrix, where a load knows them
    Value block;                  // number of the block; null if the operand is dense
    Value panel;                  // the elements as rows of f32, one for each k; null for A
  };

  /// `!sparsec.accumulator`: rows of f32.
  struct Sum {
    Value buffer;
    int64_t rows;
    bool isZero; // nothing has been written to the buffer yet
  };

  /// Integers are i64: all products of sizes are offsets.
  using HostValue = std::variant<Value, Tile, Step, Factor, Sum>;

  template <typename T> T get(Value value) { return std::get<T>(values.find(value)->second); }
  Value number(Value value) { return get<Value>(value); }
  /// A body that is translated twice sets its values again.
  void set(Value value, HostValue onHost) { values.insert_or_assign(value, std::move(onHost)); }

  /// A buffer that belongs to an op. It holds zeros before the first tile: nobody may compute with what was on the
  /// stack, because processors multiply subnormal numbers slowly.
  Value bufferOf(mlir::Operation *op, int64_t rows);
  void clearRows(Value buffer, int64_t rows);
  /// A vector of zeros, for a row of a buffer.
  Value zeroRow() { return constant(mlir::DenseElementsAttr::get(rowType, 0.0f)); }

  /// Gives the arguments of a loop's body the buffers of its inits.
  void carry(mlir::ValueRange inits, mlir::ValueRange arguments);
  /// Gives the results of a loop these buffers.
  void carryOut(mlir::ValueRange inits, mlir::ValueRange results);

  /// Translates the ops of a block, except its terminator.
  void translate(mlir::Block &block);
  virtual void translate(mlir::Operation &op) = 0;

private:
  llvm::DenseMap<Value, HostValue> values;
  llvm::DenseMap<mlir::Operation *, Value> buffers;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_HOST_VALUES_H
