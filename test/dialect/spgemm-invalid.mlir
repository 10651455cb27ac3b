// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One function per constraint of dialect/SPEC.md, named after it. Those of the epilogue that need a region of their own
// are below.

sparsec.kernel @spgemm_c1(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xf16, block = 32x128>) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects B to have the element type of A, 'bf16', but got 'f16'}}
  %0 = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xf16, block = 32x128>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c2(%a: !sparsec.bsr<?x?xf8E4M3FN, block = 64x32>, %b: !sparsec.bsr<?x?xf8E4M3FN, block = 32x128>) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects A to be of bf16 or f16, but got 'f8E4M3FN', which has no lowering yet}}
  %0 = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x32>, !sparsec.bsr<?x?xf8E4M3FN, block = 32x128>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c3(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>) -> (c: tensor<?x?xf8E5M2>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects C to be of bf16, f16 or f32, but got 'f8E5M2'}}
  %0 = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>) -> tensor<?x?xf8E5M2>
  sparsec.return %0 : tensor<?x?xf8E5M2>
}

// -----

sparsec.kernel @spgemm_c4(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128, transposed>) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects operands that are not transposed, but got '!sparsec.bsr<?x?xbf16, block = 32x128, transposed>'}}
  %0 = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128, transposed>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c4_pattern(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %p: !sparsec.bsr<?x?xbf16, block = 64x128, transposed>) -> (c: tensor<?x64x128xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects operands that are not transposed, but got '!sparsec.bsr<?x?xbf16, block = 64x128, transposed>'}}
  %0 = sparsec.spgemm %a, %b pattern(%p)
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, !sparsec.bsr<?x?xbf16, block = 64x128, transposed>) -> tensor<?x64x128xbf16>
  sparsec.return %0 : tensor<?x64x128xbf16>
}

// -----

sparsec.kernel @spgemm_c5(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 64x128>) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects B to have blocks of 32 rows, the columns of A's blocks, but got 64}}
  %0 = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 64x128>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c6(%a: !sparsec.bsr<?x96xbf16, block = 64x32>, %b: !sparsec.bsr<64x?xbf16, block = 32x128>) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects B to have K = 96, the columns of A, but got 64}}
  %0 = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x96xbf16, block = 64x32>, !sparsec.bsr<64x?xbf16, block = 32x128>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c7(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>) -> (c: tensor<?x64x128xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects C to have rank 2, but got 'tensor<?x64x128xbf16>'}}
  %0 = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>) -> tensor<?x64x128xbf16>
  sparsec.return %0 : tensor<?x64x128xbf16>
}

// -----

sparsec.kernel @spgemm_c7_pattern(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %p: !sparsec.bsr<?x?xbf16, block = 64x128>) -> (c: tensor<?x64x64xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects C to be blocks x 64 x 128, but got 'tensor<?x64x64xbf16>'}}
  %0 = sparsec.spgemm %a, %b pattern(%p)
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, !sparsec.bsr<?x?xbf16, block = 64x128>) -> tensor<?x64x64xbf16>
  sparsec.return %0 : tensor<?x64x64xbf16>
}

// -----

sparsec.kernel @spgemm_c8(%a: !sparsec.bsr<128x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>) -> (c: tensor<256x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects C to have M = 128, the rows of A, but got 256}}
  %0 = sparsec.spgemm %a, %b
    : (!sparsec.bsr<128x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>) -> tensor<256x?xbf16>
  sparsec.return %0 : tensor<256x?xbf16>
}

// -----

sparsec.kernel @spgemm_c8_columns(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x128xbf16, block = 32x128>) -> (c: tensor<256x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects C to have N = 128, the columns of B, but got 256}}
  %0 = sparsec.spgemm %a, %b c_layout(nm)
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x128xbf16, block = 32x128>) -> tensor<256x?xbf16>
  sparsec.return %0 : tensor<256x?xbf16>
}

// -----

sparsec.kernel @spgemm_c8_pattern(%a: !sparsec.bsr<128x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %p: !sparsec.bsr<64x?xbf16, block = 64x128>) -> (c: tensor<?x64x128xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects the pattern to have M = 128, the rows of A, but got 64}}
  %0 = sparsec.spgemm %a, %b pattern(%p)
    : (!sparsec.bsr<128x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, !sparsec.bsr<64x?xbf16, block = 64x128>) -> tensor<?x64x128xbf16>
  sparsec.return %0 : tensor<?x64x128xbf16>
}

// -----

sparsec.kernel @spgemm_c8_pattern_columns(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x256xbf16, block = 32x128>, %p: !sparsec.bsr<?x128xbf16, block = 64x128>) -> (c: tensor<?x64x128xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects the pattern to have N = 256, the columns of B, but got 128}}
  %0 = sparsec.spgemm %a, %b pattern(%p)
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x256xbf16, block = 32x128>, !sparsec.bsr<?x128xbf16, block = 64x128>) -> tensor<?x64x128xbf16>
  sparsec.return %0 : tensor<?x64x128xbf16>
}

// -----

sparsec.kernel @spgemm_c9(%a: !sparsec.bsr<128x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %e: tensor<64xf32>) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects extra operand 0, per_row, to be 'tensor<128xf32>', but got 'tensor<64xf32>'}}
  %0 = sparsec.spgemm %a, %b, %e per_row epilogue (%acc: f32, %x: f32) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<128x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, tensor<64xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c10(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x128xbf16, block = 32x128>, %e: tensor<64xf32>) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects extra operand 0, per_column, to be 'tensor<128xf32>', but got 'tensor<64xf32>'}}
  %0 = sparsec.spgemm %a, %b, %e per_column epilogue (%acc: f32, %x: f32) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x128xbf16, block = 32x128>, tensor<64xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c11(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %e: tensor<1xf32>) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects extra operand 0, scalar, to be f32 or 'tensor<f32>', but got 'tensor<1xf32>'}}
  %0 = sparsec.spgemm %a, %b, %e scalar epilogue (%acc: f32, %x: f32) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, tensor<1xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c12(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %p: !sparsec.bsr<?x?xbf16, block = 64x128>, %e: tensor<?x?xf32>) -> (c: tensor<?x64x128xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects extra operand 0, full, to be 'tensor<?x64x128xf32>', but got 'tensor<?x?xf32>'}}
  %0 = sparsec.spgemm %a, %b pattern(%p), %e full epilogue (%acc: f32, %x: f32) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, !sparsec.bsr<?x?xbf16, block = 64x128>, tensor<?x?xf32>) -> tensor<?x64x128xbf16>
  sparsec.return %0 : tensor<?x64x128xbf16>
}

// -----

sparsec.kernel @spgemm_c13(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %e: tensor<?xi32>) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects extra operand 0 to be a ranked tensor of f32, f16 or bf16, but got 'tensor<?xi32>'}}
  %0 = sparsec.spgemm %a, %b, %e per_row epilogue (%acc: f32, %x: i32) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, tensor<?xi32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c15(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %e: f32) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects an epilogue region where there are extra operands}}
  %0 = sparsec.spgemm %a, %b, %e scalar
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, f32) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c16(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %e: f32) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects the argument count of the epilogue region to be 2, but got 1}}
  %0 = sparsec.spgemm %a, %b, %e scalar epilogue (%acc: f32) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, f32) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c21(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %e0: f32, %e1: f32, %e2: f32, %e3: f32, %e4: f32, %e5: f32, %e6: f32, %e7: f32, %e8: f32, %e9: f32, %e10: f32, %e11: f32, %e12: f32, %e13: f32, %e14: f32, %e15: f32, %e16: f32) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects at most 16 extra operands, but got 17}}
  %0 = sparsec.spgemm %a, %b, %e0 scalar, %e1 scalar, %e2 scalar, %e3 scalar, %e4 scalar, %e5 scalar, %e6 scalar, %e7 scalar, %e8 scalar, %e9 scalar, %e10 scalar, %e11 scalar, %e12 scalar, %e13 scalar, %e14 scalar, %e15 scalar, %e16 scalar epilogue (%acc: f32, %x0: f32, %x1: f32, %x2: f32, %x3: f32, %x4: f32, %x5: f32, %x6: f32, %x7: f32, %x8: f32, %x9: f32, %x10: f32, %x11: f32, %x12: f32, %x13: f32, %x14: f32, %x15: f32, %x16: f32) {
    sparsec.yield %acc : f32
  }
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c22(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %p: !sparsec.bsr<?x?xbf16, block = 64x64>) -> (c: tensor<?x64x128xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects a pattern with blocks of 64 x 128, but got 64 x 64}}
  %0 = sparsec.spgemm %a, %b pattern(%p)
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x64x128xbf16>
  sparsec.return %0 : tensor<?x64x128xbf16>
}

// -----

sparsec.kernel @spgemm_c22_layout(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %p: !sparsec.bsr<?x?xbf16, block = 64x128>) -> (c: tensor<?x64x128xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects no c_layout with a pattern, but got nm}}
  %0 = sparsec.spgemm %a, %b pattern(%p) c_layout(nm)
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, !sparsec.bsr<?x?xbf16, block = 64x128>) -> tensor<?x64x128xbf16>
  sparsec.return %0 : tensor<?x64x128xbf16>
}

// -----

sparsec.kernel @spgemm_c14(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %e: f32) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects one broadcast per extra operand, but got 0 for 1}}
  %0 = "sparsec.spgemm"(%a, %b, %e) <{operandSegmentSizes = array<i32: 1, 1, 0, 1>}> ({
  ^bb0(%acc: f32, %x: f32):
    sparsec.yield %acc : f32
  }) : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, f32) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c17(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>) -> (c: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spgemm' op expects the epilogue region to end with sparsec.yield of one 'f32'}}
  %0 = sparsec.spgemm %a, %b epilogue (%acc: f32) {
    sparsec.yield %acc, %acc : f32, f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c18(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>) -> (c: tensor<?x?xbf16>) {
  %0 = sparsec.spgemm %a, %b epilogue (%acc: f32) {
    // expected-error @+1 {{'math.cbrt' op has no lowering in an epilogue}}
    %r = math.cbrt %acc : f32
    sparsec.yield %r : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c19(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %e: f32) -> (c: tensor<?x?xbf16>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %0 = sparsec.spgemm %a, %b, %e scalar epilogue (%acc: f32, %x: f32) {
    // expected-error @+1 {{'arith.addf' op using value defined outside the region}}
    %r = arith.addf %acc, %e : f32
    sparsec.yield %r : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, f32) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spgemm_c20(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x128>, %e: tensor<?xbf16>) -> (c: tensor<?x?xbf16>) {
  %0 = sparsec.spgemm %a, %b, %e per_row epilogue (%acc: f32, %x: bf16) {
    // expected-error @+1 {{'arith.addf' op expects operand 0 to be f32 or i1 in an epilogue, but got 'bf16'}}
    %y = arith.addf %x, %x : bf16
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x128>, tensor<?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
