sparsec.kernel @attention_bf16_128_128x128_causal(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %pattern: !sparsec.pattern<128x128>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%pattern) causal
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
