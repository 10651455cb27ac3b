sparsec.kernel @attention_bf16_64_causal_window1024(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v causal window = [1023, -1]
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
