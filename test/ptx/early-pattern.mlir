// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// Products of few columns read the index arrays of a static pattern before the kernel in front of them has ended. They
// let the next kernel start at once, and wait behind the first loads, in front of the first copy and of the store.
// Without the flag they wait at their beginning.

// The ends of the row and the first columns are loaded in front of the wait.
// CHECK-LABEL: .entry few_narrow16(
// CHECK: ld.param.b32 [[FLAG:%r[0-9]+]], [few_narrow16_param_0];
// CHECK-NOT: {{ld.global|st.global|cp.async|griddepcontrol}}
// CHECK: setp.ne.b32 [[IS_EARLY:%p[0-9]+]], [[FLAG]], 0;
// CHECK-NEXT: @[[IS_EARLY]] bra [[EARLY:.*]];
// CHECK: [[EARLY]]:
// CHECK-NEXT: griddepcontrol.launch_dependents;
// CHECK: griddepcontrol.wait;
// CHECK-NOT: {{st.global|cp.async|griddepcontrol}}
// CHECK: ld.global.nc.b32
// CHECK: bar.sync
// CHECK: ld.global.nc.b32
// CHECK-NOT: {{st.global|cp.async}}
// CHECK: griddepcontrol.wait;
// CHECK: cp.async
// CHECK-NOT: st.global
// CHECK: griddepcontrol.wait;
// CHECK-NEXT: griddepcontrol.launch_dependents;
// CHECK: st.global

// Consumers wait in front of the store, the producer in front of its copies.
// CHECK-LABEL: .entry few_narrow64(
// CHECK: griddepcontrol.launch_dependents;
// CHECK: griddepcontrol.wait;
// CHECK: ld.global.nc.b32
// CHECK-NOT: {{st.global|cp.async}}
// CHECK: griddepcontrol.wait;
// CHECK-NEXT: griddepcontrol.launch_dependents;
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta
// CHECK-NOT: shared::cta.global
// CHECK: griddepcontrol.wait;
// CHECK-NOT: shared::cta.global
// CHECK: ld.global.nc.b32
// CHECK: griddepcontrol.wait;
// CHECK: cp.async.bulk.tensor.3d.shared::cta.global
// CHECK-LABEL: .entry few_narrow64_unaligned(

// All others wait at their beginning.
// CHECK-LABEL: .entry few(
// CHECK-NOT: {{ld.global|st.global|cp.async}}
// CHECK: griddepcontrol.wait;
// CHECK-NOT: griddepcontrol.wait
// CHECK-LABEL: .entry few_unaligned(
sparsec.kernel @few(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Scales are no part of the pattern.
// CHECK-LABEL: .entry scaled_narrow64(
// CHECK-NOT: {{ld.global|st.global|cp.async}}
// CHECK: griddepcontrol.wait;
// CHECK-NOT: griddepcontrol.wait
// CHECK-LABEL: .entry scaled_narrow64_0(
sparsec.kernel @scaled(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %s: tensor<?xf32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w scales(%s), %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?xf32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A multiprocessor has room for five CTAs.
// CHECK-LABEL: .entry crowded_narrow64(
// CHECK-NOT: {{ld.global|st.global|cp.async}}
// CHECK: griddepcontrol.wait;
// CHECK-NOT: griddepcontrol.wait
// CHECK-LABEL: .entry crowded_narrow64_unaligned(
sparsec.kernel @crowded(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
