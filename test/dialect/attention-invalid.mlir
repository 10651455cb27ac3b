// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One function per constraint of dialect/SPEC.md, named after it.

sparsec.kernel @attention_c1(%q: tensor<?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects Q to have rank 4, but got 'tensor<?x?x64xbf16>'}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c1_o(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects O to have rank 4, but got 'tensor<?x?x64xbf16>'}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c1_lse(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>, lse: tensor<?x?x?x?xf32>) {
  // expected-error @+1 {{'sparsec.attention' op expects LSE to have rank 3, but got 'tensor<?x?x?x?xf32>'}}
  %0, %1 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?x?xf32>)
  sparsec.return %0, %1 : tensor<?x?x?x64xbf16>, tensor<?x?x?x?xf32>
}

// -----

sparsec.kernel @attention_c2(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects Q to be of bf16 or f16, but got 'f32', which has no lowering yet}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c3(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects K to have the element type of Q, 'bf16', but got 'f16'}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c3_v(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects V to have the element type of Q, 'bf16', but got 'f16'}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c4(%q: tensor<?x?x?x80xbf16>, %k: tensor<?x?x?x80xbf16>, %v: tensor<?x?x?x80xbf16>) -> (o: tensor<?x?x?x80xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects the head dimension D of Q to be 64, 96, 128, 192 or 256, but got 80, which has no lowering yet}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>) -> tensor<?x?x?x80xbf16>
  sparsec.return %0 : tensor<?x?x?x80xbf16>
}

// -----

sparsec.kernel @attention_c4_dynamic(%q: tensor<?x?x?x?xbf16>, %k: tensor<?x?x?x?xbf16>, %v: tensor<?x?x?x?xbf16>) -> (o: tensor<?x?x?x?xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects the head dimension D of Q to be 64, 96, 128, 192 or 256, but got ?; it must be static}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x?xbf16>, tensor<?x?x?x?xbf16>, tensor<?x?x?x?xbf16>) -> tensor<?x?x?x?xbf16>
  sparsec.return %0 : tensor<?x?x?x?xbf16>
}

// -----

// Where V does not say Dv, O does.
sparsec.kernel @attention_c4_values(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x?xbf16>) -> (o: tensor<?x?x?x80xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects the head dimension Dv of V to be 64, 96, 128, 192 or 256, but got 80, which has no lowering yet}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x?xbf16>) -> tensor<?x?x?x80xbf16>
  sparsec.return %0 : tensor<?x?x?x80xbf16>
}

// -----

sparsec.kernel @attention_c5(%q: tensor<2x?x?x64xbf16>, %k: tensor<3x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects K to have B = 2, as Q has, but got 3}}
  %0 = sparsec.attention %q, %k, %v : (tensor<2x?x?x64xbf16>, tensor<3x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c5_v(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x100x64xbf16>, %v: tensor<?x?x101x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects V to have Skv = 100, as K has, but got 101}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x100x64xbf16>, tensor<?x?x101x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c5_d(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects K to have D = 64, as Q has, but got 128}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c5_dv(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x128xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects O to have Dv = 128, as V has, but got 64}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c5_sinks(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %s: tensor<4xf32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects sinks to have H = 8, as Q has, but got 4}}
  %0 = sparsec.attention %q, %k, %v sinks(%s) : (tensor<?x8x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<4xf32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c5_o(%q: tensor<?x?x100x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x101x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects O to have Sq = 100, as Q has, but got 101}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x100x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x101x64xbf16>
  sparsec.return %0 : tensor<?x?x101x64xbf16>
}

// -----

sparsec.kernel @attention_c5_lse(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x8x?x64xbf16>, lse: tensor<?x4x?xf32>) {
  // expected-error @+1 {{'sparsec.attention' op expects LSE to have H = 8, as O has, but got 4}}
  %0, %1 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x4x?xf32>)
  sparsec.return %0, %1 : tensor<?x8x?x64xbf16>, tensor<?x4x?xf32>
}

// -----

sparsec.kernel @attention_c6(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x3x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects the heads of Q to be a multiple of those of K and V, 3, but got 8}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x8x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x3x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c6_zero(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x0x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects the heads of Q to be a multiple of those of K and V, 0, but got 8}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x8x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x0x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c7(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xf8E5M2>) {
  // expected-error @+1 {{'sparsec.attention' op expects O to be of bf16, f16 or f32, but got 'f8E5M2'}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xf8E5M2>
  sparsec.return %0 : tensor<?x?x?x64xf8E5M2>
}

// -----

sparsec.kernel @attention_c8(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>, lse: tensor<?x?x?xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects LSE to be of f32, but got 'bf16'}}
  %0, %1 = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xbf16>)
  sparsec.return %0, %1 : tensor<?x?x?x64xbf16>, tensor<?x?x?xbf16>
}

// -----

sparsec.kernel @attention_c9(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects limits of window from -1 to 2147483647, but got -2}}
  %0 = sparsec.attention %q, %k, %v window = [-2, 0] : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c9_large(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects limits of window from -1 to 2147483647, but got 2147483648}}
  %0 = sparsec.attention %q, %k, %v window = [0, 2147483648] : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c9_count(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects window to have 2 limits, left and right, but got 1}}
  %0 = sparsec.attention %q, %k, %v window = [64] : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c10(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %c: tensor<f32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op operand #3 must be 32-bit float, but got 'tensor<f32>'}}
  %0 = sparsec.attention %q, %k, %v scale(%c) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<f32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c11(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: tensor<?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op operand #3 must be a !sparsec.pattern, but got 'tensor<?xi32>'}}
  %0 = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xi32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c12(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %e: tensor<?xf8E5M2>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects extra operand 0 to be a tensor of f32, f16, bf16, i64, i32 or i8 of rank 4 at most, but got 'tensor<?xf8E5M2>'}}
  %0 = sparsec.attention %q, %k, %v extras(%e) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xf8E5M2>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c12_rank(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %d: tensor<?xi32>, %e: tensor<?x?x?x?x?xf32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects extra operand 1 to be a tensor of f32, f16, bf16, i64, i32 or i8 of rank 4 at most, but got 'tensor<?x?x?x?x?xf32>'}}
  %0 = sparsec.attention %q, %k, %v extras(%d, %e) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xi32>, tensor<?x?x?x?x?xf32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c13(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %e: tensor<?xf32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects a score or a mask region where there are extra operands}}
  %0 = sparsec.attention %q, %k, %v extras(%e) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xf32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c14(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %e: tensor<?xf32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects the argument count of the score region to be 6, but got 5}}
  %0 = sparsec.attention %q, %k, %v extras(%e) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xf32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c14_type(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects argument 1 of the score region to be 'i32', but got 'f32'}}
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: f32, %h: i32, %i: i32, %j: i32) {
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c15(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects the score region to end with sparsec.yield of one 'f32'}}
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    sparsec.yield %b : i32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c16(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects the argument count of the mask region to be 4, but got 5}}
  %0 = sparsec.attention %q, %k, %v mask (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %t = arith.constant true
    sparsec.yield %t : i1
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c17(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects the mask region to end with sparsec.yield of one 'i1'}}
  %0 = sparsec.attention %q, %k, %v mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    sparsec.yield %b : i32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c17_no_yield(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{expects sparsec.yield at the end of the region, but got arith.cmpi}}
    %t = arith.cmpi eq, %i, %j : i32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c18(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{'arith.divui' op has no lowering in a score region}}
    %0 = arith.divui %b, %h : i32
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c18_mask(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{'arith.ceildivsi' op has no lowering in a mask region}}
    %0 = arith.ceildivsi %b, %h : i32
    %t = arith.cmpi eq, %0, %h : i32
    sparsec.yield %t : i1
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c18_rounding(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{'arith.truncf' op expects rounding to_nearest_even in a score region, but got upward}}
    %0 = arith.truncf %s upward : f32 to f16
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c18_rounding_downward(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{'arith.truncf' op expects rounding to_nearest_even in a score region, but got downward}}
    %0 = arith.truncf %s downward : f32 to f16
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c18_rounding_toward_zero(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{'arith.truncf' op expects rounding to_nearest_even in a score region, but got toward_zero}}
    %0 = arith.truncf %s toward_zero : f32 to f16
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c18_rounding_to_nearest_away(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{'arith.truncf' op expects rounding to_nearest_even in a score region, but got to_nearest_away}}
    %0 = arith.truncf %s to_nearest_away : f32 to f16
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c19(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %e: f32) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %0 = sparsec.attention %q, %k, %v scale(%e) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{'arith.addf' op using value defined outside the region}}
    %0 = arith.addf %s, %e : f32
    sparsec.yield %0 : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, f32) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c20(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %e: tensor<?xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v extras(%e) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xbf16>) {
    %x = sparsec.element %t[%h] : tensor<?xbf16>
    // expected-error @+1 {{'arith.addf' op expects operand 0 to be f32, i32 or i1 in a score region, but got 'bf16'}}
    %0 = arith.addf %x, %x : bf16
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c20_i1(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %t = arith.constant true
    // expected-error @+1 {{'arith.cmpi' op expects operand 0 to be f32 or i32 in a mask region, but got 'i1'}}
    %0 = arith.cmpi slt, %t, %t : i1
    sparsec.yield %0 : i1
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c20_result(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{'arith.fptosi' op expects its result to be f32 or i32 in a score region, but got 'i1'}}
    %0 = arith.fptosi %s : f32 to i1
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c20_i64(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{'arith.constant' op expects its result to be f32, i32 or i1 in a score region, but got 'i64'}}
    %0 = arith.constant 1 : i64
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c20_tensor(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %e: tensor<?xf32>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v extras(%e) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xf32>) {
    %t1 = arith.constant true
    // expected-error @+1 {{'arith.select' op expects operand 1 to be f32, i32 or i1 in a score region, but got 'tensor<?xf32>'}}
    %0 = arith.select %t1, %t, %t : tensor<?xf32>
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xf32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c21(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>, %f: tensor<f32>, %g: tensor<f32>, %h: tensor<f32>, %i: tensor<f32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects at most 8 extra operands, but got 9}}
  %o = sparsec.attention %q, %k, %v extras(%a, %b, %c, %d, %e, %f, %g, %h, %i) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @element_c2(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %e: tensor<?x?xf32>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v extras(%e) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?x?xf32>) {
    // expected-error @+1 {{'sparsec.element' op expects one index per dimension of 'tensor<?x?xf32>', but got 1}}
    %x = sparsec.element %t[%h] : tensor<?x?xf32>
    sparsec.yield %s : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?xf32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

module @element_c1 {
  %t = arith.constant dense<1.0> : tensor<4xf32>
  %i = arith.constant 1 : i32
  // expected-error @+1 {{'sparsec.element' op expects parent op to be one of 'sparsec.attention, sparsec.softmax, sparsec.tile_softmax'}}
  %0 = sparsec.element %t[%i] : tensor<4xf32>
}

// -----

module @pattern_c1 attributes {
  // expected-error @+1 {{expects blocks of 64 or 128 queries, but got 32, which has no lowering yet}}
  sparsec.test = !sparsec.pattern<32x64>} {}

// -----

module @pattern_c1_keys attributes {
  // expected-error @+1 {{expects blocks of 64 or 128 keys, but got 256, which has no lowering yet}}
  sparsec.test = !sparsec.pattern<64x256>} {}

// -----

module @pattern_syntax attributes {
  // expected-error @+1 {{expects a block of queries and one of keys, as in <128x64>}}
  sparsec.test = !sparsec.pattern<64>} {}

// -----

sparsec.kernel @attention_c1_sinks(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %s: tensor<?x?xf32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects sinks to have rank 1, but got 'tensor<?x?xf32>'}}
  %0 = sparsec.attention %q, %k, %v sinks(%s) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?xf32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c22(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x96xbf16>) -> (o: tensor<?x?x?x96xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects D and Dv to be equal or multiples of 64, but got 128 and 96, which have no lowering yet}}
  %0 = sparsec.attention %q, %k, %v : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x96xbf16>) -> tensor<?x?x?x96xbf16>
  sparsec.return %0 : tensor<?x?x?x96xbf16>
}

// -----

sparsec.kernel @attention_c23(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %s: tensor<?xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects sinks to be of f32, but got 'bf16'}}
  %0 = sparsec.attention %q, %k, %v sinks(%s) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c1_starts(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %s: tensor<?x?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects query_starts to have rank 1, but got 'tensor<?x?xi32>'}}
  %0 = sparsec.attention %q, %k, %v query_starts(%s) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?xi32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c5_lengths(%q: tensor<3x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %n: tensor<4xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects key_lengths to have B = 3, as Q has, but got 4}}
  %0 = sparsec.attention %q, %k, %v key_lengths(%n) : (tensor<3x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<4xi32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c5_packed(%q: tensor<2x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %s: tensor<?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects Q to have packed batches = 1, as a packed tensor has, but got 2}}
  %0 = sparsec.attention %q, %k, %v query_starts(%s) : (tensor<2x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xi32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c5_starts(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %s: tensor<4xi32>, %t: tensor<5xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects key_starts to have B + 1 = 4, as query_starts has, but got 5}}
  %0 = sparsec.attention %q, %k, %v query_starts(%s) key_starts(%t) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<4xi32>, tensor<5xi32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c24(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %n: tensor<?xi64>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects key_lengths to be of i32, but got 'i64'}}
  %0 = sparsec.attention %q, %k, %v key_lengths(%n) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xi64>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c25(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x64x64xbf16>, %v: tensor<?x?x64x64xbf16>, %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects key_lengths with a page_table, and no key_starts}}
  %0 = sparsec.attention %q, %k, %v page_table(%t) : (tensor<?x?x?x64xbf16>, tensor<?x?x64x64xbf16>, tensor<?x?x64x64xbf16>, tensor<?x?xi32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c25_starts(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x64x64xbf16>, %v: tensor<?x?x64x64xbf16>, %s: tensor<?xi32>, %n: tensor<?xi32>, %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects key_lengths with a page_table, and no key_starts}}
  %0 = sparsec.attention %q, %k, %v key_starts(%s) key_lengths(%n) page_table(%t) : (tensor<?x?x?x64xbf16>, tensor<?x?x64x64xbf16>, tensor<?x?x64x64xbf16>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c26(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x48x64xbf16>, %v: tensor<?x?x48x64xbf16>, %n: tensor<?xi32>, %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects pages of K to have 16, 32, 64, 128 or 256 rows, a static size, but got 'tensor<?x?x48x64xbf16>'}}
  %0 = sparsec.attention %q, %k, %v key_lengths(%n) page_table(%t) : (tensor<?x?x?x64xbf16>, tensor<?x?x48x64xbf16>, tensor<?x?x48x64xbf16>, tensor<?xi32>, tensor<?x?xi32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c26_open(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x64x64xbf16>, %v: tensor<?x?x?x64xbf16>, %n: tensor<?xi32>, %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  // expected-error @+1 {{'sparsec.attention' op expects pages of V to have 16, 32, 64, 128 or 256 rows, a static size, but got 'tensor<?x?x?x64xbf16>'}}
  %0 = sparsec.attention %q, %k, %v key_lengths(%n) page_table(%t) : (tensor<?x?x?x64xbf16>, tensor<?x?x64x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xi32>, tensor<?x?xi32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c27(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{expects sparsec.exact to be a unit attribute of math.tanh without fastmath<afn>}}
    %r = math.erf %s {sparsec.exact} : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c27_fast(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{expects sparsec.exact to be a unit attribute of math.tanh without fastmath<afn>}}
    %r = math.tanh %s fastmath<afn> {sparsec.exact} : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}

// -----

sparsec.kernel @attention_c27_value(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %0 = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    // expected-error @+1 {{expects sparsec.exact to be a unit attribute of math.tanh without fastmath<afn>}}
    %r = math.tanh %s {sparsec.exact = true} : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %0 : tensor<?x?x?x64xbf16>
}
