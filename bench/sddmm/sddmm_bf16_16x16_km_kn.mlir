// Both factors with K outermost: the gradient dY^T X of a weight, whose K is the tokens.
sparsec.kernel @sddmm_bf16_16x16_km_kn(%p: !sparsec.bsr<?x?xbf16, block = 16x16>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>)
    -> (s: tensor<?x16x16xbf16>) {
  %s = sparsec.sddmm %p, %a, %b a_layout(km) b_layout(kn)
    : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x16x16xbf16>
  sparsec.return %s : tensor<?x16x16xbf16>
}
