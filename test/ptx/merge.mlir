// RUN: sparsec %s --arch=sm_89 --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s

// The elements of a row are on their way before the LSE is merged, 16 bytes at a time, and none comes twice. The LSE of
// a part may be that of the result: all lanes have read it before one writes.
// CHECK: .visible .entry merge(
// CHECK-COUNT-2: ld.global.b32
// CHECK-COUNT-4: ld.global.v4.b32
// CHECK-NOT: ld.global.v4
// CHECK: bar.warp.sync
// CHECK-COUNT-2: ex2.approx.ftz.f32
// CHECK: st.global.b32
// CHECK-COUNT-2: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: .visible .entry merge_unaligned(
// CHECK: ld.global.b16
// CHECK-NOT: .v4.
// CHECK: st.global.b16
sparsec.kernel @merge(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// Parts of f32 have two vectors for each of the result.
// CHECK: .visible .entry wide(
// CHECK-COUNT-4: ld.global.v4.b32
// CHECK: bar.warp.sync
// CHECK: cvt.rn.f16x2.f32
// CHECK: st.global.v4.b32
sparsec.kernel @wide(%o1: tensor<?x?x?x8xf32>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x8xf32>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x8xf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?xf32>) -> (tensor<?x?x?x8xf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x8xf16>, tensor<?x?x?xf32>
}

// Rows of many columns are a loop behind the first passes.
// CHECK: .visible .entry long(
// CHECK-COUNT-4: ld.global.v4.b32
// CHECK: bar.warp.sync
// CHECK-COUNT-2: st.global.v4.b32
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK: st.global.v4.b32
// CHECK: bra
sparsec.kernel @long(%o1: tensor<?x?x?x1024xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x1024xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x1024xbf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x1024xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x1024xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x1024xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x1024xbf16>, tensor<?x?x?xf32>
}
