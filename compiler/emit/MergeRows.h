// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The op of programs of roles that only sparsec.merge has: rows of two parts of the keys become one.

#ifndef SPARSEC_EMIT_MERGE_ROWS_H
#define SPARSEC_EMIT_MERGE_ROWS_H

#include "ProgramEmitter.h"

namespace sparsec {

class MergeRows : public FamilyOps {
public:
  MergeRows(ProgramContext &context, ProgramEmitter &program) : FamilyOps(program), context(context) {}

  bool emit(mlir::Operation &op) override;

private:
  ProgramContext &context;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_MERGE_ROWS_H
