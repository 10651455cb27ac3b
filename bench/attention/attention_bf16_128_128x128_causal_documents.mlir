sparsec.kernel @attention_bf16_128_128x128_causal_documents(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %pattern: !sparsec.pattern<128x128>, %documents: tensor<?x?xi32>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%pattern) extras(%documents) causal mask (%b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?x?xi32>) {
    %mine = sparsec.element %t[%b, %i] : tensor<?x?xi32>
    %theirs = sparsec.element %t[%b, %j] : tensor<?x?xi32>
    %r = arith.cmpi eq, %mine, %theirs : i32
    sparsec.yield %r : i1
  }
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>, tensor<?x?xi32>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
