// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// Two rings: one of queries, with two slots because two consumers share a tile, and one whose slots hold keys and values
// in turn. The producer walks the same key blocks as the consumer; a slot is free again after the last product that reads
// it, so the keys before the softmax and the queries after the last block.
// CHECK-LABEL: sparsec.program @attention
// CHECK-NEXT: ^bb0(%[[Q:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[K:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[V:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[PATTERN:[a-z0-9]+]]: !sparsec.pattern<128x64>,
// CHECK: %[[QUERY_RING:.*]] = sparsec.ring : <2, [!sparsec.buffer<128, 128, bf16>]>
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

// One consumer has one slot of queries.
// CHECK-LABEL: sparsec.program @one_consumer
// CHECK: sparsec.ring : <1, [!sparsec.buffer<64, 64, f16>]>
// CHECK: sparsec.ring : <3, [!sparsec.buffer<128, 64, f16>]>
sparsec.kernel @one_consumer(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// One role: a ring for the queries, whose copy nothing waits for but the wait, and one each for keys and values. A block
// of 128 keys takes two steps; the copies of a later step start once its slot is free, which waiting says.
// CHECK-LABEL: sparsec.program @one_role
// CHECK-NEXT: ^bb0(%[[Q1:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[K1:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[V1:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[PATTERN1:[a-z0-9]+]]: !sparsec.pattern<128x128>,
// CHECK-NEXT: %[[QUERY_RING:.*]] = sparsec.ring : <1, [!sparsec.buffer<128, 128, bf16>]>
// CHECK-NEXT: %[[KEY_RING:.*]] = sparsec.ring : <3, [!sparsec.buffer<64, 128, bf16>]>
// CHECK-NEXT: %[[VALUE_RING:.*]] = sparsec.ring : <3, [!sparsec.buffer<64, 128, bf16>]>
// CHECK-NEXT: sparsec.tile_loop
// CHECK: sparsec.copy_rows %[[Q1]][%tile] to %[[QUERY_RING]]
// CHECK-NEXT: %[[QUERIES:.*]] = sparsec.wait %[[QUERY_RING]]
// CHECK: sparsec.key_loop of %[[PATTERN1]] : !sparsec.pattern<128x128> at %tile init(
// CHECK-SAME: attributes {causal, chunks = 2 : i64}
// CHECK: %[[KEYS:.*]] = sparsec.wait %[[KEY_RING]]
// CHECK-NEXT: sparsec.prefetch %[[KEY_RING]] attributes {ahead = 2 : i64} : <3, [!sparsec.buffer<64, 128, bf16>]> {
// CHECK-NEXT: ^bb0(%[[LATER:.*]]: !sparsec.block):
// CHECK-NEXT: sparsec.copy_rows %[[K1]][%tile, %[[LATER]]] to %[[KEY_RING]]
// CHECK: sparsec.chain %[[QUERIES]], %[[KEYS]],
// CHECK-NEXT: sparsec.release %[[KEY_RING]]
// CHECK: sparsec.softmax
// CHECK: %[[VALUES:.*]] = sparsec.wait %[[VALUE_RING]]
// CHECK-NEXT: sparsec.prefetch %[[VALUE_RING]] attributes {ahead = 2 : i64}
// CHECK: sparsec.copy_rows %[[V1]][%tile,
// CHECK: sparsec.fragment_chain %{{.*}}, %[[VALUES]],
// CHECK-NEXT: sparsec.release %[[VALUE_RING]]
// CHECK: sparsec.release %[[QUERY_RING]]
// CHECK-NEXT: sparsec.store_rows
sparsec.kernel @one_role(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                         %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 128, stages = 3, consumers_m = 8, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v pattern(%p) causal
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>)
    -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
