// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the queries and keys of a sequence are, for the host kernel of sparsec.attention.

#ifndef SPARSEC_EMIT_HOST_SEQUENCES_H
#define SPARSEC_EMIT_HOST_SEQUENCES_H

#include "host/HostBuilder.h"

namespace sparsec {

class HostSequences : protected HostBuilder {
protected:
  /// A tensor in memory: the last dimension is contiguous, `strides` has the others.
  struct Tensor {
    Value data;
    Type elementType;
    llvm::SmallVector<Value> strides;
  };

  /// A sequence: its first rows in packed tensors, its numbers of queries and keys, and the position of its query 0
  /// among the keys.
  struct Sequence {
    Value number;
    Value queryRow, queries, keyRow, keys;
    Value position;
  };

  /// A block of the queries of a sequence.
  struct QueryBlock {
    Value sequence, block;
  };

  HostSequences(ProgramOp program, AttentionOp attention) : HostBuilder(program), attention(attention) {}

  Tensor tensorParameter(int64_t argument, Type type);
  Tensor operandParameter(Value operand) { return tensorParameter(argumentOf(operand), operand.getType()); }
  void emitSequenceParameters();
  Value elementAddress(const Tensor &tensor, llvm::ArrayRef<Value> indices);

  bool isPacked() { return bool(attention.getQueryStarts()); }
  /// The panels of a head: one for every block of queries that a sequence may have.
  Value panels(int64_t rows);
  /// The block of a panel of packed queries. The panels of sequence s begin at starts[s] / rows + s.
  QueryBlock blockOfPanel(Value panel, int64_t rows);
  Sequence sequenceOf(Value number);
  /// The coordinates of a query or a key of a sequence, with those that follow.
  llvm::SmallVector<Value> queryPlace(const Sequence &sequence, Value head, Value query);
  llvm::SmallVector<Value> keyPlace(const Sequence &sequence, Value head, Value key);

  AttentionOp attention;
  Value heads, keyHeads, queryCount, keyCount; // sizes of Q and K

private:
  Value bounds(); // of the sequences
  Tensor queryStarts, keyStarts, keyLengths, pageTable;
  Value queryBounds, pagesOfSequence;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_SEQUENCES_H
