// RUN: sparsec-opt %s --split-input-file --verify-diagnostics --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule
// Chips without wgmma and tma have no lowering of sddmm yet.

// expected-error @+1 {{'sparsec.kernel' op expects the host or a chip with wgmma and tma for sparsec.sddmm, but got sm_89, for which it has no lowering yet}}
sparsec.kernel @chip_without_wgmma(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>) {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %s : tensor<?x64x64xbf16>
}
