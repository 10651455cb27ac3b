// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernel ops: what a kernel computes. No chip, no threads.

#ifndef SPARSEC_KERNEL_OPS_TD
#define SPARSEC_KERNEL_OPS_TD

include "SparsecDialect.td"
include "SparsecAttrs.td"
include "SparsecTypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

// The op that a kernel is about: spmm, later attention and the other products.
def Sparsec_AnchorOp : NativeOpTrait<"AnchorOp"> {
  let cppNamespace = "::sparsec";
}

def Sparsec_KernelOp : Sparsec_Op<"kernel", [
    IsolatedFromAbove, SingleBlock,
    FunctionOpInterface,           // kernel_c9, by the module's symbol table
    HasParent<"::mlir::ModuleOp">, // kernel_c10
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "One entry point: typed, named arguments, one anchor op, named results.";
  let description = [{
    `results = anchor(arguments)`. The body is one anchor op (`sparsec.spmm`) over the kernel's arguments and
    `sparsec.return`. The names of arguments and results are part of the program: the runtime and `sparsec-run` call
    them by these names, in every syntax.

    - Arguments: `!sparsec.bsr<...>`, ranked tensors of bf16, f16, f32, f8E4M3FN or f8E5M2, and `f32` by value.
      Tensors are row-major; rows may be apart by more than their width (a leading dimension, given at run time).
    - Results: ranked tensors of the same element types, written to memory that the caller owns.
    - `schedule`, `fallback_schedule`: how to compute it, see `#sparsec.schedule`. Both optional.

    Constraints: `kernel_c1` to `kernel_c10`.

    ```mlir
    sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
      %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
      sparsec.return %0 : tensor<?x?xbf16>
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    StrArrayAttr:$argument_names,
    StrArrayAttr:$result_names,
    OptionalAttr<Sparsec_ScheduleAttr>:$schedule,
    OptionalAttr<Sparsec_ScheduleAttr>:$fallback_schedule,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The op that the kernel is about.
    ::mlir::Operation *getAnchor() { return &getBody().front().front(); }
  }];
}

def Sparsec_ReturnOp : Sparsec_Op<"return", [
    Pure, Terminator, ReturnLike,
    HasParent<"KernelOp">, // return_c1
    ]> {
  let summary = "Ends a kernel and gives its results.";
  let description = [{
    The operands are the results of the anchor op, in order, and have the types that the kernel declares
    (`kernel_c3`).

    ```mlir
    sparsec.return %0 : tensor<?x?xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def Sparsec_YieldOp : Sparsec_Op<"yield", [
    Pure, Terminator, ReturnLike,
    ParentOneOf<["SpmmOp", "StoreOp", "BlockLoopOp"]>, // yield_c1
    ]> {
  let summary = "Ends the region of an op and gives its values.";
  let description = [{
    In an epilogue region: the one f32 that is rounded to the result (`spmm_c17`). In a block loop: the values carried
    to the next step.

    ```mlir
    sparsec.yield %sum : f32
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def Sparsec_SpmmOp : Sparsec_Op<"spmm", [
    Pure, Sparsec_AnchorOp, SingleBlock, HasParent<"KernelOp">,
    IsolatedFromAbove, // spmm_c19
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Y = epilogue(W X): a block-sparse matrix times a dense one.";
  let description = [{
    `acc[m, n] = sum over k of W[m, k] * X[k, n]` in f32, `Y[m, n] = epilogue(acc[m, n], extra operands)`, rounded to
    the element type of Y (to nearest even). Absent blocks of W are zero. Without a region the epilogue is the identity.

    | operand | type | shape |
    |---|---|---|
    | W (`matrix`) | `!sparsec.bsr` of bf16 or f16 | M x K |
    | X (`dense`) | tensor of W's element type | `x_layout(kn)`, the default: K x N; `x_layout(nk)`: N x K |
    | extra operands | tensors of f32, f16, bf16; `f32` | `per_row`: M; `per_column`: N; `scalar`: none; `full`: as Y |
    | Y (`result`) | tensor of bf16, f16 or f32 | `y_layout(mn)`, the default: M x N; `y_layout(nm)`: N x M |

    Sizes may be `?`; M, N and K need not be multiples of the block.

    The region gets the f32 accumulator and one element of every extra operand, and yields one f32. It holds ops of
    `EpilogueOps.def` only, and sees nothing from outside. It is evaluated once for every element of Y, also where a
    block row is empty (the accumulator is then zero).

    Constraints: `spmm_c1` to `spmm_c20`.

    ```mlir
    %0 = sparsec.spmm %w, %x, %bias per_row x_layout(nk) y_layout(nm) epilogue (%acc: f32, %b: f32) {
      %sum = arith.addf %acc, %b : f32
      sparsec.yield %sum : f32
    } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
    ```
  }];
  let arguments = (ins
    Sparsec_BsrType:$matrix, AnyRankedTensor:$dense, Variadic<AnyType>:$extras,
    DefaultValuedAttr<Sparsec_DenseLayoutAttr, "::sparsec::DenseLayout::kn">:$x_layout,
    DefaultValuedAttr<Sparsec_ResultLayoutAttr, "::sparsec::ResultLayout::mn">:$y_layout,
    DefaultValuedAttr<Sparsec_BroadcastArrayAttr, "{}">:$broadcast);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region AnyRegion:$epilogue);
  let assemblyFormat = [{
    $matrix `,` custom<SpmmInputs>($dense, $extras, $broadcast, $x_layout, $y_layout) attr-dict
    (`epilogue` custom<Epilogue>($epilogue)^)? `:` functional-type(operands, results)
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The broadcast of extra operand `index`.
    ::sparsec::Broadcast getBroadcastOf(unsigned index) {
      return ::mlir::cast<::sparsec::BroadcastAttr>(getBroadcast()[index]).getValue();
    }
    bool hasEpilogue() { return !getEpilogue().empty(); }
  }];
}

#endif // SPARSEC_KERNEL_OPS_TD
