// Both factors with K contiguous: scores Q K^T.
sparsec.kernel @sddmm_bf16_64x64_mk_nk(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>)
    -> (s: tensor<?x64x64xbf16>) {
  %s = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %s : tensor<?x64x64xbf16>
}
