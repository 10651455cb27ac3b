// Y = silu(W X + bias) + beta * C, in one pass: the epilogue sees the f32 accumulator of an element of Y and the
// elements of the other operands that belong to it. silu(s) = s / (1 + exp(-s)).
sparsec.kernel @silu(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>, %bias: tensor<?xf32>,
                     %c: tensor<?x?xf16>, %beta: f32) -> (y: tensor<?x?xf16>) {
  %y = sparsec.spmm %w, %x, %bias per_row, %c full, %beta scalar
      epilogue (%acc: f32, %bias_m: f32, %c_mn: f16, %beta_value: f32) {
    %s = arith.addf %acc, %bias_m : f32
    %negated = arith.negf %s : f32
    %exp = math.exp %negated : f32
    %one = arith.constant 1.0 : f32
    %denominator = arith.addf %one, %exp : f32
    %silu = arith.divf %s, %denominator : f32
    %c_wide = arith.extf %c_mn : f16 to f32
    %residual = arith.mulf %beta_value, %c_wide : f32
    %sum = arith.addf %silu, %residual : f32
    sparsec.yield %sum : f32
  } : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>, tensor<?xf32>, tensor<?x?xf16>, f32) -> tensor<?x?xf16>
  sparsec.return %y : tensor<?x?xf16>
}
