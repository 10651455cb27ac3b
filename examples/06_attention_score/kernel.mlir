// Causal attention whose scores are capped and then pulled down with the distance, by a slope for each head (ALiBi):
// score = 30 * tanh(s / 30) + slope[head] * (key - query), where s = q . k / sqrt(64).
sparsec.kernel @softcap_alibi(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                              %slope: tensor<?xf32>) -> (o: tensor<?x?x?x64xbf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.attention %q, %k, %v extras(%slope) causal
      score (%s: f32, %batch: i32, %head: i32, %query: i32, %key: i32, %slopes: tensor<?xf32>) {
    %inverse_cap = arith.constant 0.0333333351 : f32
    %scaled = arith.mulf %s, %inverse_cap : f32
    %tanh = math.tanh %scaled : f32
    %cap = arith.constant 30.0 : f32
    %capped = arith.mulf %tanh, %cap : f32
    %distance = arith.subi %key, %query : i32
    %distance_f32 = arith.sitofp %distance : i32 to f32
    %slope_of_head = sparsec.element %slopes[%head] : tensor<?xf32>
    %score = math.fma %slope_of_head, %distance_f32, %capped : f32
    sparsec.yield %score : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xf32>)
      -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
