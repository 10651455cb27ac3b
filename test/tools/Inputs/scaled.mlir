// y = beta * w x + bias, with blocks that are small enough for small matrices.
sparsec.kernel @scaled(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>, %bias: tensor<?xf32>,
                       %beta: f32) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x, %bias per_row, %beta scalar epilogue (%acc: f32, %b: f32, %s: f32) {
    %scaled = arith.mulf %acc, %s : f32
    %sum = arith.addf %scaled, %b : f32
    sparsec.yield %sum : f32
  } : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>, tensor<?xf32>, f32) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}
