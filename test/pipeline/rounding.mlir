// The default spelled out: to_nearest_even compiles for every target, to the same code as nothing.
// RUN: sparsec %s --arch=host --emit=llvm -o %t.host
// RUN: sed 's/ to_nearest_even//' %s | sparsec - --arch=host --emit=llvm -o %t.host-default
// RUN: cmp %t.host %t.host-default
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.sm_90a
// RUN: sed 's/ to_nearest_even//' %s | sparsec - --arch=sm_90a --emit=ptx -o %t.sm_90a-default
// RUN: cmp %t.sm_90a %t.sm_90a-default
// RUN: sparsec %s --arch=sm_89 --emit=ptx -o %t.sm_89
// RUN: sed 's/ to_nearest_even//' %s | sparsec - --arch=sm_89 --emit=ptx -o %t.sm_89-default
// RUN: cmp %t.sm_89 %t.sm_89-default
// RUN: FileCheck %s < %t.sm_90a
// CHECK-LABEL: .entry product
// CHECK: cvt.rn.bf16
// CHECK-LABEL: .entry attend
// CHECK: cvt.rn.f16.f32
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x epilogue (%acc: f32) {
    %b = arith.truncf %acc to_nearest_even : f32 to bf16
    %f = arith.extf %b : bf16 to f32
    sparsec.yield %f : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}

sparsec.kernel @attend(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %0 = arith.truncf %s to_nearest_even : f32 to f16
    %1 = arith.extf %0 : f16 to f32
    sparsec.yield %1 : f32
  } mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %0 = arith.sitofp %j : i32 to f32
    %1 = arith.truncf %0 to_nearest_even : f32 to bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = arith.cmpf une, %0, %2 : f32
    sparsec.yield %3 : i1
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
