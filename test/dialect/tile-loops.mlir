// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s

// Ops that name the arguments of their body beside the operands, and what a step visits beside the step.
gpu.module @kernels {
  // CHECK-LABEL: sparsec.program @loops
  sparsec.program @loops attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // CHECK: %[[RING:.*]] = sparsec.ring
    %ring = sparsec.ring : <2, [!sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    sparsec.role "all" warp(4) registers(0) {
      // CHECK: %group, %group_row, %group_column = sparsec.group_part {across = 2 : i64, columns = 256 : i64, rows = 64 : i64}
      %group, %group_row, %group_column = sparsec.group_part {across = 2 : i64, columns = 256 : i64, rows = 64 : i64}
      %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<32, 64, bf16, swizzle = 128>]>
      %walk = sparsec.key_walk at %group_row {rows = 64}
      // CHECK: %first_step, %[[FIRST:.*]] = sparsec.first_step %walk : <3> -> i32
      %first, %number = sparsec.first_step %walk : <3> -> i32
      // CHECK-NEXT: %[[LOOP:.*]]:2 = sparsec.loop (%[[STEP:.*]] = %first_step : !sparsec.step<3>, %[[NUMBER:.*]] = %[[FIRST]] : i32) while(%[[NUMBER]] sge 0) {
      %done:2 = sparsec.loop (%step = %first : !sparsec.step<3>, %upcoming = %number : i32) while(%upcoming sge 0) {
        // CHECK-NEXT: sparsec.if_step %[[NUMBER]] of 32 keys (%[[KEY:.*]]) {
        sparsec.if_step %upcoming of 32 keys (%key) {
          // CHECK-NEXT: sparsec.copy %{{.*}}[%{{.*}}, %{{.*}}, %[[KEY]], %{{.*}}] to %[[RING]]
          sparsec.copy %k[%zero, %zero, %key, %zero] to %ring[%begin] {index = 0 : i64} : tensor<?x?x?x64xbf16>, <2, [!sparsec.buffer<32, 64, bf16, swizzle = 128>]>
        }
        // CHECK: %next_step, %[[NEXT:.*]] = sparsec.next_step %walk[%[[STEP]]] : <3> -> i32
        %next, %block = sparsec.next_step %walk[%step] : <3> -> i32
        // CHECK-NEXT: sparsec.yield %next_step, %[[NEXT]] : !sparsec.step<3>, i32
        sparsec.yield %next, %block : !sparsec.step<3>, i32
      }
      // CHECK: %[[MESSAGE:.*]] = sparsec.loop (%[[COUNT:.*]] = %[[LOOP]]#1 : i32) while(%[[COUNT]] ne -1) attributes {note = "kept"} {
      %message = sparsec.loop (%count = %done#1 : i32) while(%count ne -1) attributes {note = "kept"} {
        // CHECK-NEXT: sparsec.first_step %walk : <3> -> i32
        %step, %block = sparsec.first_step %walk : <3> -> i32
        sparsec.yield %block : i32
      }
      // CHECK: sparsec.loop (%{{.*}} = %{{.*}} : !{{.*}}cursor, %[[BLOCK:.*]] = %{{.*}} : i32) while(%[[BLOCK]] ne -1) {
      %last:2 = sparsec.loop (%slot = %begin : !sparsec.cursor, %block = %message : i32) while(%block ne -1) {
        sparsec.yield %slot, %block : !sparsec.cursor, i32
      }
    }
  }
}
