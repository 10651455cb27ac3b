sparsec.kernel @attention_bf16_64_128x128_relative(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %pattern: !sparsec.pattern<128x128>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%pattern) mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %three = arith.constant 3 : i32
    %one = arith.constant 1 : i32
    %distance = arith.subi %i, %j : i32
    %shifted = arith.addi %distance, %h : i32
    %remainder = arith.andi %shifted, %three : i32
    %r = arith.cmpi ne, %remainder, %one : i32
    sparsec.yield %r : i1
  }
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x128>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
