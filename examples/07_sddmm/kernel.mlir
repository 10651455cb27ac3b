// The gradient of a block-sparse weight, added to the one before: dW = beta * dW + alpha * dY^T X at the blocks of W. The
// product sums over tokens: dY is tokens x M and X is tokens x N, as a linear layer holds them.
sparsec.kernel @weight_gradient(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %dy: tensor<?x?xbf16>, %x: tensor<?x?xbf16>,
                                %before: tensor<?x64x64xf32>, %alpha: f32, %beta: f32) -> (dw: tensor<?x64x64xf32>) {
  %dw = sparsec.sddmm %w, %dy, %x, %before full, %alpha scalar, %beta scalar a_layout(km) b_layout(kn)
      epilogue (%acc: f32, %old: f32, %a: f32, %b: f32) {
    %kept = arith.mulf %b, %old : f32
    %sum = math.fma %a, %acc, %kept : f32
    sparsec.yield %sum : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x64x64xf32>, f32, f32)
      -> tensor<?x64x64xf32>
  sparsec.return %dw : tensor<?x64x64xf32>
}
