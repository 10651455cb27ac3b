// Two kernels for scripts/demo.sh.

// A linear layer with block-sparse weights, y = gelu(x Wᵀ + bias), as frameworks hold it: x is tokens x K, y tokens x M.
sparsec.kernel @linear_gelu(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %bias: tensor<?xf32>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %bias per_row x_layout(nk) y_layout(nm) epilogue (%acc: f32, %b: f32) {
    // gelu(s) = s / 2 * (1 + erf(s / sqrt(2)))
    %s = arith.addf %acc, %b : f32
    %inverse_sqrt_2 = arith.constant 0.707106769 : f32
    %scaled = arith.mulf %s, %inverse_sqrt_2 : f32
    %erf = math.erf %scaled : f32
    %one = arith.constant 1.0 : f32
    %gate = arith.addf %erf, %one : f32
    %half = arith.constant 0.5 : f32
    %half_s = arith.mulf %s, %half : f32
    %gelu = arith.mulf %half_s, %gate : f32
    sparsec.yield %gelu : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A plain product, with a result in f32.
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}
