// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=WRITER < %t.ptx

// The program for tiles that are cut along K reads an entry of its list by one load. A lane writes its 128 sums in 32 vectors,
// and the first one sets the flag of the warp.
// WRITER-LABEL: .visible .entry product_cut(
// WRITER-COUNT-32: st.global.v4.b32
// WRITER-NOT: st.global.v4
// WRITER: bar.warp.sync
// WRITER: ld.global.nc.v4.b32
// WRITER: st.release.gpu.global.u8
// WRITER: st.release.gpu.global.u8
// WRITER-NOT: st.release.gpu

// The reader waits for the flag, sets it to zero, and adds 32 vectors.
// CHECK-LABEL: .visible .entry product_cut(
// CHECK: griddepcontrol.wait
// CHECK: wgmma.mma_async.sync.aligned.m64n256k16
// CHECK: ld.acquire.gpu.global.u8
// CHECK: bar.warp.sync
// CHECK: st.release.gpu.global.u8
// CHECK-COUNT-32: ld.global.v4.b32
// CHECK: add.rn.f32
// CHECK: stmatrix

// That for whole tiles has none of this.
// CHECK-LABEL: .visible .entry product(
// CHECK-NOT: .gpu.global
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
