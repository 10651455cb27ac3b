// Attention over a part of the keys, and the merge of two parts: ring attention, a prefix that sequences share, or keys
// that several devices hold.

// O and LSE in f32: nothing is rounded between the parts.
sparsec.kernel @part(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf32>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.attention %q, %k, %v
      : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>)
      -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}

sparsec.kernel @merge(%o1: tensor<?x?x?x64xf32>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x64xf32>,
                      %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x64xf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2
      : (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
      -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
