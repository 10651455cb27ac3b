// REQUIRES: ptxas
// RUN: sparsec %s -o %t.cubin
// RUN: sparsec-run %t.cubin --inspect | FileCheck %s --check-prefix=BOX
// RUN: sparsec %s --emit=ptx | FileCheck %s

// A box has at most 256 rows. Boxes that do not fill the tile would leave the barrier waiting for bytes for ever: here
// 8192 bytes of A and two boxes of 64x192 elements, together 57344 bytes.
// BOX: tensor map of x, box 64x192
// CHECK: mov.b32 [[BYTES:%r[0-9]+]], 57344;
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [{{%r[0-9]+}}], [[BYTES]];
// CHECK: cp.async.bulk.tensor.3d.shared::cta.global
// CHECK-COUNT-2: cp.async.bulk.tensor.2d.shared::cta.global
// CHECK-NOT: cp.async.bulk.tensor.2d.shared::cta.global
sparsec.kernel @spmm(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 384, tile_k = 64,
                                             stages = 2, consumers_m = 1, consumers_n = 2, cluster = 1>} {
  %y = sparsec.spmm %w, %x x_layout(nk)
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
