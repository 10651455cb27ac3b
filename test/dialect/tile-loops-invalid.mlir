// RUN: sparsec-opt %s --split-input-file --verify-diagnostics

// Each module violates the constraint that its program is named after.

gpu.module @kernels {
  sparsec.program @loop_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.loop' op expects results of the types of its inits, ('i32'), but got ('i64')}}
    %last = "sparsec.loop"(%zero) <{tested = 0 : i64, test = #sparsec<loop_test ne>, number = -1 : i64}> ({
    ^bb0(%count: i32):
      sparsec.yield %count : i32
    }) : (i32) -> i64
  }
}

// -----

gpu.module @kernels {
  sparsec.program @loop_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.loop' op expects to test an i32 of the 1 carried values, but got 1}}
    %last = "sparsec.loop"(%zero) <{tested = 1 : i64, test = #sparsec<loop_test ne>, number = -1 : i64}> ({
    ^bb0(%count: i32):
      sparsec.yield %count : i32
    }) : (i32) -> i32
  }
}

// -----

gpu.module @kernels {
  sparsec.program @loop_c2_type attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.key_walk at %zero {rows = 64}
    %first = sparsec.first_step %walk : <3>
    // expected-error @+1 {{'sparsec.loop' op expects to test an i32 of the 1 carried values, but got 0}}
    %last = sparsec.loop (%step = %first : !sparsec.step<3>) while(%step ne -1) {
      sparsec.yield %step : !sparsec.step<3>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @loop_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.loop' op expects the arguments of its body to be ('i32'), but got ('i64')}}
    %last = "sparsec.loop"(%zero) <{tested = 0 : i64, test = #sparsec<loop_test ne>, number = -1 : i64}> ({
    ^bb0(%count: i64):
      sparsec.yield %zero : i32
    }) : (i32) -> i32
  }
}

// -----

gpu.module @kernels {
  sparsec.program @loop_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.loop' op expects its body to yield ('i32'), but got ()}}
    %last = sparsec.loop (%count = %zero : i32) while(%count ne -1) {
      sparsec.yield
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @loop_tests_another attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{expects the test of a carried value, but got %zero}}
    %last = sparsec.loop (%count = %zero : i32) while(%zero ne -1) {
  }
}

// -----

gpu.module @kernels {
  sparsec.program @loop_test attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{expects ne or sge, but got slt}}
    %last = sparsec.loop (%count = %zero : i32) while(%count slt 3) {
  }
}

// -----

gpu.module @kernels {
  sparsec.program @loop_terminator attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    %last = sparsec.loop (%count = %zero : i32) while(%count ne -1) {
      // expected-error @+1 {{expects sparsec.yield at the end of the region, but got arith.addi}}
      %next = arith.addi %count, %count : i32
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @group_part_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.group_part' op expects rows, columns and across to be at least 1, but got 16, 32 and 0}}
    %group, %row, %column = sparsec.group_part {across = 0, columns = 32, rows = 16}
  }
}

// -----

gpu.module @kernels {
  sparsec.program @if_step_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.if_step' op expects steps of at least 1 key, but got 0}}
    sparsec.if_step %zero of 0 keys (%key) {
      sparsec.barrier
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @if_step_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.if_step' op expects the arguments of its body to be ('i32'), but got ('i64')}}
    "sparsec.if_step"(%zero) <{keys = 32 : i64}> ({
    ^bb0(%key: i64):
      sparsec.barrier
    }) : (i32) -> ()
  }
}
