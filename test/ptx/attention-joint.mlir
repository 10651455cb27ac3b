// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=CONSUMER < %t.ptx

// The producer reads where the list of a tile begins and ends by one load, and the entries of the first step.
// CHECK-LABEL: .visible .entry attention_joint(
// CHECK: ld.global.nc.v2.b32
// CHECK: ld.global.nc.b32
// CHECK: ld.global.nc.b32
// CHECK: cp.async.bulk.tensor

// A consumer shifts an entry by its row, and takes the number of the block and the bit that hides it.
// CONSUMER-LABEL: .visible .entry attention_joint(
// CONSUMER: wgmma.mma_async.sync.aligned.m64n128k16
// CONSUMER-DAG: shr.u32
// CONSUMER-DAG: and.b32 %r{{[0-9]*}}, %r{{[0-9]*}}, 1073741824
// CONSUMER: ex2.approx
// A divided step has 64 keys for each group: 8 products with half of the keys, and 4 with half of the values.
// CONSUMER: wgmma.mma_async.sync.aligned.m64n64k16
// CONSUMER-LABEL: .visible .entry attention(
sparsec.kernel @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
