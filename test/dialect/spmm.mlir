// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// CHECK-LABEL: sparsec.kernel @plain(
sparsec.kernel @plain(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // CHECK: %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// A linear layer, y = x Wᵀ + bias: X as tokens x K, Y as tokens x M.
// CHECK-LABEL: sparsec.kernel @linear(
sparsec.kernel @linear(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %bias: tensor<?xf32>)
    -> (y: tensor<?x?xbf16>) {
  // CHECK: %0 = sparsec.spmm %w, %x, %bias per_row x_layout(nk) y_layout(nm) epilogue (%acc: f32, %extra: f32) {
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %acc, %extra : f32
  // CHECK-NEXT: sparsec.yield %[[SUM]] : f32
  // CHECK-NEXT: } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
  %0 = sparsec.spmm %w, %x, %bias per_row x_layout(nk) y_layout(nm) epilogue (%acc: f32, %b: f32) {
    %sum = arith.addf %acc, %b : f32
    sparsec.yield %sum : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// One layout only; an attribute of someone else.
// CHECK-LABEL: sparsec.kernel @layouts(
sparsec.kernel @layouts(%w: !sparsec.bsr<256x512xf16, block = 32x16>, %x: tensor<512x96xf16>) -> (y: tensor<96x256xf32>) {
  // CHECK: sparsec.spmm %w, %x y_layout(nm) {user.note = "kept"} :
  %0 = sparsec.spmm %w, %x y_layout(nm) {user.note = "kept"}
    : (!sparsec.bsr<256x512xf16, block = 32x16>, tensor<512x96xf16>) -> tensor<96x256xf32>
  sparsec.return %0 : tensor<96x256xf32>
}

// Both fp8 types, in any pair. The default accumulation is not printed.
// CHECK-LABEL: sparsec.kernel @mixed_f8(
sparsec.kernel @mixed_f8(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  // CHECK: sparsec.spmm %w, %x x_layout(nk) :
  %0 = sparsec.spmm %w, %x x_layout(nk) accumulation(two_level)
    : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// A scale for each stored block.
// CHECK-LABEL: sparsec.kernel @scales(
sparsec.kernel @scales(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>, %r: tensor<?xf32>)
    -> (y: tensor<?x?xbf16>) {
  // CHECK: sparsec.spmm %w scales(%s), %x, %r per_row x_layout(nk) epilogue
  %0 = sparsec.spmm %w scales(%s), %x, %r per_row x_layout(nk) epilogue (%acc: f32, %row: f32) {
    %scaled = arith.mulf %acc, %row : f32
    sparsec.yield %scaled : f32
  // CHECK: : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?xf32>, tensor<?x?xf8E5M2>, tensor<?xf32>) -> tensor<?x?xbf16>
  } : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?xf32>, tensor<?x?xf8E5M2>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// A scale for each column and 128 of K of X, with and without those of blocks.
// CHECK-LABEL: sparsec.kernel @x_scale(
sparsec.kernel @x_scale(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x256>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf32>, %r: tensor<?xf32>)
    -> (y: tensor<?x?xbf16>) {
  // CHECK: sparsec.spmm %w scales(%s), %x x_scale(%t), %r per_row x_layout(nk) epilogue
  %0 = sparsec.spmm %w scales(%s), %x x_scale(%t), %r per_row x_layout(nk) epilogue (%acc: f32, %row: f32) {
    %scaled = arith.mulf %acc, %row : f32
    sparsec.yield %scaled : f32
  // CHECK: : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x256>, tensor<?xf32>, tensor<?x?xf8E5M2>, tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xbf16>
  } : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x256>, tensor<?xf32>, tensor<?x?xf8E5M2>, tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// N and K of X tell the sizes: 300 has three parts of 128.
// CHECK-LABEL: sparsec.kernel @x_scale_alone(
sparsec.kernel @x_scale_alone(%w: !sparsec.bsr<?x300xf8E4M3FN, block = 16x32>, %x: tensor<300x5xf8E4M3FN>, %t: tensor<5x3xf32>) -> (y: tensor<?x5xf32>) {
  // CHECK: sparsec.spmm %w, %x x_scale(%t) :
  %0 = sparsec.spmm %w, %x x_scale(%t) : (!sparsec.bsr<?x300xf8E4M3FN, block = 16x32>, tensor<300x5xf8E4M3FN>, tensor<5x3xf32>) -> tensor<?x5xf32>
  sparsec.return %0 : tensor<?x5xf32>
}

// CHECK-LABEL: sparsec.kernel @fast_f8(
sparsec.kernel @fast_f8(%w: !sparsec.bsr<?x?xf8E5M2, block = 64x64>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xf32>) {
  // CHECK: sparsec.spmm %w, %x x_layout(nk) y_layout(nm) accumulation(fast) :
  %0 = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) accumulation(fast)
    : (!sparsec.bsr<?x?xf8E5M2, block = 64x64>, tensor<?x?xf8E5M2>) -> tensor<?x?xf32>
  sparsec.return %0 : tensor<?x?xf32>
}

// Every broadcast, every element type of an extra operand, a scalar in both forms. `full` follows the layout of Y.
// CHECK-LABEL: sparsec.kernel @broadcasts(
sparsec.kernel @broadcasts(%w: !sparsec.bsr<256x?xbf16, block = 64x64>, %x: tensor<?x96xbf16>, %r: tensor<256xf32>,
                           %c: tensor<?xf16>, %s: tensor<f32>, %v: f32, %f: tensor<96x256xbf16>)
    -> (y: tensor<96x256xf16>) {
  // CHECK: sparsec.spmm %w, %x, %r per_row, %c per_column, %s scalar, %v scalar, %f full y_layout(nm)
  // CHECK-SAME: epilogue (%acc: f32, %extra: f32, %extra_0: f16, %extra_1: f32, %extra_2: f32, %extra_3: bf16) {
  %0 = sparsec.spmm %w, %x, %r per_row, %c per_column, %s scalar, %v scalar, %f full y_layout(nm)
      epilogue (%acc: f32, %er: f32, %ec: f16, %es: f32, %ev: f32, %ef: bf16) {
    %c32 = arith.extf %ec : f16 to f32
    %f32 = arith.extf %ef : bf16 to f32
    %1 = math.fma %acc, %c32, %er : f32
    %2 = math.fma %f32, %es, %1 : f32
    %3 = arith.mulf %2, %ev : f32
    sparsec.yield %3 : f32
  } : (!sparsec.bsr<256x?xbf16, block = 64x64>, tensor<?x96xbf16>, tensor<256xf32>, tensor<?xf16>, tensor<f32>, f32,
       tensor<96x256xbf16>) -> tensor<96x256xf16>
  sparsec.return %0 : tensor<96x256xf16>
}

// Every op that an epilogue may hold (ElementwiseOps.def).
// CHECK-LABEL: sparsec.kernel @every_op(
// CHECK-COUNT-5: arith.constant
// CHECK: arith.truncf
// CHECK: arith.truncf
// CHECK: math.ceil
sparsec.kernel @every_op(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xf32>) {
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
    %one = arith.constant 1.0 : f32
    %big = arith.constant 0x7F800000 : f32
    %two = arith.constant 2.0 : f32
    %three = arith.constant 3.0 : f32
    %true = arith.constant true
    %h = arith.truncf %acc : f32 to f16
    %b = arith.truncf %acc to_nearest_even : f32 to bf16
    %h32 = arith.extf %h : f16 to f32
    %b32 = arith.extf %b : bf16 to f32
    %1 = arith.addf %h32, %b32 : f32
    %2 = arith.subf %1, %one : f32
    %3 = arith.mulf %2, %two : f32
    %4 = arith.divf %3, %three : f32
    %5 = arith.negf %4 : f32
    %6 = arith.maximumf %5, %one : f32
    %7 = arith.minimumf %6, %big : f32
    %8 = arith.maxnumf %7, %one : f32
    %9 = arith.minnumf %8, %big : f32
    %10 = arith.cmpf olt, %9, %two : f32
    %11 = arith.andi %10, %true : i1
    %12 = arith.ori %11, %10 : i1
    %13 = arith.xori %12, %true : i1
    %14 = arith.select %13, %9, %acc : f32
    %15 = math.absf %14 : f32
    %16 = math.fma %15, %two, %one : f32
    %17 = math.sqrt %16 : f32
    %18 = math.rsqrt %17 : f32
    %19 = math.exp %18 : f32
    %20 = math.exp2 %19 : f32
    %21 = math.expm1 %20 : f32
    %22 = math.log %21 : f32
    %23 = math.log2 %22 : f32
    %24 = math.log1p %23 : f32
    %25 = math.tanh %24 : f32
    %26 = math.erf %25 : f32
    %27 = math.sin %26 : f32
    %28 = math.cos %27 : f32
    %29 = math.floor %28 : f32
    %30 = math.ceil %29 : f32
    sparsec.yield %30 : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xf32>
  sparsec.return %0 : tensor<?x?xf32>
}
