sparsec.kernel @transposed(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x16, transposed>, %scales: tensor<?xf32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xf32>) {
  %0 = sparsec.spmm %w scales(%scales), %x x_layout(nk) y_layout(nm)
    : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x16, transposed>, tensor<?xf32>, tensor<?x?xf8E5M2>) -> tensor<?x?xf32>
  sparsec.return %0 : tensor<?x?xf32>
}
