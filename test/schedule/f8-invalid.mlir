// RUN: sparsec-opt %s --verify-diagnostics --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule
// fp8 products have no lowering for a GPU yet.

// expected-error @+1 {{expects the host for products of f8E5M2, but got sm_90a, for which they have no lowering yet}}
sparsec.kernel @f8(%w: !sparsec.bsr<?x?xf8E5M2, block = 32x32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E5M2, block = 32x32>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
