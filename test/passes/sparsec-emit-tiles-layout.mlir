// RUN: sparsec-opt %s --sparsec-emit-tiles | FileCheck %s

// Copies, tensor maps, descriptors and ldmatrix take the layout of a buffer from its type.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2,
                              consumers_m = 1, consumers_n = 1>
#warps = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 64, stages = 1,
                           consumers_m = 1, consumers_n = 1>

gpu.module @kernels {
  // The upper word of a descriptor has the swizzle in its two highest bits, 1 for 128 bytes and 2 for 64, and in its
  // lowest bits the bytes of 8 rows, divided by 16 (PTX ISA 9.7.15.5.1.2).
  // CHECK-LABEL: llvm.func @strips_of_128
  // CHECK-SAME: swizzle = 128, box = [64, 64, 1]
  // CHECK-SAME: swizzle = 128, box = [64, 64]
  // CHECK: arith.constant 1073741888 : i32
  // CHECK: nvvm.wgmma.fence
  // CHECK-COUNT-2: nvvm.cp.async.bulk.tensor
  sparsec.program @strips_of_128 attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64, shared_memory = 98560 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xf32>):
    %ring = sparsec.ring {offsets = array<i64: 0, 16384>, barrier_offset = 32768 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
    sparsec.role "consumer" warpgroup(1) registers(0) {
      %zero = arith.constant 0 : i32
      %group = sparsec.group
      %a = sparsec.view %ring {index = 0 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, k>
      %b = sparsec.view %ring {index = 1 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, k>
      %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
      sparsec.wait %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
      %none = sparsec.zero : !sparsec.pending<64, 64>
      %p = sparsec.product %a[%c], %b[%c], %none {depth = 64 : i64} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 64, bf16, k>, !sparsec.pending<64, 64> -> !sparsec.pending<64, 64>
      %sum = sparsec.await %p {outstanding = 0 : i64} : <64, 64> -> !sparsec.accumulator<64, 64>
      sparsec.store %sum to %y[%zero, %zero, %zero] part %group at (%zero, %zero)
          attributes {broadcast = [], block_rows = 64 : i64} : <64, 64> -> tensor<?x?xf32> {
      ^bb0(%element: f32):
        sparsec.yield %element : f32
      }
    }
    sparsec.role "producer" thread(1) registers(0) {
      %zero = arith.constant 0 : i32
      %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
      sparsec.acquire %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
      sparsec.post %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
      sparsec.copy %w[%zero, %zero, %zero] to %ring[%c] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
      sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 1 : i64} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
    }
  }

  // CHECK-LABEL: llvm.func @strips_of_64
  // CHECK-SAME: swizzle = 64, box = [32, 64, 1]
  // CHECK-SAME: swizzle = 64, box = [32, 64]
  // CHECK: arith.constant -2147483616 : i32
  // CHECK: nvvm.wgmma.fence
  // CHECK-COUNT-4: nvvm.cp.async.bulk.tensor
  sparsec.program @strips_of_64 attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64, shared_memory = 98560 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xf32>):
    %ring = sparsec.ring {offsets = array<i64: 0, 16384>, barrier_offset = 32768 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 64>, !sparsec.buffer<64, 64, bf16, strip = 64>]>
    sparsec.role "consumer" warpgroup(1) registers(0) {
      %zero = arith.constant 0 : i32
      %group = sparsec.group
      %a = sparsec.view %ring {index = 0 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 64>, !sparsec.buffer<64, 64, bf16, strip = 64>]> -> <64, 64, bf16, k>
      %b = sparsec.view %ring {index = 1 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 64>, !sparsec.buffer<64, 64, bf16, strip = 64>]> -> <64, 64, bf16, k>
      %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 64>, !sparsec.buffer<64, 64, bf16, strip = 64>]>
      sparsec.wait %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 64>, !sparsec.buffer<64, 64, bf16, strip = 64>]>
      %none = sparsec.zero : !sparsec.pending<64, 64>
      %p = sparsec.product %a[%c], %b[%c], %none {depth = 64 : i64} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 64, bf16, k>, !sparsec.pending<64, 64> -> !sparsec.pending<64, 64>
      %sum = sparsec.await %p {outstanding = 0 : i64} : <64, 64> -> !sparsec.accumulator<64, 64>
      sparsec.store %sum to %y[%zero, %zero, %zero] part %group at (%zero, %zero)
          attributes {broadcast = [], block_rows = 64 : i64} : <64, 64> -> tensor<?x?xf32> {
      ^bb0(%element: f32):
        sparsec.yield %element : f32
      }
    }
    sparsec.role "producer" thread(1) registers(0) {
      %zero = arith.constant 0 : i32
      %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 64>, !sparsec.buffer<64, 64, bf16, strip = 64>]>
      sparsec.acquire %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 64>, !sparsec.buffer<64, 64, bf16, strip = 64>]>
      sparsec.post %ring[%c] : <2, [!sparsec.buffer<64, 64, bf16, strip = 64>, !sparsec.buffer<64, 64, bf16, strip = 64>]>
      sparsec.copy %w[%zero, %zero, %zero] to %ring[%c] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, <2, [!sparsec.buffer<64, 64, bf16, strip = 64>, !sparsec.buffer<64, 64, bf16, strip = 64>]>
      sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 1 : i64} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 64>, !sparsec.buffer<64, 64, bf16, strip = 64>]>
    }
  }

  // CHECK-LABEL: llvm.func @vectors_in_swizzle
  // CHECK: arith.xori %{{.*}} : i32
  // CHECK: nvvm.cp.async.shared.global
  // CHECK: nvvm.cp.async.commit.group
  // CHECK: arith.xori %{{.*}} : i32
  // CHECK: nvvm.ldmatrix
  sparsec.program @vectors_in_swizzle attributes {kernel = @product, schedule = #warps, variant = 1 : i64, alignment = 16 : i64, shared_memory = 10240 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xf32>):
    %ring = sparsec.ring {offsets = array<i64: 0, 2048>} : <1, [!sparsec.buffer<16, 64, bf16, swizzle = 128>, !sparsec.buffer<64, 64, bf16, swizzle = 128>]>
    sparsec.role "all" warp(1) registers(0) {
      %a = sparsec.view %ring {index = 0 : i64} : <1, [!sparsec.buffer<16, 64, bf16, swizzle = 128>, !sparsec.buffer<64, 64, bf16, swizzle = 128>]> -> <16, 64, bf16, k>
      %c = sparsec.cursor %ring : <1, [!sparsec.buffer<16, 64, bf16, swizzle = 128>, !sparsec.buffer<64, 64, bf16, swizzle = 128>]>
      %b = sparsec.view %ring {index = 1 : i64} : <1, [!sparsec.buffer<16, 64, bf16, swizzle = 128>, !sparsec.buffer<64, 64, bf16, swizzle = 128>]> -> <64, 64, bf16, k>
      %zero = arith.constant 0 : i32
      %group = sparsec.group
      sparsec.copy_group {
        sparsec.copy %w[%zero, %zero, %zero] to %ring[%c] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, <1, [!sparsec.buffer<16, 64, bf16, swizzle = 128>, !sparsec.buffer<64, 64, bf16, swizzle = 128>]>
        sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 1 : i64} : tensor<?x?xbf16>, <1, [!sparsec.buffer<16, 64, bf16, swizzle = 128>, !sparsec.buffer<64, 64, bf16, swizzle = 128>]>
      }
      sparsec.await_copies {outstanding = 0 : i64}
      sparsec.barrier
      %none = sparsec.zero : !sparsec.accumulator<16, 64>
      %sum = sparsec.product %a[%c], %b[%c], %none {depth = 64 : i64} : !sparsec.view<16, 64, bf16, k>, !sparsec.view<64, 64, bf16, k>, !sparsec.accumulator<16, 64> -> !sparsec.accumulator<16, 64>
      sparsec.store %sum to %y[%zero, %zero, %zero] part %group at (%zero, %zero)
          attributes {broadcast = [], block_rows = 64 : i64} : <16, 64> -> tensor<?x?xf32> {
      ^bb0(%element: f32):
        sparsec.yield %element : f32
      }
    }
  }

  // CHECK-LABEL: llvm.func @vectors_in_order
  // CHECK-NOT: arith.xori %{{.*}} : i32
  // CHECK: nvvm.cp.async.commit.group
  // CHECK-NOT: arith.xori %{{.*}} : i32
  // CHECK: nvvm.ldmatrix
  sparsec.program @vectors_in_order attributes {kernel = @product, schedule = #warps, variant = 1 : i64, alignment = 16 : i64, shared_memory = 10240 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xf32>):
    %ring = sparsec.ring {offsets = array<i64: 0, 2048>} : <1, [!sparsec.buffer<16, 64, bf16>, !sparsec.buffer<64, 64, bf16>]>
    sparsec.role "all" warp(1) registers(0) {
      %a = sparsec.view %ring {index = 0 : i64} : <1, [!sparsec.buffer<16, 64, bf16>, !sparsec.buffer<64, 64, bf16>]> -> <16, 64, bf16, k>
      %c = sparsec.cursor %ring : <1, [!sparsec.buffer<16, 64, bf16>, !sparsec.buffer<64, 64, bf16>]>
      %b = sparsec.view %ring {index = 1 : i64} : <1, [!sparsec.buffer<16, 64, bf16>, !sparsec.buffer<64, 64, bf16>]> -> <64, 64, bf16, k>
      %zero = arith.constant 0 : i32
      %group = sparsec.group
      sparsec.copy_group {
        sparsec.copy %w[%zero, %zero, %zero] to %ring[%c] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, <1, [!sparsec.buffer<16, 64, bf16>, !sparsec.buffer<64, 64, bf16>]>
        sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 1 : i64} : tensor<?x?xbf16>, <1, [!sparsec.buffer<16, 64, bf16>, !sparsec.buffer<64, 64, bf16>]>
      }
      sparsec.await_copies {outstanding = 0 : i64}
      sparsec.barrier
      %none = sparsec.zero : !sparsec.accumulator<16, 64>
      %sum = sparsec.product %a[%c], %b[%c], %none {depth = 64 : i64} : !sparsec.view<16, 64, bf16, k>, !sparsec.view<64, 64, bf16, k>, !sparsec.accumulator<16, 64> -> !sparsec.accumulator<16, 64>
      sparsec.store %sum to %y[%zero, %zero, %zero] part %group at (%zero, %zero)
          attributes {broadcast = [], block_rows = 64 : i64} : <16, 64> -> tensor<?x?xf32> {
      ^bb0(%element: f32):
        sparsec.yield %element : f32
      }
    }
  }

  // Two blocks of 16 columns are strips of 16 rows of 32 bytes. Vectors 2 and 3 of a row are in the second one, and the
  // second k of A is 512 bytes behind the first.
  // CHECK-LABEL: llvm.func @strips_of_blocks
  // CHECK: nvvm.cp.async.shared.global
  // CHECK: nvvm.cp.async.commit.group
  // CHECK: nvvm.ldmatrix
  // CHECK: %[[STRIP:.*]] = arith.constant 512 : i32
  // CHECK: llvm.getelementptr %{{.*}}[%[[STRIP]]]
  // CHECK: nvvm.ldmatrix
  sparsec.program @strips_of_blocks attributes {kernel = @product, schedule = #warps, variant = 1 : i64, alignment = 16 : i64, shared_memory = 10240 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>, %y: tensor<?x?xf32>):
    %ring = sparsec.ring {offsets = array<i64: 0, 1024>} : <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 16, bf16, swizzle = 32>]>
    sparsec.role "all" warp(1) registers(0) {
      %a = sparsec.view %ring {index = 0 : i64} : <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 16, bf16, swizzle = 32>]> -> <16, 32, bf16, k>
      %c = sparsec.cursor %ring : <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 16, bf16, swizzle = 32>]>
      %b = sparsec.view %ring {index = 1 : i64} : <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 16, bf16, swizzle = 32>]> -> <32, 16, bf16, mn>
      %zero = arith.constant 0 : i32
      %group = sparsec.group
      sparsec.copy_group {
        sparsec.copy %w[%zero, %zero, %zero] block_columns(%zero, %zero) to %ring[%c] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 16x16>, <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 16, bf16, swizzle = 32>]>
        sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 1 : i64} : tensor<?x?xbf16>, <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 16, bf16, swizzle = 32>]>
      }
      sparsec.await_copies {outstanding = 0 : i64}
      sparsec.barrier
      %none = sparsec.zero : !sparsec.accumulator<16, 16>
      %sum = sparsec.product %a[%c], %b[%c], %none {depth = 32 : i64} : !sparsec.view<16, 32, bf16, k>, !sparsec.view<32, 16, bf16, mn>, !sparsec.accumulator<16, 16> -> !sparsec.accumulator<16, 16>
      sparsec.store %sum to %y[%zero, %zero, %zero] part %group at (%zero, %zero)
          attributes {broadcast = [], block_rows = 16 : i64} : <16, 16> -> tensor<?x?xf32> {
      ^bb0(%element: f32):
        sparsec.yield %element : f32
      }
    }
  }

  // Eight columns of X are the operand of one instruction: two matrices of K in place of four.
  // CHECK-LABEL: llvm.func @eight_columns
  // CHECK: nvvm.ldmatrix {{.*}}num = 4 : i32
  // CHECK: nvvm.ldmatrix {{.*}}num = 2 : i32
  sparsec.program @eight_columns attributes {kernel = @product, schedule = #warps, variant = 1 : i64, alignment = 16 : i64, shared_memory = 10240 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>, %y: tensor<?x?xf32>):
    %ring = sparsec.ring {offsets = array<i64: 0, 1024>} : <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 8, bf16>]>
    sparsec.role "all" warp(1) registers(0) {
      %a = sparsec.view %ring {index = 0 : i64} : <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 8, bf16>]> -> <16, 32, bf16, k>
      %c = sparsec.cursor %ring : <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 8, bf16>]>
      %b = sparsec.view %ring {index = 1 : i64} : <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 8, bf16>]> -> <32, 8, bf16, mn>
      %zero = arith.constant 0 : i32
      %group = sparsec.group
      sparsec.copy_group {
        sparsec.copy %w[%zero, %zero, %zero] block_columns(%zero, %zero) to %ring[%c] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 16x16>, <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 8, bf16>]>
        sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 1 : i64} : tensor<?x?xbf16>, <1, [!sparsec.buffer<16, 32, bf16, strip = 32>, !sparsec.buffer<32, 8, bf16>]>
      }
      sparsec.await_copies {outstanding = 0 : i64}
      sparsec.barrier
      %none = sparsec.zero : !sparsec.accumulator<16, 8>
      %sum = sparsec.product %a[%c], %b[%c], %none {depth = 32 : i64} : !sparsec.view<16, 32, bf16, k>, !sparsec.view<32, 8, bf16, mn>, !sparsec.accumulator<16, 8> -> !sparsec.accumulator<16, 8>
      sparsec.store %sum to %y[%zero, %zero, %zero] part %group at (%zero, %zero)
          attributes {broadcast = [], block_rows = 16 : i64} : <16, 8> -> tensor<?x?xf32> {
      ^bb0(%element: f32):
        sparsec.yield %element : f32
      }
    }
  }
}
