// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One function per constraint of dialect/SPEC.md, named after it.

// -----

sparsec.kernel @sddmm_c1(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects B to have the element type of A, 'bf16', but got 'f16'}}
  %0 = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c2(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects A to be of bf16 or f16, but got 'f32', which has no lowering yet}}
  %0 = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c3(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xf8E5M2>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects S to be of bf16, f16 or f32, but got 'f8E5M2'}}
  %0 = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xf8E5M2>
  sparsec.return %0 : tensor<?x64x64xf8E5M2>
}

// -----

sparsec.kernel @sddmm_c4(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects A to have rank 2, but got 'tensor<?xbf16>'}}
  %0 = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c4_b(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?x?xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects B to have rank 2, but got 'tensor<?x?x?xbf16>'}}
  %0 = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c5(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects S to be blocks x 64 x 64, but got 'tensor<?x?xbf16>'}}
  %0 = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @sddmm_c5_rows(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x32x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects S to be blocks x 64 x 64, but got 'tensor<?x32x64xbf16>'}}
  %0 = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x32x64xbf16>
  sparsec.return %0 : tensor<?x32x64xbf16>
}

// -----

sparsec.kernel @sddmm_c5_columns(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x?xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects S to be blocks x 64 x 64, but got 'tensor<?x64x?xbf16>'}}
  %0 = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x?xbf16>
  sparsec.return %0 : tensor<?x64x?xbf16>
}

// -----

sparsec.kernel @sddmm_c6(%p: !sparsec.bsr<256x512xbf16, block = 64x64>, %a: tensor<256x96xbf16>, %b: tensor<512x95xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects B to have K = 96, as A has, but got 95}}
  %0 = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<256x96xbf16>, tensor<512x95xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c6_km_kn(%p: !sparsec.bsr<256x512xbf16, block = 64x64>, %a: tensor<96x256xbf16>, %b: tensor<95x512xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects B to have K = 96, as A has, but got 95}}
  %0 = sparsec.sddmm %p, %a, %b a_layout(km) b_layout(kn)
    : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<96x256xbf16>, tensor<95x512xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c7(%p: !sparsec.bsr<256x512xbf16, block = 64x64>, %a: tensor<256x96xbf16>, %b: tensor<256x96xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects B to have N = 512, the columns of the pattern, but got 256}}
  %0 = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<256x96xbf16>, tensor<256x96xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c7_kn(%p: !sparsec.bsr<256x512xbf16, block = 64x64>, %a: tensor<256x512xbf16>, %b: tensor<512x96xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects B to have N = 512, the columns of the pattern, but got 96}}
  %0 = sparsec.sddmm %p, %a, %b b_layout(kn)
    : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<256x512xbf16>, tensor<512x96xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c8(%p: !sparsec.bsr<256x512xbf16, block = 64x64>, %a: tensor<512x96xbf16>, %b: tensor<512x96xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects A to have M = 256, the rows of the pattern, but got 512}}
  %0 = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<512x96xbf16>, tensor<512x96xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c8_km(%p: !sparsec.bsr<256x512xbf16, block = 64x64>, %a: tensor<96x255xbf16>, %b: tensor<512x96xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects A to have M = 256, the rows of the pattern, but got 255}}
  %0 = sparsec.sddmm %p, %a, %b a_layout(km)
    : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<96x255xbf16>, tensor<512x96xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c9(%p: !sparsec.bsr<256x512xbf16, block = 64x64>, %a: tensor<256x96xbf16>, %b: tensor<512x96xbf16>, %e0: tensor<512xf32>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects extra operand 0, per_row, to be 'tensor<256xf32>', but got 'tensor<512xf32>'}}
  %0 = sparsec.sddmm %p, %a, %b, %e0 per_row epilogue (%acc: f32, %v: f32) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<256x96xbf16>, tensor<512x96xbf16>, tensor<512xf32>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c10(%p: !sparsec.bsr<256x512xbf16, block = 64x64>, %a: tensor<256x96xbf16>, %b: tensor<512x96xbf16>, %e0: tensor<256xf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects extra operand 0, per_column, to be 'tensor<512xf16>', but got 'tensor<256xf16>'}}
  %0 = sparsec.sddmm %p, %a, %b, %e0 per_column epilogue (%acc: f32, %v: f16) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<256x96xbf16>, tensor<512x96xbf16>, tensor<256xf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c11(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %e0: tensor<1xf32>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects extra operand 0, scalar, to be f32 or 'tensor<f32>', but got 'tensor<1xf32>'}}
  %0 = sparsec.sddmm %p, %a, %b, %e0 scalar epilogue (%acc: f32, %v: f32) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<1xf32>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c12(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %e0: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects extra operand 0, full, to be 'tensor<?x64x64xbf16>', but got 'tensor<?x?xbf16>'}}
  %0 = sparsec.sddmm %p, %a, %b, %e0 full epilogue (%acc: f32, %v: bf16) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c12_blocks(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %e0: tensor<8x64x64xbf16>) -> (s: tensor<7x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects extra operand 0, full, to be 'tensor<7x64x64xbf16>', but got 'tensor<8x64x64xbf16>'}}
  %0 = sparsec.sddmm %p, %a, %b, %e0 full epilogue (%acc: f32, %v: bf16) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<8x64x64xbf16>) -> tensor<7x64x64xbf16>
  sparsec.return %0 : tensor<7x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c13(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %e0: tensor<?xf8E5M2>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects extra operand 0 to be a ranked tensor of f32, f16 or bf16, but got 'tensor<?xf8E5M2>'}}
  %0 = sparsec.sddmm %p, %a, %b, %e0 per_row epilogue (%acc: f32, %v: f8E5M2) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?xf8E5M2>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c14(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %e: f32) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects one broadcast per extra operand, but got 0 for 1}}
  %0 = "sparsec.sddmm"(%p, %a, %b, %e) ({
  ^bb0(%acc: f32, %v: f32):
    sparsec.yield %acc : f32
  }) : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, f32) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c15(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %e0: f32) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects an epilogue region where there are extra operands}}
  %0 = sparsec.sddmm %p, %a, %b, %e0 scalar
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, f32) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c16(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects the argument count of the epilogue region to be 1, but got 2}}
  %0 = sparsec.sddmm %p, %a, %b epilogue (%acc: f32, %v: f32) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c16_type(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %e0: tensor<?x64x64xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects argument 1 of the epilogue region to be 'bf16', but got 'f32'}}
  %0 = sparsec.sddmm %p, %a, %b, %e0 full epilogue (%acc: f32, %v: f32) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x64x64xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c17(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects the epilogue region to end with sparsec.yield of one 'f32'}}
  %0 = sparsec.sddmm %p, %a, %b epilogue (%acc: f32) {
    sparsec.yield %acc, %acc : f32, f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c18(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>) {
  %0 = sparsec.sddmm %p, %a, %b epilogue (%acc: f32) {
  // expected-error @+1 {{'math.cbrt' op has no lowering in an epilogue}}
    %s = math.cbrt %acc : f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c19(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %e: f32) -> (s: tensor<?x64x64xbf16>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %0 = sparsec.sddmm %p, %a, %b epilogue (%acc: f32) {
    // expected-error @+1 {{'arith.addf' op using value defined outside the region}}
    %s = arith.addf %acc, %e : f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c20(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %e: tensor<?x64x64xbf16>) -> (s: tensor<?x64x64xbf16>) {
  %0 = sparsec.sddmm %p, %a, %b, %e full epilogue (%acc: f32, %v: bf16) {
  // expected-error @+1 {{'arith.addf' op expects operand 0 to be f32 or i1 in an epilogue, but got 'bf16'}}
    %s = arith.addf %v, %v : bf16
    %s32 = arith.extf %s : bf16 to f32
    sparsec.yield %s32 : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x64x64xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c21(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %e0: f32, %e1: f32, %e2: f32, %e3: f32, %e4: f32, %e5: f32, %e6: f32, %e7: f32, %e8: f32, %e9: f32, %e10: f32, %e11: f32, %e12: f32, %e13: f32, %e14: f32, %e15: f32, %e16: f32) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects at most 16 extra operands, but got 17}}
  %0 = sparsec.sddmm %p, %a, %b, %e0 scalar, %e1 scalar, %e2 scalar, %e3 scalar, %e4 scalar, %e5 scalar, %e6 scalar, %e7 scalar, %e8 scalar, %e9 scalar, %e10 scalar, %e11 scalar, %e12 scalar, %e13 scalar, %e14 scalar, %e15 scalar, %e16 scalar epilogue (%acc: f32, %v0: f32, %v1: f32, %v2: f32, %v3: f32, %v4: f32, %v5: f32, %v6: f32, %v7: f32, %v8: f32, %v9: f32, %v10: f32, %v11: f32, %v12: f32, %v13: f32, %v14: f32, %v15: f32, %v16: f32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_syntax_a_layout(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{expects mk or km, but got nk}}
  %0 = sparsec.sddmm %p, %a, %b a_layout(nk) : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_syntax_b_layout(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{expects kn or nk, but got mk}}
  %0 = sparsec.sddmm %p, %a, %b b_layout(mk) : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @sddmm_c22(%p: !sparsec.bsr<?x?xbf16, block = 64x64, transposed>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.sddmm' op expects a pattern that is not transposed, but got '!sparsec.bsr<?x?xbf16, block = 64x64, transposed>'}}
  %0 = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64, transposed>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}
