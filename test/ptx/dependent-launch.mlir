// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_89 --emit=ptx -o - | FileCheck %s --check-prefix=EARLIER
// From sm_90 on, programs of all families wait by themselves for the kernel in front of them: after the barriers of
// shared memory are there, and before any access to global memory. Products let the next kernel start before a tile is
// stored.

// EARLIER-NOT: griddepcontrol

// One role of warps.
// CHECK-LABEL: .entry warps(
// CHECK-NOT: {{ld.global|st.global|cp.async}}
// CHECK: griddepcontrol.wait;
// CHECK: ld.global
// CHECK: cp.async
// CHECK-NOT: st.global
// CHECK: griddepcontrol.launch_dependents;
// CHECK: st.global
sparsec.kernel @warps(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 2, consumers_n = 2>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Roles of warpgroups and of one thread.
// CHECK-LABEL: .entry roles(
// CHECK-NOT: {{ld.global|st.global|cp.async}}
// CHECK: mbarrier.init
// CHECK-NOT: {{ld.global|st.global|cp.async}}
// CHECK: griddepcontrol.wait;
// CHECK: cp.async.bulk.tensor
// CHECK: griddepcontrol.launch_dependents;
// CHECK: {{st.global|cp.async.bulk.tensor.*global.shared}}
sparsec.kernel @roles(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Attention waits, and does not let the next kernel start.
// CHECK-LABEL: .entry scores(
// CHECK-NOT: {{ld.global|st.global|atom.global|cp.async}}
// CHECK: griddepcontrol.wait;
// CHECK-NOT: griddepcontrol
// CHECK: st.global
sparsec.kernel @scores(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
