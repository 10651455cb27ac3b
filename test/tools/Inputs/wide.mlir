// Sinks, and rows of values that are shorter than those of queries and keys.
sparsec.kernel @wide(%q: tensor<?x?x?x192xbf16>, %k: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x128xbf16>,
                     %sinks: tensor<?xf32>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v sinks(%sinks) causal
    : (tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
