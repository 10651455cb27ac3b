sparsec.kernel @linear(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %bias: tensor<?xf32>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %bias per_row x_layout(nk) epilogue (%acc: f32, %b: f32) {
    %s = arith.addf %acc, %b : f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
