// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One function per constraint of dialect/SPEC.md, named after it.

// expected-error @+1 {{expects stages to be from 1 to 16, but got 0}}
module @schedule_c1 attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 0, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects tile_m to be from 1 to 4096, but got 0}}
module @schedule_c1_tile_m attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 0, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects tile_n to be from 1 to 4096, but got 0}}
module @schedule_c1_tile_n attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 0, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects tile_k to be from 1 to 4096, but got 0}}
module @schedule_c1_tile_k attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 0, stages = 3, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects consumers_m to be from 1 to 32, but got 0}}
module @schedule_c1_consumers_m attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 0, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects consumers_n to be from 1 to 32, but got 0}}
module @schedule_c1_consumers_n attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 0>} {}

// -----

// expected-error @+1 {{expects cluster to be from 1 to 16, but got 0}}
module @schedule_c1_cluster attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, cluster = 0>} {}

// -----

// expected-error @+1 {{expects group_m to be from 1 to 65536, but got 0}}
module @schedule_c1_group_m attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, group_m = 0>} {}

// -----

// expected-error @+1 {{expects ctas_per_sm to be from 1 to 32, but got 0}}
module @schedule_c1_ctas_per_sm attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, ctas_per_sm = 0>} {}

// -----

// expected-error @+1 {{expects slices to be from 1 to 32, but got 0}}
module @schedule_c1_slices attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, slices = 0>} {}

// -----

// expected-error @+1 {{expects slices to be from 1 to 32, but got 33}}
module @schedule_c1_large_slices attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, slices = 33>} {}

// -----

// expected-error @+1 {{expects concurrent_tiles to be from 1 to 32, but got 0}}
module @schedule_c1_concurrent_tiles attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, concurrent_tiles = 0>} {}

// -----

// Products of these overflow, and the launch info has 32 bits for each.
// expected-error @+1 {{expects tile_m to be from 1 to 4096, but got 4097}}
module @schedule_c1_large_tile_m attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 4097, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects tile_n to be from 1 to 4096, but got 4097}}
module @schedule_c1_large_tile_n attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 4097, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects tile_k to be from 1 to 4096, but got 4097}}
module @schedule_c1_large_tile_k attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 4097, stages = 3, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects stages to be from 1 to 16, but got 576460752303423488}}
module @schedule_c1_large_stages attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 576460752303423488, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects consumers_m to be from 1 to 32, but got 1152921504606846976}}
module @schedule_c1_large_consumers_m attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1152921504606846976, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects consumers_n to be from 1 to 32, but got 1152921504606846976}}
module @schedule_c1_large_consumers_n attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 1152921504606846976>} {}

// -----

// expected-error @+1 {{expects cluster to be from 1 to 16, but got 17}}
module @schedule_c1_large_cluster attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, cluster = 17>} {}

// -----

// expected-error @+1 {{expects group_m to be from 1 to 65536, but got 4294967296}}
module @schedule_c1_large_group_m attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, group_m = 4294967296>} {}

// -----

// expected-error @+1 {{expects ctas_per_sm to be from 1 to 32, but got 72057594037927936}}
module @schedule_c1_large_ctas_per_sm attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, ctas_per_sm = 72057594037927936>} {}

// -----

// expected-error @+1 {{expects concurrent_tiles to be from 1 to 32, but got 33}}
module @schedule_c1_large_concurrent_tiles attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, concurrent_tiles = 33>} {}

// -----

// expected-error @+1 {{expects tile_m to be a multiple of 16 for each of consumers_m = 2, but got 48}}
module @schedule_c2 attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 48, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects tile_n to be a multiple of 8 for each of consumers_n = 2, but got 40}}
module @schedule_c2_tile_n attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 40, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects tile_k to be a multiple of 16, but got 24}}
module @schedule_c2_tile_k attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 24, stages = 3, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects producer_registers to be 0 or a multiple of 8 from 24 to 256, but got 16}}
module @schedule_c3 attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, producer_registers = 16>} {}

// -----

// expected-error @+1 {{expects consumer_registers to be 0 or a multiple of 8 from 24 to 256, but got 264}}
module @schedule_c3_large attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, consumer_registers = 264>} {}

// -----

// expected-error @+1 {{expects block_stages to be from 2 to 32, or 0 with walk = blocks or joint, but got 1}}
module @schedule_c4 attributes {sparsec.attribute = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 1>} {}

// -----

// expected-error @+1 {{expects block_stages to be from 2 to 32, or 0 with walk = blocks or joint, but got 33}}
module @schedule_c4_most attributes {sparsec.attribute = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 33>} {}

// -----

// expected-error @+1 {{expects block_stages to be from 2 to 32, or 0 with walk = blocks or joint, but got 8}}
module @schedule_c4_blocks attributes {sparsec.attribute = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, block_stages = 8>} {}

// -----

// expected-error @+1 {{expects block_stages to be from 2 to 32, or 0 with walk = blocks or joint, but got 2}}
module @schedule_c4_joint attributes {sparsec.attribute = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 2, consumers_n = 1, walk = joint, block_stages = 2>} {}

// -----

// expected-error @+1 {{expects consumer_registers to be 0 or a multiple of 8 from 24 to 256, but got 100}}
module @schedule_c3_multiple attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2, consumer_registers = 100>} {}

// -----

// expected-error @+1 {{expects copy = vector with instruction = none alone, and there vector or scalar, but got none with cp_async}}
module @schedule_c5 attributes {sparsec.attribute = #sparsec.schedule<instruction = none, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 1, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects copy = vector with instruction = none alone, and there vector or scalar, but got none with unpack}}
module @schedule_c5_unpack attributes {sparsec.attribute = #sparsec.schedule<instruction = none, copy = unpack, tile_m = 64, tile_n = 64, tile_k = 32, stages = 1, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects copy = vector with instruction = none alone, and there vector or scalar, but got mma_sync with vector}}
module @schedule_c5_product attributes {sparsec.attribute = #sparsec.schedule<instruction = mma_sync, copy = vector, tile_m = 64, tile_n = 64, tile_k = 32, stages = 1, consumers_m = 2, consumers_n = 2>} {}

// -----

// expected-error @+1 {{expects copy = vector with instruction = none alone, and there vector or scalar, but got multiply_add with vector}}
module @schedule_c5_host attributes {sparsec.attribute = #sparsec.schedule<instruction = multiply_add, copy = vector, tile_m = 64, tile_n = 64, tile_k = 32, stages = 1, consumers_m = 2, consumers_n = 2>} {}
