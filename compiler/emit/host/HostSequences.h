// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the queries and keys of a sequence in memory.

#ifndef SPARSEC_EMIT_HOST_SEQUENCES_H
#define SPARSEC_EMIT_HOST_SEQUENCES_H

#include "host/HostProgram.h"

namespace sparsec {

class HostSequences : public HostProgram {
protected:
  /// The walk over keys of the program has the tensors of sequences, but ops before it need them too.
  HostSequences(ProgramOp program, KeyLoopOp keyLoop);

  /// A block of the queries of a sequence.
  struct QueryBlock {
    Value sequence, block;
  };

  int64_t queryBlock() { return program.getSchedule().getTileM(); }
  Value heads() { return sizeOf(query, 1); }
  Value keyHeads() { return sizeOf(key, 1); }
  bool isPacked() { return bool(keyLoop.getQueryStarts()); }
  /// The panels of a head: one for every block of queries that a sequence may have. They follow from the sizes, because
  /// a kernel of attention may have all parameters that a kernel can have.
  Value panels() override;
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
