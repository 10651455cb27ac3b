// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-attach-target{chip=sm_90a},sparsec-select-schedule,sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// Two block rows of 64 queries share a tile, whose steps are the entries of a joint list. Each group asks for its own row. What
// fills up the last step is in neither row, and copies the first block again.
// CHECK-LABEL: sparsec.program @rows_of_64_joint attributes {{{.*}} walk = joint>{{.*}} variant = 0
// CHECK: sparsec.role "consumer" warpgroup(2)
// CHECK: %group, %group_row, %group_column = sparsec.group_part
// CHECK: %[[FIRST:.*]]:3 = scf.if
// CHECK: sparsec.joint_block %[[FIRST]]#0 of %group {keys = 64 : i64}
// CHECK-NEXT: sparsec.joint_block %[[FIRST]]#1 of %group {keys = 64 : i64}
// CHECK: sparsec.loop (%{{.*}} = %next : !cursor, %[[BLOCK:.*]] = %{{.*}} : i32, %[[SECOND:.*]] = %{{.*}} : i32, %{{.*}} : !sparsec.accumulator
// CHECK: %[[KEY:.*]], %[[PARTIAL:.*]] = sparsec.joint_block %[[BLOCK]] of %group {keys = 64 : i64}
// CHECK-NEXT: %[[KEY1:.*]], %[[PARTIAL1:.*]] = sparsec.joint_block %[[SECOND]] of %group {keys = 64 : i64}
// CHECK-NEXT: sparsec.row_maximum {{.*}} at(%[[KEY]], %[[KEY1]]) partial(%[[PARTIAL]], %[[PARTIAL1]])
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
// CHECK-SAME: variant = 1
// CHECK-NOT: joint
// CHECK: sparsec.key_lists
// CHECK-LABEL: sparsec.program @rows_of_64_parts attributes
// CHECK-SAME: variant = 2
// CHECK-NOT: joint
sparsec.kernel @rows_of_64(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// A step takes one block of 128 keys.
// CHECK-LABEL: sparsec.program @long_blocks_joint attributes
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
