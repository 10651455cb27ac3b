sparsec.kernel @transposed(%w: !sparsec.bsr<?x?xbf16, block = 16x32, transposed>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xf32>) {
  %0 = sparsec.spmm %w, %x x_layout(nk) y_layout(nm)
    : (!sparsec.bsr<?x?xbf16, block = 16x32, transposed>, tensor<?x?xbf16>) -> tensor<?x?xf32>
  sparsec.return %0 : tensor<?x?xf32>
}
