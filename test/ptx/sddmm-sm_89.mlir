// RUN: sparsec %s --arch=sm_89 --emit=ptx -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=UNALIGNED
// Products at the blocks of a pattern by cp.async and mma.sync.

// A copy has a whole form, without zeros, and one for elements beyond the tensors. Both factors have K contiguous.
// CHECK: .visible .entry sampled(
// CHECK: .maxntid 256
// CHECK: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16;
// CHECK: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r{{[0-9]+}};
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: cp.async.wait_group 1;
// CHECK: bar.sync 0;

// The other variant reads single elements.
// CHECK: .visible .entry sampled_unaligned(
// CHECK-NOT: cp.async
// CHECK: ld.global.nc.b16
// CHECK-NOT: cp.async
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

// Where tensor copies need alignment, mma.sync takes other operands.
// UNALIGNED: .visible .entry sampled(
// UNALIGNED: wgmma.mma_async
// UNALIGNED: .visible .entry sampled_unaligned(
// UNALIGNED-NOT: cp.async
// UNALIGNED: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// UNALIGNED: .visible .entry transposed(
sparsec.kernel @sampled(%p: !sparsec.bsr<?x?xbf16, block = 128x128>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x128x128xbf16>) {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x128x128xbf16>
  sparsec.return %s : tensor<?x128x128xbf16>
}

// Both factors with K outermost: ldmatrix transposes both.
// CHECK: .visible .entry transposed(
// CHECK-NOT: ldmatrix.sync.aligned.m8n8.x4.shared
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-NOT: ldmatrix.sync.aligned.m8n8.x4.shared
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: .visible .entry transposed_unaligned(
sparsec.kernel @transposed(%p: !sparsec.bsr<?x?xf16, block = 32x32>, %a: tensor<?x?xf16>, %b: tensor<?x?xf16>) -> (s: tensor<?x32x32xf32>) {
  %s = sparsec.sddmm %p, %a, %b a_layout(km) b_layout(kn) : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>, tensor<?x?xf16>) -> tensor<?x32x32xf32>
  sparsec.return %s : tensor<?x32x32xf32>
}
