// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)))' | FileCheck %s

// CHECK-DAG: ![[$WIDE_QUERY:ring[0-9]*]] = !sparsec.ring<2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
// CHECK-DAG: ![[$WIDE_KEY:ring[0-9]*]] = !sparsec.ring<6, [!sparsec.buffer<64, 128, bf16, strip = 128>]>
// CHECK-DAG: ![[$NARROW_QUERY:ring[0-9]*]] = !sparsec.ring<1, [!sparsec.buffer<64, 64, f16, strip = 128>]>
// CHECK-DAG: ![[$NARROW_KEY:ring[0-9]*]] = !sparsec.ring<3, [!sparsec.buffer<128, 64, f16, strip = 128>]>
// CHECK-DAG: ![[$ONE_QUERY:ring[0-9]*]] = !sparsec.ring<1, [!sparsec.buffer<64, 128, bf16, swizzle = 128>]>
// CHECK-DAG: ![[$ONE_KEY:ring[0-9]*]] = !sparsec.ring<2, [!sparsec.buffer<32, 128, bf16, swizzle = 128>]>
// CHECK-DAG: ![[$THREE_KEY:ring[0-9]*]] = !sparsec.ring<4, [!sparsec.buffer<128, 64, f16, strip = 128>]>

// Two slots of queries: 2 * 128 * 128 * 2 = 65536. 6 slots of keys or values: 6 * 64 * 128 * 2 = 98304, up to 163840. The
// control words of the queries: 2 * 24 = 48. The control words of keys and values: 6 * 24 = 144.
// CHECK-LABEL: sparsec.program @wide
// CHECK-SAME: shared_memory = 164032 : i64
// CHECK: sparsec.ring {barrier_offset = 163840 : i64, messages, name = "query_ring", offsets = array<i64: 0>} : ![[$WIDE_QUERY]]
// CHECK: sparsec.ring {barrier_offset = 163888 : i64, messages, name = "key_ring", offsets = array<i64: 65536>} : ![[$WIDE_KEY]]
sparsec.kernel @wide(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 128, stages = 6, consumers_m = 2, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// One consumer, one slot: 64 * 64 * 2 = 8192; 3 * 128 * 64 * 2 = 49152, up to 57344; 24; 3 * 24 = 72.
// CHECK-LABEL: sparsec.program @narrow
// CHECK-SAME: shared_memory = 57440 : i64
// CHECK: sparsec.ring {barrier_offset = 57344 : i64, messages, name = "query_ring", offsets = array<i64: 0>} : ![[$NARROW_QUERY]]
// CHECK: sparsec.ring {barrier_offset = 57368 : i64, messages, name = "key_ring", offsets = array<i64: 8192>} : ![[$NARROW_KEY]]
sparsec.kernel @narrow(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// One role needs no barriers. Queries: 64 * 128 * 2 = 16384. Two slots of keys: 2 * 32 * 128 * 2 = 16384, up to 32768; as
// much for values.
// CHECK-LABEL: sparsec.program @one_role
// CHECK-SAME: shared_memory = 49152 : i64
// CHECK: sparsec.ring {name = "query_ring", offsets = array<i64: 0>} : ![[$ONE_QUERY]]
// CHECK: sparsec.ring {name = "key_ring", offsets = array<i64: 16384>} : ![[$ONE_KEY]]
// CHECK: sparsec.ring {name = "value_ring", offsets = array<i64: 32768>} : ![[$ONE_KEY]]
sparsec.kernel @one_role(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 128, stages = 2, consumers_m = 4, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Of three tiles side by side each has such a part: 8192 + 4 * 16384 + 24 + 4 * 24 = 73848, rounded up to 1024 because
// swizzled buffers begin at multiples of it: 74752. Offsets are those in the part. The word of the issuer comes last, at 3 * 74752.
// CHECK-LABEL: sparsec.program @three_tiles
// CHECK-SAME: shared_memory = 224264 : i64
// CHECK-SAME: tile_bytes = 74752 : i64
// CHECK: sparsec.ring {barrier_offset = 73728 : i64, messages, name = "query_ring", offsets = array<i64: 0>} : ![[$NARROW_QUERY]]
// CHECK: sparsec.ring {barrier_offset = 73752 : i64, messages, name = "key_ring", offsets = array<i64: 8192>} : ![[$THREE_KEY]]
// CHECK: sparsec.issuer {offset = 224256 : i64}
// CHECK: sparsec.issue_begin %{{.*}} {offset = 224256 : i64}
// Without windows, regions and sequences, instructions of a step keep their descriptors.
// CHECK-NEXT: sparsec.product %{{.*}} {depth = 64 : i64, keeps_descriptors}
// CHECK: sparsec.issue_end {offset = 224256 : i64}
sparsec.kernel @three_tiles(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, concurrent_tiles = 3>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// The ones of a product that sums rows are behind the word of the issuer, at a multiple of 1024, for all tiles. Groups that
// scale queries have barriers behind those of the tiles.
// CHECK-LABEL: sparsec.program @sums_of_rows
// CHECK-SAME: shared_memory = 227328 : i64
// CHECK: sparsec.scale_rows {{.*}} {exponent = -5 : i64, first_barrier = 4 : i64, rows = 64 : i64}
// CHECK: %[[P:.*]] = sparsec.product %{{.*}} {depth = 128 : i64, ones = 225280 : i64} : !sparsec.fragment<64, 128, bf16>, !sparsec.view<128, 64, bf16, mn>, !sparsec.accumulator<64, 72> -> !sparsec.pending<64, 72>
// CHECK: %[[P:.*]] = sparsec.product %{{.*}} {depth = 128 : i64, ones = 225280 : i64}
// CHECK: %[[OUTPUT:.*]] = sparsec.await %[[P]]
// CHECK: sparsec.sum_rows %{{.*}}, %[[OUTPUT]] : <64>, !sparsec.accumulator<64, 72>
sparsec.kernel @sums_of_rows(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, concurrent_tiles = 3>} {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap : f32
    %tanh = math.tanh %ratio fastmath<afn> : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// Where keys are hidden, additions sum rows. Without flags too few small scores of heads of 64 are below a power of two.
// CHECK-LABEL: sparsec.program @hidden_keys
// CHECK-SAME: shared_memory = 224264 : i64
// CHECK-NOT: {{ones|scale_rows}}
// CHECK: sparsec.sum_rows %{{.*}} : <64>
sparsec.kernel @hidden_keys(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, concurrent_tiles = 3>} {
  %o = sparsec.attention %q, %k, %v causal score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap : f32
    %tanh = math.tanh %ratio : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
