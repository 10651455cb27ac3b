// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-attach-target{chip=sm_90a},sparsec-select-schedule,sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// Two block rows of 64 queries share a tile, whose steps are the entries of a joint list. Each group asks for its own row. What
// fills up the last step is in neither row, and copies the first block again.
// CHECK-LABEL: sparsec.program @rows_of_64_joint attributes {{{.*}} walk = joint>{{.*}} variant = 0
// CHECK: sparsec.role "consumer" warpgroup(2)
// CHECK: %group, %group_row, %group_column = sparsec.group_part
// CHECK: %[[V_VIEW:.*]] = sparsec.view %key_ring {index = 0 : i64} : !ring1 -> <128, 128, bf16, mn>
// CHECK-NEXT: %[[HALF:.*]] = arith.muli %group, %c64_i32
// CHECK-NEXT: %[[K_HALF:.*]] = sparsec.view %key_ring rows(%[[HALF]]) {index = 0 : i64} : !ring1 -> <64, 128, bf16, k>
// CHECK-NEXT: %[[V_HALF:.*]] = sparsec.view %key_ring rows(%[[HALF]]) {index = 0 : i64} : !ring1 -> <64, 128, bf16, mn>
// CHECK: %[[FIRST:.*]]:3 = scf.if
// CHECK: sparsec.joint_block %[[FIRST]]#0 of %group {keys = 64 : i64}
// CHECK-NEXT: sparsec.joint_block %[[FIRST]]#1 of %group {keys = 64 : i64}
// CHECK: sparsec.loop (%{{.*}} = %next : !cursor, %[[BLOCK:.*]] = %{{.*}} : i32, %[[SECOND:.*]] = %{{.*}} : i32, %{{.*}} : !sparsec.accumulator{{.*}} while(%[[BLOCK]] sge 0)
// CHECK: %[[KEY:.*]], %[[PARTIAL:.*]] = sparsec.joint_block %[[BLOCK]] of %group {keys = 64 : i64}
// CHECK-NEXT: %[[KEY1:.*]], %[[PARTIAL1:.*]] = sparsec.joint_block %[[SECOND]] of %group {keys = 64 : i64}
// CHECK-NEXT: sparsec.row_maximum {{.*}} at(%[[KEY]], %[[KEY1]]) partial(%[[PARTIAL]], %[[PARTIAL1]])
// Behind these steps a list has an end, or divided steps. The first one multiplies the values of the step before.
// CHECK: %[[IS_DIVIDED:.*]] = arith.cmpi ne, %{{.*}}#1, %c-1_i32
// CHECK-NEXT: scf.if %[[IS_DIVIDED]]
// CHECK: sparsec.product %{{.*}}, %[[K_HALF]][%{{.*}}] {depth = 128 : i64} : {{.*}} -> !sparsec.pending<64, 64>
// CHECK: sparsec.product %{{.*}}, %[[V_VIEW]][%{{.*}}], %{{.*}} {depth = 128 : i64} : !sparsec.fragment<64, 128, bf16>
// CHECK: %[[IS_SECOND:.*]] = arith.cmpi ne, %group, %c0_i32
// CHECK-NEXT: %[[OWN:.*]] = arith.select %[[IS_SECOND]], %{{.*}}#2, %{{.*}}#1 : i32
// CHECK-NEXT: sparsec.joint_block %[[OWN]] of %group {keys = 64 : i64}
// CHECK: sparsec.loop ({{.*}}, %[[NEXT:.*]] = %{{.*}} : i32, %{{.*}} : i32, {{.*}} while(%[[NEXT]] ne -1)
// CHECK: sparsec.product %{{.*}}, %[[K_HALF]][%{{.*}}] {depth = 128 : i64} : {{.*}} -> !sparsec.pending<64, 64>
// CHECK: sparsec.product %{{.*}}, %[[V_HALF]][%{{.*}}], %{{.*}} {depth = 64 : i64} : !sparsec.fragment<64, 64, bf16>
// CHECK: sparsec.role "producer" thread(1)
// CHECK: %list = sparsec.joint_list %{{.*}}[%batch, %head, %query] : <64x64>
// CHECK: sparsec.joint_walk %list {blocks = 2 : i64}
// CHECK: ^bb0(%block: i32, %second: i32,
// CHECK: sparsec.joint_block %block {keys = 64 : i64}
// CHECK: %[[IS_NONE:.*]] = arith.cmpi eq, %second, %c805306368_i32
// CHECK-NEXT: %[[COPIED:.*]] = arith.select %[[IS_NONE]], %block, %second
// CHECK-NEXT: sparsec.joint_block %[[COPIED]] {keys = 64 : i64}
// CHECK: sparsec.post %{{.*}} (%block, %second)

// The main program has no joint lists, and so have those for parts of the keys and for any alignment.
// CHECK-LABEL: sparsec.program @rows_of_64 attributes
// CHECK-SAME: variant = 2
// CHECK-NOT: joint
// CHECK: sparsec.key_lists
// CHECK-LABEL: sparsec.program @rows_of_64_parts attributes
// CHECK-SAME: variant = 3
// CHECK-NOT: joint
sparsec.kernel @rows_of_64(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// A step takes one block of 128 keys, which cannot be divided.
// CHECK-LABEL: sparsec.program @long_blocks_joint attributes
// CHECK-NOT: -> <64, 128, bf16, mn>
// CHECK: sparsec.joint_walk %list{{$}}
// CHECK-LABEL: sparsec.program @long_blocks attributes
sparsec.kernel @long_blocks(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<64x128>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<64x128>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Heads of 64, blocks of 128 queries and sequences with lengths of their own have none.
// CHECK-NOT: joint
sparsec.kernel @short_heads(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

sparsec.kernel @rows_of_128(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

sparsec.kernel @lengths(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<64x64>, %n: tensor<?xi32>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) key_lengths(%n) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<64x64>, tensor<?xi32>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
