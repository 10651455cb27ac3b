// RUN: sparsec-opt %s --sparsec-lower-to-tiles -mlir-use-nameloc-as-prefix | FileCheck %s
// The program of a sddmm has roles from the start. A cluster has up to 4 blocks of 128 x 128, shared out evenly.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4,
                              consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40,
                              consumer_registers = 232>

// CHECK-DAG: !ring = !sparsec.ring<4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<256, 64, bf16, strip = 128>]>
// CHECK-DAG: !ring1 = !sparsec.ring<3, [!sparsec.buffer<64, 64, f16, strip = 128>, !sparsec.buffer<64, 512, f16, strip = 128>]>
// CHECK: sparsec.program @sampled
// CHECK: %[[RING:ring]] = sparsec.ring : !ring
// CHECK: sparsec.role "consumer" warpgroup(2) registers(232) {
// CHECK: %[[A:a]] = sparsec.view %[[RING]] rows(%{{.*}}) {index = 0 : i64} : !ring -> <64, 64, bf16, k>
// CHECK: %[[B:b]] = sparsec.view %[[RING]] {{.*}} -> <256, 64, bf16, k>
// CHECK: %[[HALF:b_half]] = sparsec.view %[[RING]] {{.*}} -> <128, 64, bf16, k>
// CHECK: sparsec.tile_loop init(%begin
// The blocks of the tile: those of its panel, as far as the block row has them.
// CHECK: %[[FIRST:first]], %[[END:end]] = sparsec.row_blocks
// CHECK: %[[OFFSET:.*]] = arith.muli %panel, %c4{{.*}}
// CHECK: %[[TILE:tile_first]] = arith.addi %[[FIRST]], %[[OFFSET]]
// CHECK: %[[REST:.*]] = arith.subi %[[END]], %[[TILE]]
// CHECK: %[[HAS:.*]] = arith.cmpi sgt, %[[REST]], %c0{{.*}}
// CHECK: scf.if %[[HAS]]
// CHECK: %[[COUNT:count]] = arith.minsi %[[REST]], %c4{{.*}}
// CHECK: %[[SHARE:share]] = arith.divui
// One block each: half of the columns.
// CHECK: %[[IS_HALF:.*]] = arith.cmpi sle, %[[SHARE]], %c1{{.*}}
// CHECK: scf.if %[[IS_HALF]]
// CHECK: scf.for %k = %c0{{.*}} to %size{{.*}} step %c64{{.*}} iter_args(
// CHECK: sparsec.wait %[[RING]]
// CHECK: %[[P:.*]] = sparsec.product %[[A]][%[[SLOT:.*]]], %[[HALF]][%[[SLOT]]], %{{.*}} {depth = 64 : i64}
// CHECK: sparsec.await %[[P]] {outstanding = 1 : i64}
// CHECK: sparsec.release %[[RING]]
// CHECK: sparsec.store {{.*}} blocks(%[[MY:first.*]] to %[[MY_END:end.*]] of %{{.*}} : !sparsec.bsr<?x?xbf16, block = 128x128>) attributes {block_rows = 128 : i64, block_stride = 128 : i64, broadcast = [], staged}
// CHECK: } else {
// CHECK: sparsec.product %[[A]][%{{.*}}], %[[B]][
// CHECK: sparsec.store
// CHECK: sparsec.drain_stores
// CHECK: sparsec.role "producer" thread(1) registers(40) {
// CHECK: %[[BYTES:bytes]] = arith.addi
// CHECK: scf.for %k
// CHECK: sparsec.acquire
// CHECK-NEXT: sparsec.post %[[RING]][%{{.*}}] bytes(%[[BYTES]])
// CHECK-NEXT: sparsec.copy %{{.*}}[%{{.*}}, %k] to %[[RING]][%{{.*}}] {index = 0 : i64, multicast}
// CHECK-NEXT: %walk = sparsec.block_walk %{{.*}} from %{{.*}} to %{{.*}} :
// CHECK-NEXT: sparsec.walk %walk {
// CHECK: sparsec.copy %{{.*}}[%{{.*}}, %k] to %[[RING]][%{{.*}}] at(%{{.*}}) {index = 1 : i64, rows = array<i64: 0, 128>}
sparsec.kernel @sampled(%p: !sparsec.bsr<?x?xbf16, block = 128x128>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x128x128xbf16>)
    attributes {schedule = #schedule} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x128x128xbf16>
  sparsec.return %s : tensor<?x128x128xbf16>
}

// Both factors with K outermost: copies bring columns, and a part of 32 of B begins at a multiple of 64.
// CHECK: sparsec.program @transposed
// CHECK: sparsec.ring : !ring1
// CHECK: sparsec.view {{.*}} columns(%{{.*}}) {index = 0 : i64} {{.*}} -> <64, 64, f16, mn>
// CHECK: sparsec.store {{.*}} attributes {block_rows = 16 : i64, block_stride = 64 : i64, broadcast = []}
// CHECK: sparsec.role "producer"
// CHECK: sparsec.copy %{{.*}}[%k, %{{.*}}] to {{.*}} {index = 0 : i64}
// CHECK: sparsec.copy %{{.*}}[%k, %{{.*}}] to {{.*}} at(%{{.*}}) {columns = 64 : i64, index = 1 : i64}
// CHECK: sparsec.copy %{{.*}}[%k, %{{.*}}] to {{.*}} at(%{{.*}}) {columns = 64 : i64, index = 1 : i64}
sparsec.kernel @transposed(%p: !sparsec.bsr<?x?xf16, block = 16x32>, %a: tensor<?x?xf16>, %b: tensor<?x?xf16>) -> (s: tensor<?x16x32xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 512, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 2>} {
  %s = sparsec.sddmm %p, %a, %b a_layout(km) b_layout(kn) : (!sparsec.bsr<?x?xf16, block = 16x32>, tensor<?x?xf16>, tensor<?x?xf16>) -> tensor<?x16x32xf16>
  sparsec.return %s : tensor<?x16x32xf16>
}
