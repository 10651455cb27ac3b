// RUN: sparsec-opt %s --split-input-file --verify-diagnostics --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule
// Hand-written schedules of merge that cannot work, and of products that multiply nothing.

// expected-error @+1 {{schedule expects instruction = none, but got mma_sync}}
sparsec.kernel @instruction(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 16, stages = 3, consumers_m = 8, consumers_n = 1>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects tile_n to be 8 elements for each of 1, 2, 4, 8, 16 or 32 lanes, but got 24}}
sparsec.kernel @lanes(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 24, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects tile_n to be 8 elements for each of 1, 2, 4, 8, 16 or 32 lanes, but got 4}}
sparsec.kernel @vectors(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 4, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects tile_n to be 1 elements for each of 1, 2, 4, 8, 16 or 32 lanes, but got 64}}
sparsec.kernel @many_lanes(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = scalar, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects tile_m to be 1 to 8 times the 32 rows that 8 warps have at a time, but got 48}}
sparsec.kernel @rows(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 48, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects tile_m to be 1 to 8 times the 32 rows that 8 warps have at a time, but got 288}}
sparsec.kernel @many_rows(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 288, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects at most 2048 threads per multiprocessor on sm_90a, but the schedule needs 2304 (256 too many)}}
sparsec.kernel @threads(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1, ctas_per_sm = 9>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects tile_k, stages, consumers_n, cluster, concurrent_tiles and slices of 1, and no producer_registers}}
sparsec.kernel @depth(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 2, stages = 1, consumers_m = 8, consumers_n = 1>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects tile_k, stages, consumers_n, cluster, concurrent_tiles and slices of 1, and no producer_registers}}
sparsec.kernel @stages(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 2, consumers_m = 8, consumers_n = 1>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects tile_k, stages, consumers_n, cluster, concurrent_tiles and slices of 1, and no producer_registers}}
sparsec.kernel @consumers(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 2>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects tile_k, stages, consumers_n, cluster, concurrent_tiles and slices of 1, and no producer_registers}}
sparsec.kernel @cluster(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1, cluster = 2>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects tile_k, stages, consumers_n, cluster, concurrent_tiles and slices of 1, and no producer_registers}}
sparsec.kernel @concurrent_tiles(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1, concurrent_tiles = 2>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects tile_k, stages, consumers_n, cluster, concurrent_tiles and slices of 1, and no producer_registers}}
sparsec.kernel @registers(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1, producer_registers = 40>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// expected-error @+1 {{schedule expects what sm_90a has, but got instruction = none}}
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = none, copy = scalar, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 2, consumers_n = 2>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
