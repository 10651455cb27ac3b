// RUN: sparsec %s --arch=sm_89 --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=HOPPER

// Both operands may be one argument. The other variant reads single elements.
// CHECK: .visible .entry square(
// CHECK: cp.async.cg.shared.global
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: .visible .entry square_unaligned(
// CHECK-NOT: cp.async
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

// A tile has one chunk of results for two staging buffers: the store of the tile before must be done with its buffer.
// HOPPER: .visible .entry square(
// HOPPER: cp.async.bulk.wait_group.read 0;
// HOPPER: stmatrix.sync.aligned.m8n8.x4
// HOPPER: .visible .entry square_unaligned(
sparsec.kernel @square(%a: !sparsec.bsr<?x?xbf16, block = 64x64>) -> (c: tensor<?x1024xbf16>) {
  %c = sparsec.spgemm %a, %a : (!sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x1024xbf16>
  sparsec.return %c : tensor<?x1024xbf16>
}
