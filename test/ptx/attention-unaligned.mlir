// DEFINE: %{absent} = --implicit-check-not=cp.async --implicit-check-not=wgmma --implicit-check-not=mbarrier --implicit-check-not=.local --implicit-check-not=st.global.v --implicit-check-not=global.nc.v
// RUN: sparsec %s --arch=sm_90a --emit=ptx | sed -n '/_unaligned(/,/^}/p' > %t.sm_90a.ptx
// RUN: FileCheck %s %{absent} < %t.sm_90a.ptx
// RUN: FileCheck %s --check-prefix=STORES < %t.sm_90a.ptx
// RUN: sparsec %s --arch=sm_89 --emit=ptx | sed -n '/_unaligned(/,/^}/p' > %t.sm_89.ptx
// RUN: FileCheck %s %{absent} < %t.sm_89.ptx
// RUN: FileCheck %s --check-prefix=STORES < %t.sm_89.ptx
// The variants for any alignment, on every chip: single elements from and to global memory, of which shared memory gets
// eight at once; the products are those of mma.sync.

// CHECK: .visible .entry attention_unaligned(
// CHECK: .maxntid 256
// CHECK: bar.sync 0;
// CHECK-COUNT-8: ld.global.nc.b16
// CHECK: st.shared.v4.b32
// CHECK: bar.sync 0;
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

// LLVM chooses the order of blocks. Both rows of a thread have 128 / 4 elements, and their LSE.
// STORES: .visible .entry attention_unaligned(
// STORES-COUNT-32: st.global.b16
// STORES-NOT: st.global.b16
// STORES: st.global.b32
// STORES-COUNT-32: st.global.b16
// STORES-NOT: st.global.b16
// STORES: st.global.b32
// STORES-NOT: st.global
sparsec.kernel @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                          %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// Results of f32 are multiples of 4 bytes: one at a time, too.
// CHECK: .visible .entry wide_result_unaligned(
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// STORES: .visible .entry wide_result_unaligned(
// STORES-COUNT-32: st.global.b32
// STORES-NOT: st.global
sparsec.kernel @wide_result(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf32>) {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf32>
  sparsec.return %o : tensor<?x?x?x64xf32>
}
