// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Declarations of the sparsec dialect: types, attributes, kernel ops and tile ops.

#ifndef SPARSEC_DIALECT_H
#define SPARSEC_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "SparsecDialect.h.inc"
#include "SparsecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "SparsecAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "SparsecTypes.h.inc"

namespace sparsec {

/// Marks the op that a kernel is about; a kernel has exactly one.
template <typename ConcreteOp> class AnchorOp : public mlir::OpTrait::TraitBase<ConcreteOp, AnchorOp> {};

/// Whether regions read elements of this type as integers: i64, i32 or i8.
bool isIntegerElement(mlir::Type type);

/// The type of sparsec.element of a tensor: that of the tensor's elements, or i32 for integers.
mlir::Type typeOfElement(mlir::Type tensor);

} // namespace sparsec

#include "SparsecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "SparsecOps.h.inc"

#endif // SPARSEC_DIALECT_H
