// Two pairs fill a step of 128.
sparsec.kernel @spgemm_bf16_128x64x128(%a: !sparsec.bsr<?x?xbf16, block = 128x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x128>)
    -> (c: tensor<?x8192xbf16>) {
  %c = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 128x64>, !sparsec.bsr<?x?xbf16, block = 64x128>) -> tensor<?x8192xbf16>
  sparsec.return %c : tensor<?x8192xbf16>
}
