// RUN: sparsec %s --arch=sm_90a --emit=ptx | awk '/.visible .entry/ {skip = /_(unaligned|block_mask|top_k|parts|merge|cut)[(]/} !skip' > %t.ptx
// RUN: FileCheck %s --implicit-check-not=0fC3C08000 < %t.ptx

// How far an exponent may exceed m before a warp replaces it.

// log2(l / 4), but 2^-9 at least and 8 at most: the upper bits of l in a float from 2^23 on, times 2^-15, less
// 256 + 127 + 2. In the first step l is 0 (0fBB000000 is the negative of 2^-9). It is the same where all rows see all keys
// and where some are hidden.
// CHECK-LABEL: .visible .entry dense(
// CHECK-COUNT-2: fma.rn.f32 {{.*}}, 0fBB000000;
// CHECK: shr.u32 %[[BITS:r[0-9]+]], %r{{[0-9]+}}, 8;
// CHECK-NEXT: or.b32 %[[NUMBER:r[0-9]+]], %[[BITS]], 1258291200;
// CHECK-NEXT: fma.rn.f32 %[[LOGARITHM:r[0-9]+]], %[[NUMBER]], 0f38000000, 0fC3C08000;
// CHECK-NEXT: max.f32 %[[LEAST:r[0-9]+]], %[[LOGARITHM]], 0f3B000000;
// CHECK-NEXT: min.f32 %r{{[0-9]+}}, %[[LEAST]], 0f41000000;
// CHECK: shr.u32 %[[BITS:r[0-9]+]], %r{{[0-9]+}}, 8;
// CHECK-NEXT: or.b32 %[[NUMBER:r[0-9]+]], %[[BITS]], 1258291200;
// CHECK-NEXT: fma.rn.f32 %[[LOGARITHM:r[0-9]+]], %[[NUMBER]], 0f38000000, 0fC3C08000;
// CHECK-NEXT: max.f32 %[[LEAST:r[0-9]+]], %[[LOGARITHM]], 0f3B000000;
// CHECK-NEXT: min.f32 %r{{[0-9]+}}, %[[LEAST]], 0f41000000;
// CHECK-LABEL: .visible .entry causal(
// CHECK-COUNT-2: fma.rn.f32 {{.*}}, 0fBB000000;
// CHECK: shr.u32 %[[BITS:r[0-9]+]], %r{{[0-9]+}}, 8;
// CHECK-NEXT: or.b32 %[[NUMBER:r[0-9]+]], %[[BITS]], 1258291200;
// CHECK-NEXT: fma.rn.f32 %[[LOGARITHM:r[0-9]+]], %[[NUMBER]], 0f38000000, 0fC3C08000;
// CHECK-NEXT: max.f32 %[[LEAST:r[0-9]+]], %[[LOGARITHM]], 0f3B000000;
// CHECK-NEXT: min.f32 %r{{[0-9]+}}, %[[LEAST]], 0f41000000;
// CHECK: shr.u32 %[[BITS:r[0-9]+]], %r{{[0-9]+}}, 8;
// CHECK-NEXT: or.b32 %[[NUMBER:r[0-9]+]], %[[BITS]], 1258291200;
// CHECK-NEXT: fma.rn.f32 %[[LOGARITHM:r[0-9]+]], %[[NUMBER]], 0f38000000, 0fC3C08000;
// CHECK-NEXT: max.f32 %[[LEAST:r[0-9]+]], %[[LOGARITHM]], 0f3B000000;
// CHECK-NEXT: min.f32 %r{{[0-9]+}}, %[[LEAST]], 0f41000000;
// CHECK-LABEL: .visible .entry window(
// CHECK-COUNT-2: fma.rn.f32 {{.*}}, 0fBB000000;
// CHECK: shr.u32 %[[BITS:r[0-9]+]], %r{{[0-9]+}}, 8;
// CHECK-NEXT: or.b32 %[[NUMBER:r[0-9]+]], %[[BITS]], 1258291200;
// CHECK-NEXT: fma.rn.f32 %[[LOGARITHM:r[0-9]+]], %[[NUMBER]], 0f38000000, 0fC3C08000;
// CHECK-NEXT: max.f32 %[[LEAST:r[0-9]+]], %[[LOGARITHM]], 0f3B000000;
// CHECK-NEXT: min.f32 %r{{[0-9]+}}, %[[LEAST]], 0f41000000;
// CHECK: shr.u32 %[[BITS:r[0-9]+]], %r{{[0-9]+}}, 8;
// CHECK-NEXT: or.b32 %[[NUMBER:r[0-9]+]], %[[BITS]], 1258291200;
// CHECK-NEXT: fma.rn.f32 %[[LOGARITHM:r[0-9]+]], %[[NUMBER]], 0f38000000, 0fC3C08000;
// CHECK-NEXT: max.f32 %[[LEAST:r[0-9]+]], %[[LOGARITHM]], 0f3B000000;
// CHECK-NEXT: min.f32 %r{{[0-9]+}}, %[[LEAST]], 0f41000000;
// CHECK-LABEL: .visible .entry pattern(
// CHECK-COUNT-2: fma.rn.f32 {{.*}}, 0fBB000000;
// CHECK: shr.u32 %[[BITS:r[0-9]+]], %r{{[0-9]+}}, 8;
// CHECK-NEXT: or.b32 %[[NUMBER:r[0-9]+]], %[[BITS]], 1258291200;
// CHECK-NEXT: fma.rn.f32 %[[LOGARITHM:r[0-9]+]], %[[NUMBER]], 0f38000000, 0fC3C08000;
// CHECK-NEXT: max.f32 %[[LEAST:r[0-9]+]], %[[LOGARITHM]], 0f3B000000;
// CHECK-NEXT: min.f32 %r{{[0-9]+}}, %[[LEAST]], 0f41000000;
// CHECK: shr.u32 %[[BITS:r[0-9]+]], %r{{[0-9]+}}, 8;
// CHECK-NEXT: or.b32 %[[NUMBER:r[0-9]+]], %[[BITS]], 1258291200;
// CHECK-NEXT: fma.rn.f32 %[[LOGARITHM:r[0-9]+]], %[[NUMBER]], 0f38000000, 0fC3C08000;
// CHECK-NEXT: max.f32 %[[LEAST:r[0-9]+]], %[[LOGARITHM]], 0f3B000000;
// CHECK-NEXT: min.f32 %r{{[0-9]+}}, %[[LEAST]], 0f41000000;
// CHECK-LABEL: .visible .entry masked(
// CHECK-COUNT-2: fma.rn.f32 {{.*}}, 0fBB000000;
// CHECK: shr.u32 %[[BITS:r[0-9]+]], %r{{[0-9]+}}, 8;
// CHECK-NEXT: or.b32 %[[NUMBER:r[0-9]+]], %[[BITS]], 1258291200;
// CHECK-NEXT: fma.rn.f32 %[[LOGARITHM:r[0-9]+]], %[[NUMBER]], 0f38000000, 0fC3C08000;
// CHECK-NEXT: max.f32 %[[LEAST:r[0-9]+]], %[[LOGARITHM]], 0f3B000000;
// CHECK-NEXT: min.f32 %r{{[0-9]+}}, %[[LEAST]], 0f41000000;
// CHECK: shr.u32 %[[BITS:r[0-9]+]], %r{{[0-9]+}}, 8;
// CHECK-NEXT: or.b32 %[[NUMBER:r[0-9]+]], %[[BITS]], 1258291200;
// CHECK-NEXT: fma.rn.f32 %[[LOGARITHM:r[0-9]+]], %[[NUMBER]], 0f38000000, 0fC3C08000;
// CHECK-NEXT: max.f32 %[[LEAST:r[0-9]+]], %[[LOGARITHM]], 0f3B000000;
// CHECK-NEXT: min.f32 %r{{[0-9]+}}, %[[LEAST]], 0f41000000;

sparsec.kernel @dense(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
sparsec.kernel @causal(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v causal : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
sparsec.kernel @window(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v window = [3, 4] : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
sparsec.kernel @pattern(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
sparsec.kernel @masked(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %r = arith.cmpi ne, %i, %j : i32
    sparsec.yield %r : i1
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
