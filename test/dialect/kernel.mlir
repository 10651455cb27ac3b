// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// CHECK-LABEL: sparsec.kernel @product(
// CHECK-SAME: %w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  // CHECK: sparsec.return %0 : tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// Both schedules, and an attribute of someone else.
// CHECK-LABEL: sparsec.kernel @scheduled(
// CHECK-SAME: attributes {
// CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar,
// CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma,
// CHECK-SAME: user.note = "by hand"
sparsec.kernel @scheduled(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {
      schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 64,
                                   stages = 4, consumers_m = 1, consumers_n = 1>,
      fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 64,
                                            tile_k = 32, stages = 2, consumers_m = 2, consumers_n = 2>,
      user.note = "by hand"} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// Names of arguments and results are kept in every syntax, also those that are not valid keywords on their own.
// CHECK-LABEL: sparsec.kernel @names(
// CHECK-SAME: %W_1: {{.*}}, %tokens: {{.*}}, %_scale: f32) -> (f32: tensor<?x?xf32>)
sparsec.kernel @names(%W_1: !sparsec.bsr<?x?xf16, block = 16x16>, %tokens: tensor<?x?xf16>, %_scale: f32)
    -> (f32: tensor<?x?xf32>) {
  %0 = sparsec.spmm %W_1, %tokens, %_scale scalar epilogue (%a: f32, %s: f32) {
    %1 = arith.mulf %a, %s : f32
    sparsec.yield %1 : f32
  } : (!sparsec.bsr<?x?xf16, block = 16x16>, tensor<?x?xf16>, f32) -> tensor<?x?xf32>
  sparsec.return %0 : tensor<?x?xf32>
}

// The generic syntax names arguments by attributes, whatever the values are called.
// CHECK-LABEL: sparsec.kernel @generic(
// CHECK-SAME: %weights: {{.*}}, %input: {{.*}}) -> (output: tensor<?x?xbf16>)
"sparsec.kernel"() <{
  sym_name = "generic", argument_names = ["weights", "input"], result_names = ["output"],
  function_type = (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>}> ({
^bb0(%0: !sparsec.bsr<?x?xbf16, block = 32x32>, %1: tensor<?x?xbf16>):
  %2 = "sparsec.spmm"(%0, %1) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>}> ({}) : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  "sparsec.return"(%2) : (tensor<?x?xbf16>) -> ()
}) : () -> ()
