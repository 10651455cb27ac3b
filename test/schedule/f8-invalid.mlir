// RUN: sparsec-opt %s --split-input-file --verify-diagnostics --sparsec-attach-target=chip=sm_80 --sparsec-select-schedule
// fp8 products that have no lowering for a GPU.

// expected-error @+1 {{expects x_layout(nk), X as N x K, for products of f8E4M3FN on a GPU, but got kn}}
sparsec.kernel @layout(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects the host or a chip that multiplies f8E5M2, but got sm_80}}
sparsec.kernel @chip(%w: !sparsec.bsr<?x?xf8E5M2, block = 32x32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E5M2, block = 32x32>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects W as M x K for products of f8E4M3FN on a GPU, but got transposed}}
sparsec.kernel @transposed(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64, transposed>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64, transposed>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
