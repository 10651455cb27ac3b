// y = W x + x: x is an operand twice.
sparsec.kernel @residual(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %x full epilogue (%acc: f32, %r: bf16) {
    %wide = arith.extf %r : bf16 to f32
    %sum = arith.addf %acc, %wide : f32
    sparsec.yield %sum : f32
  } : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Queries and keys are the same tensor.
sparsec.kernel @shared(%q: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %q, %v
      : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
