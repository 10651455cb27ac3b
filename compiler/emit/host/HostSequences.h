// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the queries and keys of a sequence are.

#ifndef SPARSEC_EMIT_HOST_SEQUENCES_H
#define SPARSEC_EMIT_HOST_SEQUENCES_H

#include "host/HostProducts.h"

namespace sparsec {

class HostSequences : public HostProducts {
protected:
  using HostProducts::HostProducts;

  /// A tensor in memory: the last dimension is contiguous, `strides` has the others.
  struct Tensor {
    Value data;
    Type elementType;
    llvm::SmallVector<Value> strides;
  };

  /// A block of the queries of a sequence.
  struct QueryBlock {
    Value sequence, block;
  };

  /// Reads which tensors the program of attention has, if it is one. The walk over keys has those of sequences, but ops
  /// before it need them too.
  void findOperands();
  bool isAttention() { return bool(keyLoop); }

  Tensor tensorOf(Value argument);
  Value elementAddress(const Tensor &tensor, llvm::ArrayRef<Value> indices);
  using HostBuilder::elementAddress;

  int64_t queryBlock() { return program.getSchedule().getTileM(); }
  Value heads() { return sizeOf(query, 1); }
  Value keyHeads() { return sizeOf(key, 1); }
  bool isPacked() { return bool(keyLoop.getQueryStarts()); }
  /// The panels of a head: one for every block of queries that a sequence may have.
  Value panels();
  /// The block of a panel of packed queries. The panels of sequence s begin at starts[s] / rows + s.
  QueryBlock blockOfPanel(Value panel);
  Sequence sequenceOf(Value number);
  /// The coordinates of a query or a key of a sequence, without those in its row.
  llvm::SmallVector<Value> queryPlace(const Sequence &sequence, Value head, Value query);
  llvm::SmallVector<Value> keyPlace(const Sequence &sequence, Value head, Value key);

  KeyLoopOp keyLoop;
  Value query, key; // Q and K in the program
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_SEQUENCES_H
