// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// CHECK-DAG: ![[$TWO_BLOCKS:ring[0-9]*]] = !sparsec.ring<3, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<128, 32, bf16, swizzle = 64>]>
// CHECK-DAG: ![[$WITHSCALES:ring[0-9]*]] = !sparsec.ring<4, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>, !sparsec.buffer<32, 128, f8E5M2, strip = 128>, !sparsec.buffer<1, 32, f32>]>
// CHECK-DAG: ![[$TILES:ring[0-9]*]] = !sparsec.ring<2, [!sparsec.buffer<32, 32, f32, strip = 128>]>
// CHECK-DAG: ![[$ROLES:ring[0-9]*]] = !sparsec.ring<4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>

// With TMA there are two roles. Each consumer waits for a slot, issues the product, and releases the slot that the product
// before has read: one product is in flight. A block of 128 columns takes two slots. The producer waits for free slots
// and copies; the A of a cluster is multicast, X is not. It walks rows of neighbours rotated.
// CHECK-LABEL: sparsec.program @roles
// CHECK: ^bb0(%[[W:.*]]: !sparsec.bsr<?x?xbf16, block = 128x128>, %[[X:.*]]: tensor<?x?xbf16>, %[[Y:.*]]: tensor<?x?xbf16>):
// CHECK: %[[RING:ring]] = sparsec.ring : ![[$ROLES]]
// CHECK: sparsec.role "consumer" warpgroup(2) registers(232)
// CHECK: %[[GROUP:group]], %[[ROW:.*]], %{{.*}} = sparsec.group_part {across = 1 : i64, columns = 256 : i64, rows = 64 : i64}
// CHECK: %[[A:.*]] = sparsec.view %[[RING]] rows(%[[ROW]]) {index = 0 : i64} : {{.*}} -> <64, 64, bf16, k>
// CHECK: %[[B:.*]] = sparsec.view %[[RING]] columns(%{{.*}}) {index = 1 : i64} : {{.*}} -> <64, 256, bf16, mn>
// CHECK: sparsec.tile_loop init(%begin
// CHECK: %[[TILE_COLUMN:.*]] = arith.addi %{{.*}}, %rank : i32
// CHECK: %[[COLUMN:.*]] = arith.muli %[[TILE_COLUMN]], %c256_i32
// CHECK: %first, %end = sparsec.row_blocks %[[W]][%tile_row]
// CHECK: %[[HAS_BLOCKS:.*]] = arith.cmpi slt, %first, %end
// CHECK: %[[SUM:.*]]:2 = scf.if %[[HAS_BLOCKS]] -> (!sparsec.accumulator<64, 256>, !cursor) {
// CHECK: %walk = sparsec.block_walk %[[W]] from %first to %end : <?x?xbf16, block = 128x128>
// CHECK: sparsec.walk %walk init(
// CHECK: ^bb0(%block: i32, %column: i32, %[[SUM0:.*]]: !sparsec.pending<64, 256>, %[[PREVIOUS:.*]]: !cursor, %[[C0:.*]]: !cursor):
// CHECK: %[[HAS_PREVIOUS:.*]] = arith.cmpi sgt, %block, %first
// CHECK-NEXT: sparsec.wait %[[RING]][%[[C0]]]
// CHECK-NEXT: %[[P0:.*]] = sparsec.product %[[A]][%[[C0]]], %[[B]][%[[C0]]], %[[SUM0]] {depth = 64 : i64}
// CHECK-NEXT: %[[SUM1:.*]] = sparsec.await %[[P0]] {outstanding = 1 : i64}
// CHECK-NEXT: sparsec.release %[[RING]][%[[PREVIOUS]]] if %[[HAS_PREVIOUS]]
// CHECK-NEXT: %[[C1:.*]] = sparsec.next %[[RING]][%[[C0]]]
// CHECK-NEXT: sparsec.wait %[[RING]][%[[C1]]]
// CHECK-NEXT: %[[P1:.*]] = sparsec.product %[[A]][%[[C1]]], %[[B]][%[[C1]]], %[[SUM1]] {depth = 64 : i64}
// CHECK-NEXT: %[[SUM2:.*]] = sparsec.await %[[P1]] {outstanding = 1 : i64}
// CHECK-NEXT: sparsec.release %[[RING]][%[[C0]]] :
// CHECK-NEXT: %[[C2:.*]] = sparsec.next %[[RING]][%[[C1]]]
// CHECK-NEXT: sparsec.yield %[[SUM2]], %[[C1]], %[[C2]]
// CHECK: sparsec.await %{{.*}} {outstanding = 0 : i64}
// CHECK-NEXT: sparsec.release %[[RING]]
// CHECK: sparsec.store %[[SUM]]#0 to %[[Y]][%tile_row, %{{.*}}, %[[COLUMN]]] part %{{.*}} at(
// CHECK: sparsec.drain_stores
// CHECK: sparsec.role "producer" thread(1) registers(40)
// CHECK: %walk = sparsec.block_walk %[[W]] from %first to %end {rotated} : <?x?xbf16, block = 128x128>
// CHECK: sparsec.walk %walk init(
// CHECK: ^bb0(%block: i32, %column: i32, %[[C:.*]]: !cursor):
// CHECK-NEXT: sparsec.acquire %[[RING]][%[[C]]]
// CHECK-NEXT: sparsec.post %[[RING]][%[[C]]]
// CHECK: sparsec.copy %[[W]][%block, %{{.*}}, %{{.*}}] block_columns(%column) to %[[RING]][%[[C]]] {index = 0 : i64, multicast}
// CHECK: %[[K:.*]] = arith.muli %column, %c128_i32
// CHECK: sparsec.copy %[[X]][%[[K]], %{{.*}}] to %[[RING]][%[[C]]] {index = 1 : i64}
// CHECK: %[[NEXT:.*]] = sparsec.next %[[RING]][%[[C]]]
// CHECK-NEXT: sparsec.acquire %[[RING]][%[[NEXT]]]
// CHECK: %[[K1:.*]] = arith.addi %{{.*}}, %c64_i32
// CHECK: sparsec.copy %[[X]][%[[K1]], %{{.*}}] to %[[RING]][%[[NEXT]]] {index = 1 : i64}
// CHECK-NOT: sparsec.load
sparsec.kernel @roles(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// With cp.async all warps are one role, which copies for itself: the steps of a tile begin with the copies of the first
// three, and each then starts those of the third step after it. A block is one step, and needs no check of its own.
// CHECK-LABEL: sparsec.program @warps
// CHECK: ^bb0(%[[W:.*]]: !sparsec.bsr<?x?xbf16, block = 32x32>, %[[X:.*]]: tensor<?x?xbf16>, %[[Y:.*]]: tensor<?x?xbf16>):
// CHECK-NEXT: %ring = sparsec.ring : !ring
// CHECK-NEXT: sparsec.role "all" warp(4) registers(0) {
// CHECK: %{{.*}}, %{{.*}}, %[[COLUMN_OF_WARP:.*]] = sparsec.group_part {across = 4 : i64, columns = 32 : i64, rows = 32 : i64}
// CHECK-NEXT: %[[A:.*]] = sparsec.view %ring rows(%{{.*}}) {index = 0 : i64} : {{.*}} -> <32, 32, bf16, k>
// CHECK-NEXT: %[[B:.*]] = sparsec.view %ring columns(%[[COLUMN_OF_WARP]]) {index = 1 : i64} : {{.*}} -> <32, 32, bf16, mn>
// CHECK-NEXT: sparsec.tile_loop attributes {periodic} {
// CHECK: %[[COLUMN:.*]] = arith.muli %panel, %c128_i32
// CHECK: %[[SUM:.*]] = scf.if %{{.*}} -> (!sparsec.accumulator<32, 32>) {
// CHECK-NEXT: sparsec.barrier
// CHECK-NEXT: %walk = sparsec.block_walk %[[W]] from %first to %end :
// CHECK-NEXT: %[[COUNT:.*]] = arith.subi %end, %first
// CHECK: %[[STARTED:.*]]:2 = scf.for %{{.*}} = %c0_i32 to %c3_i32
// CHECK: scf.for %[[INDEX:.*]] = %c0_i32 to %[[COUNT]] step %c1_i32 iter_args(%[[SLOT:.*]] = %begin, %[[FREE:.*]] = %[[STARTED]]#0, %[[STEP:.*]] = %[[STARTED]]#1, %[[SUM0:.*]] = %{{.*}})
// CHECK-NEXT: sparsec.await_copies {outstanding = 2 : i64}
// CHECK-NEXT: sparsec.barrier
// CHECK-NEXT: %[[LATER:.*]] = arith.addi %[[INDEX]], %c3_i32
// CHECK-NEXT: %[[EXISTS:.*]] = arith.cmpi slt, %[[LATER]], %[[COUNT]]
// CHECK-NEXT: sparsec.copy_group if %[[EXISTS]] {
// CHECK-NEXT: %[[READ:.*]]:2 = sparsec.read_step %walk[%[[STEP]]]
// CHECK-NEXT: sparsec.copy %[[W]][%[[READ]]#0, %c0_i32, %c0_i32] block_columns(%[[READ]]#1) to %ring[%[[FREE]]] {index = 0 : i64}
// CHECK-NEXT: %[[K:.*]] = arith.muli %[[READ]]#1, %c32_i32
// CHECK-NEXT: sparsec.copy %[[X]][%[[K]], %[[COLUMN]]] to %ring[%[[FREE]]] {index = 1 : i64}
// CHECK-NEXT: }
// CHECK: %[[NEXT_SUM:.*]] = sparsec.product %[[A]][%[[SLOT]]], %[[B]][%[[SLOT]]], %[[SUM0]] {depth = 32 : i64}
// CHECK-NEXT: %[[NEXT:.*]] = sparsec.next %ring[%[[SLOT]]]
// CHECK-NEXT: scf.yield %[[NEXT]], %{{.*}}, %{{.*}}, %[[NEXT_SUM]]
// CHECK: sparsec.store %[[SUM]] to %[[Y]][%tile_row, %c0_i32, %[[COLUMN]]] part %group at(
// CHECK-NOT: sparsec.load
sparsec.kernel @warps(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 128, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 4>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Two blocks of 16 columns fill a step, in strips of their own. The rows of X come from two places, or with X as N x K
// the columns do.
// CHECK-LABEL: sparsec.program @two_blocks
// CHECK: sparsec.ring : ![[$TWO_BLOCKS]]
// CHECK: sparsec.block_walk {{.*}} {blocks = 2 : i64} :
// CHECK: arith.addi %{{.*}}, %c1_i32
// CHECK-NEXT: arith.divui %{{.*}}, %c2_i32
// CHECK: %[[READ:.*]]:3 = sparsec.read_step
// CHECK-NEXT: sparsec.copy %{{.*}}[%[[READ]]#0, {{.*}} block_columns(%[[READ]]#1, %[[READ]]#2)
// CHECK: %[[K0:.*]] = arith.muli %[[READ]]#1, %c16_i32
// CHECK-NEXT: %[[K1:.*]] = arith.muli %[[READ]]#2, %c16_i32
// CHECK-NEXT: sparsec.copy %{{.*}}[%{{.*}}, %[[K0]]] parts(%[[K1]]) to {{.*}} {index = 1 : i64, part_dimension = 1 : i64}
sparsec.kernel @two_blocks(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 128, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A block of 64 columns in two steps, by loads and stores: there are no copies to wait for. K never ends inside a block,
// so that A has no block columns.
// CHECK-LABEL: sparsec.program @scalar
// CHECK-NOT: sparsec.await_copies
// CHECK: sparsec.block_walk {{.*}} {chunk_columns = 32 : i64} :
// CHECK: arith.muli %{{.*}}, %c2_i32
// CHECK: %[[READ:.*]]:3 = sparsec.read_step
// CHECK-NEXT: sparsec.copy %{{.*}}[%[[READ]]#0, %c0_i32, %[[READ]]#2] to %ring
// CHECK: %[[BEGIN:.*]] = arith.muli %[[READ]]#1, %c64_i32
// CHECK-NEXT: %[[K:.*]] = arith.addi %[[BEGIN]], %[[READ]]#2
// CHECK-NEXT: sparsec.copy %{{.*}}[%[[K]], %{{.*}}] to %ring
// CHECK: sparsec.barrier
// CHECK: sparsec.product
sparsec.kernel @scalar(%w: !sparsec.bsr<?x128xbf16, block = 64x64>, %x: tensor<128x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 128, tile_k = 32, stages = 2, consumers_m = 1, consumers_n = 4>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x128xbf16, block = 64x64>, tensor<128x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Sums of two levels: the columns of a consumer in parts of 128. Each part starts at zero, is complete before the next
// begins, and is added to its columns of the sum. The slot is released when the last part has read it. Then the next slot
// is tested, so that there is no wait for it if it was full before the last part was added.
// CHECK-LABEL: sparsec.program @two_levels
// CHECK: %[[A:.*]] = sparsec.view %[[RING:ring]] rows(%{{.*}}) {index = 0 : i64} : {{.*}} -> <64, 128, f8E4M3FN, k>
// CHECK-NEXT: %[[X0:.*]] = sparsec.view %[[RING]] rows(%c0_i32) {index = 1 : i64} : {{.*}} -> <128, 128, f8E5M2, k>
// CHECK-NEXT: %[[X1:.*]] = sparsec.view %[[RING]] rows(%c128_i32) {index = 1 : i64} : {{.*}} -> <128, 128, f8E5M2, k>
// CHECK: sparsec.walk %walk init(
// CHECK: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %[[SUM:.*]]: !sparsec.accumulator<64, 256>, %[[SLOT:.*]]: !cursor, %[[FULL:.*]]: i1):
// CHECK-NEXT: %[[EMPTY:.*]] = arith.xori %[[FULL]], %true
// CHECK-NEXT: scf.if %[[EMPTY]] {
// CHECK-NEXT: sparsec.wait %[[RING]][%[[SLOT]]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[P0:.*]] = sparsec.product %[[A]][%[[SLOT]]], %[[X0]][%[[SLOT]]] {depth = 128 : i64} : {{.*}} -> !sparsec.pending<64, 128>
// CHECK-NEXT: %[[PART0:.*]] = sparsec.await %[[P0]] {outstanding = 0 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
// CHECK-NEXT: %[[SUM0:.*]] = sparsec.promote %[[PART0]] to %[[SUM]] {column = 0 : i64}
// CHECK-NEXT: %[[P1:.*]] = sparsec.product %[[A]][%[[SLOT]]], %[[X1]][%[[SLOT]]] {depth = 128 : i64}
// CHECK-NEXT: %[[PART1:.*]] = sparsec.await %[[P1]] {outstanding = 0 : i64}
// CHECK-NEXT: sparsec.release %[[RING]][%[[SLOT]]]
// CHECK-NEXT: %[[NEXT:.*]] = sparsec.next %[[RING]][%[[SLOT]]]
// CHECK-NEXT: %[[NEXT_FULL:.*]] = sparsec.test %[[RING]][%[[NEXT]]]
// CHECK-NEXT: %[[SUM1:.*]] = sparsec.promote %[[PART1]] to %[[SUM0]] {column = 128 : i64}
// A block of 160 columns has a second, shallower chunk.
// CHECK-NEXT: %[[NEXT_EMPTY:.*]] = arith.xori %[[NEXT_FULL]], %true
// CHECK-NEXT: scf.if %[[NEXT_EMPTY]] {
// CHECK-NEXT: sparsec.wait %[[RING]][%[[NEXT]]]
// CHECK-NEXT: }
// CHECK-NEXT: sparsec.product %[[A]][%[[NEXT]]], %[[X0]][%[[NEXT]]] {depth = 32 : i64}
sparsec.kernel @two_levels(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x160>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 128, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x160>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// With accumulation(fast) the sum stays in the instructions, as with 16-bit elements.
// CHECK-LABEL: sparsec.program @one_level
// CHECK: sparsec.product %{{.*}}[%[[C:.*]]], %{{.*}}[%[[C]]], %{{.*}} {depth = 128 : i64} : !sparsec.view<64, 128, f8E5M2, k>, !sparsec.view<256, 128, f8E5M2, k>, !sparsec.pending<64, 256>
// CHECK-NEXT: sparsec.await %{{.*}} {outstanding = 1 : i64}
// CHECK-NOT: sparsec.promote
sparsec.kernel @one_level(%w: !sparsec.bsr<?x?xf8E5M2, block = 128x128>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 128, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  %y = sparsec.spmm %w, %x x_layout(nk) accumulation(fast) : (!sparsec.bsr<?x?xf8E5M2, block = 128x128>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Warps add their products to the sum 32 columns at a time.
// CHECK-LABEL: sparsec.program @two_levels_of_warps
// CHECK: %[[A:.*]] = sparsec.view %[[RING:ring]] rows(%{{.*}}) {index = 0 : i64} : {{.*}} -> <32, 64, f8E4M3FN, k>
// CHECK: %[[X0:.*]] = sparsec.view %[[RING]] rows(%[[COLUMN:.*]]) {index = 1 : i64} : {{.*}} -> <32, 64, f8E5M2, k>
// CHECK: %[[SECOND:.*]] = arith.addi %[[COLUMN]], %c32_i32
// CHECK: %[[X1:.*]] = sparsec.view %[[RING]] rows(%[[SECOND]]) {index = 1 : i64} : {{.*}} -> <32, 64, f8E5M2, k>
// CHECK: iter_args(%[[SLOT:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> ({{.*}}!sparsec.accumulator<32, 64>)
// CHECK: %[[P0:.*]] = sparsec.product %[[A]][%[[SLOT]]], %[[X0]][%[[SLOT]]] {depth = 64 : i64} : {{.*}} -> !sparsec.accumulator<32, 32>
// CHECK-NEXT: %[[SUM0:.*]] = sparsec.promote %[[P0]] to %[[SUM]] {column = 0 : i64}
// CHECK-NEXT: %[[P1:.*]] = sparsec.product %[[A]][%[[SLOT]]], %[[X1]][%[[SLOT]]] {depth = 64 : i64}
// CHECK-NEXT: sparsec.promote %[[P1]] to %[[SUM0]] {column = 32 : i64}
sparsec.kernel @two_levels_of_warps(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 128, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 2>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// The scale of a block is read before its stages arrive, and multiplies each of its products.
// CHECK-LABEL: sparsec.program @scales
// CHECK: ^bb0(%{{.*}}: !sparsec.bsr<{{.*}}>, %[[SCALES:.*]]: tensor<?xf32>, %{{.*}}: tensor<?x?xf8E5M2>, %{{.*}}: tensor<?x?xbf16>):
// CHECK: ^bb0(%[[BLOCK:.*]]: i32, %{{.*}}: i32, %[[SUM:.*]]: !sparsec.accumulator<64, 128>, %{{.*}}: !cursor, %{{.*}}: i1):
// CHECK-NEXT: %[[SCALE:.*]] = sparsec.block_scale %[[SCALES]][%[[BLOCK]]] : tensor<?xf32>
// CHECK: sparsec.wait
// CHECK: %[[SUM0:.*]] = sparsec.promote %{{.*}} times %[[SCALE]] : f32 to %[[SUM]] {column = 0 : i64}
// CHECK: sparsec.promote %{{.*}} times %[[SCALE]] : f32 to %[[SUM0]] {column = 0 : i64}
// The producer has the order of the consumers, which need the number of a block.
// CHECK: sparsec.role "producer"
// CHECK: sparsec.block_walk {{.*}} from %first to %end : <
sparsec.kernel @scales(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x256>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 1, consumers_n = 1>} {
  %y = sparsec.spmm %w scales(%s), %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x256>, tensor<?xf32>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Warps count the block of a step: two chunks each here.
// CHECK-LABEL: sparsec.program @scales_of_warps
// CHECK: ^bb0(%{{.*}}: !sparsec.bsr<{{.*}}>, %[[SCALES:.*]]: tensor<?xf32>,
// CHECK: %[[FIRST:.*]], %{{.*}} = sparsec.row_blocks
// CHECK: scf.for %[[I:.*]] = %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[SUM:.*]] = %{{.*}})
// CHECK: %[[NUMBER:.*]] = arith.div{{[su]}}i %[[I]], %c2_i32
// CHECK-NEXT: %[[BLOCK:.*]] = arith.addi %[[FIRST]], %[[NUMBER]]
// CHECK-NEXT: %[[SCALE:.*]] = sparsec.block_scale %[[SCALES]][%[[BLOCK]]]
// CHECK: sparsec.promote %{{.*}} times %[[SCALE]] : f32 to %[[SUM]] {column = 0 : i64}
sparsec.kernel @scales_of_warps(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x64>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 128, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  %y = sparsec.spmm %w scales(%s), %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x64>, tensor<?xf32>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Where X has scales, it is the A operand. Each part of the columns has a sum of its own, and all products have the
// registers of the first. The scales of the rows are read while it is multiplied. A warp copies them, for each part of K:
// a block of 256 columns has two.
// CHECK-LABEL: sparsec.program @x_scale
// CHECK: ^bb0(%{{.*}}: !sparsec.bsr<{{.*}}>, %[[SCALES:.*]]: tensor<?xf32>, %{{.*}}: tensor<?x?xf8E5M2>, %[[XSCALE:.*]]: tensor<?x?xf32>, %{{.*}}: tensor<?x?xbf16>):
// CHECK: %scale_ring = sparsec.ring {name = "scale_ring"} : ![[OFSCALES:ring[0-9]*]]
// CHECK: sparsec.role "consumer" warpgroup(1)
// CHECK: %[[W:.*]] = sparsec.view %ring rows(%c0_i32) {index = 0 : i64} : !{{.*}} -> <64, 128, f8E4M3FN, k>
// CHECK: %[[X0:.*]] = sparsec.view %ring rows(%c0_i32) {index = 1 : i64} : !{{.*}} -> <128, 128, f8E5M2, k>
// CHECK: %[[X1:.*]] = sparsec.view %ring rows(%c128_i32) {index = 1 : i64} : !{{.*}} -> <128, 128, f8E5M2, k>
// CHECK: %walk = sparsec.block_walk %{{.*}} scales(%[[SCALES]] : tensor<?xf32>) from %first to %end
// CHECK-NEXT: sparsec.walk %walk init(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %[[SCALE:.*]]: f32, %[[SUM0:.*]]: !sparsec.accumulator<128, 64>, %[[SUM1:.*]]: !sparsec.accumulator<128, 64>, %[[SLOT:.*]]: !cursor, %[[SCALESLOT:.*]]: !cursor):
// CHECK-NEXT: sparsec.wait %ring[%[[SLOT]]]
// CHECK-NEXT: %[[P0:.*]] = sparsec.product %[[X0]][%[[SLOT]]], %[[W]][%[[SLOT]]] {depth = 128 : i64}
// CHECK-NEXT: sparsec.wait %scale_ring[%[[SCALESLOT]]]
// CHECK-NEXT: %[[ROWS0:.*]] = sparsec.row_scales %scale_ring[%[[SCALESLOT]]] at(%c0_i32) : ![[OFSCALES]] -> <128>
// CHECK-NEXT: %[[ROWS1:.*]] = sparsec.row_scales %scale_ring[%[[SCALESLOT]]] at(%c128_i32) : ![[OFSCALES]] -> <128>
// CHECK-NEXT: sparsec.release %scale_ring[%[[SCALESLOT]]]
// CHECK-NEXT: %[[SCALESLOT1:.*]] = sparsec.next %scale_ring[%[[SCALESLOT]]]
// CHECK-NEXT: %[[PART0:.*]] = sparsec.await %[[P0]] {outstanding = 0 : i64}
// CHECK-NEXT: sparsec.promote %[[PART0]] times %[[SCALE]] : f32 rows(%[[ROWS0]] : !sparsec.row_scales<128>) to %[[SUM0]] {column = 0 : i64}
// CHECK-NEXT: %[[P1:.*]] = sparsec.product %[[X1]][%[[SLOT]]], %[[W]][%[[SLOT]]] in(%[[PART0]] : !sparsec.accumulator<128, 64>) {depth = 128 : i64}
// CHECK-NEXT: %[[PART1:.*]] = sparsec.await %[[P1]] {outstanding = 0 : i64}
// CHECK-NEXT: sparsec.release %ring[%[[SLOT]]]
// CHECK-NEXT: sparsec.promote %[[PART1]] times %[[SCALE]] : f32 rows(%[[ROWS1]] : !sparsec.row_scales<128>) to %[[SUM1]] {column = 0 : i64}
// CHECK: sparsec.wait %scale_ring[%[[SCALESLOT1]]]
// CHECK: sparsec.store %{{.*}} to %{{.*}} part %{{.*}} at(%c0_i32, %c0_i32) attributes {{{.*}}swapped}
// CHECK: sparsec.store %{{.*}} to %{{.*}} part %{{.*}} at(%c0_i32, %c0_i32) attributes {{{.*}}swapped}
// CHECK: sparsec.role "producer" thread(1)
// CHECK: sparsec.role "scales" warp(1)
// CHECK: sparsec.walk %walk
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %[[COLUMN:.*]]: i32, %[[SLOT0:.*]]: !cursor):
// CHECK-NEXT: sparsec.acquire %scale_ring[%[[SLOT0]]]
// CHECK-NEXT: sparsec.copy_group {
// CHECK-NEXT: %[[PART:.*]] = arith.muli %[[COLUMN]], %c2_i32
// CHECK-NEXT: sparsec.copy_scales %[[XSCALE]][%{{.*}}, %[[PART]]] to %scale_ring[%[[SLOT0]]] : tensor<?x?xf32>, ![[OFSCALES]]
// CHECK: %[[SLOT1:.*]] = sparsec.next %scale_ring[%[[SLOT0]]]
// CHECK-NEXT: sparsec.acquire %scale_ring[%[[SLOT1]]]
// CHECK: arith.addi %{{.*}}, %c1_i32
// CHECK-NEXT: sparsec.copy_scales %{{.*}} to %scale_ring[%[[SLOT1]]]
// CHECK: %[[SLOT2:.*]] = sparsec.next %scale_ring[%[[SLOT1]]]
// CHECK: sparsec.yield %[[SLOT2]]
// CHECK: sparsec.await_copies {outstanding = 0 : i64}
sparsec.kernel @x_scale(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x256>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %y = sparsec.spmm %w scales(%s), %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x256>, tensor<?xf32>, tensor<?x?xf8E5M2>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Two blocks of 64 columns have a scale each.
// CHECK-LABEL: sparsec.program @x_scale_of_few_columns
// CHECK: sparsec.role "scales" warp(1)
// CHECK: sparsec.walk %walk
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %[[COLUMN:.*]]: i32, %{{.*}}: !cursor):
// CHECK: %[[PART:.*]] = arith.div{{[su]}}i %[[COLUMN]], %c2_i32
// CHECK-NEXT: sparsec.copy_scales %{{.*}}[%{{.*}}, %[[PART]]]
sparsec.kernel @x_scale_of_few_columns(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1>} {
  %y = sparsec.spmm %w, %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E5M2>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Slices have W as the A operand, and the scales of a chunk in its slot. A group reads those of its columns, times that of
// the block, while it multiplies.
// CHECK-LABEL: sparsec.program @x_scale_of_slices
// CHECK: %scale_tiles = sparsec.ring {name = "scale_tiles"} : ![[$TILES]]
// CHECK-NEXT: %ring = sparsec.ring : ![[$WITHSCALES]]
// CHECK: sparsec.role "consumer" warpgroup(1)
// CHECK: %[[W:.*]] = sparsec.view %ring rows({{.*}}) {index = 0 : i64} : !{{.*}} -> <64, 128, f8E4M3FN, k>
// CHECK: %[[X:.*]] = sparsec.view %ring rows({{.*}}) {index = 1 : i64} : !{{.*}} -> <32, 128, f8E5M2, k>
// CHECK: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %[[SUM:.*]]: !sparsec.accumulator<64, 32>, %[[SLOT:.*]]: !cursor, %{{.*}}: i1):
// CHECK-NOT: sparsec.block_scale
// CHECK: %[[PRODUCT:.*]] = sparsec.product %[[W]][%[[SLOT]]], %[[X]][%[[SLOT]]] {depth = 128 : i64}
// CHECK: %[[OWN:.*]] = sparsec.staged_scales %ring[%[[SLOT]]] at(%{{.*}}) : ![[$WITHSCALES]] -> <32>
// CHECK-NEXT: %[[PART:.*]] = sparsec.await %[[PRODUCT]] {outstanding = 0 : i64}
// CHECK: sparsec.promote %[[PART]] times %[[OWN]] : !sparsec.thread_scales<32> to %[[SUM]] {column = 0 : i64}
// CHECK: sparsec.staged_scales
// CHECK: sparsec.add_slices
// CHECK: sparsec.role "producer" thread(1)
// Two tiles are on their way before the row's blocks are known: the first one that a slice needs as a rule, and the next.
// CHECK: %[[PARTS:.*]] = sparsec.size %{{.*}} {dimension = 1 : i64} : tensor<?x?xf32>
// CHECK-NEXT: %[[OFSLICE:.*]] = arith.div{{[su]}}i %[[PARTS]], %c2_i32
// CHECK-NEXT: %[[SLICE:.*]] = sparsec.slice
// CHECK-NEXT: %[[BEFORE:.*]] = arith.muli %[[SLICE]], %[[OFSLICE]]
// CHECK-NEXT: %[[LAST:.*]] = arith.addi %[[BEFORE]], %c-1_i32
// CHECK-NEXT: %[[POSITIVE:.*]] = arith.maxsi %[[LAST]], %c0_i32
// CHECK-NEXT: %[[EXPECTED:.*]] = arith.div{{[su]}}i %[[POSITIVE]], %c32_i32
// CHECK: sparsec.acquire %scale_tiles
// CHECK-NEXT: sparsec.post %scale_tiles
// CHECK: sparsec.copy %{{.*}} to %scale_tiles
// CHECK: sparsec.acquire %scale_tiles
// CHECK-NEXT: sparsec.post %scale_tiles
// CHECK: sparsec.copy %{{.*}} to %scale_tiles
// CHECK: sparsec.walk %walk init(%{{.*}}, %{{.*}}, %[[EXPECTED]]
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %[[COLUMN:.*]]: i32, %{{.*}}: !cursor, %[[TILE:.*]]: !cursor{{.*}}, %[[NUMBER:.*]]: i32):
// CHECK: %[[OWNTILE:.*]] = arith.div{{[su]}}i %{{.*}}, %c32_i32
// CHECK-NEXT: %[[ISNEW:.*]] = arith.cmpi ne, %[[OWNTILE]], %[[NUMBER]]
// CHECK-NEXT: scf.if %[[ISNEW]]
// CHECK-NEXT: %[[EXPECTEDNEXT:.*]] = arith.addi %[[NUMBER]], %c1_i32
// CHECK-NEXT: %[[ISOTHER:.*]] = arith.cmpi ne, %[[OWNTILE]], %[[EXPECTEDNEXT]]
// CHECK-NEXT: %[[BEHIND:.*]] = scf.if %[[ISOTHER]]
// CHECK: sparsec.copy %{{.*}} to %scale_tiles[%[[TILE]]]
// CHECK: %[[NEXTTILE:.*]] = arith.addi %[[OWNTILE]], %c1_i32
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[NEXTTILE]], %c32_i32
// A tile beyond K is not copied.
// CHECK-NEXT: %[[PARTS2:.*]] = sparsec.size
// CHECK-NEXT: %[[EXISTS:.*]] = arith.cmpi slt, %[[FIRST]], %[[PARTS2]]
// CHECK-NEXT: %[[BYTES:.*]] = arith.select %[[EXISTS]], %c4096_i32, %c0_i32
// CHECK-NEXT: sparsec.acquire %scale_tiles[%[[BEHIND]]]
// CHECK-NEXT: sparsec.post %scale_tiles[%[[BEHIND]]] bytes(%[[BYTES]])
// CHECK-NEXT: scf.if %[[EXISTS]]
// CHECK-NEXT: sparsec.copy %{{.*}}[%{{.*}}, %[[FIRST]]] to %scale_tiles[%[[BEHIND]]] {index = 0 : i64}
// CHECK: sparsec.next %scale_tiles[%[[BEHIND]]]
// CHECK: sparsec.post %ring[%{{.*}}] bytes(%c12288_i32)
// CHECK: sparsec.role "scales" warp(1)
// CHECK: sparsec.wait %scale_tiles[%[[TILEOFROW:.*]]]
// CHECK-NEXT: %[[WALK:.*]] = sparsec.block_walk %{{.*}} scales(%{{.*}} : tensor<?xf32>) from
// CHECK-NEXT: sparsec.walk %[[WALK]] init(%{{.*}}, %[[TILEOFROW]],
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %[[SCALE:.*]]: f32, %[[SLOT0:.*]]: !cursor, %[[TILE0:.*]]: !cursor{{.*}}, %[[NUMBER0:.*]]: i32):
// CHECK: %[[TILE1:.*]] = scf.if
// CHECK-NEXT: sparsec.release %scale_tiles[%[[TILE0]]]
// CHECK-NEXT: %[[AFTER:.*]] = sparsec.next %scale_tiles[%[[TILE0]]]
// CHECK-NEXT: sparsec.wait %scale_tiles[%[[AFTER]]]
// CHECK: %[[ISOTHER0:.*]] = arith.cmpi ne
// CHECK-NEXT: scf.if %[[ISOTHER0]]
// CHECK-NEXT: sparsec.release %scale_tiles[%[[AFTER]]]
// CHECK-NEXT: %[[JUMPED:.*]] = sparsec.next %scale_tiles[%[[AFTER]]]
// CHECK-NEXT: sparsec.wait %scale_tiles[%[[JUMPED]]]
// CHECK: sparsec.acquire %ring[%[[SLOT0]]]
// CHECK-NEXT: sparsec.stage_scales %scale_tiles[%[[TILE1]]] part(%{{.*}}) times %[[SCALE]] to %ring[%[[SLOT0]]]
// CHECK-NEXT: %[[SLOT1:.*]] = sparsec.next %ring[%[[SLOT0]]]
// CHECK: sparsec.acquire %ring[%[[SLOT1]]]
// The last tile of the row, and the one behind it.
// CHECK: sparsec.yield
// CHECK: sparsec.release %scale_tiles
// CHECK: sparsec.wait %scale_tiles[%[[BEHINDLAST:.*]]]
// CHECK-NEXT: sparsec.release %scale_tiles[%[[BEHINDLAST]]]
sparsec.kernel @x_scale_of_slices(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x256>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 32, tile_k = 128, stages = 4, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %y = sparsec.spmm %w scales(%s), %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x256>, tensor<?xf32>, tensor<?x?xf8E5M2>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Warps look up the block column of a step in the step before. Four chunks of 32 lie in a part.
// CHECK-LABEL: sparsec.program @x_scale_of_warps
// CHECK: ^bb0(%[[W:.*]]: !sparsec.bsr<{{.*}}>, %{{.*}}: tensor<?x?xf8E5M2>, %[[XSCALE:.*]]: tensor<?x?xf32>,
// CHECK: %[[FIRST:.*]], %{{.*}} = sparsec.row_blocks
// CHECK: %[[BEGIN:.*]] = sparsec.column_scales
// CHECK: scf.for %[[I:.*]] = %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[FACTORS:.*]] = %[[BEGIN]], %[[SUM:.*]] = %{{.*}})
// CHECK: %[[AFTER:.*]] = arith.addi %[[I]], %c1_i32
// CHECK-NEXT: %[[NEXT:.*]] = arith.minsi %[[AFTER]], %{{.*}}
// CHECK-NEXT: %[[NUMBER:.*]] = arith.div{{[su]}}i %[[NEXT]], %c2_i32
// CHECK-NEXT: %[[BLOCK:.*]] = arith.addi %[[FIRST]], %[[NUMBER]]
// CHECK-NEXT: %[[COLUMN:.*]] = sparsec.block_column %[[W]][%[[BLOCK]]]
// CHECK-NEXT: %[[CHUNK:.*]] = arith.rem{{[su]}}i %[[NEXT]], %c2_i32
// CHECK: %[[COLUMNS:.*]] = arith.muli %[[COLUMN]], %c2_i32
// CHECK-NEXT: %[[CHUNKS:.*]] = arith.addi %[[COLUMNS]], %[[CHUNK]]
// CHECK-NEXT: %[[PART:.*]] = arith.div{{[su]}}i %[[CHUNKS]], %c4_i32
// CHECK-NEXT: %[[LATER:.*]] = sparsec.column_scales %[[XSCALE]][%{{.*}}, %[[PART]]] : tensor<?x?xf32> -> <32>
// CHECK-NEXT: sparsec.await_copies
// CHECK: %[[NEXTSUM:.*]] = sparsec.promote %{{.*}} times %[[FACTORS]] : !sparsec.column_scales<32> to %[[SUM]] {column = 0 : i64}
// CHECK: scf.yield %{{.*}}, %[[LATER]], %[[NEXTSUM]] :
sparsec.kernel @x_scale_of_warps(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x64>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 128, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  %y = sparsec.spmm %w, %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x64>, tensor<?x?xf8E5M2>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Four warps divide the steps of a tile: each has whole steps of four blocks, in a ring of its own, and meets its own
// lanes alone. The first one stores the sum of all.
// CHECK-LABEL: sparsec.program @slices
// CHECK: sparsec.role "all" warp(4) registers(0) {
// CHECK: sparsec.tile_loop
// CHECK: %first, %end = sparsec.row_blocks
// CHECK: %[[BLOCKS:.*]] = arith.subi %end, %first
// CHECK: %[[UP:.*]] = arith.addi %[[BLOCKS]], %c15_i32
// CHECK: %[[STEPS:.*]] = arith.divui %[[UP]], %c16_i32
// CHECK: %[[COUNT:.*]] = arith.muli %[[STEPS]], %c4_i32
// CHECK: %slice = sparsec.slice
// CHECK: %[[BEFORE:.*]] = arith.muli %slice, %[[COUNT]]
// CHECK: %[[BEGIN:.*]] = arith.addi %first, %[[BEFORE]]
// CHECK: %[[OWN:.*]] = arith.minsi %[[BEGIN]], %end
// CHECK: %[[NEXT:.*]] = arith.addi %[[OWN]], %[[COUNT]]
// CHECK: %[[LAST:.*]] = arith.minsi %[[NEXT]], %end
// CHECK-NEXT: sparsec.barrier{{$}}
// CHECK: sparsec.block_walk %{{.*}} from %[[OWN]] to %[[LAST]] {blocks = 4 : i64}
// CHECK: sparsec.await_copies {outstanding = 1 : i64}
// CHECK-NEXT: sparsec.barrier {group}
// CHECK: %[[ALL:.*]] = sparsec.add_slices %{{.*}} : <16, 16>
// CHECK: %[[NUMBER:.*]] = sparsec.slice
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[NUMBER]], %c0_i32
// CHECK-NEXT: scf.if %[[IS_FIRST]] {
// CHECK: sparsec.store %[[ALL]]
sparsec.kernel @slices(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 4>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// With wgmma the producer and the consumer of a slice both have its blocks.
// CHECK-LABEL: sparsec.program @slices_of_roles
// CHECK: sparsec.role "consumer" warpgroup(1)
// CHECK: sparsec.tile_loop
// CHECK: %slice = sparsec.slice
// CHECK: %[[BEFORE:.*]] = arith.muli %slice,
// CHECK: %[[BEGIN:.*]] = arith.addi %first, %[[BEFORE]]
// CHECK: %[[OWN:.*]] = arith.minsi %[[BEGIN]], %end
// CHECK: %[[LAST:.*]] = arith.minsi %{{.*}}, %end
// CHECK-NEXT: sparsec.barrier{{$}}
// CHECK: arith.cmpi slt, %[[OWN]], %[[LAST]]
// CHECK: sparsec.block_walk %{{.*}} from %[[OWN]] to %[[LAST]]
// CHECK: %[[ALL:.*]] = sparsec.add_slices %{{.*}} : <64, 64>
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq,
// CHECK-NEXT: scf.if %[[IS_FIRST]] {
// CHECK: sparsec.store %[[ALL]]
// CHECK: sparsec.role "producer" thread(1)
// CHECK: %[[OWN:.*]] = arith.minsi %{{.*}}, %end
// CHECK: %[[LAST:.*]] = arith.minsi %{{.*}}, %end
// CHECK: sparsec.block_walk %{{.*}} from %[[OWN]] to %[[LAST]] {rotated} :
sparsec.kernel @slices_of_roles(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Sums over a transposed matrix ascend, and variants for few columns wait for the first block of a tile: neither rotates
// rows.
// CHECK-LABEL: sparsec.program @transposed
// CHECK: sparsec.role "producer"
// CHECK: sparsec.block_walk {{.*}} from %first to %end : <
sparsec.kernel @transposed(%w: !sparsec.bsr<?x?xbf16, block = 128x128, transposed>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128, transposed>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.program @few_columns_narrow128
// CHECK: sparsec.role "producer"
// CHECK: sparsec.block_walk {{.*}} from %first to %end : <
// CHECK-LABEL: sparsec.program @few_columns
// CHECK: sparsec.role "producer"
// CHECK: sparsec.block_walk {{.*}} from %first to %end {rotated} : <
sparsec.kernel @few_columns(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {
    narrow_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1>],
    schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Slices copy blocks with rows of 64 bytes as lines, where X is N x K: K ends with a block.
// CHECK-LABEL: sparsec.program @lines_of_slices
// CHECK: sparsec.role "consumer" warpgroup(1)
// CHECK: sparsec.store %{{.*}} attributes {{{.*}}lines
// CHECK: sparsec.role "producer" thread(1)
// CHECK: sparsec.copy %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] to %ring[%{{.*}}] {index = 0 : i64, lines}
sparsec.kernel @lines_of_slices(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 32, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A tile with fewer rows than wgmma has X as its A operand. A stage has two blocks, one copy for both and one for each part
// of X, which is a strip of the buffer. The last step of a row may have one block: its columns tell. Columns of Y that do not
// exist are rows of X that are not copied: all of them with a single tile, or else half of the last tile.
// CHECK-LABEL: sparsec.program @few_rows
// CHECK: %[[RING:.*]] = sparsec.ring : !ring{{[0-9]*}}
// CHECK: %[[W:.*]] = sparsec.view %[[RING]] rows(%{{.*}}) {index = 0 : i64} : !ring{{[0-9]*}} -> <32, 64, f8E4M3FN, k>
// CHECK: %[[X:.*]] = sparsec.view %[[RING]] rows(%{{.*}}) {index = 1 : i64} : !ring{{[0-9]*}} -> <64, 64, f8E4M3FN, k>
// CHECK: sparsec.product %[[X]][%[[C:.*]]], %[[W]][%[[C]]] {depth = 64 : i64}
// CHECK: sparsec.store
// CHECK-SAME: lines, swapped} : <64, 32>
// CHECK: sparsec.role "producer"
// CHECK: %[[FIRST_ROW:.*]] = arith.muli %panel, %c64_i32
// CHECK: %[[ROWS:.*]] = sparsec.size %{{.*}} {dimension = 0 : i64}
// CHECK: %[[REST:.*]] = arith.subi %[[ROWS]], %[[FIRST_ROW]]
// CHECK: %[[IS_HALF:.*]] = arith.cmpi sle, %[[REST]], %c32_i32
// CHECK: %[[HALF:.*]] = arith.select %[[IS_HALF]], %c32_i32, %c0_i32
// CHECK: %[[BEYOND:.*]] = arith.subi %c64_i32, %[[ROWS]]
// CHECK: %[[IS_SINGLE:.*]] = arith.cmpi sle, %[[ROWS]], %c64_i32
// CHECK: %[[MISSING:.*]] = arith.select %[[IS_SINGLE]], %[[BEYOND]], %[[HALF]]
// CHECK: %[[LESS:.*]] = arith.muli %[[MISSING]], %c64_i32
// CHECK: %[[BYTES:.*]] = arith.subi %c6144_i32, %[[LESS]]
// CHECK: sparsec.block_walk %{{.*}} {blocks = 2 : i64}
// CHECK: ^bb0(%[[BLOCK:.*]]: i32, %[[FIRST:.*]]: i32, %[[SECOND:.*]]: i32, %
// CHECK: sparsec.post %[[RING]][%{{.*}}] bytes(%[[BYTES]])
// CHECK: sparsec.copy %{{.*}}[%[[BLOCK]], %{{.*}}] block_columns(%[[FIRST]], %[[SECOND]]) to %[[RING]]
// CHECK-SAME: {index = 0 : i64, lines}
// CHECK: sparsec.copy %{{.*}} at(%c0_i32) {clipped, columns = 32 : i64, index = 1 : i64}
// CHECK: sparsec.copy %{{.*}} at(%c64_i32) {clipped, columns = 32 : i64, index = 1 : i64}
sparsec.kernel @few_rows(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// With X as K x N these rows are columns of it: strips of the buffer that begin beyond X are not copied. Blocks have their
// rows, and not lines.
// CHECK-LABEL: sparsec.program @few_rows_of_columns
// CHECK: sparsec.role "producer"
// CHECK: %[[FIRST_COLUMN:.*]] = arith.muli %panel, %c128_i32
// CHECK: %[[COLUMNS:.*]] = sparsec.size %{{.*}} {dimension = 1 : i64}
// CHECK: %[[REST:.*]] = arith.subi %[[COLUMNS]], %[[FIRST_COLUMN]]
// CHECK: %[[MISSING:.*]] = arith.subi %c128_i32, %[[REST]]
// CHECK: %[[BEYOND:.*]] = arith.maxsi %[[MISSING]], %c0_i32
// CHECK: %[[STRIPS:.*]] = arith.divui %[[BEYOND]], %c64_i32
// CHECK: %[[LESS:.*]] = arith.muli %[[STRIPS]], %c4096_i32
// CHECK: %[[BYTES:.*]] = arith.subi %c10240_i32, %[[LESS]]
// CHECK: sparsec.post %[[RING:.*]][%{{.*}}] bytes(%[[BYTES]])
// CHECK: sparsec.copy %{{.*}} to %[[RING]][%{{.*}}] {index = 0 : i64} : !sparsec.bsr
// CHECK: sparsec.copy %{{.*}}[%{{.*}}, %[[FIRST_COLUMN]]] to %[[RING]][%{{.*}}] {clipped_strips, index = 1 : i64}
sparsec.kernel @few_rows_of_columns(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 128, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 2, slices = 2>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A single strip is always there, and a stage with several blocks has several parts.
// CHECK-LABEL: sparsec.program @one_strip
// CHECK-NOT: clipped
// CHECK-LABEL: sparsec.program @parts_of_strips
// CHECK-NOT: clipped
sparsec.kernel @one_strip(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
sparsec.kernel @parts_of_strips(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 128, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 2, slices = 2>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// With X as N x K wide tiles copy the rows of blocks too, where narrower ones copy lines.
// CHECK-LABEL: sparsec.program @wide_rows
// CHECK-NOT: lines
// CHECK: sparsec.copy %{{.*}} {clipped, index = 1 : i64}
// CHECK-LABEL: sparsec.program @narrower_lines
// CHECK: sparsec.copy %{{.*}} {index = 0 : i64, lines}
sparsec.kernel @wide_rows(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 128, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 2, slices = 2>} {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
sparsec.kernel @narrower_lines(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// 16 rows of 32 bytes end where the swizzle of lines does not.
// CHECK-LABEL: sparsec.program @short_strips
// CHECK-NOT: lines
sparsec.kernel @short_strips(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 16, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
