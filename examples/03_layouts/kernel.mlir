// A linear layer y = x Wᵀ as frameworks store it: activations x are tokens x K, results y are tokens x M, and nothing is
// transposed in memory. The other three combinations of layouts are kernels of the same file.

sparsec.kernel @linear(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm)
      : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// x is K x N, y is M x N: the layouts without a word.
sparsec.kernel @plain(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(kn) y_layout(mn)
      : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

sparsec.kernel @x_transposed(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk)
      : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

sparsec.kernel @y_transposed(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x y_layout(nm)
      : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
