// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// A loop over tiles that are cut along K: a first part goes to the next worker, a rest gets the sums of the worker before.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4,
                              consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40,
                              consumer_registers = 232>

gpu.module @kernels {
  // CHECK: sparsec.program @product_cut attributes {alignment = 16 : i64, cut,
  sparsec.program @product_cut
      attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64, cut} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.role "consumer" warpgroup(2) registers(232) {
      // CHECK: sparsec.tile_loop attributes {cut} {
      // CHECK-NEXT: ^bb0(%tile_row: i32, %panel: i32, %first_block: i32, %count: i32):
      sparsec.tile_loop attributes {cut} {
      ^bb0(%tile_row: i32, %panel: i32, %first_block: i32, %count: i32):
        // CHECK-NEXT: %[[SUM:.*]] = sparsec.zero : !sparsec.accumulator<64, 256>
        %sum = sparsec.zero : !sparsec.accumulator<64, 256>
        // CHECK-NEXT: sparsec.write_sums %[[SUM]] : <64, 256>
        sparsec.write_sums %sum : <64, 256>
        // CHECK-NEXT: sparsec.release_sums
        sparsec.release_sums
        // CHECK-NEXT: sparsec.acquire_sums
        sparsec.acquire_sums
        // CHECK-NEXT: sparsec.add_sums %[[SUM]] : <64, 256>
        %all = sparsec.add_sums %sum : <64, 256>
      }
    }
  }
}

// The rest of a tile of attention goes on with the output and the rows of the first part.
gpu.module @attention_kernels {
  // CHECK: sparsec.program @attention_cut attributes {alignment = 16 : i64, cut,
  sparsec.program @attention_cut
      attributes {kernel = @attention, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64, cut} {
  ^bb0(%q: tensor<?x?x?x128xbf16>):
    sparsec.role "consumer" warpgroup(2) registers(232) {
      // CHECK: sparsec.acquire_sums
      sparsec.acquire_sums
      // CHECK-NEXT: %[[OUTPUT:.*]], %[[ROWS:.*]] = sparsec.read_sums : <64, 128>, <64>
      %output, %rows = sparsec.read_sums : <64, 128>, <64>
      // CHECK-NEXT: sparsec.write_sums %[[OUTPUT]], %[[ROWS]] : <64, 128>, !sparsec.softmax_state<64>
      sparsec.write_sums %output, %rows : <64, 128>, !sparsec.softmax_state<64>
    }
  }
}

// CHECK: #sparsec.workspace<kind = tile_sums, bytes = 131072>
// CHECK-SAME: #sparsec.workspace<kind = sum_flags, bytes = 8>
module attributes {test.workspaces = [#sparsec.workspace<kind = tile_sums, bytes = 131072>,
                                      #sparsec.workspace<kind = sum_flags, bytes = 8>]} {}
