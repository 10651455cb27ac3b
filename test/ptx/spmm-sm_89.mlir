// RUN: sparsec %s --arch=sm_89 --emit=ptx -o - | FileCheck %s

// cp.async, ldmatrix and mma.sync, and nothing that sm_89 has not.
// CHECK: .version 8.1
// CHECK: .target sm_89
// CHECK-NOT: wgmma
// CHECK-NOT: cp.async.bulk
// CHECK-NOT: mbarrier
// CHECK-NOT: stmatrix
// CHECK-NOT: setmaxnreg
// CHECK-NOT: cluster
// CHECK: .visible .entry spmm(
// CHECK: .maxnreg 168
// Steps that lie wholly inside copy without counting bytes; addresses of shared memory have 32 bits.
// CHECK: cp.async.cg.shared.global [%r{{[0-9+]+}}], [%rd{{[0-9+]+}}], 16;
// The others do count.
// CHECK: cp.async.cg.shared.global [%r{{[0-9+]+}}], [%rd{{[0-9+]+}}], 16, %r{{[0-9]+}};
// CHECK: cp.async.commit_group
// CHECK: cp.async.wait_group
// CHECK: ldmatrix.sync.aligned.m8n8.x4
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
sparsec.kernel @spmm(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
