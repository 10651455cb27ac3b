// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// A program of the host is beside its kernel. It loads parts of dense matrices and of blocks from coordinates on.

#schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 32, tile_n = 64, tile_k = 48, stages = 1,
                              consumers_m = 1, consumers_n = 1>

// CHECK: sparsec.program @parts.host attributes {alignment = 2 : i64, kernel = @parts,
// CHECK-SAME: instruction = multiply_add, copy = unpack
sparsec.program @parts.host attributes {kernel = @parts, schedule = #schedule, variant = 0 : i64, alignment = 2 : i64} {
^bb0(%w: !sparsec.bsr<?x?xf16, block = 32x48>, %b: tensor<?x?xf16>, %y: tensor<?x?xf32>):
  %c0 = arith.constant 0 : i32
  sparsec.tile_loop {
  ^bb0(%block: i32, %k: i32):
    // CHECK: %[[A:.*]] = sparsec.load_part a %{{.*}}[%tile_row, %{{.*}}, %{{.*}}] depth(%panel) : !sparsec.bsr<?x?xf16, block = 32x48> -> <32, 48, f16>
    %a = sparsec.load_part a %w[%block, %c0, %c0] depth(%k) : !sparsec.bsr<?x?xf16, block = 32x48> -> <32, 48, f16>
    // CHECK-NEXT: %[[X:.*]] = sparsec.load_part x %{{.*}}[%{{.*}}, %panel] : tensor<?x?xf16> -> <64, 48, f16>
    %x = sparsec.load_part x %b[%c0, %k] : tensor<?x?xf16> -> <64, 48, f16>
    %zero = sparsec.zero : !sparsec.accumulator<32, 64>
    // CHECK: sparsec.chain %[[A]], %[[X]], %{{.*}} {depth = array<i64: 48>, x_transposed}
    %sum = sparsec.chain %a, %x, %zero {depth = array<i64: 48>, x_transposed} : <32, 48, f16>, <64, 48, f16>, <32, 64>
    sparsec.store %sum to %y[%block, %c0, %c0] attributes {broadcast = [], block_rows = 32 : i64}
        : <32, 64> -> tensor<?x?xf32> {
    ^bb0(%element: f32):
      sparsec.yield %element : f32
    }
  }
}
