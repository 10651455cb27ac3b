// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// Tile ops in pipeline form with two roles: a producer fills the ring, a consumer drains it.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4,
                              consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40,
                              consumer_registers = 232>

gpu.module @kernels {
  // CHECK: sparsec.program @product attributes {{.*}} shared_memory = 197632 : i64
  sparsec.program @product
      attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64,
                  shared_memory = 197632 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    // CHECK: %[[RING:.*]] = sparsec.ring {barrier_offset = 196608 : i64, offsets = array<i64: 0, 65536>} : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
    %ring = sparsec.ring {offsets = array<i64: 0, 65536>, barrier_offset = 196608 : i64} : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
    // CHECK: sparsec.producer attributes {registers = 40 : i64} {
    sparsec.producer attributes {registers = 40 : i64} {
      sparsec.tile_loop {
      ^bb0(%tile: !sparsec.tile):
        // CHECK: sparsec.block_loop %{{.*}} at %{{.*}} attributes {blocks_per_step = 1 : i64, chunks = 1 : i64} : <?x?xbf16, block = 128x64> {
        sparsec.block_loop %w at %tile attributes {blocks_per_step = 1 : i64, chunks = 1 : i64} : <?x?xbf16, block = 128x64> {
        ^bb0(%block: !sparsec.block, %chunk: i32):
          // CHECK: sparsec.acquire %[[RING]] : <4,
          sparsec.acquire %ring : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
          // CHECK-NEXT: sparsec.copy a %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] to %[[RING]][0] {blocks_per_step = 1 : i64, multicast} : !sparsec.bsr<?x?xbf16, block = 128x64>, <4,
          sparsec.copy a %w[%tile, %block, %chunk] to %ring[0] {blocks_per_step = 1 : i64, multicast} : !sparsec.bsr<?x?xbf16, block = 128x64>, <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
          // CHECK-NEXT: sparsec.copy x %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] to %[[RING]][1] {blocks_per_step = 1 : i64} : tensor<?x?xbf16>, <4,
          sparsec.copy x %x[%tile, %block, %chunk] to %ring[1] {blocks_per_step = 1 : i64} : tensor<?x?xbf16>, <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
          // CHECK-NEXT: sparsec.commit %[[RING]] : <4,
          sparsec.commit %ring : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
          // CHECK-NEXT: sparsec.yield{{$}}
          sparsec.yield
        }
      }
    }
    // CHECK: sparsec.consumer attributes {registers = 232 : i64} {
    sparsec.consumer attributes {registers = 232 : i64} {
      sparsec.tile_loop {
      ^bb0(%tile: !sparsec.tile):
        %zero = sparsec.zero : <128, 256>
        %sum = sparsec.block_loop %w at %tile init(%zero : !sparsec.accumulator<128, 256>)
            attributes {blocks_per_step = 1 : i64, chunks = 1 : i64}
            : <?x?xbf16, block = 128x64> -> !sparsec.accumulator<128, 256> {
        ^bb0(%block: !sparsec.block, %chunk: i32, %acc: !sparsec.accumulator<128, 256>):
          // CHECK: %[[BUFFERS:.*]]:2 = sparsec.wait %[[RING]] : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]> -> !sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>
          %a, %b = sparsec.wait %ring : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]> -> !sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>
          // CHECK-NEXT: sparsec.chain %[[BUFFERS]]#0, %[[BUFFERS]]#1, %{{.*}} {depth = array<i64: 64>} :
          %next = sparsec.chain %a, %b, %acc {depth = array<i64: 64>} : <128, 64, bf16>, <64, 256, bf16>, <128, 256>
          // CHECK-NEXT: sparsec.release %[[RING]] : <4,
          sparsec.release %ring : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
          sparsec.yield %next : !sparsec.accumulator<128, 256>
        }
        // CHECK: sparsec.store {{.*}} staging = array<i64: 0, 64, 2>} : <128, 256> -> tensor<?x?xbf16>
        sparsec.store %sum to %y[%tile]
            attributes {broadcast = [], block_rows = 128 : i64, staged, staging = array<i64: 0, 64, 2>}
            : <128, 256> -> tensor<?x?xbf16> {
        ^bb0(%element: f32):
          sparsec.yield %element : f32
        }
      }
    }
  }
}
