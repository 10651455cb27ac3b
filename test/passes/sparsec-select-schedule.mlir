// RUN: sparsec-opt %s --split-input-file --sparsec-select-schedule --verify-diagnostics | FileCheck %s

// A kernel without a schedule gets one, and another for operands of any alignment.
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // CHECK-LABEL: sparsec.kernel @chosen
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma
  sparsec.kernel @chosen(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

// A schedule written by hand wins.
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // CHECK-LABEL: sparsec.kernel @by_hand
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 16, stages = 3, consumers_m = 2, consumers_n = 2>
  sparsec.kernel @by_hand(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 16, stages = 3, consumers_m = 2, consumers_n = 2>} {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

// So does a fallback.
module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  // CHECK-LABEL: sparsec.kernel @fallback_by_hand
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 16, tile_n = 32, tile_k = 16, stages = 2, consumers_m = 1, consumers_n = 2>
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async
  sparsec.kernel @fallback_by_hand(%w: !sparsec.bsr<?x?xf16, block = 64x64>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>)
      attributes {fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 16, tile_n = 32, tile_k = 16, stages = 2, consumers_m = 1, consumers_n = 2>} {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 64x64>, tensor<?x?xf16>) -> tensor<?x?xf16>
    sparsec.return %y : tensor<?x?xf16>
  }
}

// -----

// A schedule that takes any alignment needs no fallback.
module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  // CHECK-LABEL: sparsec.kernel @scalar
  // CHECK-NOT: fallback_schedule
  // CHECK-SAME: copy = scalar
  sparsec.kernel @scalar(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 32, tile_n = 64, tile_k = 16, stages = 2, consumers_m = 2, consumers_n = 2>} {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

// The host has a schedule of its own in place of those of chips, also where these were written by hand.
module attributes {sparsec.target = #sparsec.target<"host">} {
  // CHECK-LABEL: sparsec.kernel @on_host
  // CHECK-SAME: attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 64, tile_k = 64, stages = 1,
  // CHECK-NOT: schedule
  sparsec.kernel @on_host(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2>,
                  fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2>,
                  narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 16, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2>]} {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

// No chip has that schedule.
module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  // expected-error @+1 {{'sparsec.kernel' op expects schedules of a chip, but got that of the host: #sparsec.schedule<instruction = multiply_add, copy = unpack,}}
  sparsec.kernel @of_the_host(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 64, tile_k = 64, stages = 1, consumers_m = 1, consumers_n = 1>} {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

// Five stages of 48 KiB.
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects at most 232448 bytes of shared memory on sm_90a, but the schedule needs 245840 (13392 too many)}}
  sparsec.kernel @too_much_shared_memory(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xf32>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 5, consumers_m = 2, consumers_n = 1>} {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xf32>
    sparsec.return %y : tensor<?x?xf32>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects at most 64512 registers per CTA on sm_90a, but the schedule needs 66560 (2048 too many)}}
  sparsec.kernel @too_many_registers(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, producer_registers = 24, consumer_registers = 248>} {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects what sm_89 has, but got instruction = wgmma}}
  sparsec.kernel @no_such_instruction(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>} {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  // expected-error @+1 {{'sparsec.kernel' op fallback_schedule expects at most 255 registers per thread on sm_89, but the schedule needs 328 (73 too many)}}
  sparsec.kernel @fallback_too_large(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
      attributes {fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 128, tile_n = 128, tile_k = 32, stages = 2, consumers_m = 1, consumers_n = 2>} {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  // expected-error @+1 {{'sparsec.kernel' op fallback_schedule expects copy = scalar, but got cp_async}}
  sparsec.kernel @fallback_needs_alignment(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
      attributes {fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2>} {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
}

// -----

// expected-error @+1 {{expects the attribute sparsec.target; sparsec-attach-target writes it}}
module {}

// -----

// expected-error @+1 {{expects the chip to be one of sm_80, sm_86, sm_89, sm_90a, sm_120, host, but got "sm_12"}}
module attributes {sparsec.target = #sparsec.target<"sm_12">} {}

// -----

// The host walks 64 keys at a time.
// CHECK-LABEL: sparsec.kernel @attention
// CHECK-SAME: attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 64, tile_k = 64, stages = 1,
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @attention(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
      -> (o: tensor<?x?x?x64xbf16>) {
    %o = sparsec.attention %q, %k, %v
      : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}
