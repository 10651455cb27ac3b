// The plain product, all in f16.
sparsec.kernel @product(%w: !sparsec.bsr<?x?xf16, block = 16x16>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 16x16>, tensor<?x?xf16>) -> tensor<?x?xf16>
  sparsec.return %y : tensor<?x?xf16>
}
