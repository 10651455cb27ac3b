// REQUIRES: ptxas
// RUN: sparsec %s --arch=sm_90a --remarks -o %t.cubin 2>&1 | FileCheck %s
// CHECK-NOT: {{refused by ptxas|warning:}}
// The first schedules spill nothing. These kernels spilled while ptxas could begin with many groups of columns at once.

!w128 = !sparsec.bsr<?x?xbf16, block = 128x128>
!w64 = !sparsec.bsr<?x?xbf16, block = 64x64>
!matrix = tensor<?x?xbf16>
!matrix32 = tensor<?x?xf32>
!column = tensor<?xf32>

// act(y + bias) + residual: the arithmetic needs no load of its own group.
sparsec.kernel @gelu(%w: !w128, %x: !matrix, %o0: !column, %o1: !matrix)
    -> (y: !matrix) {
  %y = sparsec.spmm %w, %x, %o0 per_row, %o1 full x_layout(kn) y_layout(mn)
      epilogue (%acc: f32, %e0: f32, %n1: bf16) {
    %e1 = arith.extf %n1 : bf16 to f32
    %v0 = arith.addf %acc, %e0 : f32
    %c0 = arith.constant 0.044715 : f32
    %c1 = arith.constant 0.7978845608 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %sq = arith.mulf %v0, %v0 : f32
    %cu = arith.mulf %sq, %v0 : f32
    %in = math.fma %c0, %cu, %v0 : f32
    %u = arith.mulf %in, %c1 : f32
    %t = math.tanh %u : f32
    %t1 = arith.addf %t, %one : f32
    %hv = arith.mulf %v0, %half : f32
    %g = arith.mulf %hv, %t1 : f32
    %w0 = arith.addf %g, %e1 : f32
    sparsec.yield %w0 : f32
  }
    : (!w128, !matrix, !column, !matrix) -> !matrix
  sparsec.return %y : !matrix
}

// The same with blocks of 64 and the other layouts.
sparsec.kernel @gelu_64(%w: !w64, %x: !matrix, %o0: !column, %o1: !matrix)
    -> (y: !matrix) {
  %y = sparsec.spmm %w, %x, %o0 per_row, %o1 full x_layout(nk) y_layout(nm)
      epilogue (%acc: f32, %e0: f32, %n1: bf16) {
    %e1 = arith.extf %n1 : bf16 to f32
    %v0 = arith.addf %acc, %e0 : f32
    %c0 = arith.constant 0.044715 : f32
    %c1 = arith.constant 0.7978845608 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %sq = arith.mulf %v0, %v0 : f32
    %cu = arith.mulf %sq, %v0 : f32
    %in = math.fma %c0, %cu, %v0 : f32
    %u = arith.mulf %in, %c1 : f32
    %t = math.tanh %u : f32
    %t1 = arith.addf %t, %one : f32
    %hv = arith.mulf %v0, %half : f32
    %g = arith.mulf %hv, %t1 : f32
    %w0 = arith.addf %g, %e1 : f32
    sparsec.yield %w0 : f32
  }
    : (!w64, !matrix, !column, !matrix) -> !matrix
  sparsec.return %y : !matrix
}

// Long arithmetic.
sparsec.kernel @long(%w: !w128, %x: !matrix, %o0: !column, %o1: !matrix)
    -> (y: !matrix) {
  %y = sparsec.spmm %w, %x, %o0 per_row, %o1 full x_layout(nk) y_layout(nm)
      epilogue (%acc: f32, %e0: f32, %n1: bf16) {
    %e1 = arith.extf %n1 : bf16 to f32
    %v0 = arith.addf %acc, %e0 : f32
    %t = math.tanh %v0 : f32
    %e = math.erf %v0 : f32
    %a = math.absf %v0 : f32
    %l = math.log1p %a : f32
    %te = arith.mulf %t, %e : f32
    %g = arith.addf %te, %l : f32
    %w0 = arith.addf %g, %e1 : f32
    sparsec.yield %w0 : f32
  }
    : (!w128, !matrix, !column, !matrix) -> !matrix
  sparsec.return %y : !matrix
}

// Loads: three full operands, no two elements of which are neighbours.
sparsec.kernel @three_full(%w: !w128, %x: !matrix, %o0: !matrix, %o1: !matrix32, %o2: !matrix)
    -> (y: !matrix) {
  %y = sparsec.spmm %w, %x, %o0 full, %o1 full, %o2 full x_layout(kn) y_layout(nm)
      epilogue (%acc: f32, %n0: bf16, %e1: f32, %n2: bf16) {
    %e0 = arith.extf %n0 : bf16 to f32
    %e2 = arith.extf %n2 : bf16 to f32
    %v0 = arith.addf %acc, %e0 : f32
    %v1 = arith.addf %v0, %e1 : f32
    %z = arith.constant 1.5 : f32
    %g = arith.mulf %v1, %z : f32
    %w0 = arith.addf %g, %e2 : f32
    sparsec.yield %w0 : f32
  }
    : (!w128, !matrix, !matrix, !matrix32, !matrix) -> !matrix
  sparsec.return %y : !matrix
}
