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

  /// `!sparsec.tile` of a product.
  struct Tile {
    Value row, panel;
  };

  /// A sequence: its first rows in packed tensors, its numbers of queries and keys, and the position of its query 0
  /// among the keys.
  struct Sequence {
    Value number;
    Value queryRow, queries, keyRow, keys;
    Value position;
  };

  /// `!sparsec.tile` of attention: a block of queries.
  struct QueryTile {
    Sequence sequence;
    Value head, keyHead, block, firstQuery;
    Value queries;            // those of the tile that are below Sq
    Value firstKey, keyLimit; // some query may see keys in [firstKey, keyLimit)
  };

  /// Queries of a tile that share vectors.
  struct Group {
    Value index;
    Value firstQuery; // of all queries
    Value queries;    // those of the group that are below Sq
    Value begin, end; // the keys of the step that some query of the group may see
  };

  /// `!sparsec.block` in a loop over the blocks of a row: the part of a block that one step multiplies.
  struct Step {
    Value block;         // its number in memory
    Value firstK, depth; // the elements of K that count
    Value chunk;
  };

  /// `!sparsec.block` in a walk over keys: the keys of a step, and the queries for which ops on rows are translated.
  struct Keys {
    Value first;
    Value count;    // those of the step that are below Skv
    bool isPartial; // whether the mask region applies
    Group group;
  };

  /// `!sparsec.buffer` with queries, keys or values as f32. Queries are neighbours in vectors.
  struct Rows {
    Value unpacked;
    int64_t width;
    Value block; // in the program, the block of keys or values
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
    int64_t outerSize, depthSize; // of the buffer
    Value unpacked;               // the buffer: the elements as f32
  };

  /// `!sparsec.accumulator`: rows of M or of N in a product, vectors of queries in attention.
  struct Sum {
    Value buffer;
    int64_t vectors; // of the buffer
    bool isZero;     // nothing has been written to the buffer yet
    Value factor;    // a vector by which the op that takes the sum multiplies it first; null for none
  };

  /// `!sparsec.softmax_state`: m and l of every query.
  struct State {
    Value maxima, sums;
  };

  /// `!sparsec.fragment`: the probabilities of the queries of a group, a vector for each key.
  struct Probabilities {
    Value buffer;
  };

  /// Integers are i64: all products of sizes are offsets.
  using HostValue = std::variant<Value, Tile, QueryTile, Step, Keys, Factor, Rows, Sum, State, Probabilities>;

  template <typename T> T get(Value value) { return std::get<T>(values.find(value)->second); }
  Value number(Value value) { return get<Value>(value); }
  /// A body that is translated twice sets its values again.
  void set(Value value, const HostValue &onHost) { values.insert_or_assign(value, onHost); }

  /// A buffer that belongs to an op.
  Value bufferOf(mlir::Operation *op, int64_t vectors);
  /// One that holds zeros before the first tile. Products compute with elements that nothing has written, and these may
  /// not be what was on the stack: processors multiply subnormal numbers slowly.
  Value zeroedBufferOf(mlir::Operation *op, int64_t vectors);
  void clear(Value buffer, int64_t vectors);

  /// Gives the arguments of a loop's body, or its results, the buffers of its inits.
  void carry(mlir::ValueRange inits, mlir::ValueRange carried);

  /// Translates the ops of a block, except its terminator.
  void translate(mlir::Block &block);
  virtual void translate(mlir::Operation &op) = 0;

private:
  llvm::DenseMap<Value, HostValue> values;
  llvm::DenseMap<mlir::Operation *, Value> buffers;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_HOST_VALUES_H
