// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// Parts of f32 make a result of bf16.
// CHECK-LABEL: sparsec.kernel @parts_of_f32(
sparsec.kernel @parts_of_f32(%o1: tensor<?x?x?x128xf32>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xf32>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xf32>, tensor<?x?x?xf32>, tensor<?x?x?x128xf32>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xf32>, tensor<?x?x?xf32>, tensor<?x?x?x128xf32>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// Each tensor has a type of its own.
// CHECK-LABEL: sparsec.kernel @types(
sparsec.kernel @types(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xf32>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xf16>, lse: tensor<?x?x?xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xf32>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xf16>, tensor<?x?x?xf32>)
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xf32>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xf16>, tensor<?x?x?xf32>
}

// All sizes may be open.
// CHECK-LABEL: sparsec.kernel @open(
sparsec.kernel @open(%o1: tensor<?x?x?x?xf32>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x?xf32>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x?xf32>, lse: tensor<?x?x?xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?xf32>) -> (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>)
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?xf32>) -> (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x?xf32>, tensor<?x?x?xf32>
}

// And all may be known, or some of some tensors.
// CHECK-LABEL: sparsec.kernel @static(
sparsec.kernel @static(%o1: tensor<2x8x100x20xbf16>, %lse1: tensor<2x8x100xf32>, %o2: tensor<2x?x100x?xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x8x?x20xbf16>, lse: tensor<2x8x?xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<2x8x100x20xbf16>, tensor<2x8x100xf32>, tensor<2x?x100x?xbf16>, tensor<?x?x?xf32>) -> (tensor<?x8x?x20xbf16>, tensor<2x8x?xf32>)
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<2x8x100x20xbf16>, tensor<2x8x100xf32>, tensor<2x?x100x?xbf16>, tensor<?x?x?xf32>) -> (tensor<?x8x?x20xbf16>, tensor<2x8x?xf32>)
  sparsec.return %o, %lse : tensor<?x8x?x20xbf16>, tensor<2x8x?xf32>
}

// One tensor may be several operands.
// CHECK-LABEL: sparsec.kernel @twice(
sparsec.kernel @twice(%o1: tensor<?x?x?x64xbf16>, %lse1: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x64xbf16>, lse: tensor<?x?x?xf32>) {
  // CHECK: sparsec.merge %o1, %lse1, %o1, %lse1 {user.note = "kept"} :
  %o, %lse = sparsec.merge %o1, %lse1, %o1, %lse1 {user.note = "kept"} : (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
