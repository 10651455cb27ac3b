sparsec.kernel @attention_bf16_64_causal_alibi(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %slopes: tensor<?xf32>)
    -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v extras(%slopes) causal score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xf32>) {
    %slope = sparsec.element %t[%h] : tensor<?xf32>
    %distance = arith.subi %j, %i : i32
    %d = arith.sitofp %distance : i32 to f32
    %r = math.fma %slope, %d, %s : f32
    sparsec.yield %r : f32
  }
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xf32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
