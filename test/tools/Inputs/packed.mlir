// Sequences of queries and keys that one tensor holds one after the other.
sparsec.kernel @packed(%q: tensor<1x2x12x64xbf16>, %k: tensor<1x2x14x64xbf16>, %v: tensor<1x2x14x64xbf16>,
                       %query_starts: tensor<?xi32>, %key_starts: tensor<?xi32>)
    -> (o: tensor<1x2x12x64xbf16>, lse: tensor<1x2x12xf32>) {
  %o, %lse = sparsec.attention %q, %k, %v query_starts(%query_starts) key_starts(%key_starts)
      : (tensor<1x2x12x64xbf16>, tensor<1x2x14x64xbf16>, tensor<1x2x14x64xbf16>, tensor<?xi32>, tensor<?xi32>)
        -> (tensor<1x2x12x64xbf16>, tensor<1x2x12xf32>)
  sparsec.return %o, %lse : tensor<1x2x12x64xbf16>, tensor<1x2x12xf32>
}
