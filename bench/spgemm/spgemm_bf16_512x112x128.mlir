// Rectangular blocks of 512 x 112 and 112 x 128.
sparsec.kernel @spgemm_bf16_512x112x128(%a: !sparsec.bsr<?x?xbf16, block = 512x112>, %b: !sparsec.bsr<?x?xbf16, block = 112x128>)
    -> (c: tensor<?x8192xbf16>) {
  %c = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 512x112>, !sparsec.bsr<?x?xbf16, block = 112x128>) -> tensor<?x8192xbf16>
  sparsec.return %c : tensor<?x8192xbf16>
}
