// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One function per constraint of dialect/SPEC.md, named after it.

sparsec.kernel @spmm_c1(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects X to have the element type of W, 'bf16', but got 'f16'}}
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c1_f8(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects X to be of f8E4M3FN or f8E5M2, as W is, but got 'bf16'}}
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c1_f8_dense(%w: !sparsec.bsr<?x?xf16, block = 64x64>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects X to have the element type of W, 'f16', but got 'f8E5M2'}}
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 64x64>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c3(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xf8E5M2>) {
  // expected-error @+1 {{'sparsec.spmm' op expects Y to be of bf16, f16 or f32, but got 'f8E5M2'}}
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xf8E5M2>
  sparsec.return %0 : tensor<?x?xf8E5M2>
}

// -----

sparsec.kernel @spmm_c4(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects X to have rank 2, but got 'tensor<?xbf16>'}}
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c5(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects Y to have rank 2, but got 'tensor<?x?x?xbf16>'}}
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?x?xbf16>
  sparsec.return %0 : tensor<?x?x?xbf16>
}

// -----

sparsec.kernel @spmm_c6(%w: !sparsec.bsr<256x512xbf16, block = 64x64>, %x: tensor<96x512xbf16>) -> (y: tensor<256x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects X to have K = 512, the columns of W, but got 96}}
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<96x512xbf16>) -> tensor<256x?xbf16>
  sparsec.return %0 : tensor<256x?xbf16>
}

// -----

sparsec.kernel @spmm_c6_nk(%w: !sparsec.bsr<256x512xbf16, block = 64x64>, %x: tensor<512x96xbf16>) -> (y: tensor<256x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects X to have K = 512, the columns of W, but got 96}}
  %0 = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<512x96xbf16>) -> tensor<256x?xbf16>
  sparsec.return %0 : tensor<256x?xbf16>
}

// -----

sparsec.kernel @spmm_c7(%w: !sparsec.bsr<256x512xbf16, block = 64x64>, %x: tensor<512x96xbf16>) -> (y: tensor<256x95xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects Y to have N = 96, as X has, but got 95}}
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<512x96xbf16>) -> tensor<256x95xbf16>
  sparsec.return %0 : tensor<256x95xbf16>
}

// -----

sparsec.kernel @spmm_c7_nk_nm(%w: !sparsec.bsr<256x512xbf16, block = 64x64>, %x: tensor<96x512xbf16>) -> (y: tensor<95x256xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects Y to have N = 96, as X has, but got 95}}
  %0 = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<96x512xbf16>) -> tensor<95x256xbf16>
  sparsec.return %0 : tensor<95x256xbf16>
}

// -----

sparsec.kernel @spmm_c8(%w: !sparsec.bsr<256x512xbf16, block = 64x64>, %x: tensor<512x96xbf16>) -> (y: tensor<250x96xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects Y to have M = 256, the rows of W, but got 250}}
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<512x96xbf16>) -> tensor<250x96xbf16>
  sparsec.return %0 : tensor<250x96xbf16>
}

// -----

sparsec.kernel @spmm_c8_nm(%w: !sparsec.bsr<256x512xbf16, block = 64x64>, %x: tensor<512x96xbf16>) -> (y: tensor<96x250xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects Y to have M = 256, the rows of W, but got 250}}
  %0 = sparsec.spmm %w, %x y_layout(nm) : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<512x96xbf16>) -> tensor<96x250xbf16>
  sparsec.return %0 : tensor<96x250xbf16>
}

// -----

sparsec.kernel @spmm_c9(%w: !sparsec.bsr<256x512xbf16, block = 64x64>, %x: tensor<512x96xbf16>, %e0: tensor<96xf32>) -> (y: tensor<256x96xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects extra operand 0, per_row, to be 'tensor<256xf32>', but got 'tensor<96xf32>'}}
  %0 = sparsec.spmm %w, %x, %e0 per_row epilogue (%acc: f32, %v0: f32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<512x96xbf16>, tensor<96xf32>) -> tensor<256x96xbf16>
  sparsec.return %0 : tensor<256x96xbf16>
}

// -----

sparsec.kernel @spmm_c9_rank(%w: !sparsec.bsr<256x512xbf16, block = 64x64>, %x: tensor<512x96xbf16>, %e0: tensor<256x1xf32>) -> (y: tensor<256x96xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects extra operand 0, per_row, to be 'tensor<256xf32>', but got 'tensor<256x1xf32>'}}
  %0 = sparsec.spmm %w, %x, %e0 per_row epilogue (%acc: f32, %v0: f32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<512x96xbf16>, tensor<256x1xf32>) -> tensor<256x96xbf16>
  sparsec.return %0 : tensor<256x96xbf16>
}

// -----

sparsec.kernel @spmm_c9_result(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e0: tensor<96xf32>) -> (y: tensor<256x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects extra operand 0, per_row, to be 'tensor<256xf32>', but got 'tensor<96xf32>'}}
  %0 = sparsec.spmm %w, %x, %e0 per_row epilogue (%acc: f32, %v0: f32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<96xf32>) -> tensor<256x?xbf16>
  sparsec.return %0 : tensor<256x?xbf16>
}

// -----

sparsec.kernel @spmm_c10(%w: !sparsec.bsr<256x512xbf16, block = 64x64>, %x: tensor<512x96xbf16>, %e0: f32, %e1: tensor<256xf16>) -> (y: tensor<256x96xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects extra operand 1, per_column, to be 'tensor<96xf16>', but got 'tensor<256xf16>'}}
  %0 = sparsec.spmm %w, %x, %e0 scalar, %e1 per_column epilogue (%acc: f32, %v0: f32, %v1: f16) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<512x96xbf16>, f32, tensor<256xf16>) -> tensor<256x96xbf16>
  sparsec.return %0 : tensor<256x96xbf16>
}

// -----

sparsec.kernel @spmm_c11(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e0: tensor<1xf32>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects extra operand 0, scalar, to be f32 or 'tensor<f32>', but got 'tensor<1xf32>'}}
  %0 = sparsec.spmm %w, %x, %e0 scalar epilogue (%acc: f32, %v0: f32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<1xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c12(%w: !sparsec.bsr<256x512xbf16, block = 64x64>, %x: tensor<512x96xbf16>, %e0: tensor<96x256xf32>) -> (y: tensor<256x96xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects extra operand 0, full, to be 'tensor<256x96xf32>', but got 'tensor<96x256xf32>'}}
  %0 = sparsec.spmm %w, %x, %e0 full epilogue (%acc: f32, %v0: f32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<512x96xbf16>, tensor<96x256xf32>) -> tensor<256x96xbf16>
  sparsec.return %0 : tensor<256x96xbf16>
}

// -----

sparsec.kernel @spmm_c12_nm(%w: !sparsec.bsr<256x512xbf16, block = 64x64>, %x: tensor<512x96xbf16>, %e0: tensor<256x96xf32>) -> (y: tensor<96x256xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects extra operand 0, full, to be 'tensor<96x256xf32>', but got 'tensor<256x96xf32>'}}
  %0 = sparsec.spmm %w, %x, %e0 full y_layout(nm) epilogue (%acc: f32, %v0: f32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<256x512xbf16, block = 64x64>, tensor<512x96xbf16>, tensor<256x96xf32>) -> tensor<96x256xbf16>
  sparsec.return %0 : tensor<96x256xbf16>
}

// -----

sparsec.kernel @spmm_c13(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e0: tensor<?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects extra operand 0 to be a ranked tensor of f32, f16 or bf16, but got 'tensor<?xf8E5M2>'}}
  %0 = sparsec.spmm %w, %x, %e0 per_row epilogue (%acc: f32, %v0: f8E5M2) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c13_scalar(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e0: f32) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects extra operand 0 to be a ranked tensor of f32, f16 or bf16, but got 'f32'}}
  %0 = sparsec.spmm %w, %x, %e0 per_row epilogue (%acc: f32, %v0: f32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, f32) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c13_integers(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e0: tensor<?xi32>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects extra operand 0 to be a ranked tensor of f32, f16 or bf16, but got 'tensor<?xi32>'}}
  %0 = sparsec.spmm %w, %x, %e0 per_row epilogue (%acc: f32, %v0: i32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xi32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c14(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e: f32) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects one broadcast per extra operand, but got 0 for 1}}
  %0 = "sparsec.spmm"(%w, %x, %e) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 1>}> ({
  ^bb0(%acc: f32, %v: f32):
    sparsec.yield %acc : f32
  }) : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, f32) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c15(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e: f32) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects an epilogue region where there are extra operands}}
  %0 = sparsec.spmm %w, %x, %e scalar : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, f32) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c16(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects the argument count of the epilogue region to be 1, but got 2}}
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32, %v: f32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c16_type(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e0: tensor<?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects argument 1 of the epilogue region to be 'bf16', but got 'f32'}}
  %0 = sparsec.spmm %w, %x, %e0 per_row epilogue (%acc: f32, %v: f32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c16_accumulator(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects argument 0 of the epilogue region to be 'f32', but got 'f16'}}
  %0 = sparsec.spmm %w, %x epilogue (%acc: f16) {
    %s = arith.extf %acc : f16 to f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c17(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects the epilogue region to end with sparsec.yield of one 'f32'}}
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
    sparsec.yield %acc, %acc : f32, f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c17_no_yield(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
    // expected-error @+1 {{expects sparsec.yield at the end of the region, but got math.absf}}
    %a = math.absf %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c17_empty(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{expects sparsec.yield at the end of the region, but got nothing}}
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c17_type(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects the epilogue region to end with sparsec.yield of one 'f32'}}
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
    %h = arith.truncf %acc : f32 to bf16
    sparsec.yield %h : bf16
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c18(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
  // expected-error @+1 {{'math.cbrt' op has no lowering in an epilogue}}
    %s = math.cbrt %acc : f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c18_integers(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
  // expected-error @+1 {{'arith.fptosi' op has no lowering in an epilogue}}
    %i = arith.fptosi %acc : f32 to i32
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c18_region(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
    %true = arith.constant true
  // expected-error @+1 {{'scf.if' op has no lowering in an epilogue}}
    %s = scf.if %true -> (f32) {
      scf.yield %acc : f32
    } else {
      scf.yield %acc : f32
    }
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c18_rounding(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
  // expected-error @+1 {{'arith.truncf' op expects rounding to_nearest_even in an epilogue, but got downward}}
    %h = arith.truncf %acc downward : f32 to bf16
    %s = arith.extf %h : bf16 to f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c18_rounding_upward(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
  // expected-error @+1 {{'arith.truncf' op expects rounding to_nearest_even in an epilogue, but got upward}}
    %h = arith.truncf %acc upward : f32 to bf16
    %s = arith.extf %h : bf16 to f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c18_rounding_toward_zero(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
  // expected-error @+1 {{'arith.truncf' op expects rounding to_nearest_even in an epilogue, but got toward_zero}}
    %h = arith.truncf %acc toward_zero : f32 to bf16
    %s = arith.extf %h : bf16 to f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c18_rounding_to_nearest_away(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
  // expected-error @+1 {{'arith.truncf' op expects rounding to_nearest_even in an epilogue, but got to_nearest_away}}
    %h = arith.truncf %acc to_nearest_away : f32 to bf16
    %s = arith.extf %h : bf16 to f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c19(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e: f32) -> (y: tensor<?x?xbf16>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
    // expected-error @+1 {{'arith.addf' op using value defined outside the region}}
    %s = arith.addf %acc, %e : f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c20(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e0: tensor<?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x, %e0 per_row epilogue (%acc: f32, %v: bf16) {
  // expected-error @+1 {{'arith.addf' op expects operand 0 to be f32 or i1 in an epilogue, but got 'bf16'}}
    %s = arith.addf %v, %v : bf16
    %s32 = arith.extf %s : bf16 to f32
    sparsec.yield %s32 : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c20_result(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x epilogue (%acc: f32) {
  // expected-error @+1 {{'arith.constant' op expects its result to be f32 or i1 in an epilogue, but got 'i32'}}
    %c = arith.constant 1 : i32
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c21(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e0: f32, %e1: f32, %e2: f32, %e3: f32, %e4: f32, %e5: f32, %e6: f32, %e7: f32, %e8: f32, %e9: f32, %e10: f32, %e11: f32, %e12: f32, %e13: f32, %e14: f32, %e15: f32, %e16: f32) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects at most 16 extra operands, but got 17}}
  %0 = sparsec.spmm %w, %x, %e0 scalar, %e1 scalar, %e2 scalar, %e3 scalar, %e4 scalar, %e5 scalar, %e6 scalar, %e7 scalar, %e8 scalar, %e9 scalar, %e10 scalar, %e11 scalar, %e12 scalar, %e13 scalar, %e14 scalar, %e15 scalar, %e16 scalar epilogue (%acc: f32, %v0: f32, %v1: f32, %v2: f32, %v3: f32, %v4: f32, %v5: f32, %v6: f32, %v7: f32, %v8: f32, %v9: f32, %v10: f32, %v11: f32, %v12: f32, %v13: f32, %v14: f32, %v15: f32, %v16: f32) {
    sparsec.yield %acc : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_syntax_broadcast(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %e: f32) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{expects per_row, per_column, scalar or full after an extra operand, but got everywhere}}
  %0 = sparsec.spmm %w, %x, %e everywhere : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, f32) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_syntax_x_layout(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{expects kn or nk, but got mn}}
  %0 = sparsec.spmm %w, %x x_layout(mn) : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_syntax_y_layout(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{expects mn or nm, but got kn}}
  %0 = sparsec.spmm %w, %x y_layout(kn) : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c22(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects accumulation(fast) with W of f8E4M3FN or f8E5M2 only, but got 'bf16'}}
  %0 = sparsec.spmm %w, %x accumulation(fast) : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c23(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %s: tensor<?xf32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects scales with W of f8E4M3FN or f8E5M2 and accumulation(two_level) only, but got 'bf16' and two_level}}
  %0 = sparsec.spmm %w scales(%s), %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?xf32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c23_accumulation(%w: !sparsec.bsr<?x?xf8E5M2, block = 64x64>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects scales with W of f8E4M3FN or f8E5M2 and accumulation(two_level) only, but got 'f8E5M2' and fast}}
  %0 = sparsec.spmm %w scales(%s), %x accumulation(fast) : (!sparsec.bsr<?x?xf8E5M2, block = 64x64>, tensor<?xf32>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c23_shape(%w: !sparsec.bsr<?x?xf8E5M2, block = 64x64>, %s: tensor<?x1xf32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects scales to be a tensor of f32 of rank 1, one for each stored block, but got 'tensor<?x1xf32>'}}
  %0 = sparsec.spmm %w scales(%s), %x : (!sparsec.bsr<?x?xf8E5M2, block = 64x64>, tensor<?x1xf32>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c24(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects x_scale with W of f8E4M3FN or f8E5M2 and accumulation(two_level) only, but got 'bf16' and two_level}}
  %0 = sparsec.spmm %w, %x x_scale(%t) : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c24_accumulation(%w: !sparsec.bsr<?x?xf8E5M2, block = 64x64>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects x_scale with W of f8E4M3FN or f8E5M2 and accumulation(two_level) only, but got 'f8E5M2' and fast}}
  %0 = sparsec.spmm %w, %x x_scale(%t) accumulation(fast) : (!sparsec.bsr<?x?xf8E5M2, block = 64x64>, tensor<?x?xf8E5M2>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c24_type(%w: !sparsec.bsr<?x?xf8E5M2, block = 64x64>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects x_scale to be 'tensor<?x?xf32>', N x ceil(K / 128), but got 'tensor<?x?xf16>'}}
  %0 = sparsec.spmm %w, %x x_scale(%t) : (!sparsec.bsr<?x?xf8E5M2, block = 64x64>, tensor<?x?xf8E5M2>, tensor<?x?xf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c24_rank(%w: !sparsec.bsr<?x?xf8E5M2, block = 64x64>, %x: tensor<?x?xf8E5M2>, %t: tensor<?xf32>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects x_scale to be 'tensor<?x?xf32>', N x ceil(K / 128), but got 'tensor<?xf32>'}}
  %0 = sparsec.spmm %w, %x x_scale(%t) : (!sparsec.bsr<?x?xf8E5M2, block = 64x64>, tensor<?x?xf8E5M2>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c24_columns(%w: !sparsec.bsr<?x?xf8E5M2, block = 64x64>, %x: tensor<8x?xf8E5M2>, %t: tensor<7x?xf32>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects x_scale to be 'tensor<8x?xf32>', N x ceil(K / 128), but got 'tensor<7x?xf32>'}}
  %0 = sparsec.spmm %w, %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E5M2, block = 64x64>, tensor<8x?xf8E5M2>, tensor<7x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c24_depth(%w: !sparsec.bsr<?x?xf8E5M2, block = 64x64>, %x: tensor<?x257xf8E5M2>, %t: tensor<?x2xf32>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects x_scale to be 'tensor<?x3xf32>', N x ceil(K / 128), but got 'tensor<?x2xf32>'}}
  %0 = sparsec.spmm %w, %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E5M2, block = 64x64>, tensor<?x257xf8E5M2>, tensor<?x2xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_c25(%w: !sparsec.bsr<?x?xf8E5M2, block = 64x48>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op expects blocks whose columns divide 128 or are a multiple of it where there is an x_scale, but got 48}}
  %0 = sparsec.spmm %w, %x x_scale(%t) : (!sparsec.bsr<?x?xf8E5M2, block = 64x48>, tensor<?x?xf8E5M2>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @spmm_syntax_accumulation(%w: !sparsec.bsr<?x?xf8E5M2, block = 64x64>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{expects two_level or fast, but got slow}}
  %0 = sparsec.spmm %w, %x accumulation(slow) : (!sparsec.bsr<?x?xf8E5M2, block = 64x64>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
