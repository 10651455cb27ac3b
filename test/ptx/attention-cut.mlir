// RUN: sparsec %s --arch=sm_90a --emit=ptx | awk '/.visible .entry/ {skip = !/_cut[(]/} !skip' > %t.ptx
// RUN: FileCheck %s --implicit-check-not=.local < %t.ptx
// RUN: FileCheck %s --check-prefix=THREE --implicit-check-not=.local < %t.ptx

// The rest of a tile waits for the flag of its warp; the lanes go on together. It reads 64 sums of a lane, and m and l of its
// two rows, by 17 vectors. A first part writes as many.
// CHECK-LABEL: .visible .entry two_groups_cut(
// CHECK: ld.acquire.gpu.global.u8
// CHECK: vote.sync.any.pred
// CHECK: bar.warp.sync
// CHECK: st.release.gpu.global.u8
// CHECK-COUNT-17: ld.global.v4.b32
// CHECK-NOT: ld.global.v4
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16
// CHECK-COUNT-17: st.global.v4.b32
// CHECK: st.release.gpu.global.u8

// The tiles of a CTA are workers that follow one another: warp w of CTA c is number 12 * c + w of the launch, and the same warp
// of the worker before is number 12 * c + w - 4.
// THREE-LABEL: .visible .entry three_tiles_cut(
// THREE: mad.lo.s32 %[[NUMBER:r[0-9]+]], %r{{[0-9]+}}, 12, %r{{[0-9]+}};
// THREE: add.s32 %r{{[0-9]+}}, %[[NUMBER]], -4;
// THREE: ld.acquire.gpu.global.u8
// THREE-COUNT-9: ld.global.v4.b32
!wide = tensor<?x?x?x128xbf16>
sparsec.kernel @two_groups(%q: !wide, %k: !wide, %v: !wide, %p: !sparsec.pattern<128x128>) -> (o: !wide) {
  %o = sparsec.attention %q, %k, %v pattern(%p) : (!wide, !wide, !wide, !sparsec.pattern<128x128>) -> !wide
  sparsec.return %o : !wide
}

!rows = tensor<?x?x?x64xbf16>
sparsec.kernel @three_tiles(%q: !rows, %k: !rows, %v: !rows, %p: !sparsec.pattern<64x64>) -> (o: !rows) {
  %o = sparsec.attention %q, %k, %v pattern(%p) : (!rows, !rows, !rows, !sparsec.pattern<64x64>) -> !rows
  sparsec.return %o : !rows
}
