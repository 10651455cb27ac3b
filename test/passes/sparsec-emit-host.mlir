// RUN: sparsec-opt %s --sparsec-select-schedule --sparsec-lower-to-tiles --sparsec-emit-host --split-input-file | FileCheck %s
// What the code computes is tested in test/unit/host_object_test.cpp.

// One function over tiles; the kernel op stays. Every parameter is an 8-byte slot, and the recipe says how to fill it.
// CHECK-LABEL: llvm.func @product.host(
// CHECK-SAME: %[[SLOTS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK-SAME: sparsec.alignment = 2 : i64
// CHECK-SAME: sparsec.kernel = @product
// CHECK-SAME: sparsec.parameters = [#sparsec.parameter<kind = size>, #sparsec.parameter<kind = row_ptr>,
// CHECK-SAME:   #sparsec.parameter<kind = col_idx>, #sparsec.parameter<kind = size, index = 1>,
// CHECK-SAME:   #sparsec.parameter<kind = pointer>, #sparsec.parameter<kind = pointer, argument = 1>,
// CHECK-SAME:   #sparsec.parameter<kind = stride, argument = 1>, #sparsec.parameter<kind = size, argument = 1, index = 1>,
// CHECK-SAME:   #sparsec.parameter<kind = pointer, argument = 2>, #sparsec.parameter<kind = stride, argument = 2>,
// CHECK-SAME:   #sparsec.parameter<kind = size, argument = 2>, #sparsec.parameter<kind = size, argument = 2, index = 1>]
// CHECK-SAME: sparsec.tile_k = 48 : i64
// CHECK-SAME: sparsec.tile_m = 32 : i64
// CHECK-SAME: sparsec.tile_n = 64 : i64
// CHECK-SAME: sparsec.variant = 0 : i64
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i64
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i64
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i64
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : i64
// CHECK-DAG: %[[C48:.*]] = arith.constant 48 : i64
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i64
// CHECK-DAG: %[[C128:.*]] = arith.constant 128 : i64
// CHECK-DAG: %[[C1536:.*]] = arith.constant 1536 : i64
// CHECK-DAG: %[[C2048:.*]] = arith.constant 2048 : i64
// CHECK-DAG: %[[C3072:.*]] = arith.constant 3072 : i64
// Parameters are loaded before the tiles, when an op first needs them. Buffers are there too: 32 x 64 accumulators,
// 32 x 48 elements of W and 48 x 64 of X.
// CHECK: llvm.getelementptr %[[SLOTS]][%[[C0]]]
// CHECK-NEXT: %[[I32:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
// CHECK-NEXT: %[[M:.*]] = arith.extsi %[[I32]] : i32 to i64
// CHECK-NEXT: arith.addi %[[M]]
// CHECK-NEXT: %[[TILE_ROWS:.*]] = arith.divsi %{{.*}}, %[[C32]]
// CHECK-NEXT: %[[ACCUMULATOR:.*]] = llvm.alloca %[[C2048]] x f32 {alignment = 64 : i64}
// CHECK-NEXT: llvm.getelementptr %[[SLOTS]][%[[C1]]]
// CHECK-NEXT: %[[ROW_PTR:.*]] = llvm.load
// CHECK-NEXT: llvm.getelementptr %[[SLOTS]][%[[C2]]]
// CHECK-NEXT: %[[COL_IDX:.*]] = llvm.load
// CHECK: %[[VALUES:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[A:.*]] = llvm.alloca %[[C1536]] x f32 {alignment = 64 : i64}
// CHECK: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[PANEL:.*]] = llvm.alloca %[[C3072]] x f32 {alignment = 64 : i64}
// The tiles of a panel follow one another.
// CHECK: scf.for %[[TILE:.*]] = %[[BEGIN]] to %[[END]] step %[[C1]]
// CHECK-NEXT: arith.divsi %[[TILE]], %[[TILE_ROWS]]
// CHECK-NEXT: %[[BLOCK_ROW:.*]] = arith.remsi %[[TILE]], %[[TILE_ROWS]]
// The blocks of the row, after zeros.
// CHECK: llvm.getelementptr %[[ROW_PTR]][%[[BLOCK_ROW]]]
// CHECK-NEXT: llvm.load
// CHECK-NEXT: %[[FIRST:.*]] = arith.extsi
// CHECK: llvm.getelementptr %[[ROW_PTR]]
// CHECK-NEXT: llvm.load
// CHECK-NEXT: %[[LAST:.*]] = arith.extsi
// CHECK: scf.for {{.*}} to %[[C128]]
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: scf.for %[[BLOCK:.*]] = %[[FIRST]] to %[[LAST]]
// CHECK-NEXT: llvm.getelementptr %[[COL_IDX]][%[[BLOCK]]]
// Rows of the block to f32: whole ones at once, else vectors and then elements. K may end inside a block.
// CHECK: %[[DEPTH:.*]] = arith.minsi %[[C48]]
// CHECK: %[[ROWS:.*]] = arith.minsi %[[C32]]
// CHECK: scf.for %{{.*}} = %[[C0]] to %[[ROWS]]
// CHECK: llvm.getelementptr %[[VALUES]]
// CHECK: %[[IS_WHOLE:.*]] = arith.cmpi eq, %[[DEPTH]], %[[C48]]
// CHECK-NEXT: scf.if %[[IS_WHOLE]]
// CHECK-COUNT-3: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<16xi16>
// CHECK: } else {
// CHECK: scf.for
// CHECK: %[[BITS:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<16xi16>
// CHECK: %[[LOW:.*]] = arith.extui %[[BITS]] : vector<16xi16> to vector<16xi32>
// CHECK: %[[HIGH:.*]] = arith.shli %[[LOW]]
// CHECK-NEXT: arith.bitcast %[[HIGH]] : vector<16xi32> to vector<16xf32>
// CHECK: scf.for
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i16
// Columns of X to vectors, one for each k.
// CHECK: %[[COLUMNS:.*]] = arith.minsi %[[C64]]
// CHECK: scf.for %{{.*}} = %[[C0]] to %[[DEPTH]]
// CHECK: llvm.getelementptr %[[X]]
// CHECK: arith.cmpi eq, %[[COLUMNS]], %[[C64]]
// CHECK: llvm.getelementptr %[[PANEL]]
// The multiplication: six rows of the tile at a time, and the two that are left.
// CHECK: scf.for %{{.*}} = %[[C0]] to %{{.*}}
// CHECK: scf.for %{{.*}} = %[[C0]] to %{{.*}}
// CHECK-COUNT-6: llvm.load %{{.*}} {alignment = 64 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: scf.for %{{.*}} = %[[C0]] to %[[DEPTH]] {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: llvm.getelementptr %[[PANEL]]
// CHECK: llvm.getelementptr %[[A]]
// CHECK-COUNT-6: llvm.intr.fmuladd({{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
// CHECK-COUNT-6: llvm.store %{{.*}} {alignment = 64 : i64} : vector<16xf32>
// CHECK: %[[HAS_REST:.*]] = arith.cmpi sgt, %[[ROWS]]
// CHECK-NEXT: scf.if %[[HAS_REST]]
// CHECK: scf.for %{{.*}} = %[[C0]] to %[[DEPTH]] {{.*}} -> (vector<16xf32>, vector<16xf32>)
// The result.
// bf16 is an i16 to the store: LLVM would round again where it moves a bf16.
// CHECK-NOT: arith.truncf
// CHECK: %[[IS_NAN:.*]] = arith.cmpf uno, %[[SUM:.*]], %[[SUM]] : f32
// CHECK: %[[ROUNDED:.*]] = arith.trunci %{{.*}} : i32 to i16
// CHECK: %[[NAN:.*]] = arith.constant 32704 : i16
// CHECK: %[[RESULT:.*]] = arith.select %[[IS_NAN]], %[[NAN]], %[[ROUNDED]] : i16
// CHECK: llvm.store %[[RESULT]], %{{.*}} : i16, !llvm.ptr
// CHECK: llvm.return
// CHECK: sparsec.kernel @product
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 32x48>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x48>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

// Transposed operands: the contiguous dimension of Y, M, is the inner loop, and the dimension of vectors: the block of W
// is transposed, in squares of registers, and X is not. N is dimension 0 of Y. Extra operands give one element each, by
// their broadcast; an f32 result is not rounded.
// CHECK-LABEL: llvm.func @extras.host
// CHECK-SAME: #sparsec.parameter<kind = size, argument = 6>, #sparsec.parameter<kind = pointer, argument = 2>,
// CHECK-SAME: #sparsec.parameter<kind = pointer, argument = 4>, #sparsec.parameter<kind = stride, argument = 4>,
// CHECK-SAME: #sparsec.parameter<kind = pointer, argument = 3>, #sparsec.parameter<kind = scalar, argument = 5>]
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i64
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : i64
// CHECK: %[[SCALE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK-NEXT: scf.for
// CHECK: %[[DEPTH:.*]] = arith.minsi %[[C16]]
// CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 32 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK-COUNT-8: llvm.shufflevector {{.*}} : vector<8xf32>
// CHECK: llvm.shufflevector %[[LOW:.*]], %[[HIGH:.*]] [0, 1, 2, 3, 8, 9, 10, 11] : vector<8xf32>
// CHECK: llvm.shufflevector %[[LOW]], %[[HIGH]] [4, 5, 6, 7, 12, 13, 14, 15] : vector<8xf32>
// CHECK: scf.for %{{.*}} = %[[C0]] to %[[DEPTH]] {{.*}} -> (vector<16xf32>
// CHECK: fmuladd
// CHECK: %[[ROWS:.*]] = arith.minsi %[[C16]]
// CHECK-NEXT: arith.subi
// CHECK-NEXT: %[[COLUMNS:.*]] = arith.minsi
// CHECK-NEXT: scf.for %[[J:.*]] = %[[C0]] to %[[COLUMNS]]
// CHECK-NEXT: scf.for %[[I:.*]] = %[[C0]] to %[[ROWS]]
// CHECK-NEXT: %[[ROW:.*]] = arith.addi %{{.*}}, %[[I]]
// CHECK-NEXT: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[J]]
// CHECK-NEXT: %[[FULL_ROW:.*]] = arith.addi %{{.*}}, %[[I]]
// CHECK-NEXT: %[[FULL_COLUMN:.*]] = arith.addi %{{.*}}, %[[J]]
// CHECK: %[[SUM:.*]] = llvm.load
// CHECK-NEXT: %[[BIAS_AT:.*]] = llvm.getelementptr %{{.*}}[%[[ROW]]]
// CHECK-NEXT: %[[BIAS:.*]] = llvm.load %[[BIAS_AT]] : !llvm.ptr -> f32
// CHECK-NEXT: %[[LINE:.*]] = arith.muli %[[FULL_COLUMN]]
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[LINE]], %[[FULL_ROW]]
// CHECK-NEXT: %[[FULL_AT:.*]] = llvm.getelementptr %{{.*}}[%[[AT]]]
// CHECK-NEXT: %[[FULL:.*]] = llvm.load %[[FULL_AT]] : !llvm.ptr -> f16
// CHECK-NEXT: %[[GAIN_AT:.*]] = llvm.getelementptr %{{.*}}[%[[COLUMN]]]
// CHECK-NEXT: %[[GAIN:.*]] = llvm.load %[[GAIN_AT]] : !llvm.ptr -> f32
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[FULL]] : f16 to f32
// CHECK-NEXT: %[[A:.*]] = arith.addf %[[SUM]], %[[BIAS]] : f32
// CHECK-NEXT: %[[B:.*]] = llvm.intr.fma(%[[WIDE]], %[[SCALE]], %[[A]])
// CHECK-NEXT: %[[C:.*]] = arith.mulf %[[B]], %[[GAIN]] : f32
// CHECK: llvm.store %[[C]], %{{.*}} : f32, !llvm.ptr
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @extras(%w: !sparsec.bsr<?x?xf16, block = 16x16>, %x: tensor<?x?xf16>, %bias: tensor<?xf32>,
      %gain: tensor<?xf32>, %full: tensor<?x?xf16>, %scale: f32) -> (y: tensor<?x?xf32>) {
    %y = sparsec.spmm %w, %x, %bias per_row, %full full, %gain per_column, %scale scalar x_layout(nk) y_layout(nm)
        epilogue (%acc: f32, %b: f32, %f: f16, %g: f32, %s: f32) {
      %wide = arith.extf %f : f16 to f32
      %0 = arith.addf %acc, %b : f32
      %1 = math.fma %wide, %s, %0 : f32
      %2 = arith.mulf %1, %g : f32
      sparsec.yield %2 : f32
    } : (!sparsec.bsr<?x?xf16, block = 16x16>, tensor<?x?xf16>, tensor<?xf32>, tensor<?x?xf16>, tensor<?xf32>, f32)
        -> tensor<?x?xf32>
    sparsec.return %y : tensor<?x?xf32>
  }
}

// -----

// A tile of sddmm is a stored block if the row has so many. Elements of a block beyond M or N have a sum of zero, and
// the last element of a vector.
// CHECK-LABEL: llvm.func @sampled.host
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[C256:.*]] = arith.constant 256 : i64
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i64
// CHECK-NEXT: scf.if %[[EXISTS]]
// CHECK: scf.for %{{.*}} step %[[C256]]
// CHECK: llvm.intr.fmuladd
// CHECK: %[[LAST:.*]] = arith.subi
// CHECK-NEXT: arith.minsi %{{.*}}, %[[LAST]]
// CHECK: %[[INSIDE_ROWS:.*]] = arith.cmpi slt
// CHECK: %[[IS_COUNTED:.*]] = arith.andi
// CHECK-NEXT: arith.select %[[IS_COUNTED]], %{{.*}}, %[[ZERO]] : f32
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @sampled(%p: !sparsec.bsr<?x?xf16, block = 32x32>, %a: tensor<?x?xf16>, %b: tensor<?x?xf16>,
      %bias: tensor<?xf32>) -> (s: tensor<?x32x32xf32>) {
    %s = sparsec.sddmm %p, %a, %b, %bias per_row epilogue (%acc: f32, %r: f32) {
      %0 = arith.addf %acc, %r : f32
      sparsec.yield %0 : f32
    } : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>, tensor<?x?xf16>, tensor<?xf32>) -> tensor<?x32x32xf32>
    sparsec.return %s : tensor<?x32x32xf32>
  }
}

// -----

// Sums of a step are multiplied by the scale of its block and those of the columns of X, and added to those of the tile.
// CHECK-LABEL: llvm.func @scaled.host
// CHECK: %[[SCALE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: arith.mulf %{{.*}}, %[[SCALE]] : f32
// CHECK: %[[TOTAL:.*]]:6 = scf.for
// CHECK: llvm.intr.fmuladd({{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
// CHECK: llvm.intr.fmuladd(%{{.*}}, %[[TOTAL]]#0, %{{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @scaled(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x256>, %s: tensor<?xf32>, %x: tensor<?x?xf8E4M3FN>,
      %t: tensor<?x?xf32>) -> (y: tensor<?x?xf32>) {
    %y = sparsec.spmm %w scales(%s), %x x_scale(%t) x_layout(nk)
      : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x256>, tensor<?xf32>, tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) -> tensor<?x?xf32>
    sparsec.return %y : tensor<?x?xf32>
  }
}

// -----

// What the processor has as an instruction is no libm call, and tanh and erf are arithmetic; the epilogue of the kernel
// op keeps its ops.
// CHECK-LABEL: llvm.func @instructions.host
// CHECK: llvm.intr.fabs
// CHECK-NEXT: llvm.intr.sqrt
// CHECK-NEXT: llvm.intr.floor
// CHECK-NEXT: llvm.intr.ceil
// CHECK-NEXT: llvm.intr.fma
// CHECK-NEXT: math.expm1
// CHECK-NOT: math.
// CHECK: llvm.intr.copysign
// CHECK-NOT: math.
// CHECK: llvm.intr.copysign
// CHECK-NOT: math.
// CHECK: sparsec.kernel @instructions
// CHECK: math.absf
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @instructions(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>)
      -> (y: tensor<?x?xbf16>) {
    %y = sparsec.spmm %w, %x epilogue (%acc: f32) {
      %0 = math.absf %acc : f32
      %1 = math.sqrt %0 : f32
      %2 = math.floor %1 : f32
      %3 = math.ceil %2 : f32
      %4 = math.fma %1, %2, %3 : f32
      %5 = math.expm1 %4 : f32
      %6 = math.tanh %5 : f32
      %7 = math.erf %6 : f32
      sparsec.yield %7 : f32
    } : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

// Programs of roles are for other emitters.
// CHECK: gpu.module
// CHECK: sparsec.program
// CHECK-NOT: llvm.func
module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

// Rows of all heads follow one another. The elements of an empty part count as 0, and its weight is -0.
// CHECK-LABEL: llvm.func @merged.host
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[MINUS_ZERO:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: scf.for
// CHECK: %[[FIRST:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: %[[SECOND:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: %[[IS_FIRST_EMPTY:.*]] = arith.cmpf oeq, %[[FIRST]], %[[NONE]] : f32
// CHECK: %[[IS_SECOND_EMPTY:.*]] = arith.cmpf oeq, %[[SECOND]], %[[NONE]] : f32
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[MINUS_ZERO]] : f32
// CHECK: math.log
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr
// Vectors of a row, then the elements behind them.
// CHECK: scf.for
// CHECK: arith.select %[[IS_FIRST_EMPTY]], %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: arith.select %[[IS_SECOND_EMPTY]], %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: llvm.intr.fma({{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
// CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : vector<16xf16>, !llvm.ptr
// CHECK: scf.for
// CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : f16, !llvm.ptr
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @merged(%o1: tensor<?x?x?x?xf32>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x?xf32>,
      %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x?xf16>, lse: tensor<?x?x?xf32>) {
    %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2
      : (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?xf32>)
      -> (tensor<?x?x?x?xf16>, tensor<?x?x?xf32>)
    sparsec.return %o, %lse : tensor<?x?x?x?xf16>, tensor<?x?x?xf32>
  }
}
