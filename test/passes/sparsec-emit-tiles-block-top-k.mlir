// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' | FileCheck %s
// The machine kernel that writes in every list of a pattern the key blocks with the highest scores.

// A function beside the program's and the block mask reader, with a warp for each of a CTA's four lists. It takes three
// inputs (scores, counts and a block mask) and k.
// CHECK-LABEL: llvm.func @listed_cut(
// CHECK-SAME: sparsec.variant = 0
// CHECK-LABEL: llvm.func @listed_top_k(
// CHECK-SAME: %{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: i32, %[[MASK:[a-z0-9]+]]: !llvm.ptr<1>, %{{[a-z0-9]+}}: !llvm.ptr<1>, %[[K:[a-z0-9]+]]: i64, %[[COUNTS:[a-z0-9]+]]: !llvm.ptr<1>,
// CHECK-SAME: nvvm.maxntid = array<i32: 128, 1, 1>, nvvm.minctasm = 12 : i32, sparsec.auxiliary = #sparsec.auxiliary<top_k_blocks>, sparsec.concurrent_tiles = 4 : i64, sparsec.kernel = @listed,
// CHECK-SAME: sparsec.parameters = [#sparsec.parameter<kind = tile_rows>, #sparsec.parameter<kind = size, argument = 1, index = 2>, #sparsec.parameter<kind = input, index = 2>, #sparsec.parameter<kind = input>, #sparsec.parameter<kind = number>, #sparsec.parameter<kind = input, index = 1>, #sparsec.parameter<kind = pattern_field, argument = 3, index = 12>,
// CHECK-SAME: sparsec.shared_memory = 0 : i64
// CHECK-SAME: sparsec.threads = 128 : i64, sparsec.tile_k = 1 : i64, sparsec.tile_m = 128 : i64, sparsec.tile_n = 64 : i64}
// CHECK-NOT: sparsec.variant

// With a mask each lane loads the scores and the states of four blocks, and chosen ones go to the list of their state.
// CHECK: llvm.icmp "ne" %[[MASK]],
// CHECK-COUNT-4: llvm.load %{{.*}} invariant : !llvm.ptr<1> -> i8
// CHECK-COUNT-16: st.global.b32
// CHECK: } else {

// Without one it loads scores alone. A score that is not above -infinity, as NaN is not, has the lowest integer. The sum
// with 0 makes 0 of -0, and the bits below the sign turn around where the score is negative.
// CHECK: %[[SCORE:.*]] = llvm.load %{{.*}} invariant : !llvm.ptr<1> -> f32
// CHECK-COUNT-3: llvm.load %{{.*}} invariant : !llvm.ptr<1> -> f32
// CHECK-NOT: -> i8
// CHECK: %[[LEAST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[IS_SCORE:.*]] = arith.cmpf ogt, %[[SCORE]], %[[LEAST]] : f32
// CHECK: %[[COUNTED:.*]] = arith.andi %{{.*}}, %[[IS_SCORE]] : i1
// CHECK: %[[SUM:.*]] = arith.addf %[[SCORE]], %{{.*}} : f32
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]] : f32 to i32
// CHECK: %[[SIGN:.*]] = arith.shrsi %[[BITS]],
// CHECK: %[[TURNED:.*]] = arith.andi %[[SIGN]],
// CHECK: %[[ORDERED:.*]] = arith.xori %[[BITS]], %[[TURNED]] : i32
// CHECK: %[[KEY:.*]] = arith.select %[[COUNTED]], %[[ORDERED]], %{{.*}} : i32

// The limit: k, or the list's own number.
// CHECK: %[[LIMIT:.*]] = arith.trunci %[[K]] : i64 to i32
// CHECK: llvm.icmp "ne" %[[COUNTS]],
// CHECK: arith.maxsi
// CHECK: arith.minsi %[[LIMIT]],

// Blocks beyond the first 128 are loaded again. The warp knows the largest integer, and how many candidates there are.
// CHECK: scf.for
// CHECK: nvvm.redux.sync max
// CHECK: nvvm.redux.sync add

// A round of the search goes down from the end of the range by half of it or by the step, which becomes longer. It is
// four comparisons and a sum of the warp.
// CHECK: arith.constant 8388608 : i32
// CHECK: scf.while
// CHECK: scf.condition
// CHECK: %[[DOWN:.*]] = arith.minui
// CHECK: %[[MIDDLE:.*]] = arith.subi %{{.*}}, %[[DOWN]] : i32
// CHECK: arith.cmpi slt, %[[KEY]], %[[MIDDLE]] : i32
// CHECK: scf.for
// CHECK: nvvm.redux.sync add
// CHECK: arith.shli
// CHECK: arith.ori
// CHECK-NOT: nvvm.vote.sync

// Only if there are ties at the limit the warp counts those above, and looks for the end of the ties.
// CHECK: scf.if
// CHECK: nvvm.redux.sync add
// CHECK: nvvm.vote.sync ballot
// CHECK: nvvm.redux.sync max
// CHECK: } else {

// Votes give the places in the full list; the partial one stays empty.
// CHECK-COUNT-4: st.global.b32
// CHECK: scf.for
// CHECK-COUNT-4: st.global.b32
// CHECK-NOT: st.global
// CHECK-COUNT-2: llvm.store %{{.*}} : i32, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
sparsec.kernel @listed(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                       %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v pattern(%p)
      : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// With causal the candidates end where the last query of the list sees no more keys. The queries of a list follow from
// its number, Sq and the heads of the pattern.
// CHECK-LABEL: llvm.func @later_top_k(
// CHECK-SAME: #sparsec.parameter<kind = size, index = 2>
// CHECK-SAME: #sparsec.parameter<kind = pattern_field, argument = 3, index = 11>
// CHECK: %[[ROWS:.*]] = arith.shrui %{{.*}}, %c7_i32
// CHECK: %[[HEAD:.*]] = arith.divui %{{.*}}, %[[ROWS]]
// CHECK: %[[ROW:.*]] = arith.remui %{{.*}}, %[[ROWS]]
// CHECK: arith.shli %[[ROW]], %c7_i32
sparsec.kernel @later(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                      %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v pattern(%p) causal
      : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// Positions differ from sequence to sequence: all key blocks are candidates, and the kernel asks for no sizes of Q.
// CHECK-LABEL: llvm.func @lengths_top_k(
// CHECK-NOT: #sparsec.parameter<kind = size, index = 2>
// CHECK-SAME: sparsec.shared_memory = 0 : i64
sparsec.kernel @lengths(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                        %p: !sparsec.pattern<128x64>, %n: tensor<?xi32>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v pattern(%p) key_lengths(%n) causal
      : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, !sparsec.pattern<128x64>, tensor<?xi32>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}
