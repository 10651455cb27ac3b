// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// Settings that have their default value are not printed.
// CHECK: sparsec.minimal = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 8, tile_k = 16, stages = 1, consumers_m = 1, consumers_n = 1>
module attributes {sparsec.minimal = #sparsec.schedule<
  instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 8, tile_k = 16, stages = 1, consumers_m = 1,
  consumers_n = 1, cluster = 1, producer_registers = 0, consumer_registers = 0, group_m = 16, ctas_per_sm = 1,
  concurrent_tiles = 1>} {}

// CHECK: sparsec.cluster = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2>
module attributes {sparsec.cluster = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2>} {}

// CHECK: sparsec.full = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232, group_m = 8, ctas_per_sm = 2, concurrent_tiles = 3>
module attributes {sparsec.full = #sparsec.schedule<
  concurrent_tiles = 3, ctas_per_sm = 2, group_m = 8, consumer_registers = 232, producer_registers = 40, cluster = 2,
  consumers_n = 1, consumers_m = 2, stages = 4, tile_k = 64, tile_n = 256, tile_m = 128, copy = tma,
  instruction = wgmma>} {}

// CHECK: sparsec.scalar = #sparsec.schedule<instruction = mma_sync, copy = scalar,
module attributes {sparsec.scalar = #sparsec.schedule<
  instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 64, tile_k = 32, stages = 2, consumers_m = 2,
  consumers_n = 2>} {}

// CHECK: sparsec.vectors = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 4, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>
module attributes {sparsec.vectors = #sparsec.schedule<
  instruction = none, copy = vector, tile_m = 32, tile_n = 4, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {}
