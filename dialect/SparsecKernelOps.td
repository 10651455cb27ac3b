// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernel ops: what a kernel computes. They know no chip and no threads.

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

// The op that defines what a kernel computes: spmm, sddmm, spgemm, attention or merge.
def Sparsec_AnchorOp : NativeOpTrait<"AnchorOp"> {
  let cppNamespace = "::sparsec";
}

def Sparsec_KernelOp : Sparsec_Op<"kernel", [
    IsolatedFromAbove, SingleBlock,
    FunctionOpInterface,           // kernel_c9, by the module's symbol table
    HasParent<"::mlir::ModuleOp">, // kernel_c10
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "An entry point with typed and named arguments, one anchor op, and named results.";
  let description = [{
    `results = anchor(arguments)`. The body consists of one anchor op, such as `sparsec.spmm`, over the kernel's
    arguments, and of `sparsec.return`. The names of arguments and results are
    part of the program, in every syntax. The runtime and `sparsec-run` use these names.

    - Arguments: `!sparsec.bsr<...>`, `!sparsec.pattern<...>`, ranked tensors of bf16, f16, f32, f8E4M3FN, f8E5M2 or
      i32, and `f32` by value. The last dimension of a tensor is contiguous. The caller gives the strides of the others
      at run time.
    - Results: ranked tensors of the same element types except i32. The kernel writes them to memory of the caller.
    - `schedule`, `fallback_schedule`: the way to compute the results, see `#sparsec.schedule`. Both are optional.
    - `planned_schedules`: other ways, for launches whose plan has the sections that they need, in order of preference.
    - `narrow_schedules`: other ways, for launches whose width N fits in one tile, by `tile_n`, the
      least first. The first one that takes a call counts.
    - `split_schedules`: other ways, for launches whose plan has the sections that they need, and whose tiles are so few
      that they split K into parts.
    - `packed_schedules`: other ways, for launches with packed values, in order of preference. They are schedules of the
      kernel whose matrix has blocks of `packed_block` (rows, columns) in place of its own.

    Constraints: `kernel_c1` to `kernel_c17`.

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
    OptionalAttr<TypedArrayAttrBase<Sparsec_ScheduleAttr, "array of schedules">>:$planned_schedules,
    OptionalAttr<TypedArrayAttrBase<Sparsec_ScheduleAttr, "array of schedules">>:$narrow_schedules,
    OptionalAttr<TypedArrayAttrBase<Sparsec_ScheduleAttr, "array of schedules">>:$split_schedules,
    OptionalAttr<TypedArrayAttrBase<Sparsec_ScheduleAttr, "array of schedules">>:$packed_schedules,
    OptionalAttr<DenseI64ArrayAttr>:$packed_block,
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
    /// Those of all variants that read the blocks as they are stored, in order of preference.
    ::llvm::SmallVector<::sparsec::ScheduleAttr> getSchedules();
    /// The op that defines what the kernel computes.
    ::mlir::Operation *getAnchor() { return &getBody().front().front(); }
  }];
}

def Sparsec_ReturnOp : Sparsec_Op<"return", [
    Pure, Terminator, ReturnLike,
    HasParent<"KernelOp">, // return_c1
    ]> {
  let summary = "Ends a kernel and gives its results.";
  let description = [{
    The operands are the results of the anchor op, in their order. They have the types that the kernel declares
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
    ParentOneOf<["SpmmOp", "SddmmOp", "SpgemmOp", "AttentionOp", "StoreOp", "TileLoopOp", "LoopOp", "BlockLoopOp",
                 "KeyLoopOp", "WalkOp", "SoftmaxOp", "TileSoftmaxOp"]>, // yield_c1
    ]> {
  let summary = "Ends the region of an op and gives its values.";
  let description = [{
    An epilogue region gives one f32, which is rounded to the result (`spmm_c17`, `sddmm_c17`, `spgemm_c17`). The score
    region of attention gives the new score (`attention_c15`). Its mask region says whether the key is visible
    (`attention_c17`).
    A loop gives the values that it carries to the next step.

    ```mlir
    sparsec.yield %sum : f32
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  // A loop that carries no values ends without operands.
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

def Sparsec_SpmmOp : Sparsec_Op<"spmm", [
    Pure, AttrSizedOperandSegments, Sparsec_AnchorOp, SingleBlock, HasParent<"KernelOp">,
    IsolatedFromAbove, // spmm_c19
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Y = epilogue(W X): a block-sparse matrix times a dense one.";
  let description = [{
    `acc[m, n] = sum over k of W[m, k] * X[k, n]` in f32, `Y[m, n] = epilogue(acc[m, n], extra operands)`, rounded to
    the element type of Y (to nearest even). Absent blocks of W are zero. Without a region the epilogue is the identity.

    | operand | type | shape |
    |---|---|---|
    | W (`matrix`) | `!sparsec.bsr` of bf16, f16, f8E4M3FN or f8E5M2 | M x K; `transposed`: the caller passes W^T |
    | `scales` | tensor of f32, with fp8 alone | one for each stored block of W, in their order |
    | `x_scale` | tensor of f32, with fp8 alone | N x ceil(K / 128) |
    | X (`dense`) | tensor of W's element type (`spmm_c1`) | `x_layout(kn)`, the default: K x N; `x_layout(nk)`: N x K |
    | extra operands | tensors of f32, f16, bf16; `f32` | `per_row`: M; `per_column`: N; `scalar`: none; `full`: as Y |
    | Y (`result`) | tensor of bf16, f16 or f32 | `y_layout(mn)`, the default: M x N; `y_layout(nm)`: N x M |

    Sizes may be `?`; M, N and K need not be multiples of the block.

    With fp8, `accumulation(two_level)`, the default, adds sums over at most 128 of K in f32. With `accumulation(fast)`
    the matrix instructions keep whole sums, but only about 14 bits of them. dialect/SPEC.md has the error bounds. With
    `scales` the elements of stored block b of W are multiplied by `scales[b]`, in f32, where the sums of a block are
    added. With `x_scale` element (k, n) of X is multiplied by `x_scale[n, k / 128]` there: a column of X has a factor
    for each 128 of K.

    The region gets the f32 accumulator and one element of every extra operand, and yields one f32. It has only ops of
    `ElementwiseOps.def`, and uses no values from outside. The kernel evaluates it once for every element of Y, also in
    an empty block row, where the accumulator is zero.

    Constraints: `spmm_c1` to `spmm_c25`.

    ```mlir
    %0 = sparsec.spmm %w, %x, %bias per_row x_layout(nk) y_layout(nm) epilogue (%acc: f32, %b: f32) {
      %sum = arith.addf %acc, %b : f32
      sparsec.yield %sum : f32
    } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
    ```
  }];
  let arguments = (ins
    Sparsec_BsrType:$matrix, Optional<AnyRankedTensor>:$scales, AnyRankedTensor:$dense,
    Optional<AnyRankedTensor>:$x_scale, Variadic<AnyType>:$extras,
    DefaultValuedAttr<Sparsec_DenseLayoutAttr, "::sparsec::DenseLayout::kn">:$x_layout,
    DefaultValuedAttr<Sparsec_ResultLayoutAttr, "::sparsec::ResultLayout::mn">:$y_layout,
    DefaultValuedAttr<Sparsec_AccumulationAttr, "::sparsec::Accumulation::two_level">:$accumulation,
    DefaultValuedAttr<Sparsec_BroadcastArrayAttr, "{}">:$broadcast);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region AnyRegion:$epilogue);
  let assemblyFormat = [{
    $matrix (`scales` `(` $scales^ `)`)? `,` $dense (`x_scale` `(` $x_scale^ `)`)? ``
    custom<SpmmInputs>($extras, $broadcast, $x_layout, $y_layout, $accumulation) attr-dict
    (`epilogue` custom<ElementRegion>($epilogue)^)? `:` functional-type(operands, results)
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The broadcast of extra operand `index`.
    ::sparsec::Broadcast getBroadcastOf(unsigned index) {
      return ::mlir::cast<::sparsec::BroadcastAttr>(getBroadcast()[index]).getValue();
    }
    bool hasEpilogue() { return !getEpilogue().empty(); }
    /// Whether sums over parts of K are added in f32.
    bool hasTwoLevels();
  }];
}

def Sparsec_SddmmOp : Sparsec_Op<"sddmm", [
    Pure, Sparsec_AnchorOp, SingleBlock, HasParent<"KernelOp">,
    IsolatedFromAbove, // sddmm_c19
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "S = epilogue(A B^T) at the blocks of a pattern: a dense product sampled by a block-sparse matrix.";
  let description = [{
    Block b of the pattern, in block row i and block column j, gets the product of the rows of A in i and the rows of B
    in j: `acc[b, p, q] = sum over k of A[i r + p, k] * B[j c + q, k]` in f32,
    `S[b, p, q] = epilogue(acc[b, p, q], extra operands)`, rounded to the element type of S (to nearest even). Without a
    region the epilogue is the identity. S is an array of values for the pattern: with its `row_ptr` and `col_idx` it is
    a block-sparse matrix.

    | operand | type | shape |
    |---|---|---|
    | `pattern` | `!sparsec.bsr` of any element type | M x N; its values are not read |
    | A (`left`) | tensor of bf16 or f16 | `a_layout(mk)`, the default: M x K; `a_layout(km)`: K x M |
    | B (`right`) | tensor of A's element type | `b_layout(nk)`, the default: N x K; `b_layout(kn)`: K x N |
    | extra operands | tensors of f32, f16, bf16; `f32` | `per_row`: M; `per_column`: N; `scalar`: none; `full`: as S |
    | S (`result`) | tensor of bf16, f16 or f32 | blocks x r x c |

    Sizes may be `?`; M, N and K need not be multiples of the block. A `full` operand is another array of values of the
    same pattern, and may be the memory of S.

    The region is that of `sparsec.spmm`. It is evaluated once for every element of S. An element of a stored block
    beyond M or N has an accumulator of zero, and the last element of a `per_row` or `per_column` operand.

    Constraints: `sddmm_c1` to `sddmm_c22`.

    ```mlir
    %0 = sparsec.sddmm %p, %a, %b, %alpha scalar, %old full a_layout(km) b_layout(kn)
        epilogue (%acc: f32, %s: f32, %o: bf16) {
      %wide = arith.extf %o : bf16 to f32
      %sum = math.fma %acc, %s, %wide : f32
      sparsec.yield %sum : f32
    } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, f32, tensor<?x64x64xbf16>)
        -> tensor<?x64x64xbf16>
    ```
  }];
  let arguments = (ins
    Sparsec_BsrType:$pattern, AnyRankedTensor:$left, AnyRankedTensor:$right, Variadic<AnyType>:$extras,
    DefaultValuedAttr<Sparsec_LeftLayoutAttr, "::sparsec::LeftLayout::mk">:$a_layout,
    DefaultValuedAttr<Sparsec_DenseLayoutAttr, "::sparsec::DenseLayout::nk">:$b_layout,
    DefaultValuedAttr<Sparsec_BroadcastArrayAttr, "{}">:$broadcast);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region AnyRegion:$epilogue);
  let assemblyFormat = [{
    $pattern `,` $left `,` custom<SddmmInputs>($right, $extras, $broadcast, $a_layout, $b_layout) attr-dict
    (`epilogue` custom<ElementRegion>($epilogue)^)? `:` functional-type(operands, results)
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The broadcast of extra operand `index`.
    ::sparsec::Broadcast getBroadcastOf(unsigned index) {
      return ::mlir::cast<::sparsec::BroadcastAttr>(getBroadcast()[index]).getValue();
    }
    bool hasEpilogue() { return !getEpilogue().empty(); }
    /// The dimension of A that is M, and the one of B that is N; the other one is K.
    unsigned getRowDimension() { return getALayout() == ::sparsec::LeftLayout::mk ? 0 : 1; }
    unsigned getColumnDimension() { return getBLayout() == ::sparsec::DenseLayout::nk ? 0 : 1; }
  }];
}

def Sparsec_SpgemmOp : Sparsec_Op<"spgemm", [
    Pure, AttrSizedOperandSegments, Sparsec_AnchorOp, SingleBlock, HasParent<"KernelOp">,
    IsolatedFromAbove, // spgemm_c19
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "C = epilogue(A B): the product of two block-sparse matrices, dense or at the blocks of a pattern.";
  let description = [{
    `acc[m, n] = sum over k of A[m, k] * B[k, n]` in f32, `C[m, n] = epilogue(acc[m, n], extra operands)`, rounded to
    the element type of C (to nearest even). Absent blocks of A and B are zero. Without a region the epilogue is the
    identity.

    | operand | type | shape |
    |---|---|---|
    | A (`left`) | `!sparsec.bsr` of bf16 or f16 with blocks of r x s | M x K |
    | B (`right`) | `!sparsec.bsr` of A's element type with blocks of s x t | K x N |
    | `pattern` | `!sparsec.bsr` of any element type with blocks of r x t, optional | M x N; its values are not read |
    | extra operands | tensors of f32, f16, bf16; `f32` | `per_row`: M; `per_column`: N; `scalar`: none; `full`: as C |
    | C (`result`) | tensor of bf16, f16 or f32 | M x N; with `c_layout(nm)` N x M; with a pattern blocks x r x t |

    Sizes may be `?`; M, N and K need not be multiples of the blocks.

    With a pattern C is an array of values for it, as the result of `sparsec.sddmm` is: block b of the pattern gets the
    block of the product in its place, and the product has no other blocks. Elements of a stored block beyond M or N
    have an accumulator of zero, and the last element of a `per_row` or `per_column` operand. A `full` operand is
    another array of values of the pattern. It may be the memory of C.

    A kernel multiplies the pairs of stored blocks that match: a block (i, k) of A and a block (k, j) of B. A plan lists
    the pairs of every block of the result (launch_info.h, `SPARSEC_PLAN_PAIR_STARTS`). Launches need a plan of a static
    pattern.

    The region is that of `sparsec.spmm`. It is evaluated once for every element of C, also where no pair matches.

    Constraints: `spgemm_c1` to `spgemm_c22`.

    ```mlir
    %0 = sparsec.spgemm %a, %b pattern(%p), %old full epilogue (%acc: f32, %o: f32) {
      %1 = arith.addf %acc, %o : f32
      sparsec.yield %1 : f32
    } : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>,
         !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, tensor<?x64x128xf32>) -> tensor<?x64x128xbf16>
    ```
  }];
  let arguments = (ins
    Sparsec_BsrType:$left, Sparsec_BsrType:$right, Optional<Sparsec_BsrType>:$pattern, Variadic<AnyType>:$extras,
    DefaultValuedAttr<Sparsec_ResultLayoutAttr, "::sparsec::ResultLayout::mn">:$c_layout,
    DefaultValuedAttr<Sparsec_BroadcastArrayAttr, "{}">:$broadcast);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region AnyRegion:$epilogue);
  let assemblyFormat = [{
    $left `,` $right (`pattern` `(` $pattern^ `)`)? `` custom<SpgemmInputs>($extras, $broadcast, $c_layout) attr-dict
    (`epilogue` custom<ElementRegion>($epilogue)^)? `:` functional-type(operands, results)
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

// A name for messages.
def Sparsec_AnyPattern : Type<CPred<"::mlir::isa<::sparsec::PatternType>($_self)">, "a !sparsec.pattern",
                              "::sparsec::PatternType">;

def Sparsec_AttentionOp : Sparsec_Op<"attention", [
    Pure, Sparsec_AnchorOp, SingleBlock, HasParent<"KernelOp">, AttrSizedOperandSegments,
    IsolatedFromAbove, // attention_c19
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "O = softmax(score(scale Q K^T), masked) V: attention over the blocks of a pattern.";
  let description = [{
    For every batch b and head h, where g = h / (H / Hkv) is the head of the keys and values that belongs to h:

    `s[q, k] = score(scale * sum over d of Q[b, h, q, d] * K[b, g, k, d])`,
    `l[q] = sum over visible k of exp(s[q, k])`, with sinks plus `exp(sinks[h])`,
    `O[b, h, q] = sum over visible k of exp(s[q, k]) * V[b, g, k] / l[q]`,
    `LSE[b, h, q] = log(l[q])`.

    | operand | type | shape |
    |---|---|---|
    | Q (`query`) | tensor of bf16 or f16 | B x H x Sq x D, D 64 or 128 |
    | K, V (`key`, `value`) | tensors of Q's element type | B x Hkv x Skv x D, H a multiple of Hkv |
    | `pattern` | `!sparsec.pattern`, optional | |
    | `scale` | `f32`, optional: 1 / sqrt(D) | |
    | `sinks` | tensor of f32, optional | H |
    | `extras` | tensors of f32, f16, bf16, i64, i32 or i8 | any, rank at most 4; at most 8 operands |
    | `query_starts`, `key_starts` | tensors of i32, optional | B + 1 |
    | `key_lengths` | tensor of i32, optional | B |
    | `page_table` | tensor of i32, optional | B x P |
    | O (`result`) | tensor of bf16, f16 or f32 | B x H x Sq x D |
    | LSE (`lse`) | tensor of f32, optional | B x H x Sq |

    The order of dimensions is a logical one: the caller gives the strides at run time, and D is contiguous. All sizes
    but D may be `?`, and none needs to be a multiple of a block.

    The B sequences of a batch may have sizes of their own, which the kernel reads on the device:
    - `query_starts`: Q, O and LSE are packed. Their size B is 1, and sequence b has the rows `query_starts[b]` up to
      `query_starts[b + 1]`. Sq is the number of these rows.
    - `key_starts`: the same for K and V, and Skv.
    - `key_lengths`: Skv of sequence b is `key_lengths[b]`. Keys behind have no influence, whatever they are.
    - `page_table`: K and V are pages x Hkv x R x D, where R is static. Key k of sequence b is row `k mod R` of page
      `page_table[b, k / R]`. It needs `key_lengths`; no entry behind a sequence's last key is read.

    Numbers of queries and keys count within the sequence, also in patterns and in regions.

    Query q has the position `p = q + Skv - Sq` among the keys (aligned at the bottom right). Key k is visible to it if
    each of these that the op has allows it:
    - `pattern`: the list of partial or the list of full blocks of q's block, for this batch and head, has k's block;
    - `causal`: k <= p;
    - `window = [left, right]`: p - left <= k <= p + right, where -1 is no limit;
    - the `mask` region: it yields true. It does not apply in full blocks. Without a pattern no block is full.

    A query that sees no key gets O = 0 and LSE = -inf, or LSE = sinks[h]. A score of -inf hides its key. A sink is a
    logit that joins the sum of every query of its head. It is not scaled, and the score region does not see it.

    The regions get the batch, the head, the query and the key as i32, and the extra operands as tensors that
    `sparsec.element` reads. The `score` region also gets the score, as its first argument. The regions have only ops of
    `ElementwiseOps.def`, and use no values from outside. It is not defined how often a kernel evaluates them, and for
    which elements of visited blocks.

    Constraints: `attention_c1` to `attention_c26`.

    ```mlir
    %o, %lse = sparsec.attention %q, %k, %v pattern(%p) scale(%c) extras(%slopes) causal window = [1024, -1]
        score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xf32>) {
      %slope = sparsec.element %t[%h] : tensor<?xf32>
      %distance = arith.subi %j, %i : i32
      %d = arith.sitofp %distance : i32 to f32
      %biased = math.fma %slope, %d, %s : f32
      sparsec.yield %biased : f32
    } mask (%b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xf32>) {
      %near = arith.cmpi sge, %j, %i : i32
      sparsec.yield %near : i1
    } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x64>, f32,
         tensor<?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    Optional<Sparsec_AnyPattern>:$pattern, // attention_c11
    Optional<F32>:$scale,                  // attention_c10
    Optional<AnyRankedTensor>:$sinks,
    Optional<AnyRankedTensor>:$query_starts, Optional<AnyRankedTensor>:$key_starts,
    Optional<AnyRankedTensor>:$key_lengths, Optional<AnyRankedTensor>:$page_table,
    Variadic<AnyRankedTensor>:$extras,
    UnitAttr:$causal,
    OptionalAttr<DenseI64ArrayAttr>:$window);
  let results = (outs AnyRankedTensor:$result, Optional<AnyRankedTensor>:$lse);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`pattern` `(` $pattern^ `)`)? (`scale` `(` $scale^ `)`)? (`sinks` `(` $sinks^ `)`)?
    (`query_starts` `(` $query_starts^ `)`)? (`key_starts` `(` $key_starts^ `)`)?
    (`key_lengths` `(` $key_lengths^ `)`)? (`page_table` `(` $page_table^ `)`)?
    (`extras` `(` $extras^ `)`)? (`causal` $causal^)? (`window` `=` $window^)? attr-dict
    (`score` custom<ElementRegion>($score)^)? (`mask` custom<ElementRegion>($mask)^)?
    `:` functional-type(operands, results)
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The static head dimension D.
    int64_t getHeadDimension() {
      return ::mlir::cast<::mlir::RankedTensorType>(getQuery().getType()).getDimSize(3);
    }
    /// The static size of a value's row: Dv, that of V or of O, or D where neither says one.
    int64_t getValueDimension();
    /// The limits of the window. -1 is no limit.
    int64_t getWindowLeft() { return getWindow() ? (*getWindow())[0] : -1; }
    int64_t getWindowRight() { return getWindow() ? (*getWindow())[1] : -1; }
    /// Whether sequences have sizes of their own.
    bool hasSequences() { return getQueryStarts() || getKeyStarts() || getKeyLengths(); }
    bool hasScore() { return !getScore().empty(); }
    bool hasMask() { return !getMask().empty(); }
  }];
}

def Sparsec_MergeOp : Sparsec_Op<"merge", [Pure, Sparsec_AnchorOp, HasParent<"KernelOp">]> {
  let summary = "O and LSE of attention over two parts of the keys, from those of each part.";
  let description = [{
    Every row (b, h, q) of O has D elements, and an LSE, which is -inf for a row that no key has reached:

    `LSE = log(exp(LSE1) + exp(LSE2))`,
    `O = exp(LSE1 - LSE) * O1 + exp(LSE2 - LSE) * O2`,

    computed in f32 without overflow, and rounded to the element type of O (to nearest even).

    | operand | type | shape |
    |---|---|---|
    | O1, O2 (`first`, `second`) | tensors of bf16, f16 or f32, which may differ | B x H x Sq x D |
    | LSE1, LSE2 (`first_lse`, `second_lse`) | tensors of f32 | B x H x Sq |
    | O (`result`) | tensor of bf16, f16 or f32 | B x H x Sq x D |
    | LSE (`lse`) | tensor of f32 | B x H x Sq |

    All sizes may be `?`. The order of dimensions is a logical one, as in `sparsec.attention`. O and LSE may be the
    memory of a part.

    If one part of a row is empty, the row is that of the other part. dialect/SPEC.md has the rules for rows of which
    both are, and for NaN and infinities.

    Constraints: `merge_c1` to `merge_c5`.

    ```mlir
    %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2
        : (tensor<?x?x?x128xf32>, tensor<?x?x?xf32>, tensor<?x?x?x128xf32>, tensor<?x?x?xf32>)
        -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$first, AnyRankedTensor:$first_lse, AnyRankedTensor:$second, AnyRankedTensor:$second_lse);
  let results = (outs AnyRankedTensor:$result, AnyRankedTensor:$lse);
  let assemblyFormat = [{
    $first `,` $first_lse `,` $second `,` $second_lse attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Sparsec_ElementOp : Sparsec_Op<"element", [
    NoMemoryEffect,
    ParentOneOf<["AttentionOp", "SoftmaxOp", "TileSoftmaxOp"]>, // element_c1
    TypesMatchWith<"result is of the element type of the tensor, or i32 for integers", "tensor", "result",
                   "::sparsec::typeOfElement($_self)">]> {
  let summary = "Reads one element of an extra operand, in a region of attention.";
  let description = [{
    Every index must be inside the tensor. An index outside is an error of the caller that a kernel does not detect. The
    region then converts elements of f16 and bf16 with `arith.extf`. An element of an integer tensor is an i32: the low
    32 bits of an i64, and an i8 with its sign. Constraints: `element_c1`, `element_c2`.

    ```mlir
    %slope = sparsec.element %t[%h] : tensor<?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tensor, Variadic<I32>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$tensor `[` $indices `]` attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

#endif // SPARSEC_KERNEL_OPS_TD
