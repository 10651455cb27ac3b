// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// CHECK-LABEL: sparsec.kernel @plain(
sparsec.kernel @plain(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // CHECK: %0 = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  %0 = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// The defaults are not printed. The element type of the pattern is not that of A.
// CHECK-LABEL: sparsec.kernel @defaults(
sparsec.kernel @defaults(%p: !sparsec.bsr<256x512xf8E4M3FN, block = 32x16>, %a: tensor<256x96xf16>, %b: tensor<512x96xf16>)
    -> (s: tensor<7x32x16xf32>) {
  // CHECK: sparsec.sddmm %p, %a, %b {user.note = "kept"} :
  %0 = sparsec.sddmm %p, %a, %b a_layout(mk) b_layout(nk) {user.note = "kept"}
    : (!sparsec.bsr<256x512xf8E4M3FN, block = 32x16>, tensor<256x96xf16>, tensor<512x96xf16>) -> tensor<7x32x16xf32>
  sparsec.return %0 : tensor<7x32x16xf32>
}

// CHECK-LABEL: sparsec.kernel @layouts(
sparsec.kernel @layouts(%p: !sparsec.bsr<256x512xbf16, block = 64x64>, %a: tensor<96x256xbf16>, %b: tensor<96x512xbf16>)
    -> (s: tensor<?x64x64xbf16>) {
  // CHECK: sparsec.sddmm %p, %a, %b a_layout(km) b_layout(kn) :
  %0 = sparsec.sddmm %p, %a, %b a_layout(km) b_layout(kn)
    : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<96x256xbf16>, tensor<96x512xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// Every broadcast. `full` is an array of values of the same pattern, as S.
// CHECK-LABEL: sparsec.kernel @broadcasts(
sparsec.kernel @broadcasts(%p: !sparsec.bsr<256x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<512x?xbf16>,
                           %r: tensor<256xf32>, %c: tensor<512xf16>, %s: tensor<f32>, %v: f32, %f: tensor<?x64x64xbf16>)
    -> (y: tensor<?x64x64xf16>) {
  // CHECK: sparsec.sddmm %p, %a, %b, %r per_row, %c per_column, %s scalar, %v scalar, %f full
  // CHECK-SAME: epilogue (%acc: f32, %extra: f32, %extra_0: f16, %extra_1: f32, %extra_2: f32, %extra_3: bf16) {
  %0 = sparsec.sddmm %p, %a, %b, %r per_row, %c per_column, %s scalar, %v scalar, %f full
      epilogue (%acc: f32, %er: f32, %ec: f16, %es: f32, %ev: f32, %ef: bf16) {
    %c32 = arith.extf %ec : f16 to f32
    %f32 = arith.extf %ef : bf16 to f32
    %1 = math.fma %acc, %c32, %er : f32
    %2 = math.fma %f32, %es, %1 : f32
    %3 = arith.mulf %2, %ev : f32
    sparsec.yield %3 : f32
  } : (!sparsec.bsr<256x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<512x?xbf16>, tensor<256xf32>, tensor<512xf16>, tensor<f32>,
       f32, tensor<?x64x64xbf16>) -> tensor<?x64x64xf16>
  sparsec.return %0 : tensor<?x64x64xf16>
}

// The example of the description.
// CHECK-LABEL: sparsec.kernel @example(
sparsec.kernel @example(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %alpha: f32,
                        %old: tensor<?x64x64xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // CHECK: %0 = sparsec.sddmm %p, %a, %b, %alpha scalar, %old full a_layout(km) b_layout(kn)
  // CHECK-SAME: epilogue (%acc: f32, %extra: f32, %extra_0: bf16) {
  %0 = sparsec.sddmm %p, %a, %b, %alpha scalar, %old full a_layout(km) b_layout(kn)
      epilogue (%acc: f32, %s: f32, %o: bf16) {
    %wide = arith.extf %o : bf16 to f32
    %sum = math.fma %acc, %s, %wide : f32
    sparsec.yield %sum : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, f32, tensor<?x64x64xbf16>)
      -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}
