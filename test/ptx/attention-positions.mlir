// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | awk '/.visible .entry/ {skip = /_(unaligned|parts|merge)[(]/} !skip' | FileCheck %s
// Positions of queries and keys: little of them is computed for every score. Without the variants for any alignment and for few tiles.

// A distance as a float is converted once for all scores of a thread, in the first step and in the loop: conversions
// take the unit of the exponentials.
// CHECK-LABEL: .entry alibi(
// CHECK-COUNT-2: cvt.rn.f32.s32
// CHECK-NOT: cvt.rn.f32.s32
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

// Where the keys end that a row sees becomes a word with a bit for each of its keys. A score takes its bit, in order, so that
// the assembler moves seven bits to predicates at once. No key is compared.
// CHECK-LABEL: .entry causal(
// CHECK: setmaxnreg
// CHECK: min.s32 {{%r[0-9]+}}, {{%r[0-9]+}}, 128;
// CHECK: shl.b64 [[POWER:%rd[0-9]+]], {{%rd[0-9]+}}, {{%r[0-9]+}};
// CHECK-NEXT: cvt.u32.u64 [[LOW:%r[0-9]+]], [[POWER]];
// CHECK-NEXT: add.s32 [[WORD:%r[0-9]+]], [[LOW]], -1;
// CHECK: shl.b64
// CHECK: and.b32 [[BIT:%r[0-9]+]], [[WORD]], 1;
// CHECK-NEXT: setp.ne.b32 [[SEES:%p[0-9]+]], [[BIT]], 0;
// CHECK-NEXT: selp.f32 {{.*}}, 0fFF800000, [[SEES]];
// CHECK-NEXT: and.b32 {{%r[0-9]+}}, [[WORD]], 2;
// CHECK-NEXT: setp.
// CHECK-NEXT: selp.f32
// CHECK-NEXT: and.b32 {{%r[0-9]+}}, [[WORD]], 4;
// CHECK-NOT: setp.{{[gl][te]}}.s32 {{%p[0-9]+}}, {{%r[0-9]+}}, {{[1-9]}}
// CHECK: and.b32 {{%r[0-9]+}}, [[WORD]], 1073741824;
sparsec.kernel @causal(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v causal
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// A sum of sums of sums, of operands that they share, is not looked through: without a limit this one would take 2^32
// steps. Each score converts its own.
// CHECK-LABEL: .entry shared_sums(
// CHECK-COUNT-64: cvt.rn.f32.s32
sparsec.kernel @shared_sums(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %x0 = arith.constant 0 : i32
    %x1 = arith.addi %x0, %x0 : i32
    %x2 = arith.addi %x1, %x1 : i32
    %x3 = arith.addi %x2, %x2 : i32
    %x4 = arith.addi %x3, %x3 : i32
    %x5 = arith.addi %x4, %x4 : i32
    %x6 = arith.addi %x5, %x5 : i32
    %x7 = arith.addi %x6, %x6 : i32
    %x8 = arith.addi %x7, %x7 : i32
    %x9 = arith.addi %x8, %x8 : i32
    %x10 = arith.addi %x9, %x9 : i32
    %x11 = arith.addi %x10, %x10 : i32
    %x12 = arith.addi %x11, %x11 : i32
    %x13 = arith.addi %x12, %x12 : i32
    %x14 = arith.addi %x13, %x13 : i32
    %x15 = arith.addi %x14, %x14 : i32
    %x16 = arith.addi %x15, %x15 : i32
    %x17 = arith.addi %x16, %x16 : i32
    %x18 = arith.addi %x17, %x17 : i32
    %x19 = arith.addi %x18, %x18 : i32
    %x20 = arith.addi %x19, %x19 : i32
    %x21 = arith.addi %x20, %x20 : i32
    %x22 = arith.addi %x21, %x21 : i32
    %x23 = arith.addi %x22, %x22 : i32
    %x24 = arith.addi %x23, %x23 : i32
    %x25 = arith.addi %x24, %x24 : i32
    %x26 = arith.addi %x25, %x25 : i32
    %x27 = arith.addi %x26, %x26 : i32
    %x28 = arith.addi %x27, %x27 : i32
    %x29 = arith.addi %x28, %x28 : i32
    %x30 = arith.addi %x29, %x29 : i32
    %x31 = arith.addi %x30, %x30 : i32
    %x32 = arith.addi %x31, %x31 : i32
    %sum = arith.addi %x32, %j : i32
    %d = arith.sitofp %sum : i32 to f32
    %r = arith.addf %s, %d : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
