// Both factors with K outermost: the gradient dY^T X of a weight, whose K is the tokens.
sparsec.kernel @sddmm_bf16_64x64_km_kn(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>)
    -> (s: tensor<?x64x64xbf16>) {
  %s = sparsec.sddmm %p, %a, %b a_layout(km) b_layout(kn)
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %s : tensor<?x64x64xbf16>
}
