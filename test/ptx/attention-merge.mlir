// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.sm_90a.ptx
// RUN: FileCheck %s < %t.sm_90a.ptx
// RUN: sed -n '/plain_parts(/,/plain_merge(/p' %t.sm_90a.ptx | FileCheck %s --check-prefix=PARTS
// RUN: sed -n '/_merge(/,/^}/p' %t.sm_90a.ptx | FileCheck %s --check-prefix=DEPENDENT
// RUN: sparsec %s --arch=sm_89 --emit=ptx | sed -n '/_merge(/,/^}/p' | FileCheck %s --check-prefix=EARLIER
// The kernel that merges the parts of the keys, and the stores of the parts.

// 8 warps, two rows of a CTA. From sm_90 on it waits by itself for the kernel in front, and then lets the one behind start.
// DEPENDENT: .entry plain_merge(
// DEPENDENT: griddepcontrol.wait;
// DEPENDENT-NEXT: griddepcontrol.launch_dependents;
// DEPENDENT-NOT: griddepcontrol
// DEPENDENT: .entry packed_merge(
// DEPENDENT: griddepcontrol.wait;
// DEPENDENT-NEXT: griddepcontrol.launch_dependents;
// EARLIER: .entry plain_merge(
// EARLIER-NOT: griddepcontrol

// Whole tiles leave to L2 what it keeps.
// CHECK-LABEL: .entry plain(
// CHECK-NOT: L2::cache_hint

// A part writes m and l of its rows, and the output as it is, four f32 at a time. Both rows of a thread have 128 / 4 elements.
// CHECK-LABEL: .entry plain_parts(
// CHECK: st.global.v2.b32
// CHECK-COUNT-8: st.global.v4.b32
// CHECK: st.global.v2.b32
// CHECK-COUNT-8: st.global.v4.b32
// CHECK-NOT: st.global

// Launches of parts have no tile lists. The number of the next tile is taken behind all copies: boxes of 64 columns of Q, of
// K, and of V in and behind the walk. Keys and values leave L2 first.
// PARTS-NOT: {{ld.global.nc|atom.global}}
// PARTS-COUNT-2: cp.async.bulk.tensor.4d.{{.*}}::complete_tx::bytes [
// PARTS-COUNT-6: cp.async.bulk.tensor.4d.{{.*}}::complete_tx::bytes.L2::cache_hint [{{.*}}], %rd
// PARTS-NOT: ld.global.nc
// PARTS: atom.global.inc.u32
// PARTS-NOT: ld.global.nc

// The outputs of the first parts come first: four columns in a lane, of two parts of the warp, with their m and l. Then m and l
// of all parts, by lanes. The sums of the 4 warps of a row are added in their order, and a thread stores a column. More than
// eight parts do so with six parts of the warp at a time.
// CHECK-LABEL: .entry plain_merge(
// CHECK: .maxntid 256, 1, 1
// CHECK-NEXT: .minnctapersm 4
// CHECK: griddepcontrol.wait;
// CHECK: setp.{{(gt|lt)}}.s32 {{.*}}, {{[89]}};
// CHECK-NOT: shfl.sync.bfly
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK-NOT: ld.global.v4.b32
// CHECK: ex2.approx.ftz.f32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK: ex2.approx.ftz.f32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK: st.shared.v4.b32
// CHECK: bar{{.*}}.sync {{.*}}, 128;
// CHECK-COUNT-4: ld.shared.b32
// CHECK: st.global.b16
// CHECK-NOT: {{shfl.sync.bfly|ex2.approx}}
// CHECK-COUNT-6: ld.global.v4.b32
// CHECK: ex2.approx.ftz.f32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK: ex2.approx.ftz.f32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK: st.shared.v4.b32
// CHECK: bar{{.*}}.sync {{.*}}, 128;
// CHECK-COUNT-4: ld.shared.b32
// CHECK: st.global.b16
// CHECK-NOT: st.global
// CHECK: }
sparsec.kernel @plain(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Rows of packed queries that belong to no sequence have no parts: the first and the last start tell which have. The sink
// joins the sum of all parts, and the LSE comes from it.
// CHECK-LABEL: .entry packed_merge(
// CHECK: griddepcontrol.wait;
// CHECK-COUNT-2: ld.global.nc.b32
// CHECK-COUNT-2: setp.{{lt|ge|gt|le}}.s32
// CHECK-COUNT-10: shfl.sync.bfly.b32
// CHECK: st.global.b32
// CHECK: st.global.b32
// CHECK-NOT: st.global
// CHECK: }
sparsec.kernel @packed(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %s: tensor<?xf32>,
                       %starts: tensor<?xi32>, %n: tensor<?xi32>) -> (o: tensor<?x?x?x64xf32>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.attention %q, %k, %v sinks(%s) query_starts(%starts) key_lengths(%n)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xf32>, tensor<?xi32>, tensor<?xi32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}

// A lane has two vectors of a row, and more registers for them.
// CHECK-LABEL: .entry wide_merge(
// CHECK: .minnctapersm 2
// CHECK: griddepcontrol.wait;
// CHECK-COUNT-4: ld.global.v4.b32
// CHECK: shfl.sync.bfly.b32
sparsec.kernel @wide(%q: tensor<?x?x?x256xbf16>, %k: tensor<?x?x?x256xbf16>, %v: tensor<?x?x?x256xbf16>)
    -> (o: tensor<?x?x?x256xbf16>) {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>) -> tensor<?x?x?x256xbf16>
  sparsec.return %o : tensor<?x?x?x256xbf16>
}
