// RUN: sparsec-opt %s --sparsec-emit-tiles | FileCheck %s

// The emitter translates a program of roles op by op, in its order: two programs that differ in the order of ops differ in
// that of their instructions, and in nothing else.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2,
                              consumers_m = 1, consumers_n = 1>
#warps = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 2,
                           consumers_m = 1, consumers_n = 4>

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @first
  // CHECK: nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NOT: mbarrier.arrive
  // CHECK: wgmma.wait_group.sync.aligned
  // CHECK: "{{.*}}mbarrier.arrive
  // CHECK: st.global
  // CHECK: arrive.expect_tx
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{[^,]*}}, %{{[^,]*}}, %{{[^],]*}}]
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{[^,]*}}, %{{[^],]*}}]
  sparsec.program @first attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64, shared_memory = 98560 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xf32>):
    %ring = sparsec.ring {offsets = array<i64: 0, 16384>, barrier_offset = 32768 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
    sparsec.role "consumer" warpgroup(1) registers(0) {
      %zero_row = arith.constant 0 : i32
      %group = sparsec.group
      %a = sparsec.view %ring {index = 0 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, k>
      %b = sparsec.view %ring {index = 1 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, mn>
      %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
      %last = sparsec.tile_loop init(%begin : !sparsec.cursor) -> !sparsec.cursor {
      ^bb0(%tile_row: i32, %panel: i32, %c: !sparsec.cursor):
        %zero = sparsec.zero : !sparsec.pending<64, 64>
        sparsec.wait %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        %p = sparsec.product %a[%c], %b[%c], %zero {depth = 16 : i64} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 64, bf16, mn>, !sparsec.pending<64, 64> -> !sparsec.pending<64, 64>
        %sum = sparsec.await %p {outstanding = 0 : i64} : <64, 64> -> !sparsec.accumulator<64, 64>
        sparsec.release %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        sparsec.store %sum to %y[%tile_row, %zero_row, %panel] part %group at (%zero_row, %zero_row)
            attributes {broadcast = [], block_rows = 64 : i64} : <64, 64> -> tensor<?x?xf32> {
        ^bb0(%element: f32):
          sparsec.yield %element : f32
        }
        %next = sparsec.next %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        sparsec.yield %next : !sparsec.cursor
      }
    }
    sparsec.role "producer" thread(1) registers(0) {
      %zero = arith.constant 0 : i32
      %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
      %last = sparsec.tile_loop init(%begin : !sparsec.cursor) -> !sparsec.cursor {
      ^bb0(%tile_row: i32, %panel: i32, %c: !sparsec.cursor):
        sparsec.acquire %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        sparsec.post %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        sparsec.copy %w[%tile_row, %zero, %zero] to %ring[%c] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        sparsec.copy %x[%zero, %panel] to %ring[%c] {index = 1 : i64} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        %next = sparsec.next %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        sparsec.yield %next : !sparsec.cursor
      }
    }
  }

  // The slot is released while the product may still read it, and X is copied before A.
  // CHECK-LABEL: llvm.func @swapped
  // CHECK: nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NOT: wgmma.wait_group.sync.aligned
  // CHECK: "{{.*}}mbarrier.arrive
  // CHECK: wgmma.wait_group.sync.aligned
  // CHECK: st.global
  // CHECK: arrive.expect_tx
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{[^,]*}}, %{{[^],]*}}]
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{[^,]*}}, %{{[^,]*}}, %{{[^],]*}}]
  sparsec.program @swapped attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64, shared_memory = 98560 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xf32>):
    %ring = sparsec.ring {offsets = array<i64: 0, 16384>, barrier_offset = 32768 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
    sparsec.role "consumer" warpgroup(1) registers(0) {
      %zero_row = arith.constant 0 : i32
      %group = sparsec.group
      %a = sparsec.view %ring {index = 0 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, k>
      %b = sparsec.view %ring {index = 1 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, mn>
      %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
      %last = sparsec.tile_loop init(%begin : !sparsec.cursor) -> !sparsec.cursor {
      ^bb0(%tile_row: i32, %panel: i32, %c: !sparsec.cursor):
        %zero = sparsec.zero : !sparsec.pending<64, 64>
        sparsec.wait %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        %p = sparsec.product %a[%c], %b[%c], %zero {depth = 16 : i64} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 64, bf16, mn>, !sparsec.pending<64, 64> -> !sparsec.pending<64, 64>
        sparsec.release %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        %sum = sparsec.await %p {outstanding = 0 : i64} : <64, 64> -> !sparsec.accumulator<64, 64>
        sparsec.store %sum to %y[%tile_row, %zero_row, %panel] part %group at (%zero_row, %zero_row)
            attributes {broadcast = [], block_rows = 64 : i64} : <64, 64> -> tensor<?x?xf32> {
        ^bb0(%element: f32):
          sparsec.yield %element : f32
        }
        %next = sparsec.next %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        sparsec.yield %next : !sparsec.cursor
      }
    }
    sparsec.role "producer" thread(1) registers(0) {
      %zero = arith.constant 0 : i32
      %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
      %last = sparsec.tile_loop init(%begin : !sparsec.cursor) -> !sparsec.cursor {
      ^bb0(%tile_row: i32, %panel: i32, %c: !sparsec.cursor):
        sparsec.acquire %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        sparsec.post %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        sparsec.copy %x[%zero, %panel] to %ring[%c] {index = 1 : i64} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        sparsec.copy %w[%tile_row, %zero, %zero] to %ring[%c] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        %next = sparsec.next %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        sparsec.yield %next : !sparsec.cursor
      }
    }
  }

  // A role of warps. A has one pass of 64 threads, X has two of all.
  // CHECK-LABEL: llvm.func @warps
  // CHECK-COUNT-3: nvvm.cp.async.shared.global %{{[0-9]+}}, %{{[0-9]+}}, 16, cache = cg :
  // CHECK: nvvm.cp.async.commit.group
  // CHECK-NEXT: nvvm.cp.async.wait.group 0
  // CHECK-NEXT: nvvm.barrier
  // CHECK: nvvm.ldmatrix
  sparsec.program @warps attributes {kernel = @product, schedule = #warps, variant = 0 : i64, alignment = 16 : i64, shared_memory = 10240 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xf32>):
    %ring = sparsec.ring {offsets = array<i64: 0, 2048>} : <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]>
    sparsec.role "all" warp(4) registers(0) {
      %zero = arith.constant 0 : i32
      %group = sparsec.group
      %a = sparsec.view %ring {index = 0 : i64} : <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]> -> <16, 32, bf16, k>
      %b = sparsec.view %ring {index = 1 : i64} : <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]> -> <32, 16, bf16, mn>
      %c = sparsec.cursor %ring : <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]>
      sparsec.tile_loop {
      ^bb0(%tile_row: i32, %panel: i32):
        sparsec.copy_group {
          sparsec.copy %w[%tile_row, %zero, %zero] to %ring[%c] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 16x32>, <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]>
          sparsec.copy %x[%zero, %panel] to %ring[%c] {index = 1 : i64} : tensor<?x?xbf16>, <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]>
        }
        sparsec.await_copies {outstanding = 0 : i64}
        sparsec.barrier
        %sum = sparsec.product %a[%c], %b[%c] {depth = 32 : i64} : !sparsec.view<16, 32, bf16, k>, !sparsec.view<32, 16, bf16, mn> -> !sparsec.accumulator<16, 16>
        sparsec.store %sum to %y[%tile_row, %zero, %panel] part %group at (%zero, %zero)
            attributes {broadcast = [], block_rows = 16 : i64} : <16, 16> -> tensor<?x?xf32> {
        ^bb0(%element: f32):
          sparsec.yield %element : f32
        }
      }
    }
  }

  // The barrier comes before the wait, and X in the next group.
  // CHECK-LABEL: llvm.func @swapped_warps
  // CHECK-COUNT-1: nvvm.cp.async.shared.global
  // CHECK-NEXT: }
  // CHECK-NEXT: nvvm.cp.async.commit.group
  // CHECK: nvvm.cp.async.shared.global
  // CHECK: nvvm.barrier
  // CHECK-NEXT: nvvm.cp.async.wait.group 0
  // CHECK: nvvm.ldmatrix
  sparsec.program @swapped_warps attributes {kernel = @product, schedule = #warps, variant = 0 : i64, alignment = 16 : i64, shared_memory = 10240 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xf32>):
    %ring = sparsec.ring {offsets = array<i64: 0, 2048>} : <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]>
    sparsec.role "all" warp(4) registers(0) {
      %zero = arith.constant 0 : i32
      %group = sparsec.group
      %a = sparsec.view %ring {index = 0 : i64} : <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]> -> <16, 32, bf16, k>
      %b = sparsec.view %ring {index = 1 : i64} : <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]> -> <32, 16, bf16, mn>
      %c = sparsec.cursor %ring : <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]>
      sparsec.tile_loop {
      ^bb0(%tile_row: i32, %panel: i32):
        sparsec.copy_group {
          sparsec.copy %w[%tile_row, %zero, %zero] to %ring[%c] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 16x32>, <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]>
        }
        sparsec.copy %x[%zero, %panel] to %ring[%c] {index = 1 : i64} : tensor<?x?xbf16>, <2, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]>
        sparsec.barrier
        sparsec.await_copies {outstanding = 0 : i64}
        %sum = sparsec.product %a[%c], %b[%c] {depth = 32 : i64} : !sparsec.view<16, 32, bf16, k>, !sparsec.view<32, 16, bf16, mn> -> !sparsec.accumulator<16, 16>
        sparsec.store %sum to %y[%tile_row, %zero, %panel] part %group at (%zero, %zero)
            attributes {broadcast = [], block_rows = 16 : i64} : <16, 16> -> tensor<?x?xf32> {
        ^bb0(%element: f32):
          sparsec.yield %element : f32
        }
      }
    }
  }
}
