sparsec.kernel @attention_f16_64_dense(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>) {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}
