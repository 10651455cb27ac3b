// Attention over a block pattern that the mask region makes: sparsec-run --arg p=mask, or sparsec_pattern_from_predicate.

// Every query sees the 256 keys up to its own, and the first 4 keys of all (the "sink").
sparsec.kernel @window_and_sink(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                                %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) causal
      mask (%batch: i32, %head: i32, %query: i32, %key: i32) {
    %distance = arith.subi %query, %key : i32
    %window = arith.constant 256 : i32
    %is_near = arith.cmpi slt, %distance, %window : i32
    %sinks = arith.constant 4 : i32
    %is_sink = arith.cmpi slt, %key, %sinks : i32
    %is_visible = arith.ori %is_near, %is_sink : i1
    sparsec.yield %is_visible : i1
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>)
      -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// Packed documents: a query sees the keys of its own document, whose number stands in a tensor (batch x token).
sparsec.kernel @documents(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                          %p: !sparsec.pattern<64x64>, %document: tensor<?x?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) extras(%document) causal
      mask (%batch: i32, %head: i32, %query: i32, %key: i32, %ids: tensor<?x?xi32>) {
    %of_query = sparsec.element %ids[%batch, %query] : tensor<?x?xi32>
    %of_key = sparsec.element %ids[%batch, %key] : tensor<?x?xi32>
    %is_same = arith.cmpi eq, %of_query, %of_key : i32
    sparsec.yield %is_same : i1
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>, tensor<?x?xi32>)
      -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
