// Both factors with K contiguous: scores Q K^T.
sparsec.kernel @sddmm_bf16_32x32_mk_nk(%p: !sparsec.bsr<?x?xbf16, block = 32x32>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>)
    -> (s: tensor<?x32x32xbf16>) {
  %s = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x32x32xbf16>
  sparsec.return %s : tensor<?x32x32xbf16>
}
