// Blocks of two tiles of rows.
sparsec.kernel @spgemm_bf16_256x128x128(%a: !sparsec.bsr<?x?xbf16, block = 256x128>, %b: !sparsec.bsr<?x?xbf16, block = 128x128>)
    -> (c: tensor<?x8192xbf16>) {
  %c = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 256x128>, !sparsec.bsr<?x?xbf16, block = 128x128>) -> tensor<?x8192xbf16>
  sparsec.return %c : tensor<?x8192xbf16>
}
