// RUN: sparsec %s --arch=sm_90a --emit=ptx | awk '/.visible .entry/ {skip = /_(unaligned|parts|merge)[(]/} !skip' > %t.ptx
// RUN: FileCheck %s --implicit-check-not=relaxed < %t.ptx
// RUN: FileCheck %s --check-prefix=BIAS < %t.ptx
// RUN: FileCheck %s --check-prefix=ZERO < %t.ptx
// RUN: FileCheck %s --check-prefix=SHIFTED < %t.ptx
// RUN: FileCheck %s --check-prefix=SMALL < %t.ptx
// RUN: FileCheck %s --check-prefix=SUMS < %t.ptx
// Score regions of which not all is computed for every score. Without the variants for any alignment and for few tiles.

// ALiBi is what the sums of products start from: no product overwrites its sums.
// BIAS-LABEL: .entry alibi(
// BIAS-NOT: setp.ne.b32 p, 0, 0;
// BIAS: setp.ne.b32 p, 1, 0;
// BIAS-NOT: setp.ne.b32 p, 0, 0;
// BIAS-LABEL: .entry softcap(
// BIAS: setp.ne.b32 p, 0, 0;

// A warp whose first and last keys have exponents of at most -127 looks at all 64 scores of a thread, a NaN included.
// Where all are that small, its 64 probabilities are one that is zero.
// ZERO-LABEL: .entry alibi(
// ZERO-NOT: max.NaN
// ZERO-COUNT-4: setp.gtu.f32 {{%p[0-9]+, %r[0-9]+}}, 0fC2FE0000;
// ZERO: vote.sync.any.pred
// ZERO-COUNT-62: max.NaN.f32
// ZERO-COUNT-2: setp.gtu.f32 {{%p[0-9]+, %r[0-9]+}}, 0fC2FE0000;
// ZERO: vote.sync.any.pred
// ZERO-NOT: {{max[.]NaN|0fC2FE0000}}
// ZERO-LABEL: .entry softcap(
// ZERO-NOT: {{max[.]NaN|0fC2FE0000}}
sparsec.kernel @alibi(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                      %slopes: tensor<?xf32>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v extras(%slopes)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xf32>) {
    %slope = sparsec.element %t[%h] : tensor<?xf32>
    %distance = arith.subi %j, %i : i32
    %d = arith.sitofp %distance : i32 to f32
    %r = math.fma %slope, %d, %s : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// A soft cap that may be approximate is one of two polynomials, for small and for middling scores of a warp. Only beyond
// them does the hardware compute it, for the 64 scores of a thread, at the start and in the loop. One reference serves
// all bf16 scores: no maximum of floats but that of magnitudes in pairs, and no exchange but that of the sums and of the
// outputs.
// CHECK-LABEL: .entry softcap(
// CHECK-NOT: cvt.rn.bf16.f32
// CHECK-COUNT-32: max.f32
// CHECK-NOT: max.f32
// CHECK: max.s32
// CHECK: vote.sync.any.pred
// CHECK: vote.sync.any.pred
// CHECK-COUNT-64: tanh.approx.f32
// CHECK-NOT: {{tanh|max[.]f32|cvt[.]rn[.]bf16[.]f32}}
// CHECK-COUNT-32: max.f32
// CHECK-NOT: max.f32
// CHECK-COUNT-64: tanh.approx.f32
// CHECK-NOT: {{tanh|max[.]f32|cvt[.]rn[.]bf16[.]f32}}
// CHECK-LABEL: .entry softcap_f16(

// A polynomial begins with a square plus a constant, and all its constants are those of instructions: of degree 3, then 7.
// SHIFTED-LABEL: .entry softcap(
// SHIFTED: fma.rn.f32 [[T:%r[0-9]+]], [[S:%r[0-9]+]], [[S]], 0f
// SHIFTED-NEXT: mul.rn.f32 [[R:%r[0-9]+]], [[S]], 0f
// SHIFTED-NEXT: fma.rn.f32 {{%r[0-9]+}}, [[R]], [[T]], 0fC1E6D4CA;
// SHIFTED: fma.rn.f32 [[W:%r[0-9]+]], [[T:%r[0-9]+]], [[T]], 0f46
// SHIFTED-NEXT: fma.rn.f32 [[P:%r[0-9]+]], [[T]], [[W]], 0f
// SHIFTED-NEXT: mul.rn.f32 [[R:%r[0-9]+]], {{%r[0-9]+}}, 0f
// SHIFTED-NEXT: fma.rn.f32 {{%r[0-9]+}}, [[R]], [[P]], 0fC1E6D4CA;
// SHIFTED-LABEL: .entry softcap_f16(

// Queries become 2^-5 of theirs in shared memory, so that a warp has small scores alone where none has the bit of 2. A
// step after one whose scores had it goes to their magnitudes at once.
// SMALL-LABEL: .entry softcap(
// SMALL: %tid.x;
// SMALL: %tid.x;
// SMALL-NEXT: end inline asm
// SMALL: ld.shared.v4.b32
// SMALL-COUNT-4: mul.rn.bf16x2
// SMALL: st.shared.v4.b32
// SMALL: fence.proxy.async.shared::cta;
// SMALL-NEXT: bar.sync {{%r[0-9]+}}, 128;
// SMALL: wgmma.mma_async
// SMALL-COUNT-31: lop3.b32 {{.*}}, 0xFE;
// SMALL: setp.geu.f32 {{%p[0-9]+, %r[0-9]+}}, 0f40000000;
// SMALL: vote.sync.any.pred
// SMALL: wgmma.wait_group.sync.aligned 1;
// SMALL: @[[HAD_TWO:%p[0-9]+]] bra [[MAGNITUDES:.*]];
// SMALL-COUNT-31: lop3.b32 {{.*}}, 0xFE;
// SMALL: vote.sync.any.pred [[ANY:%p[0-9]+]]
// SMALL-NEXT: mov.pred [[HAD_TWO]], 0;
// SMALL-NEXT: not.pred [[NONE:%p[0-9]+]], [[ANY]];
// SMALL-NEXT: @[[NONE]] bra
// SMALL: [[MAGNITUDES]]:
// SMALL: max.f32
// SMALL: vote.sync.any.pred [[HAD_TWO]],
// SMALL: mov.pred [[HAD_TWO]], -1;
// SMALL-LABEL: .entry softcap_f16(
sparsec.kernel @softcap(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap : f32
    %tanh = math.tanh %ratio fastmath<afn> : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// f16 has too few exponents for one reference: the maximum of the capped scores as well. Where it replaces the reference
// the sum gets the largest probability as f16 has it.
// CHECK-COUNT-32: max.f32
// CHECK: vote.sync.any.pred
// CHECK: vote.sync.any.pred
// CHECK: tanh.approx.f32
// CHECK: max.f32
// CHECK: cvt.rn.f16.f32 [[ROUNDED:%rs[0-9]+]], [[PROBABILITY:%r[0-9]+]];
// CHECK: cvt.f32.f16 [[WIDE:%r[0-9]+]], [[ROUNDED]];
// CHECK: sub.rn.f32 {{%r[0-9]+}}, [[WIDE]], [[PROBABILITY]];
sparsec.kernel @softcap_f16(%q: tensor<?x?x?x128xf16>, %k: tensor<?x?x?x128xf16>, %v: tensor<?x?x?x128xf16>)
    -> (o: tensor<?x?x?x128xf16>) {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap : f32
    %tanh = math.tanh %ratio fastmath<afn> : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>) -> tensor<?x?x?x128xf16>
  sparsec.return %o : tensor<?x?x?x128xf16>
}

// With three consumer groups and a soft cap, no group looks at who issues products. The second product sums the rows of
// probabilities too, as 8 columns more of V, whose ones are written at the start: nothing else adds.
// SUMS-LABEL: .entry softcap_64(
// SUMS: st.shared.v4.b32 [%{{.*}}], {1065369472, 1065369472, 1065369472, 1065369472};
// SUMS: fence.proxy.async
// SUMS-NOT: add{{.*}}.f32
// SUMS: m64n72k16
// SUMS-NOT: add{{.*}}.f32
// SUMS-LABEL: .entry softcap_precise(
sparsec.kernel @softcap_64(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap : f32
    %tanh = math.tanh %ratio fastmath<afn> : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// Without a flag there are two polynomials as well, of a smaller error. Beyond them a score takes an exponential and a
// reciprocal.
// CHECK-LABEL: .entry softcap_precise(
// CHECK: max.s32
// CHECK: vote.sync.any.pred
// CHECK: vote.sync.any.pred
// CHECK-COUNT-64: rcp.approx.ftz.f32
// CHECK-NOT: {{rcp.approx|tanh}}
// CHECK: vote.sync.any.pred
// CHECK: vote.sync.any.pred
// CHECK-COUNT-64: rcp.approx.ftz.f32
// CHECK-NOT: {{rcp.approx|tanh}}
// CHECK-LABEL: .entry softcap_exact(
sparsec.kernel @softcap_precise(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap : f32
    %tanh = math.tanh %ratio : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// An exact one is that of any other place: no polynomial that only some scores may take.
// CHECK-NOT: vote.sync.any.pred
// CHECK: 0f4B400000
// CHECK-NOT: vote.sync.any.pred
sparsec.kernel @softcap_exact(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap : f32
    %tanh = math.tanh %ratio {sparsec.exact} : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
