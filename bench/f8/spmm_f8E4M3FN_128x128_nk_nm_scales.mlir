// The layouts of y = x W^T: X is N x K, Y is N x M; sums of two levels, with a scale for each block.
sparsec.kernel @spmm_f8E4M3FN_128x128_nk_nm_scales(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %s: tensor<?xf32>,
    %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w scales(%s), %x x_layout(nk) y_layout(nm)
    : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?xf32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
