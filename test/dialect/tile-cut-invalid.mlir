// RUN: sparsec-opt %s -split-input-file -verify-diagnostics

gpu.module @kernels {
  sparsec.program @tile_loop_c5 attributes {kernel = @k, variant = 0, alignment = 16, cut, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.tile_loop' op expects cut alone, without periodic and counter}}
    sparsec.tile_loop attributes {cut, periodic} {
    ^bb0(%tile_row: i32, %panel: i32, %first: i32, %count: i32):
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @tile_loop_c6 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.tile_loop' op expects cut in a program that is cut}}
    sparsec.tile_loop attributes {cut} {
    ^bb0(%tile_row: i32, %panel: i32, %first: i32, %count: i32):
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @tile_loop_c1 attributes {kernel = @k, variant = 0, alignment = 16, cut, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.tile_loop' op expects}}
    sparsec.tile_loop attributes {cut} {
    ^bb0(%tile_row: i32, %panel: i32):
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @write_sums_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>):
    sparsec.role "consumer" warpgroup(2) registers(232) {
      %sum = sparsec.zero : !sparsec.accumulator<64, 256>
      // expected-error @+1 {{'sparsec.write_sums' op expects a program that is cut}}
      sparsec.write_sums %sum : <64, 256>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @release_sums_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>):
    sparsec.role "consumer" warpgroup(2) registers(232) {
      %sum = sparsec.zero : !sparsec.accumulator<64, 256>
      // expected-error @+1 {{'sparsec.release_sums' op expects a program that is cut}}
      sparsec.release_sums
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @acquire_sums_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>):
    sparsec.role "consumer" warpgroup(2) registers(232) {
      %sum = sparsec.zero : !sparsec.accumulator<64, 256>
      // expected-error @+1 {{'sparsec.acquire_sums' op expects a program that is cut}}
      sparsec.acquire_sums
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @add_sums_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>):
    sparsec.role "consumer" warpgroup(2) registers(232) {
      %sum = sparsec.zero : !sparsec.accumulator<64, 256>
      // expected-error @+1 {{'sparsec.add_sums' op expects a program that is cut}}
      %all = sparsec.add_sums %sum : <64, 256>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @read_sums_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>):
    sparsec.role "consumer" warpgroup(2) registers(232) {
      // expected-error @+1 {{'sparsec.read_sums' op expects a program that is cut}}
      %output, %rows = sparsec.read_sums : <64, 128>, <64>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @write_sums_c1_role attributes {kernel = @k, variant = 0, alignment = 16, cut, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>):
    sparsec.role "producer" thread(1) registers(40) {
      %sum = sparsec.zero : !sparsec.accumulator<64, 256>
      // expected-error @+1 {{'sparsec.write_sums' op expects to be in the first role, of warpgroups}}
      sparsec.write_sums %sum : <64, 256>
    }
  }
}
