// A scale for each stored block, and for each row and 128 of K of X.
sparsec.kernel @scales(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x64>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w scales(%s), %x x_scale(%t) x_layout(nk) y_layout(nm)
    : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x64>, tensor<?xf32>, tensor<?x?xf8E5M2>, tensor<?x?xf32>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}
