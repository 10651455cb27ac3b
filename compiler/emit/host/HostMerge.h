// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec.merge on the host: a row at a time, in vectors and then element by element.

#ifndef SPARSEC_EMIT_HOST_HOST_MERGE_H
#define SPARSEC_EMIT_HOST_HOST_MERGE_H

#include "host/HostProgram.h"

namespace sparsec {

class HostMerge : public HostProgram {
public:
  explicit HostMerge(ProgramOp program) : HostProgram(program) {}

private:
  bool translateOther(mlir::Operation &op) override;
  /// Rows of all batches and heads follow one another: a tile is a tile row.
  Value panels() override { return constant(1); }

  /// Each element of a row is multiplied by the weight of its part. The elements of an empty part do not count.
  struct Weights {
    Value isFirstEmpty, isSecondEmpty; // i1
    Value ofFirst, ofSecond;           // f32
  };
  /// Where the elements of a row are.
  struct Addresses {
    Value first, second, result;
    Type firstType, secondType, resultType;
  };

  void emit(MergeRowsOp op);
  void emitRow(MergeRowsOp op, Value row);
  Weights weigh(MergeRowsOp op, llvm::ArrayRef<Value> place);
  /// Merges elements from a column on: a vector of so many, or 1 element.
  void mergeElements(const Addresses &row, const Weights &weights, Value column, int64_t count);
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_HOST_MERGE_H
