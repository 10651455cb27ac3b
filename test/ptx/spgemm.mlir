// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s

// Both operands may be one argument. A tile has one chunk of results for two staging buffers: the store of the tile
// before must be done with its buffer.
// CHECK: .visible .entry square(
// CHECK: cp.async.bulk.wait_group.read 0;
// CHECK: stmatrix.sync.aligned.m8n8.x4
sparsec.kernel @square(%a: !sparsec.bsr<?x?xbf16, block = 64x64>) -> (c: tensor<?x1024xbf16>) {
  %c = sparsec.spgemm %a, %a : (!sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x1024xbf16>
  sparsec.return %c : tensor<?x1024xbf16>
}
