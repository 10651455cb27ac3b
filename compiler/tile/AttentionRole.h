// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The base of the roles that multiply in programs of attention, for all chips.

#ifndef SPARSEC_COMPILER_TILE_ATTENTIONROLE_H
#define SPARSEC_COMPILER_TILE_ATTENTIONROLE_H

#include "AttentionParts.h"
#include "MaskForm.h"

namespace sparsec {

class AttentionRole {
protected:
  using Values = llvm::SmallVector<mlir::Value>;

  /// A group of the role has `rowsOfGroup` queries of the tile.
  AttentionRole(mlir::ImplicitLocOpBuilder &b, AttentionParts &parts, int64_t rowsOfGroup)
      : b(b), parts(parts), schedule(parts.schedule), form(parts.softmax.getScore(), parts.element),
        context(b.getContext()), rowsOfGroup(rowsOfGroup) {}

  /// The blocks of a step: their first keys, and whether the mask region applies.
  struct Step {
    Values keys, partial;
    mlir::Value terms; // of the keys; null where no region has any
  };
  /// The probabilities of a step, and the state after it.
  struct Exponentials {
    mlir::Value probabilities, rows;
  };

  void makeViews();
  mlir::Value makeSoftmax(SequenceTile tile);
  /// `keys` are those of a block.
  Step stepOf(mlir::ValueRange blocks, int64_t keys);
  /// The terms of the keys of a step. They come before a wait, which hides their loads.
  mlir::Value makeTerms(mlir::ValueRange blocks, int64_t keys);
  RowMaximumOp raiseMaximum(mlir::Value scores, mlir::Value rows, const Step &step);
  Exponentials exponentiate(mlir::Value scores, mlir::Value rows, const Step &step);
  mlir::Value fragmentOf(mlir::Value probabilities);
  mlir::Type fragmentTypeOf(mlir::Value probabilities);
  /// The sums that the scores of a step start from: a linear bias, or null.
  mlir::Value biasOf(const Step &step);

  /// Whether the output has columns with the sums of probabilities behind those of values.
  bool sumsRows() const;
  int64_t outputColumns() const { return parts.valueDimension + (sumsRows() ? columnsOfOnes : 0); }
  mlir::Type outputType() { return AccumulatorType::get(context, rowsOfGroup, outputColumns()); }
  mlir::Type scoreType() { return AccumulatorType::get(context, rowsOfGroup, schedule.getTileN()); }
  mlir::Type stateType() { return SoftmaxStateType::get(context, rowsOfGroup); }
  mlir::Type queryFragmentType() { return FragmentType::get(context, rowsOfGroup, parts.headDimension, parts.element); }

  mlir::ImplicitLocOpBuilder &b;
  AttentionParts &parts;
  ScheduleAttr schedule;
  ScoreForm form;
  mlir::MLIRContext *context;
  int64_t rowsOfGroup;
  mlir::Value group, groupRow; // the group's number, and its first row in the tile
  mlir::Value queryView, keyView, valueView;
  mlir::Value softmax; // of the tile
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_ATTENTIONROLE_H
