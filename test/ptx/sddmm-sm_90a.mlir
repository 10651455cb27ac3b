// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=PRODUCER < %t.ptx

// One product for tiles whose blocks fill at most half of the columns, one for others. Stores are of blocks.
// CHECK: .visible .entry sampled(
// CHECK: .maxntid 384
// CHECK: .reqnctapercluster 2
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK: stmatrix.sync.aligned.m8n8.x4
// CHECK: cp.async.bulk.tensor.3d.global.shared::cta
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// CHECK: cp.async.bulk.tensor.3d.global.shared::cta

// A is for both CTAs of the cluster. The slot waits for the bytes of as many blocks as there are.
// PRODUCER: .visible .entry sampled(
// PRODUCER: setmaxnreg.dec.sync.aligned.u32 40
// PRODUCER: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
// PRODUCER: cp.async.bulk.tensor.2d.shared::cluster.global
// PRODUCER-SAME: multicast::cluster
// PRODUCER: cp.async.bulk.tensor.2d.shared::c{{.*}}.global
sparsec.kernel @sampled(%p: !sparsec.bsr<?x?xbf16, block = 128x128>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x128x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x128x128xbf16>
  sparsec.return %s : tensor<?x128x128xbf16>
}

// Both factors with K outermost: the instruction transposes both. Blocks of 256 columns have no half.
// CHECK: .visible .entry transposed(
// CHECK-NOT: wgmma.mma_async.sync.aligned.m64n128k16
// CHECK: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {{.*}}, 1, 1, 1, 1;
sparsec.kernel @transposed(%p: !sparsec.bsr<?x?xf16, block = 128x256>, %a: tensor<?x?xf16>, %b: tensor<?x?xf16>) -> (s: tensor<?x128x256xf32>) {
  %s = sparsec.sddmm %p, %a, %b a_layout(km) b_layout(kn) : (!sparsec.bsr<?x?xf16, block = 128x256>, tensor<?x?xf16>, tensor<?x?xf16>) -> tensor<?x128x256xf32>
  sparsec.return %s : tensor<?x128x256xf32>
}

// A long epilogue keeps the values of a thread in local memory: 128 f32, also where the first store has only 64.
// CHECK: .visible .entry long_epilogue(
// CHECK: .local .align {{[0-9]+}} .b8 {{.*}}[512];
sparsec.kernel @long_epilogue(%p: !sparsec.bsr<?x?xbf16, block = 128x128>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x128x128xbf16>) {
  %s = sparsec.sddmm %p, %a, %b epilogue (%acc: f32) {
    %1 = math.sin %acc : f32
    %2 = math.sin %1 : f32
    %3 = math.sin %2 : f32
    sparsec.yield %3 : f32
  } : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x128x128xbf16>
  sparsec.return %s : tensor<?x128x128xbf16>
}
