// s = alpha * (a b^T) + old at the blocks of p.
sparsec.kernel @sampled(%p: !sparsec.bsr<?x?xbf16, block = 32x16>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>,
                        %old: tensor<?x32x16xbf16>, %alpha: f32) -> (s: tensor<?x32x16xf32>) {
  %s = sparsec.sddmm %p, %a, %b, %old full, %alpha scalar epilogue (%acc: f32, %o: bf16, %c: f32) {
    %wide = arith.extf %o : bf16 to f32
    %r = math.fma %c, %acc, %wide : f32
    sparsec.yield %r : f32
  } : (!sparsec.bsr<?x?xbf16, block = 32x16>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x32x16xbf16>, f32)
      -> tensor<?x32x16xf32>
  sparsec.return %s : tensor<?x32x16xf32>
}
