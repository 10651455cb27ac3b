// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt %s --mlir-print-op-generic | sparsec-opt | FileCheck %s

// The ops of tiles whose keys are split into parts: what the parser reads, the printer writes.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 128, stages = 3,
                              consumers_m = 1, consumers_n = 1>

gpu.module @kernels {
  // CHECK-LABEL: sparsec.program @parts
  // CHECK-SAME: split, variant = 0
  sparsec.program @parts attributes {kernel = @parts, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64, split} {
  // CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?x?x?x128xbf16>, %[[L:.*]]: tensor<?x?x?xf32>):
  ^bb0(%s: tensor<?xf32>, %y: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    // CHECK-NEXT: %[[BLOCK:.*]] = arith.constant 3 : i32
    %block = arith.constant 3 : i32
    // CHECK-NEXT: %panel, %part, %parts = sparsec.tile_part %[[BLOCK]]
    %panel, %part, %parts = sparsec.tile_part %block
    // CHECK-NEXT: %walk = sparsec.key_walk at %panel part(%part, %parts) {part_blocks = 4 : i64, rows = 64 : i64}
    // CHECK-NEXT: sparsec.walk %walk {
    %walk = sparsec.key_walk at %panel part(%part, %parts) {part_blocks = 4 : i64, rows = 64 : i64}
    sparsec.walk %walk {
    ^bb0(%step: i32):
      sparsec.yield
    }
    // CHECK: sparsec.key_walk at %panel sizes(%part, %parts) part(%part, %parts) {part_blocks = 8 : i64, rows = 64 : i64}
    %others = sparsec.key_walk at %panel sizes(%part, %parts) part(%part, %parts) {part_blocks = 8 : i64, rows = 64 : i64}
    %output = sparsec.zero : !sparsec.accumulator<64, 128>
    %rows = sparsec.softmax_begin : <64>
    %batch, %head, %row = sparsec.tile_part %block
    // CHECK: sparsec.store_part %{{.*}}, %{{.*}} to %[[Y]][%{{.*}}, %{{.*}}, %{{.*}}] part(%part, %parts) end(%panel) lse(%[[L]] : tensor<?x?x?xf32>) sinks(%[[S]] : tensor<?xf32>) : <64, 128>, <64> -> tensor<?x?x?x128xbf16>
    sparsec.store_part %output, %rows to %y[%batch, %head, %row] part(%part, %parts) end(%panel) lse(%lse : tensor<?x?x?xf32>) sinks(%s : tensor<?xf32>) : <64, 128>, <64> -> tensor<?x?x?x128xbf16>
    // CHECK: sparsec.store_part %{{.*}} part(%part, %parts) : <64, 128>
    sparsec.store_part %output, %rows to %y[%batch, %head, %row] part(%part, %parts)
        : <64, 128>, <64> -> tensor<?x?x?x128xbf16>
  }
}
