// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// CHECK-LABEL: sparsec.kernel @dynamic(
// CHECK-SAME: %w: !sparsec.bsr<?x?xbf16, block = 16x16>
sparsec.kernel @dynamic(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// One size static, a rectangular block, sizes that are no multiples of it.
// CHECK-LABEL: sparsec.kernel @rectangular(
// CHECK-SAME: %w: !sparsec.bsr<?x4096xf16, block = 128x112>
sparsec.kernel @rectangular(%w: !sparsec.bsr<?x4096xf16, block = 128x112>, %x: tensor<4096x?xf16>)
    -> (y: tensor<?x?xf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x4096xf16, block = 128x112>, tensor<4096x?xf16>) -> tensor<?x?xf16>
  sparsec.return %0 : tensor<?x?xf16>
}

// The largest block, and sizes at both ends of what i32 holds.
// CHECK-LABEL: sparsec.kernel @limits(
// CHECK-SAME: %w: !sparsec.bsr<0x2147418111xbf16, block = 256x256>
sparsec.kernel @limits(%w: !sparsec.bsr<0x2147418111xbf16, block = 256x256>, %x: tensor<?x?xbf16>)
    -> (y: tensor<0x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<0x2147418111xbf16, block = 256x256>, tensor<?x?xbf16>) -> tensor<0x?xbf16>
  sparsec.return %0 : tensor<0x?xbf16>
}

// fp8, which sparsec.spmm takes.
// CHECK: module attributes {sparsec.test = [!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, !sparsec.bsr<?x?xf8E5M2, block = 64x64>]}
module attributes {sparsec.test = [!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, !sparsec.bsr<?x?xf8E5M2, block = 64x64>]} {}

// W is 100 x 4096; the caller passes 4096 x 100, with blocks of 112 x 128.
// CHECK-LABEL: sparsec.kernel @transposed(
// CHECK-SAME: %w: !sparsec.bsr<100x4096xf16, block = 128x112, transposed>
sparsec.kernel @transposed(%w: !sparsec.bsr<100x4096xf16, block = 128x112, transposed>, %x: tensor<4096x?xf16>)
    -> (y: tensor<100x?xf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<100x4096xf16, block = 128x112, transposed>, tensor<4096x?xf16>) -> tensor<100x?xf16>
  sparsec.return %0 : tensor<100x?xf16>
}
