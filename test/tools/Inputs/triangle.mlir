// A mask over a block pattern.
sparsec.kernel @triangle(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                         %p: !sparsec.pattern<64x128>) -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %later = arith.cmpi sgt, %i, %j : i32
    sparsec.yield %later : i1
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x128>)
      -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
