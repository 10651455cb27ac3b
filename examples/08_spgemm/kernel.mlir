// Two products of block-sparse matrices A (M x K, blocks of 128 x 64) and B (K x N, blocks of 64 x 96).

// C = A B, dense, in f32.
sparsec.kernel @product(%a: !sparsec.bsr<?x?xbf16, block = 128x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x96>)
    -> (c: tensor<?x?xf32>) {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 128x64>, !sparsec.bsr<?x?xbf16, block = 64x96>)
      -> tensor<?x?xf32>
  sparsec.return %c : tensor<?x?xf32>
}

// The blocks of A B that a pattern has, scaled by row: values for the pattern.
sparsec.kernel @sampled(%a: !sparsec.bsr<?x?xbf16, block = 128x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x96>,
                        %p: !sparsec.bsr<?x?xbf16, block = 128x96>, %scale: tensor<?xf32>)
    -> (c: tensor<?x128x96xbf16>) {
  %c = sparsec.spgemm %a, %b pattern(%p), %scale per_row epilogue (%acc: f32, %s: f32) {
    %r = arith.mulf %acc, %s : f32
    sparsec.yield %r : f32
  } : (!sparsec.bsr<?x?xbf16, block = 128x64>, !sparsec.bsr<?x?xbf16, block = 64x96>,
       !sparsec.bsr<?x?xbf16, block = 128x96>, tensor<?xf32>) -> tensor<?x128x96xbf16>
  sparsec.return %c : tensor<?x128x96xbf16>
}
