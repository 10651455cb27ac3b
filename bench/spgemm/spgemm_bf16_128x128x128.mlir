// A block is a tile.
sparsec.kernel @spgemm_bf16_128x128x128(%a: !sparsec.bsr<?x?xbf16, block = 128x128>, %b: !sparsec.bsr<?x?xbf16, block = 128x128>)
    -> (c: tensor<?x8192xbf16>) {
  %c = sparsec.spgemm %a, %b
    : (!sparsec.bsr<?x?xbf16, block = 128x128>, !sparsec.bsr<?x?xbf16, block = 128x128>) -> tensor<?x8192xbf16>
  sparsec.return %c : tensor<?x8192xbf16>
}
