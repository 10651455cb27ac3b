// RUN: sparsec %s --arch=sm_90a --emit=ptx | sed '/_unaligned(/,/^}/d' > %t.ptx
// RUN: FileCheck %s --implicit-check-not=relaxed < %t.ptx
// RUN: FileCheck %s --check-prefix=TURNS < %t.ptx
// RUN: FileCheck %s --check-prefix=BIAS < %t.ptx
// RUN: sparsec %s --arch=sm_90a --emit=nvvm | FileCheck %s --check-prefix=NUMBERS
// Score regions of which not all is computed for every score. Without the variants for any alignment.

// ALiBi is what the sums of products start from: no product overwrites its sums.
// BIAS-LABEL: .entry alibi(
// BIAS-NOT: setp.ne.b32 p, 0, 0;
// BIAS: setp.ne.b32 p, 1, 0;
// BIAS-NOT: setp.ne.b32 p, 0, 0;
// BIAS-LABEL: .entry softcap(
// BIAS: setp.ne.b32 p, 0, 0;
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

// The two warpgroups of the tile take turns: one barrier each.
// TURNS-LABEL: .entry alibi(
// TURNS-NOT: bar.arrive
// TURNS-LABEL: .entry softcap(
// TURNS: bar.arrive %r{{[0-9]+}}, 256;
// TURNS: bar.sync %r{{[0-9]+}}, 256;
// TURNS: bar.arrive %r{{[0-9]+}}, 256;
// TURNS-LABEL: .entry softcap_f16(
// TURNS-NOT: bar.arrive
// TURNS-LABEL: .entry side_by_side(
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

// Of three teams with a soft cap none looks at who issues products.
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

// Two tiles side by side, each with two warpgroups that take turns. A tile has barriers of its own: its warpgroup `turn`
// waits on number 1 + turn + 2 * tile and lets the other one, 1 - turn, go on. The first turn is warpgroup 0's.
// NUMBERS-LABEL: llvm.func @side_by_side(
// NUMBERS: [[WARP:%[0-9]+]] = nvvm.shfl.sync idx
// NUMBERS: [[WARPGROUP:%[0-9]+]] = arith.shrui [[WARP]], %c2_i32
// NUMBERS: [[TILE_OF_CONSUMER:%[0-9]+]] = arith.shrui [[WARPGROUP]], %c1_i32
// NUMBERS: [[TILE:%[0-9]+]] = arith.select %{{[0-9]+}}, [[TILE_OF_CONSUMER]],
// NUMBERS: [[FIRST_WARPGROUP:%[0-9]+]] = arith.shli [[TILE]], %c1_i32
// NUMBERS: [[IN_TILE:%[0-9]+]] = arith.subi [[WARPGROUP]], [[FIRST_WARPGROUP]]
// NUMBERS: [[FIRST_ROW:%[0-9]+]] = arith.shli [[IN_TILE]], %c6_i32
// NUMBERS: [[TURN:%[0-9]+]] = arith.shrui [[FIRST_ROW]], %c6_i32
// NUMBERS: arith.cmpi eq, [[TURN]], %c1_i32
// NUMBERS: [[OTHER:%[0-9]+]] = arith.subi %c1_i32{{[_0-9]*}}, [[TURN]]
// NUMBERS: [[OTHER_NUMBER:%[0-9]+]] = arith.addi [[OTHER]], %c1_i32
// NUMBERS: [[OF_TILE:%[0-9]+]] = arith.shli [[TILE]], %c1_i32
// NUMBERS: [[OTHER_BARRIER:%[0-9]+]] = arith.addi [[OTHER_NUMBER]], [[OF_TILE]]
// NUMBERS: nvvm.barrier.arrive id = [[OTHER_BARRIER]] number_of_threads = %c256_i32
// NUMBERS: [[NUMBER:%[0-9]+]] = arith.addi [[TURN]], %c1_i32
// NUMBERS: [[OF_TILE:%[0-9]+]] = arith.shli [[TILE]], %c1_i32
// NUMBERS: [[BARRIER:%[0-9]+]] = arith.addi [[NUMBER]], [[OF_TILE]]
// NUMBERS: nvvm.barrier id = [[BARRIER]] number_of_threads = %c256_i32
// NUMBERS: [[OTHER:%[0-9]+]] = arith.subi %c1_i32{{[_0-9]*}}, [[TURN]]
// NUMBERS: [[OTHER_NUMBER:%[0-9]+]] = arith.addi [[OTHER]], %c1_i32
// NUMBERS: [[OF_TILE:%[0-9]+]] = arith.shli [[TILE]], %c1_i32
// NUMBERS: [[OTHER_BARRIER:%[0-9]+]] = arith.addi [[OTHER_NUMBER]], [[OF_TILE]]
// NUMBERS: nvvm.barrier.arrive id = [[OTHER_BARRIER]] number_of_threads = %c256_i32
// NUMBERS-NOT: nvvm.barrier.arrive
sparsec.kernel @side_by_side(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                             %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 1, producer_registers = 24, consumer_registers = 112, tiles_per_cta = 2>} {
  %o = sparsec.attention %q, %k, %v pattern(%p) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap : f32
    %tanh = math.tanh %ratio fastmath<afn> : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>)
    -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
