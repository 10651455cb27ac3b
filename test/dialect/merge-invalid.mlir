// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One function per constraint of dialect/SPEC.md, named after it.

sparsec.kernel @merge_c1(%o1: tensor<?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects O1 to have rank 4, but got 'tensor<?x?x128xbf16>'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c1_second(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects O2 to have rank 4, but got 'tensor<?x128xbf16>'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c1_result(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects O to have rank 4, but got 'tensor<?x?x?x?x128xbf16>'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c1_first_lse(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects LSE1 to have rank 3, but got 'tensor<?x?xf32>'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c1_second_lse(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?x1xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects LSE2 to have rank 3, but got 'tensor<?x?x?x1xf32>'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?x1xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c1_lse(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects LSE to have rank 3, but got 'tensor<?xf32>'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?xf32>
}

// -----

sparsec.kernel @merge_c2(%o1: tensor<?x?x?x128xf8E4M3FN>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects O1 to be of bf16, f16 or f32, but got 'f8E4M3FN'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c2_second(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xi32>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects O2 to be of bf16, f16 or f32, but got 'i32'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xi32>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c2_result(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xf8E5M2>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects O to be of bf16, f16 or f32, but got 'f8E5M2'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xf8E5M2>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xf8E5M2>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c3(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xbf16>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects LSE1 to be of f32, but got 'bf16'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c3_second(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf16>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects LSE2 to be of f32, but got 'f16'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c3_result(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf16>) {
  // expected-error @+1 {{'sparsec.merge' op expects LSE to be of f32, but got 'f16'}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf16>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf16>
}

// -----

sparsec.kernel @merge_c4(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x64xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects O2 to have D = 128, as O1 has, but got 64}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c4_batches(%o1: tensor<2x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<3x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects LSE2 to have B = 2, as O1 has, but got 3}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<2x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<3x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c4_heads(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x8x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x16x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects O to have H = 8, as O2 has, but got 16}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x8x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x16x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x16x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

sparsec.kernel @merge_c4_queries(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x7xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x9xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects LSE to have Sq = 7, as LSE1 has, but got 9}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x7xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x9xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x9xf32>
}

// -----

sparsec.kernel @merge_c5(%o1: tensor<?x?x?x?xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x0xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x?xbf16>, lse: tensor<?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.merge' op expects rows of at least 1 element, but got D = 0}}
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x?xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x0xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x?xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x?xbf16>, tensor<?x?x?xf32>
}
