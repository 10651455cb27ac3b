// c = (a b + bias) as N x M, and a b + old at the blocks of p.
sparsec.kernel @product(%a: !sparsec.bsr<?x?xbf16, block = 32x16>, %b: !sparsec.bsr<?x?xbf16, block = 16x48>, %bias: tensor<?xf32>)
    -> (c: tensor<?x?xf32>) {
  %c = sparsec.spgemm %a, %b, %bias per_column c_layout(nm) epilogue (%acc: f32, %e: f32) {
    %r = arith.addf %acc, %e : f32
    sparsec.yield %r : f32
  } : (!sparsec.bsr<?x?xbf16, block = 32x16>, !sparsec.bsr<?x?xbf16, block = 16x48>, tensor<?xf32>) -> tensor<?x?xf32>
  sparsec.return %c : tensor<?x?xf32>
}

sparsec.kernel @sampled(%a: !sparsec.bsr<?x?xbf16, block = 32x16>, %b: !sparsec.bsr<?x?xbf16, block = 16x48>,
                        %p: !sparsec.bsr<?x?xbf16, block = 32x48>, %old: tensor<?x32x48xbf16>) -> (c: tensor<?x32x48xf32>) {
  %c = sparsec.spgemm %a, %b pattern(%p), %old full epilogue (%acc: f32, %o: bf16) {
    %wide = arith.extf %o : bf16 to f32
    %r = arith.addf %acc, %wide : f32
    sparsec.yield %r : f32
  } : (!sparsec.bsr<?x?xbf16, block = 32x16>, !sparsec.bsr<?x?xbf16, block = 16x48>, !sparsec.bsr<?x?xbf16, block = 32x48>, tensor<?x32x48xbf16>)
      -> tensor<?x32x48xf32>
  sparsec.return %c : tensor<?x32x48xf32>
}
