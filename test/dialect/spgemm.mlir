// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// CHECK-LABEL: sparsec.kernel @plain(
sparsec.kernel @plain(%a: !sparsec.bsr<?x?xbf16, block = 512x112>, %b: !sparsec.bsr<?x?xbf16, block = 112x128>) -> (c: tensor<?x?xf32>) {
  // CHECK: %0 = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 512x112>, !sparsec.bsr<?x?xbf16, block = 112x128>) -> tensor<?x?xf32>
  %0 = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 512x112>, !sparsec.bsr<?x?xbf16, block = 112x128>) -> tensor<?x?xf32>
  sparsec.return %0 : tensor<?x?xf32>
}

// The default is not printed.
// CHECK-LABEL: sparsec.kernel @layouts(
sparsec.kernel @layouts(%a: !sparsec.bsr<256x96xf16, block = 64x32>, %b: !sparsec.bsr<96x512xf16, block = 32x16>) -> (c: tensor<256x512xf16>) {
  // CHECK: sparsec.spgemm %a, %b {user.note = "kept"} :
  %0 = sparsec.spgemm %a, %b c_layout(mn) {user.note = "kept"} : (!sparsec.bsr<256x96xf16, block = 64x32>, !sparsec.bsr<96x512xf16, block = 32x16>) -> tensor<256x512xf16>
  sparsec.return %0 : tensor<256x512xf16>
}

// Every broadcast, with a transposed result.
// CHECK-LABEL: sparsec.kernel @broadcasts(
sparsec.kernel @broadcasts(%a: !sparsec.bsr<256x?xbf16, block = 64x64>, %b: !sparsec.bsr<?x512xbf16, block = 64x64>,
                           %r: tensor<256xf32>, %c: tensor<512xf16>, %s: tensor<f32>, %v: f32, %f: tensor<512x256xbf16>)
    -> (y: tensor<512x256xf16>) {
  // CHECK: sparsec.spgemm %a, %b, %r per_row, %c per_column, %s scalar, %v scalar, %f full c_layout(nm)
  // CHECK-SAME: epilogue (%acc: f32, %extra: f32, %extra_0: f16, %extra_1: f32, %extra_2: f32, %extra_3: bf16) {
  %0 = sparsec.spgemm %a, %b, %r per_row, %c per_column, %s scalar, %v scalar, %f full c_layout(nm)
      epilogue (%acc: f32, %er: f32, %ec: f16, %es: f32, %ev: f32, %ef: bf16) {
    %c32 = arith.extf %ec : f16 to f32
    %f32 = arith.extf %ef : bf16 to f32
    %1 = math.fma %acc, %c32, %er : f32
    %2 = math.fma %f32, %es, %1 : f32
    %3 = arith.mulf %2, %ev : f32
    sparsec.yield %3 : f32
  } : (!sparsec.bsr<256x?xbf16, block = 64x64>, !sparsec.bsr<?x512xbf16, block = 64x64>, tensor<256xf32>, tensor<512xf16>, tensor<f32>,
       f32, tensor<512x256xbf16>) -> tensor<512x256xf16>
  sparsec.return %0 : tensor<512x256xf16>
}

// The values of a pattern, whose element type is not that of A.
// CHECK-LABEL: sparsec.kernel @sampled(
sparsec.kernel @sampled(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %p: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>,
                        %old: tensor<?x64x128xf32>) -> (c: tensor<?x64x128xbf16>) {
  // CHECK: sparsec.spgemm %a, %b pattern(%p), %old full epilogue
  %0 = sparsec.spgemm %a, %b pattern(%p), %old full epilogue (%acc: f32, %o: f32) {
    %1 = arith.addf %acc, %o : f32
    sparsec.yield %1 : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>,
       tensor<?x64x128xf32>) -> tensor<?x64x128xbf16>
  sparsec.return %0 : tensor<?x64x128xbf16>
}
