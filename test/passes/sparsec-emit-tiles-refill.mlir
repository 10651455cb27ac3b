// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-attach-target{chip=sm_90a},sparsec-select-schedule,sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=ONCE < %t.mlir
// The machine kernels that refill plans: those of the index of a transposed operand once for a kernel, behind its first
// program, and those of windows or streams and of the lists of tiles behind the program that reads them. Packed values
// have plans of the host.

// CHECK-LABEL: llvm.func @transposed_count_columns(
// CHECK-SAME: sparsec.auxiliary = #sparsec.auxiliary<count_columns>
// CHECK-SAME: sparsec.parameters = [#sparsec.parameter<kind = size>, #sparsec.parameter<kind = size, index = 1>, #sparsec.parameter<kind = row_ptr>, #sparsec.parameter<kind = col_idx>, #sparsec.parameter<kind = plan_section, index = 22>]
// A word for each of 4096 columns.
// CHECK-SAME: sparsec.shared_memory = 16384 : i64
// CHECK-SAME: sparsec.tile_m = 32 : i64, sparsec.tile_n = 4096 : i64
// CHECK: red.shared.or.b32
// CHECK-LABEL: llvm.func @transposed_write_index(
// CHECK-SAME: sparsec.auxiliary = #sparsec.auxiliary<write_index>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 22>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 14>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 15>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 16>
// CHECK-LABEL: llvm.func @transposed_windows(
// CHECK-LABEL: llvm.func @transposed_count_windows(
// CHECK-SAME: sparsec.auxiliary = #sparsec.auxiliary<count_windows>
// Windows are those of the index, which is in the plan.
// CHECK-NOT: kind = row_ptr
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 14>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 23>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 25>
// CHECK-SAME: sparsec.tile_m = 192 : i64
// CHECK-LABEL: llvm.func @transposed_write_windows(
// CHECK-SAME: sparsec.auxiliary = #sparsec.auxiliary<write_windows>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 8>
// Waypoints and products count down the groups without a step.
// CHECK: red.global.add.u32
// CHECK-LABEL: llvm.func @transposed_write_lists(
// CHECK-SAME: sparsec.auxiliary = #sparsec.auxiliary<write_lists>
// The numbers of tile rows, panels and workers, the costs, the sizes of windows, and where the lists begin; what limits
// the panels at once, M and the begins of rows, which say how many blocks there are; and the lists.
// CHECK-SAME: sparsec.parameters = [#sparsec.parameter<kind = number>, #sparsec.parameter<kind = number, index = 1>, #sparsec.parameter<kind = number, index = 2>, #sparsec.parameter<kind = number, index = 3>, #sparsec.parameter<kind = number, index = 4>, #sparsec.parameter<kind = plan_section, index = 25>, #sparsec.parameter<kind = plan_section>, #sparsec.parameter<kind = number, index = 5>, #sparsec.parameter<kind = number, index = 6>, #sparsec.parameter<kind = size, index = 1>, #sparsec.parameter<kind = plan_section, index = 14>, #sparsec.parameter<kind = plan_section, index = 1>]
// CHECK-SAME: sparsec.tile_m = 1024 : i64, sparsec.tile_n = 4096 : i64
// CHECK: red.shared.add.u32

// The first program by streams has the kernels that refill them.
// CHECK-LABEL: llvm.func @small_parts64(
// CHECK-LABEL: llvm.func @small_count_windows(
// CHECK-SAME: #sparsec.parameter<kind = row_ptr>
// CHECK-LABEL: llvm.func @small_write_windows(
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 11>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 13>
// CHECK: red.global.or.b32
// CHECK-LABEL: llvm.func @small_write_lists(
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 25>
// CHECK-LABEL: llvm.func @small_packed_windows(
// CHECK-LABEL: llvm.func @small_streams(

// CHECK-LABEL: llvm.func @paired_count_pairs(
// CHECK-SAME: sparsec.auxiliary = #sparsec.auxiliary<count_pairs>
// The row and the columns of A, those of B and its columns' number, the pattern, and the counts.
// CHECK-SAME: sparsec.parameters = [#sparsec.parameter<kind = size, argument = 1, index = 1>, #sparsec.parameter<kind = row_ptr>, #sparsec.parameter<kind = col_idx>, #sparsec.parameter<kind = row_ptr, argument = 1>, #sparsec.parameter<kind = col_idx, argument = 1>, #sparsec.parameter<kind = row_ptr, argument = 2>, #sparsec.parameter<kind = col_idx, argument = 2>, #sparsec.parameter<kind = plan_section, index = 24>]
// CHECK-LABEL: llvm.func @paired_write_pairs(
// CHECK-SAME: sparsec.auxiliary = #sparsec.auxiliary<write_pairs>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 24>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 17>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 18>
// CHECK: red.shared.or.b32

// Rows of blocks have no windows: their lists are those of the variant for any width.
// CHECK-LABEL: llvm.func @large(
// CHECK-LABEL: llvm.func @large_write_lists(
// CHECK-SAME: #sparsec.parameter<kind = row_ptr>

// ONCE-COUNT-12: sparsec.auxiliary = #sparsec.auxiliary
// ONCE-NOT: sparsec.auxiliary = #sparsec.auxiliary
sparsec.kernel @transposed(%w: !sparsec.bsr<?x?xbf16, block = 64x64, transposed>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64, transposed>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
sparsec.kernel @small(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
sparsec.kernel @paired(%a: !sparsec.bsr<?x?xbf16, block = 64x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x64>, %p: !sparsec.bsr<?x?xbf16, block = 64x64>) -> (c: tensor<?x64x64xbf16>) {
  %c = sparsec.spgemm %a, %b pattern(%p) : (!sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x64x64xbf16>
  sparsec.return %c : tensor<?x64x64xbf16>
}
sparsec.kernel @large(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
