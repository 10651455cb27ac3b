// Small blocks.
sparsec.kernel @spgemm_bf16_64x64x64(%a: !sparsec.bsr<?x?xbf16, block = 64x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x64>)
    -> (c: tensor<?x8192xbf16>) {
  %c = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x8192xbf16>
  sparsec.return %c : tensor<?x8192xbf16>
}
