// RUN: sparsec-opt %s --sparsec-select-schedule --sparsec-lower-to-tiles --split-input-file | FileCheck %s

// A program of the host is in front of its kernel, in values form: no roles, no rings. Scales of X are for 128 of K, so
// that a wide block has two steps.
// CHECK-LABEL: sparsec.program @scaled.host attributes {alignment = 1 : i64, kernel = @scaled,
// CHECK-SAME: tile_m = 64, tile_n = 64, tile_k = 128
// CHECK: sparsec.block_loop {{.*}} attributes {blocks_per_step = 1 : i64, chunks = 2 : i64}
// CHECK: %[[A:.*]] = sparsec.load a {{.*}} -> <64, 128, f8E4M3FN>
// CHECK: %[[X:.*]] = sparsec.load x {{.*}} -> <64, 128, f8E4M3FN>
// CHECK: sparsec.chain %[[A]], %[[X]], %acc scales({{.*}}) x_scale({{.*}}) {depth = array<i64: 128, 128>, two_level, x_transposed}
// CHECK: sparsec.store
// CHECK: sparsec.kernel @scaled
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @scaled(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x256>, %s: tensor<?xf32>, %x: tensor<?x?xf8E4M3FN>,
      %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) {
    %y = sparsec.spmm %w scales(%s), %x x_scale(%t) x_layout(nk)
      : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x256>, tensor<?xf32>, tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

// A tile of sddmm is a stored block, if there are so many in the row. Columns of a block that fit in no buffer are
// parts of their own: 64 and 32.
// CHECK-LABEL: sparsec.program @sampled.host
// CHECK: ^bb0(%[[P:.*]]: !sparsec.bsr<?x?xbf16, block = 32x96>,
// CHECK: %first, %end = sparsec.row_blocks %[[P]][%tile_row]
// CHECK-NEXT: %[[NUMBER:.*]] = arith.addi %first, %panel
// CHECK-NEXT: %[[EXISTS:.*]] = arith.cmpi slt, %[[NUMBER]], %end
// CHECK-NEXT: scf.if %[[EXISTS]]
// CHECK-NEXT: %[[COLUMN:.*]] = sparsec.block_column %[[P]][%[[NUMBER]]]
// CHECK: %[[SUM:.*]] = scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %c256_i32 iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (!sparsec.accumulator<32, 64>)
// CHECK-NEXT: %[[A:.*]] = sparsec.load_part a %{{.*}}[%[[K]], %{{.*}}] : tensor<?x?xbf16> -> <256, 32, bf16>
// CHECK-NEXT: %[[B:.*]] = sparsec.load_part x %{{.*}}[%{{.*}}, %[[K]]] : tensor<?x?xbf16> -> <64, 256, bf16>
// CHECK-NEXT: sparsec.chain %[[A]], %[[B]], %[[BEFORE]] {a_transposed, depth = array<i64: 256>, x_transposed}
// CHECK: sparsec.store %[[SUM]] to {{.*}} blocks(%[[NUMBER]] to %{{.*}} of %[[P]] : {{.*}} block_stride = 96 : i64
// CHECK: sparsec.load_part x {{.*}} -> <32, 256, bf16>
// CHECK: sparsec.store {{.*}} %c64_i32] blocks
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @sampled(%p: !sparsec.bsr<?x?xbf16, block = 32x96>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>)
      -> (s: tensor<?x32x96xbf16>) {
    %s = sparsec.sddmm %p, %a, %b a_layout(km)
      : (!sparsec.bsr<?x?xbf16, block = 32x96>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x32x96xbf16>
    sparsec.return %s : tensor<?x32x96xbf16>
  }
}

// -----

// A tile of spgemm is a block of the result. The plan has its pairs. A block has two parts of 64 columns.
// CHECK-LABEL: sparsec.program @paired.host
// CHECK: %size = sparsec.size %{{.*}} {dimension = 1 : i64}
// CHECK: %[[NUMBER:.*]] = arith.addi %{{.*}}, %panel
// CHECK-NEXT: scf.for %[[COLUMN:.*]] = %c0_i32 to %c128_i32 step %c64_i32
// CHECK-NEXT: %[[FIRST:.*]] = sparsec.read_plan pair_starts[%[[NUMBER]]]
// CHECK: %[[END:.*]] = sparsec.read_plan pair_starts
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c1_i32 iter_args({{.*}}) -> (!sparsec.accumulator<32, 64>)
// CHECK: %[[LEFT:.*]] = sparsec.read_plan pairs
// CHECK: %[[RIGHT:.*]] = sparsec.read_plan pairs
// CHECK: %[[K:.*]] = sparsec.read_plan pairs
// CHECK-NEXT: sparsec.load_part a %{{.*}}[%[[LEFT]], %c0_i32, %c0_i32] depth(%[[K]]) : !sparsec.bsr<?x?xf16, block = 32x48> -> <32, 48, f16>
// CHECK-NEXT: sparsec.load_part x %{{.*}}[%[[RIGHT]], %c0_i32, %[[COLUMN]]] depth(%[[K]]) : !sparsec.bsr<?x?xf16, block = 48x128> -> <48, 64, f16>
// CHECK-NEXT: sparsec.chain
// CHECK: sparsec.store {{.*}} transposed
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @paired(%a: !sparsec.bsr<?x?xf16, block = 32x48>, %b: !sparsec.bsr<?x?xf16, block = 48x128>)
      -> (c: tensor<?x?xf32>) {
    %c = sparsec.spgemm %a, %b c_layout(nm)
      : (!sparsec.bsr<?x?xf16, block = 32x48>, !sparsec.bsr<?x?xf16, block = 48x128>) -> tensor<?x?xf32>
    sparsec.return %c : tensor<?x?xf32>
  }
}

// -----

// With a pattern the result has stored blocks.
// CHECK-LABEL: sparsec.program @sampled_pairs.host
// CHECK: scf.if
// CHECK: sparsec.read_plan pair_starts[%[[NUMBER:.*]]]
// CHECK: sparsec.store {{.*}} blocks(%[[NUMBER]] to
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @sampled_pairs(%a: !sparsec.bsr<?x?xf16, block = 32x32>, %b: !sparsec.bsr<?x?xf16, block = 32x32>,
      %p: !sparsec.bsr<?x?xf16, block = 32x32>) -> (c: tensor<?x32x32xf16>) {
    %c = sparsec.spgemm %a, %b pattern(%p)
      : (!sparsec.bsr<?x?xf16, block = 32x32>, !sparsec.bsr<?x?xf16, block = 32x32>, !sparsec.bsr<?x?xf16, block = 32x32>) -> tensor<?x32x32xf16>
    sparsec.return %c : tensor<?x32x32xf16>
  }
}

// -----

// Attention has one program, without parts of keys. A step has 64 keys, and probabilities stay f32.
// CHECK-LABEL: sparsec.program @attention.host
// CHECK-SAME: tile_m = 128, tile_n = 64, tile_k = 64
// CHECK: %[[TILE:.*]] = sparsec.tile %tile_row, %panel
// CHECK-NEXT: %[[Q:.*]] = sparsec.load_rows %{{.*}}[%[[TILE]]] : tensor<?x?x?x64xf16> -> <128, 64, f16>
// CHECK: sparsec.key_loop of %{{.*}} at %[[TILE]] {{.*}} attributes {causal, chunks = 2 : i64}
// CHECK: %[[K:.*]] = sparsec.load_rows
// CHECK: %[[S:.*]] = sparsec.chain %[[Q]], %[[K]],
// CHECK: sparsec.softmax %[[S]], {{.*}} -> <128, 64, f32>
// CHECK: sparsec.fragment_chain
// CHECK: sparsec.store_rows
// CHECK-NOT: sparsec.program
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @attention(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
      %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x64xf16>) {
    %o = sparsec.attention %q, %k, %v pattern(%p) causal
      : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, !sparsec.pattern<128x128>) -> tensor<?x?x?x64xf16>
    sparsec.return %o : tensor<?x?x?x64xf16>
  }
}
