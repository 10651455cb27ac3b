// The layouts of y = x W^T: X is N x K, Y is N x M.
sparsec.kernel @spmm_bf16_32x64_nk_nm(%w: !sparsec.bsr<?x?xbf16, block = 32x64>, %x: tensor<?x?xbf16>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm)
    : (!sparsec.bsr<?x?xbf16, block = 32x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
