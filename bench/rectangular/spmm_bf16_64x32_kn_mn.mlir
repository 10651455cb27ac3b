// Row-major: X is K x N, Y is M x N.
sparsec.kernel @spmm_bf16_64x32_kn_mn(%w: !sparsec.bsr<?x?xbf16, block = 64x32>, %x: tensor<?x?xbf16>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x
    : (!sparsec.bsr<?x?xbf16, block = 64x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
