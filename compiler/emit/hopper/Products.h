// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products by wgmma. A view is the address of its buffer in slot 0, as descriptors have it; accumulators are structs of
// f32, one for every thread of a warpgroup.

#ifndef SPARSEC_EMIT_HOPPER_PRODUCTS_H
#define SPARSEC_EMIT_HOPPER_PRODUCTS_H

#include "Ring.h"

namespace sparsec {

/// Rows of A that one instruction has.
inline constexpr int64_t rowsOfWgmma = 64;

/// `row` and `column`: first element of the view in its buffer, or null.
mlir::Value emitWgmmaView(KernelBuilder &b, ViewOp view, Ring &ring, mlir::Value row, mlir::Value column);

/// An operand: the address of its view, the view and the ring of its buffer, and the slot.
struct WgmmaOperand {
  mlir::Value address;
  ViewOp view;
  Ring &ring;
  mlir::Value slot;
  mlir::Value ones; // the address of those that follow the columns, or null
};

/// Makes zeros whose value no compiler knows, another one at each call. The assembler lets instructions share registers
/// for descriptors, and before each copies the words that are the same in all steps. With such a zero in them, an
/// instruction keeps registers of its own (bench/notes/attention-step-instructions.md).
struct ZeroMaker {
  mlir::Value zero; // that no compiler knows; null: no zeros are made
  int64_t count = 0;

  mlir::Value next(KernelBuilder &b) { return zero ? b.bitAnd(zero, ++count) : mlir::Value(); }
};

/// A product of rows x depth and depth x columns. An instruction has `instructionColumns` of the columns.
struct WgmmaShape {
  int64_t rows, columns, instructionColumns, depth;
  bool startsAtZero;
};

/// The descriptors of an operand, one for each instruction of a product.
using WgmmaDescriptors = KernelBuilder::Values;
WgmmaDescriptors describeLeft(KernelBuilder &b, WgmmaShape shape, WgmmaOperand a, ZeroMaker &zeros);
WgmmaDescriptors describeRight(KernelBuilder &b, WgmmaShape shape, WgmmaOperand x, ZeroMaker &zeros);

// Issues instructions along the whole depth for each part of the columns, all as one group. Where it starts at zero,
// `sum` gives the registers of the result, or is null. A is a view or a fragment.
mlir::Value emitWgmmaProduct(KernelBuilder &b, WgmmaShape shape, ViewType aType, mlir::ValueRange a, ViewType xType,
                             mlir::ValueRange x, mlir::Value sum);
mlir::Value emitWgmmaProduct(KernelBuilder &b, WgmmaShape shape, mlir::ValueRange a, ViewType xType, mlir::ValueRange x,
                             mlir::Value sum);

/// Writes the ones of products that sum rows, by the first warpgroup, if the program has such products.
void writeOnes(ProgramContext &context);

} // namespace sparsec

#endif // SPARSEC_EMIT_HOPPER_PRODUCTS_H
