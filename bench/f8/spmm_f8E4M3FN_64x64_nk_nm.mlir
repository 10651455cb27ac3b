// The layouts of y = x W^T: X is N x K, Y is N x M; sums of two levels.
sparsec.kernel @spmm_f8E4M3FN_64x64_nk_nm(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm)
    : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
