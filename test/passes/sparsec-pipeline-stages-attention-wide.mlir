// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | sparsec-opt | FileCheck %s

// Wide heads: steps are parts of a key block, queries have one slot, and values, which are narrower, fill a part of theirs.

// CHECK-DAG: ![[$QUERIES:ring[0-9]*]] = !sparsec.ring<1, [!sparsec.buffer<128, 192, bf16, strip = 128>]>
// CHECK-DAG: ![[$KEYS:ring[0-9]*]] = !sparsec.ring<4, [!sparsec.buffer<64, 192, bf16, strip = 128>]>
// CHECK-DAG: ![[$WARP_KEYS:ring[0-9]*]] = !sparsec.ring<2, [!sparsec.buffer<32, 192, bf16, swizzle = 128>]>
// CHECK-DAG: ![[$WARP_VALUES:ring[0-9]*]] = !sparsec.ring<2, [!sparsec.buffer<32, 128, bf16, swizzle = 128>]>
// CHECK-DAG: ![[$WIDE_VALUES:ring[0-9]*]] = !sparsec.ring<4, [!sparsec.buffer<64, 256, bf16, strip = 128>]>

// CHECK-LABEL: sparsec.program @roles
// CHECK: %query_ring = sparsec.ring {messages, name = "query_ring"} : ![[$QUERIES]]
// CHECK-NEXT: %key_ring = sparsec.ring {messages, name = "key_ring"} : ![[$KEYS]]
// CHECK: sparsec.view %query_ring rows({{.*}}) {index = 0 : i64} : {{.*}} -> <64, 192, bf16, k>
// CHECK-NEXT: sparsec.view %key_ring {index = 0 : i64} : {{.*}} -> <64, 192, bf16, k>
// CHECK-NEXT: sparsec.view %key_ring {index = 0 : i64} : {{.*}} -> <64, 128, bf16, mn>
// CHECK: sparsec.product {{.*}} {depth = 192 : i64}
// CHECK: sparsec.key_block %{{.*}} {keys = 64 : i64}
// CHECK: sparsec.product {{.*}} {depth = 64 : i64} : {{.*}} -> !sparsec.pending<64, 128>
// CHECK: sparsec.store_rows %{{.*}} to %{{.*}}[%batch, %head, %{{.*}} : i32, i32, i32] sinks(%{{.*}} : tensor<?xf32>) : <64, 128>, <64>
// CHECK: %walk = sparsec.key_walk %lists at %query {chunks = 2 : i64, rows = 128 : i64}
// CHECK-NEXT: sparsec.walk %walk init({{.*}})
// CHECK: sparsec.key_block %{{.*}} {keys = 64 : i64}
// CHECK-NEXT: sparsec.acquire %key_ring
// CHECK-NEXT: sparsec.post %key_ring[%{{.*}}] (%{{.*}}, %{{.*}}) :
// CHECK-NEXT: sparsec.copy %{{.*}} to %key_ring[%{{.*}}] {index = 0 : i64} :
// Values of 128 columns: 64 rows of 256 bytes.
// CHECK: sparsec.post %key_ring[%{{.*}}] bytes(%c16384_i32) :
// CHECK-NEXT: sparsec.copy %{{.*}} to %key_ring[%{{.*}}] {columns = 128 : i64, index = 0 : i64} :
sparsec.kernel @roles(%q: tensor<?x?x?x192xbf16>, %k: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x128xbf16>,
                      %p: !sparsec.pattern<128x128>, %s: tensor<?xf32>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 192, stages = 4, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v pattern(%p) sinks(%s)
    : (tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>, tensor<?xf32>)
    -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Keys that are narrower than values fill a part of their slots.
// CHECK-LABEL: sparsec.program @wide_values
// CHECK: %key_ring = sparsec.ring {messages, name = "key_ring"} : ![[$WIDE_VALUES]]
// CHECK: sparsec.key_walk at %query
// CHECK-NOT: chunks
// CHECK: sparsec.post %key_ring[%{{.*}}] (%{{.*}}, %{{.*}}) bytes(
// CHECK-NEXT: sparsec.copy %{{.*}} to %key_ring[%{{.*}}] {columns = 64 : i64, index = 0 : i64} :
sparsec.kernel @wide_values(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x256xbf16>)
    -> (o: tensor<?x?x?x256xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x256xbf16>) -> tensor<?x?x?x256xbf16>
  sparsec.return %o : tensor<?x?x?x256xbf16>
}

// With one role, keys and values have rings of their own.
// CHECK-LABEL: sparsec.program @warps
// CHECK: sparsec.ring {name = "key_ring"} : ![[$WARP_KEYS]]
// CHECK-NEXT: sparsec.ring {name = "value_ring"} : ![[$WARP_VALUES]]
// CHECK: sparsec.store_rows %{{.*}} sinks(%{{.*}} : tensor<?xf32>) : <16, 128>, <16>
sparsec.kernel @warps(%q: tensor<?x?x?x192xbf16>, %k: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x128xbf16>,
                      %s: tensor<?xf32>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 32, tile_k = 192, stages = 2, consumers_m = 8, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v sinks(%s)
    : (tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>)
    -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
