// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// A product with two roles: a producer fills the ring, consumers drain it.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4,
                              consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40,
                              consumer_registers = 232>

gpu.module @kernels {
  // CHECK: sparsec.program @product attributes {{.*}} shared_memory = 230400 : i64
  sparsec.program @product
      attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64,
                  shared_memory = 230400 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    // CHECK: %[[RING:ring]] = sparsec.ring {barrier_offset = 196608 : i64, offsets = array<i64: 0, 65536>} : !ring{{[0-9]*}}
    %ring = sparsec.ring {offsets = array<i64: 0, 65536>, barrier_offset = 196608 : i64} : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    // CHECK: sparsec.role "consumer" warpgroup(2) registers(232) {
    sparsec.role "consumer" warpgroup(2) registers(232) {
      // CHECK-NEXT: %[[GROUP:group]] = sparsec.group
      %group = sparsec.group
      %c64 = arith.constant 64 : i32
      %c0 = arith.constant 0 : i32
      %group_row = arith.muli %group, %c64 : i32
      // CHECK: %[[A:.*]] = sparsec.view %[[RING]] rows(%{{.*}}) {index = 0 : i64} : !ring -> <64, 64, bf16, k>
      %a = sparsec.view %ring rows(%group_row) {index = 0 : i64}
          : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]> -> <64, 64, bf16, k>
      // CHECK: %[[B:.*]] = sparsec.view %[[RING]] columns(%{{.*}}) {index = 1 : i64} : !ring -> <64, 256, bf16, mn>
      %b = sparsec.view %ring columns(%c0) {index = 1 : i64}
          : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]> -> <64, 256, bf16, mn>
      // CHECK: %[[BEGIN:begin]] = sparsec.cursor %[[RING]] : !ring
      %begin = sparsec.cursor %ring : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
      // CHECK: sparsec.tile_loop init(%[[BEGIN]] : !cursor) -> !cursor {
      // CHECK-NEXT: ^bb0(%tile_row: i32, %panel: i32, %carried: !cursor):
      %last_tile = sparsec.tile_loop init(%begin : !sparsec.cursor) -> !sparsec.cursor {
      ^bb0(%tile_row: i32, %panel: i32, %cursor: !sparsec.cursor):
        // CHECK: %[[FIRST:first]], %[[END:end]] = sparsec.row_blocks %{{.*}}[%{{.*}}] : <?x?xbf16, block = 128x64>
        %block_row = arith.addi %tile_row, %c0 : i32
        %first, %end = sparsec.row_blocks %w[%block_row] : <?x?xbf16, block = 128x64>
        // CHECK: %[[ZERO:.*]] = sparsec.zero : !sparsec.pending<64, 256>
        %zero = sparsec.zero : !sparsec.pending<64, 256>
        // CHECK-NEXT: %walk = sparsec.block_walk %{{.*}} from %[[FIRST]] to %[[END]] : <?x?xbf16, block = 128x64>
        // CHECK-NEXT: %[[WALK:.*]]:3 = sparsec.walk %walk init(%[[ZERO]], %carried, %carried :
        // CHECK-NEXT: ^bb0(%block: i32, %column: i32, %[[SUM:carried_.*]]: !sparsec.pending<64, 256>, %[[PREVIOUS:carried_.*]]: !cursor, %[[C:carried_.*]]: !cursor):
        %walk = sparsec.block_walk %w from %first to %end : <?x?xbf16, block = 128x64>
        %sums, %used, %free = sparsec.walk %walk
            init(%zero, %cursor, %cursor : !sparsec.pending<64, 256>, !sparsec.cursor, !sparsec.cursor)
            -> !sparsec.pending<64, 256>, !sparsec.cursor, !sparsec.cursor {
        ^bb0(%block: i32, %column: i32, %sum: !sparsec.pending<64, 256>, %previous: !sparsec.cursor, %c: !sparsec.cursor):
          %has_previous = arith.cmpi sgt, %block, %first : i32
          // CHECK: sparsec.wait %[[RING]][%[[C]]] : !ring{{[0-9]*}}{{$}}
          sparsec.wait %ring[%c] : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
          // CHECK-NEXT: %[[P:.*]] = sparsec.product %[[A]][%[[C]]], %[[B]][%[[C]]], %[[SUM]] {depth = 64 : i64} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 256, bf16, mn>, !sparsec.pending<64, 256> -> !sparsec.pending<64, 256>
          %p = sparsec.product %a[%c], %b[%c], %sum {depth = 64 : i64}
              : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 256, bf16, mn>, !sparsec.pending<64, 256> -> !sparsec.pending<64, 256>
          // CHECK-NEXT: %[[PENDING:.*]] = sparsec.await %[[P]] {outstanding = 1 : i64} : <64, 256> -> !sparsec.pending<64, 256>
          %pending = sparsec.await %p {outstanding = 1 : i64} : <64, 256> -> !sparsec.pending<64, 256>
          // CHECK-NEXT: sparsec.release %[[RING]][%[[PREVIOUS]]] if %{{.*}} : !ring
          sparsec.release %ring[%previous] if %has_previous
              : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
          // CHECK-NEXT: %[[NEXT:next]] = sparsec.next %[[RING]][%[[C]]] : !ring
          %next = sparsec.next %ring[%c] : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
          // CHECK-NEXT: %[[FULL:is_full]] = sparsec.test %[[RING]][%[[NEXT]]] : !ring
          %is_full = sparsec.test %ring[%next]
              : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
          // CHECK-NEXT: sparsec.yield %[[PENDING]], %[[C]], %[[NEXT]] :
          sparsec.yield %pending, %c, %next : !sparsec.pending<64, 256>, !sparsec.cursor, !sparsec.cursor
        }
        %p = sparsec.await %sums {outstanding = 1 : i64} : <64, 256> -> !sparsec.pending<64, 256>
        // CHECK: %[[Y:.*]] = sparsec.await %{{.*}} {outstanding = 0 : i64} : <64, 256> -> !sparsec.accumulator<64, 256>
        %sum = sparsec.await %p {outstanding = 0 : i64} : <64, 256> -> !sparsec.accumulator<64, 256>
        // CHECK-NEXT: sparsec.release %[[RING]][%[[WALK]]#1] : !ring
        sparsec.release %ring[%used] : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
        // CHECK: %[[RANK:rank]] = sparsec.cluster_rank
        %rank = sparsec.cluster_rank
        %tile_column = arith.addi %panel, %rank : i32
        // CHECK: sparsec.store %[[Y]] to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] part %[[GROUP]] at(%{{.*}}, %{{.*}})
        // CHECK-SAME: staging = array<i64: 197632, 64, 2>} : <64, 256> -> tensor<?x?xbf16>
        sparsec.store %sum to %y[%block_row, %c0, %tile_column] part %group at (%group_row, %c0)
            attributes {broadcast = [], block_rows = 128 : i64, staged, staging = array<i64: 197632, 64, 2>}
            : <64, 256> -> tensor<?x?xbf16> {
        ^bb0(%element: f32):
          sparsec.yield %element : f32
        }
        sparsec.yield %free : !sparsec.cursor
      }
      // CHECK: sparsec.drain_stores
      sparsec.drain_stores
    }
    // CHECK: sparsec.role "producer" thread(1) registers(40) {
    sparsec.role "producer" thread(1) registers(40) {
      %k = arith.constant 0 : i32
      %row = arith.constant 0 : i32
      %begin = sparsec.cursor %ring : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
      sparsec.tile_loop {
      ^bb0(%tile_row: i32, %panel: i32):
        %first, %end = sparsec.row_blocks %w[%tile_row] : <?x?xbf16, block = 128x64>
        %walk = sparsec.block_walk %w from %first to %end : <?x?xbf16, block = 128x64>
        sparsec.walk %walk {
        ^bb0(%block: i32, %column: i32):
          %c = sparsec.next %ring[%begin] : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
          // CHECK: sparsec.acquire %[[RING]][%[[C:.*]]] : !ring
          sparsec.acquire %ring[%c] : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
          // CHECK-NEXT: sparsec.post %[[RING]][%[[C]]] : !ring
          sparsec.post %ring[%c] : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
          // CHECK-NEXT: sparsec.copy %{{.*}}[%block, %{{.*}}, %{{.*}}] block_columns(%column) to %[[RING]][%[[C]]] {index = 0 : i64, multicast} : !sparsec.bsr<?x?xbf16, block = 128x64>, !ring
          sparsec.copy %w[%block, %row, %k] block_columns(%column) to %ring[%c] {index = 0 : i64, multicast}
              : !sparsec.bsr<?x?xbf16, block = 128x64>, <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
          // CHECK-NEXT: sparsec.copy %{{.*}}[%column, %panel] to %[[RING]][%[[C]]] {index = 1 : i64} : tensor<?x?xbf16>, !ring
          sparsec.copy %x[%column, %panel] to %ring[%c] {index = 1 : i64} : tensor<?x?xbf16>, <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
          // CHECK-NEXT: sparsec.yield{{$}}
          sparsec.yield
        }
      }
    }
  }
}
