// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// What a program of sddmm has and others have not: sizes, copies to a place that is known at run time, slots of which
// only a part is filled, an A operand with M contiguous, and a store of blocks.

gpu.module @kernels {
  sparsec.program @sampled attributes {kernel = @sampled, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%p: !sparsec.bsr<?x?xbf16, block = 128x128>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %s: tensor<?x128x128xbf16>):
    %ring = sparsec.ring : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<256, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<256, 64, bf16, strip = 128>]>
    // CHECK: %[[ZERO:.*]] = arith.constant 0
    %zero = arith.constant 0 : i32
    // CHECK: %[[SIZE:size]] = sparsec.size %{{.*}} {dimension = 1 : i64} : tensor<?x?xbf16>
    %size = sparsec.size %a {dimension = 1 : i64} : tensor<?x?xbf16>
    // CHECK: sparsec.size %{{.*}} {dimension = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 128x128>
    %rows = sparsec.size %p {dimension = 0} : !sparsec.bsr<?x?xbf16, block = 128x128>
    // CHECK: sparsec.post %ring[%begin] bytes(%[[SIZE]]) : !ring
    sparsec.post %ring[%begin] bytes(%size) : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<256, 64, bf16, strip = 128>]>
    // CHECK: sparsec.copy %{{.*}}[%{{.*}}, %{{.*}}] to %ring[%begin] at(%[[SIZE]]) {index = 1 : i64, rows = array<i64: 0, 128>}
    sparsec.copy %b[%zero, %zero] to %ring[%begin] at(%size) {index = 1, rows = array<i64: 0, 128>} : tensor<?x?xbf16>, <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<256, 64, bf16, strip = 128>]>
    // CHECK: sparsec.copy %{{.*}}[%{{.*}}, %{{.*}}] to %ring[%begin] at(%[[SIZE]]) {columns = 64 : i64, index = 1 : i64}
    sparsec.copy %b[%zero, %zero] to %ring[%begin] at(%size) {index = 1, columns = 64} : tensor<?x?xbf16>, <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<256, 64, bf16, strip = 128>]>
    %va = sparsec.view %ring {index = 0} : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<256, 64, bf16, strip = 128>]> -> <64, 64, bf16, mn>
    %vb = sparsec.view %ring {index = 1} : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<256, 64, bf16, strip = 128>]> -> <256, 64, bf16, k>
    // CHECK: sparsec.product %{{.*}}[%begin], %{{.*}}[%begin] {depth = 64 : i64} : !sparsec.view<64, 64, bf16, mn>, !sparsec.view<256, 64, bf16, k> -> !sparsec.pending<64, 256>
    %product = sparsec.product %va[%begin], %vb[%begin] {depth = 64} : !sparsec.view<64, 64, bf16, mn>, !sparsec.view<256, 64, bf16, k> -> !sparsec.pending<64, 256>
    %sum = sparsec.await %product {outstanding = 0} : <64, 256> -> !sparsec.accumulator<64, 256>
    // CHECK: sparsec.store %{{.*}} to %{{.*}}[%[[ZERO]], %[[ZERO]], %[[ZERO]]] part %[[ZERO]] at(%[[ZERO]], %[[ZERO]])
    // CHECK-SAME: blocks(%[[ZERO]] to %[[SIZE]] of %{{.*}} : !sparsec.bsr<?x?xbf16, block = 128x128>)
    // CHECK-SAME: block_stride = 128 : i64
    sparsec.store %sum to %s[%zero, %zero, %zero] part %zero at (%zero, %zero)
        blocks(%zero to %size of %p : !sparsec.bsr<?x?xbf16, block = 128x128>)
        attributes {broadcast = [], block_rows = 128 : i64, block_stride = 128 : i64} : <64, 256> -> tensor<?x128x128xbf16> {
    ^bb0(%acc: f32):
      sparsec.yield %acc : f32
    }
  }
}
