// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt %s --mlir-print-op-generic | sparsec-opt | FileCheck %s

// One loop and the same steps go over every walk: blocks of a matrix, and keys of a tile.

#schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>

gpu.module @kernels {
  // CHECK-LABEL: sparsec.program @blocks
  sparsec.program @blocks attributes {kernel = @k, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  // CHECK-NEXT: ^bb0(%[[W:.*]]: !sparsec.bsr<?x?xbf16, block = 48x48>, %[[T:.*]]: !sparsec.bsr<?x?xbf16, block = 16x16, transposed>, %[[S:.*]]: tensor<?xf32>):
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 48x48>, %t: !sparsec.bsr<?x?xbf16, block = 16x16, transposed>, %s: tensor<?xf32>):
    %row = arith.constant 3 : i32
    %first, %end = sparsec.row_blocks %w[%row] : <?x?xbf16, block = 48x48>
    // CHECK: %walk = sparsec.block_walk %[[W]] from %first to %end : <?x?xbf16, block = 48x48>
    %one = sparsec.block_walk %w from %first to %end {blocks = 1 : i64} : <?x?xbf16, block = 48x48>
    // CHECK-NEXT: sparsec.walk %walk {
    // CHECK-NEXT: ^bb0(%block: i32, %column: i32):
    sparsec.walk %one {
    ^bb0(%position: i32, %column: i32):
      sparsec.yield
    }
    // CHECK: %[[STEP:.*]], %visited, %{{.*}} = sparsec.first_step %walk : <2> -> i32, i32
    %step, %block, %column = sparsec.first_step %one : <2> -> i32, i32
    // CHECK-NEXT: %next_step, %{{.*}}, %{{.*}} = sparsec.next_step %walk[%[[STEP]]] : <2> -> i32, i32
    %next, %next_block, %next_column = sparsec.next_step %one[%step] : <2> -> i32, i32
    // A part of a block: its first column is behind the others.
    // CHECK-NEXT: %[[CHUNKS:.*]] = sparsec.block_walk %[[W]] from %first to %end {chunk_columns = 32 : i64} : <?x?xbf16, block = 48x48>
    %chunks = sparsec.block_walk %w from %first to %end {chunk_columns = 32 : i64} : <?x?xbf16, block = 48x48>
    // CHECK-NEXT: sparsec.first_step %[[CHUNKS]] : <3> -> i32, i32, i32
    %chunk, %of, %column_of_block, %k = sparsec.first_step %chunks : <3> -> i32, i32, i32
    // The order of a loop may differ from that of the row.
    // CHECK-NEXT: %[[ROTATED:.*]] = sparsec.block_walk %[[W]] from %first to %end {rotated} : <?x?xbf16, block = 48x48>
    %rotated = sparsec.block_walk %w from %first to %end {rotated} : <?x?xbf16, block = 48x48>
    // CHECK-NEXT: sparsec.walk %[[ROTATED]] {
    // CHECK-NEXT: ^bb0(%block: i32, %column: i32):
    sparsec.walk %rotated {
    ^bb0(%place: i32, %its_column: i32):
      sparsec.yield
    }
    // A loop may visit the scales of blocks.
    // CHECK: %[[SCALED:.*]] = sparsec.block_walk %[[W]] scales(%[[S]] : tensor<?xf32>) from %first to %end : <?x?xbf16, block = 48x48>
    %scaled = sparsec.block_walk %w scales(%s : tensor<?xf32>) from %first to %end : <?x?xbf16, block = 48x48>
    // CHECK-NEXT: sparsec.walk %[[SCALED]] {
    // CHECK-NEXT: ^bb0(%block: i32, %column: i32, %scale: f32):
    sparsec.walk %scaled {
    ^bb0(%where: i32, %where_column: i32, %of_where: f32):
      sparsec.yield
    }
    // With a transposed matrix the numbers of blocks are visited, too.
    // CHECK: %[[NUMBERED:.*]] = sparsec.block_walk %[[T]] from %first to %end : <?x?xbf16, block = 16x16, transposed>
    %numbered = sparsec.block_walk %t from %first to %end : <?x?xbf16, block = 16x16, transposed>
    // CHECK-NEXT: %[[COUNT:.*]] = sparsec.walk %[[NUMBERED]] init(%first : i32) -> i32 {
    // CHECK-NEXT: ^bb0(%position: i32, %column: i32, %block: i32, %carried: i32):
    %count = sparsec.walk %numbered init(%first : i32) -> i32 {
    ^bb0(%position: i32, %of_block: i32, %number: i32, %carried: i32):
      // CHECK-NEXT: sparsec.yield %carried : i32
      sparsec.yield %carried : i32
    }
    // CHECK: %[[READ:.*]] = sparsec.first_step %[[NUMBERED]] : <3>
    %begin = sparsec.first_step %numbered : <3>
    // CHECK-NEXT: sparsec.read_step %[[NUMBERED]][%[[READ]]] : <3> -> i32, i32, i32
    %at, %of_block, %number = sparsec.read_step %numbered[%begin] : <3> -> i32, i32, i32
  }

  // CHECK-LABEL: sparsec.program @keys
  sparsec.program @keys attributes {kernel = @k, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%pattern: !sparsec.pattern<128x64>):
    %first = arith.constant 3 : i32
    %lists = sparsec.key_lists %pattern[%first, %first, %first] : !sparsec.pattern<128x64>
    // CHECK: %walk = sparsec.key_walk %lists at %{{.*}} {chunks = 2 : i64, rows = 64 : i64}
    %chunks = sparsec.key_walk %lists at %first {chunks = 2 : i64, part_blocks = 1 : i64, rows = 64 : i64}
    // CHECK-NEXT: sparsec.walk %walk init(%{{.*}} : i32) -> i32 {
    // CHECK-NEXT: ^bb0(%block: i32, %carried: i32):
    %count = sparsec.walk %chunks init(%first : i32) -> i32 {
    ^bb0(%block: i32, %carried: i32):
      sparsec.yield %carried : i32
    }
    // CHECK: %[[STEP:.*]] = sparsec.first_step %walk : <3>
    %step = sparsec.first_step %chunks : <3>
    // CHECK-NEXT: sparsec.read_step %walk[%[[STEP]]] : <3> -> i32
    %number = sparsec.read_step %chunks[%step] : <3> -> i32
    // Two blocks in a step: a loop, and no steps.
    // CHECK-NEXT: %[[PAIRS:.*]] = sparsec.key_walk at %{{.*}} {blocks = 2 : i64, from_end, rows = 64 : i64}
    %pairs = sparsec.key_walk at %first {blocks = 2 : i64, from_end, rows = 64 : i64}
    // CHECK-NEXT: sparsec.walk %[[PAIRS]] attributes {note = "kept"} {
    // CHECK-NEXT: ^bb0(%block: i32, %second: i32):
    sparsec.walk %pairs attributes {note = "kept"} {
    ^bb0(%block: i32, %second: i32):
      sparsec.yield
    }
  }
}
