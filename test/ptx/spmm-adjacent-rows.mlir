// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_89 --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_90a --emit=tile -o - | FileCheck %s --check-prefix=TILE

// Rows of X as K x N that begin anywhere: a slot has them as memory has them.
// TILE: !ring[[ADJACENT:[0-9]+]] = !sparsec.ring<3, [!sparsec.buffer<16, 64, bf16, swizzle = 128>, !sparsec.buffer<64, 8, bf16, adjacent>]>
// TILE: sparsec.program @few_columns_narrow8 attributes
// TILE-NOT: : !ring[[ADJACENT]]{{$}}
// TILE: sparsec.program @few_columns_narrow8_unaligned attributes
// TILE: sparsec.ring {offsets = array<i64: 0, 6144>} : !ring[[ADJACENT]]{{$}}

// CHECK: .visible .entry few_columns_narrow8_unaligned(
// Whether X begins at a vector and has no gaps is known once.
// CHECK: and.b64 %[[OFFSET:rd[0-9]+]], %{{rd[0-9]+}}, 15;
// CHECK: setp.eq.b64 %{{p[0-9]+}}, %[[OFFSET]], 0;
// If it does, X comes in vectors as W, with zeros beyond its end, else element by element.
// CHECK: cp.async.cg.shared.global [%{{r[0-9]+}}+6144], [%{{rd[0-9]+}}], 16, %{{r[0-9]+}};
// CHECK: ld.global.nc.b16
// CHECK: st.shared.b16
// The operands of a product are pairs of elements.
// CHECK: ld.shared.b16 %[[FIRST:rs[0-9]+]],
// CHECK: ld.shared.b16 %[[SECOND:rs[0-9]+]],
// CHECK: mov.b32 %{{r[0-9]+}}, {%[[FIRST]], %[[SECOND]]};
// CHECK: mma.sync.aligned.m16n8k16

// From 17 columns on, rows may be whole vectors with gaps. Each is copied if it exists, and ldmatrix reads the operands.
// CHECK: .visible .entry few_columns_narrow32_unaligned(
// CHECK: selp.b32 %[[BYTES:r[0-9]+]], 16, 0, %{{p[0-9]+}};
// CHECK: cp.async.cg.shared.global [%{{r[0-9]+}}], [%{{rd[0-9]+}}], 16, %[[BYTES]];
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync.aligned.m16n8k16
sparsec.kernel @few_columns(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 2>, narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 8, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
