// RUN: sparsec %s --arch=sm_90a --emit=nvvm | FileCheck %s
// Two concurrent tiles, each with two warpgroups that take turns. A tile has named barriers of its own: its warpgroup
// `turn` waits on number 1 + turn + 2 * tile and lets the other one, 1 - turn, go on. The first turn is warpgroup 0's.
// CHECK-LABEL: llvm.func @concurrent(
// CHECK: [[WARPGROUP:%[0-9]+]] = nvvm.shfl.sync idx
// CHECK: [[TILE:%[0-9]+]] = arith.shrui [[WARPGROUP]], %c1_i32
// CHECK: [[FIRST_OF_TILE:%[0-9]+]] = arith.shli [[TILE]], %c1_i32
// CHECK: [[TURN:%[0-9]+]] = arith.subi [[WARPGROUP]], [[FIRST_OF_TILE]]
// CHECK: arith.cmpi eq, [[TURN]], %c1_i32
// CHECK: [[OF_TILE:%[0-9]+]] = arith.shli [[TILE]], %c1_i32
// CHECK: [[FIRST_BARRIER:%[0-9]+]] = arith.addi [[OF_TILE]], %c1_i32
// CHECK: nvvm.barrier.arrive id = [[FIRST_BARRIER]] number_of_threads = %c256_i32
// CHECK: [[NUMBER:%[0-9]+]] = arith.addi [[TURN]], %c1_i32
// CHECK: [[OF_TILE:%[0-9]+]] = arith.shli [[TILE]], %c1_i32
// CHECK: [[BARRIER:%[0-9]+]] = arith.addi [[NUMBER]], [[OF_TILE]]
// CHECK: nvvm.barrier id = [[BARRIER]] number_of_threads = %c256_i32
// CHECK: [[OTHER:%[0-9]+]] = arith.subi %c1_i32{{[_0-9]*}}, [[TURN]]
// CHECK: [[OTHER_NUMBER:%[0-9]+]] = arith.addi [[OTHER]], %c1_i32
// CHECK: [[OF_TILE:%[0-9]+]] = arith.shli [[TILE]], %c1_i32
// CHECK: [[OTHER_BARRIER:%[0-9]+]] = arith.addi [[OTHER_NUMBER]], [[OF_TILE]]
// CHECK: nvvm.barrier.arrive id = [[OTHER_BARRIER]] number_of_threads = %c256_i32
// CHECK-NOT: nvvm.barrier.arrive
// CHECK: llvm.func @concurrent_parts(
sparsec.kernel @concurrent(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                           %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 1, producer_registers = 24, consumer_registers = 112, concurrent_tiles = 2>} {
  %o = sparsec.attention %q, %k, %v pattern(%p) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap : f32
    %tanh = math.tanh %ratio fastmath<afn> : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>)
    -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
