// RUN: sparsec-opt %s --sparsec-select-schedule --sparsec-lower-to-tiles --sparsec-emit-host --split-input-file | FileCheck %s
// What the code computes is tested in test/unit/host_attention_test.cpp.

// Every parameter is loaded when an op first needs it: sizes for the tiles, Q, the lists of partial blocks, K, V, scale,
// extra operands, the lists of full blocks, O and LSE. The last dimension has no stride.
// CHECK-LABEL: llvm.func @everything.host(
// CHECK-SAME: sparsec.alignment = 2 : i64
// CHECK-SAME: sparsec.parameters = [#sparsec.parameter<kind = size, argument = 1, index = 2>,
// CHECK-SAME:   #sparsec.parameter<kind = size, argument = 1, index = 1>,
// CHECK-SAME:   #sparsec.parameter<kind = size, argument = 2, index = 2>,
// CHECK-SAME:   #sparsec.parameter<kind = size, argument = 2, index = 1>,
// CHECK-SAME:   #sparsec.parameter<kind = pointer, argument = 1>, #sparsec.parameter<kind = stride, argument = 1>,
// CHECK-SAME:   #sparsec.parameter<kind = stride, argument = 1, index = 1>,
// CHECK-SAME:   #sparsec.parameter<kind = stride, argument = 1, index = 2>,
// CHECK-SAME:   #sparsec.parameter<kind = pattern_field, argument = 4, index = 7>, {{.*}}#sparsec.parameter<kind = pattern_field, argument = 4, index = 12>,
// CHECK-SAME:   #sparsec.parameter<kind = pointer, argument = 2>, #sparsec.parameter<kind = stride, argument = 2>,
// CHECK-SAME:   #sparsec.parameter<kind = stride, argument = 2, index = 1>,
// CHECK-SAME:   #sparsec.parameter<kind = stride, argument = 2, index = 2>,
// CHECK-SAME:   #sparsec.parameter<kind = pointer, argument = 3>, #sparsec.parameter<kind = stride, argument = 3>,
// CHECK-SAME:   #sparsec.parameter<kind = stride, argument = 3, index = 1>,
// CHECK-SAME:   #sparsec.parameter<kind = stride, argument = 3, index = 2>,
// CHECK-SAME:   #sparsec.parameter<kind = scalar, argument = 5>, #sparsec.parameter<kind = pointer>,
// CHECK-SAME:   #sparsec.parameter<kind = pointer, argument = 6>, #sparsec.parameter<kind = stride, argument = 6>,
// CHECK-SAME:   #sparsec.parameter<kind = pattern_field, argument = 4, index = 5>,
// CHECK-SAME:   #sparsec.parameter<kind = pattern_field, argument = 4, index = 6>,
// CHECK-SAME:   #sparsec.parameter<kind = pointer, argument = 7>, #sparsec.parameter<kind = stride, argument = 7>,
// CHECK-SAME:   #sparsec.parameter<kind = stride, argument = 7, index = 1>,
// CHECK-SAME:   #sparsec.parameter<kind = stride, argument = 7, index = 2>,
// CHECK-SAME:   #sparsec.parameter<kind = pointer, argument = 8>, #sparsec.parameter<kind = stride, argument = 8>,
// CHECK-SAME:   #sparsec.parameter<kind = stride, argument = 8, index = 1>]
// CHECK-SAME: sparsec.tile_k = 64 : i64
// CHECK-SAME: sparsec.tile_m = 128 : i64
// CHECK-SAME: sparsec.tile_n = 64 : i64
// CHECK: scf.for %[[TILE:.*]] = %arg1 to %arg2
// The list of partial blocks: scores of 16 queries at a time, four sums in registers; then the regions on what causal
// leaves, -inf in the other lanes, the largest score, exp without a call, and the second product.
// CHECK: llvm.icmp "ne"
// CHECK-NEXT: scf.if
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: llvm.intr.fmuladd({{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
// CHECK: arith.maximumf
// CHECK: %[[DOCUMENT:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
// CHECK-NEXT: %[[SAME:.*]] = arith.cmpi eq, %[[DOCUMENT]], %{{.*}} : i32
// CHECK-NEXT: arith.select %[[SAME]], %{{.*}}, %{{.*}} : f32
// CHECK: arith.cmpi sge, %{{.*}} : vector<16xi32>
// CHECK: arith.cmpf ogt, %{{.*}} : vector<16xf32>
// CHECK: arith.shrsi %{{.*}} : vector<16xi32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: llvm.intr.fmuladd
// The list of full blocks: no mask.
// CHECK: llvm.icmp "ne"
// CHECK-NEXT: scf.if
// CHECK: llvm.intr.fmuladd
// CHECK: arith.maximumf
// CHECK-NOT: arith.cmpi eq, %{{.*}} : i32
// CHECK: arith.cmpf ogt
// CHECK-NOT: math.exp
// CHECK: llvm.intr.fmuladd
// CHECK-NOT: llvm.icmp
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: math.log
// CHECK: llvm.return
// CHECK: sparsec.kernel @everything
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @everything(%gain: tensor<f32>, %q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>,
      %v: tensor<?x?x?x64xf16>, %p: !sparsec.pattern<128x64>, %c: f32, %ids: tensor<?x?xi32>)
      -> (o: tensor<?x?x?x64xf16>, lse: tensor<?x?x?xf32>) {
    %o, %lse = sparsec.attention %q, %k, %v pattern(%p) scale(%c) extras(%ids, %gain) causal
        score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?x?xi32>, %g: tensor<f32>) {
      %x = sparsec.element %g[] : tensor<f32>
      %0 = arith.maximumf %s, %x : f32
      sparsec.yield %0 : f32
    } mask (%b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?x?xi32>, %g: tensor<f32>) {
      %d = sparsec.element %t[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %d, %i : i32
      sparsec.yield %same : i1
    } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, !sparsec.pattern<128x64>, f32,
         tensor<?x?xi32>, tensor<f32>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
    sparsec.return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
  }
}

// -----

// The most parameters that there can be are as many as the runtime takes: 8 operands of rank 4.
// CHECK-LABEL: llvm.func @largest.host(
// CHECK-COUNT-64: #sparsec.parameter<
// CHECK-NOT: #sparsec.parameter<
// CHECK: llvm.return
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @largest(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
      %p: !sparsec.pattern<128x64>, %s: f32, %a: tensor<?x?x?x?xf32>, %b: tensor<?x?x?x?xf32>,
      %c: tensor<?x?x?x?xf32>, %d: tensor<?x?x?x?xf32>, %e: tensor<?x?x?x?xf32>, %f: tensor<?x?x?x?xf32>,
      %g: tensor<?x?x?x?xf32>, %h: tensor<?x?x?x?xf32>) -> (o: tensor<?x?x?x64xf16>, lse: tensor<?x?x?xf32>) {
    %o, %lse = sparsec.attention %q, %k, %v pattern(%p) scale(%s) extras(%a, %b, %c, %d, %e, %f, %g, %h)
        mask (%batch: i32, %head: i32, %i: i32, %j: i32, %t0: tensor<?x?x?x?xf32>, %t1: tensor<?x?x?x?xf32>,
              %t2: tensor<?x?x?x?xf32>, %t3: tensor<?x?x?x?xf32>, %t4: tensor<?x?x?x?xf32>, %t5: tensor<?x?x?x?xf32>,
              %t6: tensor<?x?x?x?xf32>, %t7: tensor<?x?x?x?xf32>) {
      %e0 = sparsec.element %t0[%batch, %head, %i, %j] : tensor<?x?x?x?xf32>
      %e1 = sparsec.element %t1[%batch, %head, %i, %j] : tensor<?x?x?x?xf32>
      %e2 = sparsec.element %t2[%batch, %head, %i, %j] : tensor<?x?x?x?xf32>
      %e3 = sparsec.element %t3[%batch, %head, %i, %j] : tensor<?x?x?x?xf32>
      %e4 = sparsec.element %t4[%batch, %head, %i, %j] : tensor<?x?x?x?xf32>
      %e5 = sparsec.element %t5[%batch, %head, %i, %j] : tensor<?x?x?x?xf32>
      %e6 = sparsec.element %t6[%batch, %head, %i, %j] : tensor<?x?x?x?xf32>
      %e7 = sparsec.element %t7[%batch, %head, %i, %j] : tensor<?x?x?x?xf32>
      %s0 = arith.addf %e0, %e1 : f32
      %s1 = arith.addf %s0, %e2 : f32
      %s2 = arith.addf %s1, %e3 : f32
      %s3 = arith.addf %s2, %e4 : f32
      %s4 = arith.addf %s3, %e5 : f32
      %s5 = arith.addf %s4, %e6 : f32
      %s6 = arith.addf %s5, %e7 : f32
      %zero = arith.constant 0.0 : f32
      %visible = arith.cmpf ogt, %s6, %zero : f32
      sparsec.yield %visible : i1
    } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, !sparsec.pattern<128x64>, f32,
         tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>,
         tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
    sparsec.return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
  }
}

// -----

// Nothing but the operands: all keys in chunks, no branch on positions, 1 / sqrt(128) as the scale, f32 as it is.
// CHECK-LABEL: llvm.func @dense.host(
// CHECK-SAME: sparsec.parameters = [#sparsec.parameter<kind = size, index = 2>,
// CHECK-SAME: #sparsec.parameter<kind = stride, argument = 3, index = 2>]
// CHECK-SAME: sparsec.tile_k = 128 : i64
// CHECK-SAME: sparsec.tile_m = 64 : i64
// CHECK-DAG: %[[SCALE:.*]] = arith.constant 0.0883883461 : f32
// CHECK-NOT: scf.if
// CHECK: llvm.insertelement %[[SCALE]], %{{.*}} : vector<16xf32>
// CHECK-NOT: arith.truncf
// CHECK-NOT: math.log
// CHECK: llvm.return
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @dense(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
      -> (o: tensor<?x?x?x128xf32>) {
    %o = sparsec.attention %q, %k, %v
      : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xf32>
    sparsec.return %o : tensor<?x?x?x128xf32>
  }
}
