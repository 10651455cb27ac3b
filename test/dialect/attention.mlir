// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// CHECK-LABEL: sparsec.kernel @dense(
sparsec.kernel @dense(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>) {
  // CHECK: %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// Everything at once. In dumps the arguments of both regions have the names of SPEC.md.
// CHECK-LABEL: sparsec.kernel @everything(
// CHECK-SAME: %p: !sparsec.pattern<128x64>
sparsec.kernel @everything(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                           %p: !sparsec.pattern<128x64>, %c: f32, %slopes: tensor<?xf32>)
    -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // CHECK: %0:2 = sparsec.attention %q, %k, %v pattern(%p) scale(%c) extras(%slopes) causal window = [1024, -1]
  // CHECK-SAME: score (%s: f32, %batch: i32, %head: i32, %query: i32, %key: i32, %extra: tensor<?xf32>) {
  // CHECK-NEXT: %[[SLOPE:.*]] = sparsec.element %extra[%head] : tensor<?xf32>
  // CHECK-NEXT: %[[DISTANCE:.*]] = arith.subi %key, %query : i32
  // CHECK-NEXT: arith.sitofp %[[DISTANCE]] : i32 to f32
  // CHECK-NEXT: math.fma %[[SLOPE]], %{{.*}}, %s : f32
  // CHECK: } mask (%batch: i32, %head: i32, %query: i32, %key: i32, %extra: tensor<?xf32>) {
  // CHECK-NEXT: %[[NEAR:.*]] = arith.cmpi sge, %key, %query : i32
  // CHECK-NEXT: sparsec.yield %[[NEAR]] : i1
  // CHECK-NEXT: } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x64>, f32, tensor<?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) scale(%c) extras(%slopes) causal window = [1024, -1]
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xf32>) {
    %slope = sparsec.element %t[%h] : tensor<?xf32>
    %distance = arith.subi %j, %i : i32
    %d = arith.sitofp %distance : i32 to f32
    %biased = math.fma %slope, %d, %s : f32
    sparsec.yield %biased : f32
  } mask (%b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xf32>) {
    %near = arith.cmpi sge, %j, %i : i32
    sparsec.yield %near : i1
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x64>, f32,
       tensor<?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// Static sizes, grouped heads, an f32 result, a window alone, an attribute of someone else.
// CHECK-LABEL: sparsec.kernel @grouped(
sparsec.kernel @grouped(%q: tensor<2x8x100x64xbf16>, %k: tensor<2x2x333x64xbf16>, %v: tensor<2x2x333x64xbf16>)
    -> (o: tensor<2x8x100x64xf32>) {
  // CHECK: sparsec.attention %q, %k, %v window = [0, 2147483647] {user.note = "kept"} :
  %o = sparsec.attention %q, %k, %v window = [0, 2147483647] {user.note = "kept"}
    : (tensor<2x8x100x64xbf16>, tensor<2x2x333x64xbf16>, tensor<2x2x333x64xbf16>) -> tensor<2x8x100x64xf32>
  sparsec.return %o : tensor<2x8x100x64xf32>
}

// Sinks, and rows of values of another size. Where V and O do not say it, it is D.
// CHECK-LABEL: sparsec.kernel @sinks(
sparsec.kernel @sinks(%q: tensor<?x?x?x192xbf16>, %k: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x?xbf16>, %c: f32,
                      %s: tensor<?xf32>) -> (o: tensor<?x?x?x128xbf16>) {
  // CHECK: sparsec.attention %q, %k, %v scale(%c) sinks(%s) causal : (tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x?xbf16>, f32, tensor<?xf32>) -> tensor<?x?x?x128xbf16>
  %o = sparsec.attention %q, %k, %v scale(%c) sinks(%s) causal
    : (tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x?xbf16>, f32, tensor<?xf32>)
      -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// CHECK-LABEL: sparsec.kernel @wide(
sparsec.kernel @wide(%q: tensor<?x?x?x256xf16>, %k: tensor<?x?x?x256xf16>, %v: tensor<?x?x?x?xf16>)
    -> (o: tensor<?x?x?x?xf16>) {
  // CHECK: sparsec.attention %q, %k, %v :
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x256xf16>, tensor<?x?x?x256xf16>, tensor<?x?x?x?xf16>) -> tensor<?x?x?x?xf16>
  sparsec.return %o : tensor<?x?x?x?xf16>
}

// Dumps keep names apart when the kernel's arguments have those that regions would give to theirs.
// CHECK-LABEL: sparsec.kernel @names(%query: tensor<?x?x?x64xbf16>, %key: tensor<?x?x?x64xbf16>, %s: tensor<?x?x?x64xbf16>,
sparsec.kernel @names(%query: tensor<?x?x?x64xbf16>, %key: tensor<?x?x?x64xbf16>, %s: tensor<?x?x?x64xbf16>,
                      %extra: tensor<f32>) -> (o: tensor<?x?x?x64xbf16>) {
  // CHECK: sparsec.attention %query, %key, %s extras(%extra)
  // CHECK-SAME: score (%s_0: f32, %batch: i32, %head: i32, %query_1: i32, %key_2: i32, %extra_3: tensor<f32>) {
  // CHECK-NEXT: sparsec.element %extra_3[] : tensor<f32>
  %o = sparsec.attention %query, %key, %s extras(%extra)
      score (%a: f32, %b: i32, %h: i32, %i: i32, %j: i32, %e: tensor<f32>) {
    %x = sparsec.element %e[] : tensor<f32>
    sparsec.yield %x : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<f32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// A pattern or a scale alone; a mask without a score; all other block sizes.
// CHECK-LABEL: sparsec.kernel @pattern(
sparsec.kernel @pattern(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                        %p: !sparsec.pattern<64x128>) -> (o: tensor<?x?x?x64xbf16>) {
  // CHECK: sparsec.attention %q, %k, %v pattern(%p) mask (
  %o = sparsec.attention %q, %k, %v pattern(%p) mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %near = arith.cmpi sge, %j, %i : i32
    sparsec.yield %near : i1
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x128>)
      -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
// CHECK-LABEL: sparsec.kernel @scale(
sparsec.kernel @scale(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %c: f32)
    -> (o: tensor<?x?x?x64xbf16>) {
  // CHECK: sparsec.attention %q, %k, %v scale(%c) causal :
  %o = sparsec.attention %q, %k, %v scale(%c) causal
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, f32) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
// CHECK: module attributes {sparsec.test = [!sparsec.pattern<64x64>, !sparsec.pattern<128x128>]}
module attributes {sparsec.test = [!sparsec.pattern<64x64>, !sparsec.pattern<128x128>]} {}

// Every op that a region of attention may hold besides those of an epilogue, and elements of every type and rank.
// CHECK-LABEL: sparsec.kernel @every_op(
// CHECK: sparsec.element %extra[] : tensor<f32>
// CHECK: sparsec.element %extra_3[%batch, %head, %query, %key] : tensor<?x?x?x?xi32>
sparsec.kernel @every_op(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                         %e0: tensor<f32>, %e1: tensor<?xf16>, %e2: tensor<?x?xbf16>, %e3: tensor<?x?x?xf32>,
                         %e4: tensor<?x?x?x?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v extras(%e0, %e1, %e2, %e3, %e4)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t0: tensor<f32>, %t1: tensor<?xf16>, %t2: tensor<?x?xbf16>,
             %t3: tensor<?x?x?xf32>, %t4: tensor<?x?x?x?xi32>) {
    %cap = sparsec.element %t0[] : tensor<f32>
    %x1 = sparsec.element %t1[%h] : tensor<?xf16>
    %x2 = sparsec.element %t2[%i, %j] : tensor<?x?xbf16>
    %x3 = sparsec.element %t3[%h, %i, %j] : tensor<?x?x?xf32>
    %x4 = sparsec.element %t4[%b, %h, %i, %j] : tensor<?x?x?x?xi32>
    %y1 = arith.extf %x1 : f16 to f32
    %y2 = arith.extf %x2 : bf16 to f32
    %seven = arith.constant 7 : i32
    %0 = arith.addi %i, %j : i32
    %1 = arith.subi %0, %x4 : i32
    %2 = arith.muli %1, %h : i32
    %3 = arith.divsi %2, %seven : i32
    %4 = arith.remsi %3, %seven : i32
    %5 = arith.minsi %4, %i : i32
    %6 = arith.maxsi %5, %j : i32
    %7 = arith.andi %6, %i : i32
    %8 = arith.ori %7, %j : i32
    %9 = arith.xori %8, %b : i32
    %10 = arith.shli %9, %seven : i32
    %11 = arith.shrsi %10, %seven : i32
    %12 = arith.fptosi %y1 : f32 to i32
    %13 = arith.cmpi slt, %11, %12 : i32
    %14 = arith.select %13, %11, %12 : i32
    %15 = arith.sitofp %14 : i32 to f32
    %16 = arith.addf %15, %y2 : f32
    %17 = arith.mulf %16, %x3 : f32
    %18 = arith.divf %s, %cap : f32
    %19 = math.tanh %18 : f32
    %20 = math.fma %19, %cap, %17 : f32
    sparsec.yield %20 : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<f32>, tensor<?xf16>,
       tensor<?x?xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x?xi32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// Sequences with sizes of their own: packed queries and keys, and pages.
// CHECK-LABEL: sparsec.kernel @packed(
sparsec.kernel @packed(%q: tensor<1x?x?x64xbf16>, %k: tensor<1x?x?x64xbf16>, %v: tensor<1x?x?x64xbf16>,
                       %qs: tensor<?xi32>, %ks: tensor<?xi32>, %n: tensor<?xi32>) -> (o: tensor<1x?x?x64xbf16>) {
  // CHECK: sparsec.attention %q, %k, %v query_starts(%qs) key_starts(%ks) key_lengths(%n) causal : (tensor<1x?x?x64xbf16>, tensor<1x?x?x64xbf16>, tensor<1x?x?x64xbf16>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<1x?x?x64xbf16>
  %o = sparsec.attention %q, %k, %v query_starts(%qs) key_starts(%ks) key_lengths(%n) causal
    : (tensor<1x?x?x64xbf16>, tensor<1x?x?x64xbf16>, tensor<1x?x?x64xbf16>, tensor<?xi32>, tensor<?xi32>,
       tensor<?xi32>) -> tensor<1x?x?x64xbf16>
  sparsec.return %o : tensor<1x?x?x64xbf16>
}

// CHECK-LABEL: sparsec.kernel @paged(
sparsec.kernel @paged(%q: tensor<4x?x?x64xbf16>, %k: tensor<99x?x16x64xbf16>, %v: tensor<?x?x16x64xbf16>,
                      %n: tensor<4xi32>, %t: tensor<4x?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  // CHECK: sparsec.attention %q, %k, %v key_lengths(%n) page_table(%t) :
  %o = sparsec.attention %q, %k, %v key_lengths(%n) page_table(%t)
    : (tensor<4x?x?x64xbf16>, tensor<99x?x16x64xbf16>, tensor<?x?x16x64xbf16>, tensor<4xi32>, tensor<4x?xi32>)
      -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
