// Scales that the epilogue multiplies by: one for each row of W, and one for X by value. The last operand is no scale.
sparsec.kernel @scales(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x64>, %x: tensor<?x?xf8E5M2>, %s: tensor<?xf32>, %t: f32, %r: tensor<?x?xf32>) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x, %s per_row, %t scalar, %r full x_layout(nk) y_layout(nm)
      epilogue (%acc: f32, %row: f32, %scale: f32, %rest: f32) {
    %a = arith.mulf %acc, %row : f32
    %c = arith.mulf %a, %scale : f32
    %d = arith.addf %c, %rest : f32
    sparsec.yield %d : f32
  } : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x64>, tensor<?x?xf8E5M2>, tensor<?xf32>, f32, tensor<?x?xf32>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}
