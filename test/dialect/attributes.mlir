// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// The attributes that have no file of their own.

// CHECK: module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
}

// CHECK: sparsec.layouts = [#sparsec.dense_layout<kn>, #sparsec.dense_layout<nk>, #sparsec.result_layout<mn>, #sparsec.result_layout<nm>]
module attributes {sparsec.layouts = [
  #sparsec.dense_layout<kn>, #sparsec.dense_layout<nk>, #sparsec.result_layout<mn>, #sparsec.result_layout<nm>]} {}

// CHECK: sparsec.broadcasts = [#sparsec.broadcast<per_row>, #sparsec.broadcast<per_column>, #sparsec.broadcast<scalar>, #sparsec.broadcast<full>]
module attributes {sparsec.broadcasts = [
  #sparsec.broadcast<per_row>, #sparsec.broadcast<per_column>, #sparsec.broadcast<scalar>,
  #sparsec.broadcast<full>]} {}

// CHECK: sparsec.parameters = [
// CHECK-SAME: #sparsec.parameter<kind = tensor_map, index = 2>,
// CHECK-SAME: #sparsec.parameter<kind = pointer, argument = 3>,
// CHECK-SAME: #sparsec.parameter<kind = row_ptr>, #sparsec.parameter<kind = col_idx>,
// CHECK-SAME: #sparsec.parameter<kind = size, argument = 1, index = 1>,
// CHECK-SAME: #sparsec.parameter<kind = stride, argument = 1>, #sparsec.parameter<kind = scalar, argument = 2>,
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 1>,
// CHECK-SAME: #sparsec.parameter<kind = tile_rows>, #sparsec.parameter<kind = tile_panels>,
// CHECK-SAME: #sparsec.parameter<kind = input>, #sparsec.parameter<kind = tile_period>]
module attributes {sparsec.parameters = [
  #sparsec.parameter<kind = tensor_map, argument = 0, index = 2>, #sparsec.parameter<kind = pointer, argument = 3>,
  #sparsec.parameter<kind = row_ptr>, #sparsec.parameter<kind = col_idx>,
  #sparsec.parameter<kind = size, argument = 1, index = 1>, #sparsec.parameter<kind = stride, argument = 1>,
  #sparsec.parameter<kind = scalar, argument = 2>, #sparsec.parameter<kind = plan_section, index = 1>,
  #sparsec.parameter<kind = tile_rows>, #sparsec.parameter<kind = tile_panels>,
  #sparsec.parameter<kind = input>, #sparsec.parameter<kind = tile_period>]} {}

// CHECK: sparsec.workspaces = [#sparsec.workspace<kind = tile_counter, bytes = 4>, #sparsec.workspace<kind = scratch, bytes = 8>]
module attributes {sparsec.workspaces = [
  #sparsec.workspace<kind = tile_counter, bytes = 4>, #sparsec.workspace<kind = scratch, bytes = 8>]} {}

// CHECK: sparsec.auxiliaries = [#sparsec.auxiliary<pattern_builder>, #sparsec.auxiliary<block_mask_reader>, #sparsec.auxiliary<top_k_blocks>]
module attributes {sparsec.auxiliaries = [
  #sparsec.auxiliary<pattern_builder>, #sparsec.auxiliary<block_mask_reader>, #sparsec.auxiliary<top_k_blocks>]} {}

// CHECK: sparsec.tensor_maps = [#sparsec.tensor_map<kind = dense, argument = 1, swizzle = 128, box = [64, 256]>, #sparsec.tensor_map<kind = bsr_values, argument = 0, swizzle = 0, box = [64, 64, 1]>, #sparsec.tensor_map<kind = dense, argument = 2, swizzle = 128, box = [64, 128, 1, 1]>, #sparsec.tensor_map<kind = dense, argument = 3, swizzle = 32, box = [16, 8, 1, 1, 1]>]
module attributes {sparsec.tensor_maps = [
  #sparsec.tensor_map<kind = dense, argument = 1, swizzle = 128, box = [64, 256]>,
  #sparsec.tensor_map<kind = bsr_values, argument = 0, swizzle = 0, box = [64, 64, 1]>,
  #sparsec.tensor_map<kind = dense, argument = 2, swizzle = 128, box = [64, 128, 1, 1]>,
  #sparsec.tensor_map<kind = dense, argument = 3, swizzle = 32, box = [16, 8, 1, 1, 1]>]} {}

// The layouts of buffers: of tensor copies, of threads, of threads whose rows are no power of two, none, and adjacent rows.
// CHECK: sparsec.buffers = [!sparsec.buffer<128, 96, bf16, strip = 64>, !sparsec.buffer<64, 128, bf16, swizzle = 128>, !sparsec.buffer<64, 96, bf16, swizzle = 64>, !sparsec.buffer<64, 64, bf16, strip = 128, swizzle = 64>, !sparsec.buffer<1, 256, f32>, !sparsec.buffer<64, 8, bf16, adjacent>]
module attributes {sparsec.buffers = [
  !sparsec.buffer<128, 96, bf16, strip = 64>, !sparsec.buffer<64, 128, bf16, swizzle = 128>,
  !sparsec.buffer<64, 96, bf16, swizzle = 64>, !sparsec.buffer<64, 64, bf16, strip = 128, swizzle = 64>,
  !sparsec.buffer<1, 256, f32>, !sparsec.buffer<64, 8, bf16, adjacent>]} {}
