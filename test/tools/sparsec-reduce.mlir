// The kernel that the script finds interesting stays, the other goes.
// RUN: sparsec-reduce %s -reduction-tree='traversal-mode=0 test=%S/Inputs/adds-a-bias.sh' 2>%t.log | FileCheck %s

// CHECK-NOT: @product
// CHECK: sparsec.kernel @linear(
// CHECK: arith.addf

sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

sparsec.kernel @linear(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %bias: tensor<?xf32>)
    -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x, %bias per_row epilogue (%acc: f32, %b: f32) {
    %sum = arith.addf %acc, %b : f32
    sparsec.yield %sum : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
