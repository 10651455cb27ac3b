// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// Attention has a second program, for launches with few tiles. The first one knows nothing of parts.
// CHECK-LABEL: sparsec.program @packed attributes
// CHECK-NOT: split
// CHECK-NOT: sparsec.tile_part
// CHECK-NOT: sparsec.store_part
// CHECK-NOT: evict_first

// The producer takes the panel of the grid apart. Packed queries have another tile then, which its messages say; the
// consumers take that apart again. A part has at least 512 keys, which are eight blocks of 64. Keys and values are the first
// to leave L2.
// CHECK-LABEL: sparsec.program @packed_parts attributes
// CHECK-SAME: split, variant = 1
// CHECK: sparsec.role "consumer"
// CHECK: %[[PANEL:.*]], %part, %parts = sparsec.tile_part %{{.*}}
// CHECK-NEXT: sparsec.query_tile %{{.*}}[%{{.*}}, %[[PANEL]]] {forward, rows = 64 : i64}
// CHECK: %[[END:.*]] = arith.addi %query_row, %queries
// CHECK-NEXT: sparsec.store_part %{{.*}}, %{{.*}} to %[[O:.*]][%c0_i32, %head, %{{.*}}] part(%part, %parts) end(%[[END]]) lse(%{{.*}} : tensor<?x?x?xf32>) sinks(%{{.*}} : tensor<?xf32>)
// CHECK-NOT: sparsec.store_rows
// CHECK: sparsec.role "producer"
// CHECK: %[[PANEL:panel.*]], %part, %parts = sparsec.tile_part %panel
// CHECK-NEXT: %row, %block = sparsec.packed_tile %{{.*}}[%tile_row, %[[PANEL]]]
// CHECK: %[[FIRST:.*]] = arith.muli %block, %parts
// CHECK-NEXT: %[[MESSAGE:.*]] = arith.addi %[[FIRST]], %part
// CHECK: sparsec.post %query_ring[%{{.*}}] (%row, %[[MESSAGE]])
// CHECK: sparsec.copy %arg0[{{.*}}] to %query_ring[%{{.*}}] {index = 0 : i64}
// CHECK: sparsec.key_walk %lists at %query sizes(%queries, %keys) part(%part, %parts) {part_blocks = 8 : i64
// CHECK: sparsec.copy %arg1[{{.*}}] to %key_ring[%{{.*}}] {evict_first, index = 0 : i64}
// CHECK-COUNT-2: sparsec.copy %arg2[{{.*}}] to %key_ring[%{{.*}}] {evict_first, index = 0 : i64}
sparsec.kernel @packed(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<64x64>,
                       %s: tensor<?xf32>, %starts: tensor<?xi32>, %n: tensor<?xi32>) -> (o: tensor<?x?x?x64xbf16>, lse: tensor<?x?x?xf32>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) sinks(%s) query_starts(%starts) key_lengths(%n)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>, tensor<?xf32>, tensor<?xi32>,
       tensor<?xi32>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

// With one role too. A step of 32 keys is a part of a block of 64: eight blocks are 512 keys.
// CHECK-LABEL: sparsec.program @warps attributes
// CHECK-NOT: sparsec.tile_part
// CHECK-LABEL: sparsec.program @warps_parts attributes
// CHECK: %[[PANEL:.*]], %part, %parts = sparsec.tile_part %panel
// CHECK-NEXT: sparsec.query_tile %{{.*}}[%tile_row, %[[PANEL]]]
// CHECK: sparsec.key_walk %lists at %query part(%part, %parts) {chunks = 2 : i64, part_blocks = 8 : i64, rows = 64 : i64}
// CHECK: sparsec.store_part
// CHECK-NOT: sparsec.store_rows
sparsec.kernel @warps(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<64x64>)
    -> (o: tensor<?x?x?x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// The second group of a tile may be behind the last query, of which decoding has few. It passes the steps then. In the
// program of whole tiles it multiplies all the same.
// CHECK-LABEL: sparsec.program @decoding_cut attributes
// CHECK-LABEL: sparsec.program @decoding attributes
// CHECK-NOT: sparsec.sequence
// CHECK-LABEL: sparsec.program @decoding_parts attributes
// CHECK: sparsec.role "consumer"
// CHECK: %{{.*}}, %[[QUERIES:.*]], %{{.*}}, %{{.*}} = sparsec.sequence %{{.*}}, %{{.*}}[%batch] :
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %{{.*}}, %[[QUERIES]] : i32
// CHECK-NEXT: scf.if %[[THERE]]
// CHECK-COUNT-4: sparsec.product
// CHECK: } else {
// CHECK: sparsec.loop
// CHECK-NOT: sparsec.product
// CHECK: sparsec.store_part
sparsec.kernel @decoding(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 3, consumers_m = 2, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
