sparsec.kernel @attention_bf16_128_128x128_causal_first_keys(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %pattern: !sparsec.pattern<128x128>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%pattern) causal mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %near_keys = arith.constant 1024 : i32
    %first_keys = arith.constant 4 : i32
    %distance = arith.subi %i, %j : i32
    %is_near = arith.cmpi slt, %distance, %near_keys : i32
    %is_first = arith.cmpi slt, %j, %first_keys : i32
    %r = arith.ori %is_near, %is_first : i1
    sparsec.yield %r : i1
  }
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
