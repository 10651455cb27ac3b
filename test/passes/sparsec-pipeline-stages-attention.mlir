// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// Two rings: one slot for the tile's queries, and one whose slots hold keys and values in turn. The producer walks the
// same key blocks as the consumer; a slot is free again after the last product that reads it, so the keys before the
// softmax and the queries after the last block.
// CHECK-LABEL: sparsec.program @attention
// CHECK-NEXT: ^bb0(%[[Q:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[K:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[V:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[PATTERN:[a-z0-9]+]]: !sparsec.pattern<128x64>,
// CHECK: %[[QUERY_RING:.*]] = sparsec.ring : <1, [!sparsec.buffer<128, 128, bf16>]>
// CHECK: %[[RING:.*]] = sparsec.ring : <6, [!sparsec.buffer<64, 128, bf16>]>
// CHECK: sparsec.producer attributes {registers = 40 : i64}
// CHECK: sparsec.tile_loop
// CHECK: sparsec.acquire %[[QUERY_RING]]
// CHECK-NEXT: sparsec.copy_rows %[[Q]][%tile] to %[[QUERY_RING]]
// CHECK-NEXT: sparsec.commit %[[QUERY_RING]]
// CHECK-NEXT: sparsec.key_loop of %[[PATTERN]] : !sparsec.pattern<128x64> at %tile attributes {causal, window = array<i64: 1024, -1>} {
// CHECK: sparsec.acquire %[[RING]]
// CHECK-NEXT: sparsec.copy_rows %[[K]][%tile, %block] to %[[RING]]
// CHECK-NEXT: sparsec.commit %[[RING]]
// CHECK-NEXT: sparsec.acquire %[[RING]]
// CHECK-NEXT: sparsec.copy_rows %[[V]][%tile, %block] to %[[RING]]
// CHECK-NEXT: sparsec.commit %[[RING]]
// CHECK-NEXT: sparsec.yield{{$}}
// CHECK: sparsec.consumer attributes {registers = 232 : i64}
// CHECK: sparsec.tile_loop
// CHECK: %[[QUERIES:.*]] = sparsec.wait %[[QUERY_RING]]
// CHECK: sparsec.key_loop of %[[PATTERN]] : !sparsec.pattern<128x64> at %tile init(
// CHECK-SAME: attributes {causal, window = array<i64: 1024, -1>}
// CHECK: %[[KEYS:.*]] = sparsec.wait %[[RING]]
// CHECK: sparsec.chain %[[QUERIES]], %[[KEYS]],
// CHECK-NEXT: sparsec.release %[[RING]]
// CHECK: sparsec.softmax
// CHECK: %[[VALUES:.*]] = sparsec.wait %[[RING]]
// CHECK-NEXT: sparsec.fragment_chain %{{.*}}, %[[VALUES]],
// CHECK-NEXT: sparsec.release %[[RING]]
// CHECK-NEXT: sparsec.yield
// CHECK: sparsec.release %[[QUERY_RING]]
// CHECK-NEXT: sparsec.store_rows
// CHECK-NOT: sparsec.load_rows
#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 128, stages = 6, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                          %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #schedule} {
  %o = sparsec.attention %q, %k, %v pattern(%p) causal window = [1024, -1]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x64>)
    -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Without a pattern the producer's loop has none either.
// CHECK-LABEL: sparsec.program @plain
// CHECK: sparsec.producer
// CHECK: sparsec.key_loop at %tile {
sparsec.kernel @plain(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) attributes {schedule = #schedule} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
