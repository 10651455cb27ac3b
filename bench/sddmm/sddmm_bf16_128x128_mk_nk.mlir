// Both factors with K contiguous: scores Q K^T.
sparsec.kernel @sddmm_bf16_128x128_mk_nk(%p: !sparsec.bsr<?x?xbf16, block = 128x128>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>)
    -> (s: tensor<?x128x128xbf16>) {
  %s = sparsec.sddmm %p, %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x128x128xbf16>
  sparsec.return %s : tensor<?x128x128xbf16>
}
