sparsec.kernel @attention(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                          %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) causal
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>)
      -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
