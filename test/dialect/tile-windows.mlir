// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s

// Programs over windows of a plan have what others have not: entries of the plan, cursors of positions, rings to whose
// positions not all groups come, products of several instructions a step, several producers.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>
gpu.module @kernels {
  // CHECK-LABEL: sparsec.program @windows
  // CHECK-SAME: walk = windows, block_stages = 8
  sparsec.program @windows attributes {kernel = @k, variant = 0, alignment = 16, schedule = #schedule} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    // CHECK: sparsec.ring {releases = 3 : i64, skips}
    %ring = sparsec.ring {releases = 3 : i64, skips} : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    sparsec.role "consumer" warpgroup(3) registers(160) {
      %i = sparsec.group
      // CHECK: sparsec.read_plan window_rows[
      %row = sparsec.read_plan window_rows[%i]
      // CHECK: sparsec.read_plan column_offsets[
      %column_offset = sparsec.read_plan column_offsets[%row]
      // CHECK: sparsec.read_plan columns[
      %column = sparsec.read_plan columns[%column_offset]
      // CHECK: sparsec.read_plan block_offsets[
      %block_offset = sparsec.read_plan block_offsets[%i]
      // CHECK: sparsec.read_plan blocks[
      %block = sparsec.read_plan blocks[%block_offset]
      // CHECK: sparsec.read_plan step_offsets[
      %step_offset = sparsec.read_plan step_offsets[%i]
      // CHECK: %[[POSITION:.*]] = sparsec.read_plan steps[
      %position = sparsec.read_plan steps[%step_offset]
      %begin = sparsec.cursor %ring : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
      // CHECK: sparsec.cursor %{{.*}} at(%[[POSITION]])
      %c = sparsec.cursor %ring at(%position) : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
      %a = sparsec.view %ring {index = 0 : i64} : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]> -> <64, 64, bf16, k>
      %b = sparsec.view %ring {index = 1 : i64} : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]> -> <64, 256, bf16, mn>
      // CHECK: sparsec.product {{.*}} {columns = 128 : i64, depth = 64 : i64}
      %p = sparsec.product %a[%c], %b[%c] {columns = 128 : i64, depth = 64 : i64} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 256, bf16, mn> -> !sparsec.pending<64, 256>
    }
    sparsec.role "x" thread(1) registers(32) {
      %begin = sparsec.cursor %ring : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
      %groups = arith.constant 2 : i32
      // CHECK: sparsec.release %{{.*}}[%{{.*}}] for(%{{.*}})
      sparsec.release %ring[%begin] for(%groups) : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    }
    sparsec.role "w" thread(1) registers(32) {
    }
  }
}
