// Both factors with K contiguous: scores Q K^T.
sparsec.kernel @sddmm_bf16_16x16_mk_nk(%p: !sparsec.bsr<?x?xbf16, block = 16x16>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>)
    -> (s: tensor<?x16x16xbf16>) {
  %s = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x16x16xbf16>
  sparsec.return %s : tensor<?x16x16xbf16>
}
