// Attention with everything that sparsec-run has to find arguments for: tokens see those of their own document that lie
// before them, nearer ones more.
sparsec.kernel @masked(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                       %p: !sparsec.pattern<64x64>, %scale: f32, %ids: tensor<?x?xi32>, %slopes: tensor<?xf32>)
    -> (o: tensor<?x?x?x64xf32>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) scale(%scale) extras(%ids, %slopes) causal
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %ids_: tensor<?x?xi32>, %slopes_: tensor<?xf32>) {
    %slope = sparsec.element %slopes_[%h] : tensor<?xf32>
    %distance = arith.subi %j, %i : i32
    %far = arith.sitofp %distance : i32 to f32
    %bias = arith.mulf %slope, %far : f32
    %t = arith.addf %s, %bias : f32
    sparsec.yield %t : f32
  } mask (%b: i32, %h: i32, %i: i32, %j: i32, %ids_: tensor<?x?xi32>, %slopes_: tensor<?xf32>) {
    %own = sparsec.element %ids_[%b, %i] : tensor<?x?xi32>
    %other = sparsec.element %ids_[%b, %j] : tensor<?x?xi32>
    %same = arith.cmpi eq, %own, %other : i32
    sparsec.yield %same : i1
  } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, !sparsec.pattern<64x64>, f32,
       tensor<?x?xi32>, tensor<?xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
