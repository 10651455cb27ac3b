// A layer with fp8 weights and activations of different types, scaled by one number per row and one per column.
sparsec.kernel @f8(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %x: tensor<?x?xf8E5M2>, %row: tensor<?xf32>,
                   %column: tensor<?xf32>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %row per_row, %column per_column x_layout(nk) y_layout(nm)
      epilogue (%acc: f32, %r: f32, %c: f32) {
    %scale = arith.mulf %r, %c : f32
    %scaled = arith.mulf %acc, %scale : f32
    sparsec.yield %scaled : f32
  } : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?x?xf8E5M2>, tensor<?xf32>, tensor<?xf32>)
      -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
