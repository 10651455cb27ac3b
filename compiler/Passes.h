// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Declarations of all passes (Passes.td).

#ifndef SPARSEC_COMPILER_PASSES_H
#define SPARSEC_COMPILER_PASSES_H

#include "SparsecDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sparsec {

#define GEN_PASS_DECL
#include "Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Passes.h.inc"

} // namespace sparsec

#endif // SPARSEC_COMPILER_PASSES_H
