// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, walk = joint>

gpu.module @kernels {
  // CHECK-LABEL: sparsec.program @joint attributes {{{.*}} walk = joint>
  sparsec.program @joint attributes {kernel = @joint, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%pattern: !sparsec.pattern<64x64>):
    sparsec.role "producer" thread(1) registers(40) {
      %batch = arith.constant 0 : i32
      %head = arith.constant 0 : i32
      %first = arith.constant 128 : i32
      %group = arith.constant 1 : i32
      // CHECK: %list = sparsec.joint_list %[[PATTERN:.*]][%{{.*}}, %{{.*}}, %{{.*}}] : <64x64>
      %list = sparsec.joint_list %pattern[%batch, %head, %first] : !sparsec.pattern<64x64>
      // CHECK-NEXT: %walk = sparsec.joint_walk %list {blocks = 2 : i64}
      %walk = sparsec.joint_walk %list {blocks = 2 : i64}
      // CHECK-NEXT: sparsec.walk %walk init(
      // CHECK-NEXT: ^bb0(%[[BLOCK:block]]: i32, %[[SECOND:second]]: i32, %{{.*}}: i32):
      %last = sparsec.walk %walk init(%batch : i32) -> i32 {
      ^bb0(%block: i32, %second: i32, %carried: i32):
        // CHECK-NEXT: %key, %partial = sparsec.joint_block %[[BLOCK]] of %{{.*}} {keys = 64 : i64}
        %key, %partial = sparsec.joint_block %block of %group {keys = 64 : i64}
        // CHECK-NEXT: %{{.*}}, %{{.*}} = sparsec.joint_block %[[SECOND]] {keys = 64 : i64}
        %copied, %none = sparsec.joint_block %second {keys = 64 : i64}
        sparsec.yield %key : i32
      }
      // CHECK: sparsec.joint_walk %list{{$}}
      %single = sparsec.joint_walk %list
    }
  }
}
