sparsec.kernel @attention_bf16_64_softcap_precise(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap : f32
    %tanh = math.tanh %ratio : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  }
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
