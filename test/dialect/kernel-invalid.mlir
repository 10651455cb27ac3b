// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One function per constraint of dialect/SPEC.md, named after it.

// expected-error @+1 {{'sparsec.kernel' op expects its body to be one anchor op (sparsec.attention, sparsec.merge, sparsec.sddmm, sparsec.spgemm or sparsec.spmm) and sparsec.return}}
sparsec.kernel @kernel_c1(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %c = arith.constant 1.0 : f32
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects its body to be one anchor op (sparsec.attention, sparsec.merge, sparsec.sddmm, sparsec.spgemm or sparsec.spmm) and sparsec.return}}
sparsec.kernel @kernel_c1_two_anchors(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %w2: !sparsec.bsr<?x?xbf16, block = 64x64>, %x2: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  %1 = sparsec.spmm %w2, %x2 : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects its body to be one anchor op (sparsec.attention, sparsec.merge, sparsec.sddmm, sparsec.spgemm or sparsec.spmm) and sparsec.return}}
sparsec.kernel @kernel_c1_no_anchor(%x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  sparsec.return %x : tensor<?x?xbf16>
}

// -----

sparsec.kernel @kernel_c1_no_return(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{expects sparsec.return at the end of the region, but got sparsec.spmm}}
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects sparsec.return at the end of the region, but got nothing}}
sparsec.kernel @kernel_c1_empty() -> (y: tensor<?x?xbf16>) {
}

// -----

// expected-error @+1 {{expects -> (NAME: TYPE, ...) behind the arguments, but got no result}}
sparsec.kernel @no_results(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) {
  sparsec.return
}

// -----

// expected-error @+1 {{expects -> (NAME: TYPE, ...) behind the arguments, but got no result}}
sparsec.kernel @empty_results(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> () {
  sparsec.return
}

// -----

// expected-error @+1 {{expects a result to be NAME: TYPE}}
sparsec.kernel @unnamed_result(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (tensor<?x?xbf16>) {
  sparsec.return
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects argument 'b' to be used, but got no use}}
sparsec.kernel @kernel_c2(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %b: f32) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects sparsec.return to give the results of sparsec.spmm in order}}
sparsec.kernel @kernel_c3(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects the declared results to have the types of those of sparsec.spmm, ('tensor<?x?xbf16>'), but got ('tensor<?x?xf32>')}}
sparsec.kernel @kernel_c3_types(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xf32>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects the name of argument 0 to be an identifier of at most 63 characters, but got '0'}}
sparsec.kernel @kernel_c4(%0: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %1 = sparsec.spmm %0, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %1 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects the name of result 0 to be an identifier of at most 63 characters, but got ''}}
sparsec.kernel @kernel_c4_result(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> ("": tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects the name of result 0 to be an identifier of at most 63 characters, but got 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'}}
sparsec.kernel @kernel_c4_long(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects the name of the kernel to be an identifier of at most 63 characters, but got 'kernel c4'}}
sparsec.kernel @"kernel c4"(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects one name per argument, but got 1 names for 2}}
"sparsec.kernel"() <{
  sym_name = "kernel_c5", argument_names = ["w"], result_names = ["y"],
  function_type = (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>}> ({
^bb0(%0: !sparsec.bsr<?x?xbf16, block = 64x64>, %1: tensor<?x?xbf16>):
  %2 = "sparsec.spmm"(%0, %1) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>}> ({}) : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  "sparsec.return"(%2) : (tensor<?x?xbf16>) -> ()
}) : () -> ()

// -----

// expected-error @+1 {{'sparsec.kernel' op expects one name per result, but got 0 names for 1}}
"sparsec.kernel"() <{
  sym_name = "kernel_c5_result", argument_names = ["w", "x"], result_names = [],
  function_type = (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>}> ({
^bb0(%0: !sparsec.bsr<?x?xbf16, block = 64x64>, %1: tensor<?x?xbf16>):
  %2 = "sparsec.spmm"(%0, %1) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>}> ({}) : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  "sparsec.return"(%2) : (tensor<?x?xbf16>) -> ()
}) : () -> ()

// -----

// expected-error @+1 {{'sparsec.kernel' op expects the names of arguments and results to differ, but got 'x' twice}}
sparsec.kernel @kernel_c6(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (x: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects argument 2 to be a !sparsec.bsr, a !sparsec.pattern, f32, or a ranked tensor of bf16, f16, f32, f8E4M3FN, f8E5M2, i64, i32 or i8 without an encoding, but got 'i32'}}
sparsec.kernel @kernel_c7(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %n: i32) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects argument 2 to be a !sparsec.bsr, a !sparsec.pattern, f32, or a ranked tensor of bf16, f16, f32, f8E4M3FN, f8E5M2, i64, i32 or i8 without an encoding, but got 'tensor<*xf32>'}}
sparsec.kernel @kernel_c7_unranked(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %n: tensor<*xf32>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects argument 2 to be a !sparsec.bsr, a !sparsec.pattern, f32, or a ranked tensor of bf16, f16, f32, f8E4M3FN, f8E5M2, i64, i32 or i8 without an encoding, but got 'tensor<?xf64>'}}
sparsec.kernel @kernel_c7_element(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %n: tensor<?xf64>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects argument 1 to be a !sparsec.bsr, a !sparsec.pattern, f32, or a ranked tensor of bf16, f16, f32, f8E4M3FN, f8E5M2, i64, i32 or i8 without an encoding, but got 'tensor<?x?xbf16, "column-major">'}}
sparsec.kernel @kernel_c7_encoding(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16, "column-major">) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16, "column-major">) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects result 0 to be a ranked tensor of bf16, f16, f32, f8E4M3FN or f8E5M2 without an encoding, but got 'tensor<?x?xf64>'}}
sparsec.kernel @kernel_c8(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xf64>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xf64>
  sparsec.return %0 : tensor<?x?xf64>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects argument 2 to be a !sparsec.bsr, a !sparsec.pattern, f32, or a ranked tensor of bf16, f16, f32, f8E4M3FN, f8E5M2, i64, i32 or i8 without an encoding, but got 'tensor<?xi32, "sorted">'}}
sparsec.kernel @kernel_c7_index_encoding(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %n: tensor<?xi32, "sorted">) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects result 0 to be a ranked tensor of bf16, f16, f32, f8E4M3FN or f8E5M2 without an encoding, but got 'tensor<?x?xi32>'}}
sparsec.kernel @kernel_c8_integers(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xi32>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xi32>
  sparsec.return %0 : tensor<?x?xi32>
}

// -----

// expected-note @+1 {{see existing symbol definition here}}
sparsec.kernel @kernel_c9(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
// expected-error @+1 {{redefinition of symbol named 'kernel_c9'}}
sparsec.kernel @kernel_c9(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

gpu.module @modules {
  // expected-error @+1 {{'sparsec.kernel' op expects parent op 'builtin.module'}}
  sparsec.kernel @kernel_c10(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
    %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
  }
}

// -----

module @kernel_c11 {
  // expected-error @+1 {{'sparsec.kernel' op expects a name that means nothing else in an image, but got 'sparsec_launch_info'}}
  sparsec.kernel @sparsec_launch_info(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
    %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %0 : tensor<?x?xbf16>
  }
}

// -----

module @kernel_c11_dynamic_shared_memory {
  // expected-error @+1 {{'sparsec.kernel' op expects a name that means nothing else in an image, but got 'dynamic_shared_memory'}}
  sparsec.kernel @dynamic_shared_memory(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
    %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %0 : tensor<?x?xbf16>
  }
}

// -----

module @kernel_c11_WARP_SZ {
  // expected-error @+1 {{'sparsec.kernel' op expects a name that means nothing else in an image, but got 'WARP_SZ'}}
  sparsec.kernel @WARP_SZ(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
    %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %0 : tensor<?x?xbf16>
  }
}

// -----

module @kernel_c11_llvm {
  // expected-error @+1 {{'sparsec.kernel' op expects a name that means nothing else in an image, but got 'llvm'}}
  sparsec.kernel @llvm(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
    %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
    sparsec.return %0 : tensor<?x?xbf16>
  }
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects sizes of at most 2147418111 of argument 1, but got 2147418112}}
sparsec.kernel @kernel_c12(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x2147418112xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x2147418112xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op expects sizes of at most 2147418111 of result 0, but got 4294967296}}
sparsec.kernel @kernel_c12_result(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x4294967296xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x4294967296xbf16>
  sparsec.return %0 : tensor<?x4294967296xbf16>
}

// -----

// expected-error @+1 {{'sparsec.kernel' op has no attribute 'shedule'}}
sparsec.kernel @kernel_c13(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {shedule = "fast", user.note = "any dialect's"} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

sparsec.kernel @kernel_c13_anchor(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  // expected-error @+1 {{'sparsec.spmm' op has no attribute 'precision'}}
  %0 = sparsec.spmm %w, %x {precision = 3 : i32} : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects schedules with another walk than blocks in planned_schedules, and there alone, but got #sparsec.schedule<}}
sparsec.kernel @kernel_c14(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects schedules with another walk than blocks in planned_schedules, and there alone, but got #sparsec.schedule<}}
sparsec.kernel @kernel_c14_fallback(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {fallback_schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects schedules with another walk than blocks in planned_schedules, and there alone, but got #sparsec.schedule<}}
sparsec.kernel @kernel_c14_planned(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects planned_schedules for sparsec.spmm, and for sparsec.attention with a pattern and without lengths of sequences}}
sparsec.kernel @kernel_c14_sddmm(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %s : tensor<?x64x64xbf16>
}

// -----

// expected-error @+1 {{expects planned_schedules for sparsec.spmm, and for sparsec.attention with a pattern and without lengths of sequences}}
sparsec.kernel @kernel_c14_no_pattern(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, walk = joint>]} {
  %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// -----

// expected-error @+1 {{expects planned_schedules for sparsec.spmm, and for sparsec.attention with a pattern and without lengths of sequences}}
sparsec.kernel @kernel_c14_lengths(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<64x64>, %n: tensor<?xi32>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, walk = joint>]} {
  %o = sparsec.attention %q, %k, %v pattern(%p) key_lengths(%n) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<64x64>, tensor<?xi32>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// -----

// expected-error @+1 {{expects planned_schedules with walk = joint, but got #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, walk = windows, block_stages = 8>}}
sparsec.kernel @kernel_c14_attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// -----

// expected-error @+1 {{expects planned_schedules with walk = windows or streams, but got #sparsec.schedule<}}
sparsec.kernel @kernel_c14_joint(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, walk = joint>]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects narrow_schedules for sparsec.spmm only}}
sparsec.kernel @kernel_c15(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>)
    attributes {narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>]} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %s : tensor<?x64x64xbf16>
}

// -----

// expected-error @+1 {{expects narrow_schedules with walk = blocks and cluster = 1, but got #sparsec.schedule<}}
sparsec.kernel @kernel_c15_cluster(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {narrow_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, cluster = 2>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects narrow_schedules by tile_n, the least first, but got 8 after 16}}
sparsec.kernel @kernel_c15_order(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 8, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects packed_schedules and packed_block together, for sparsec.spmm without scales only}}
sparsec.kernel @kernel_c16(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {packed_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects packed_schedules and packed_block together, for sparsec.spmm without scales only}}
sparsec.kernel @kernel_c16_block(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {packed_block = array<i64: 64, 64>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects packed_schedules and packed_block together, for sparsec.spmm without scales only}}
sparsec.kernel @kernel_c16_sddmm(%p: !sparsec.bsr<?x?xbf16, block = 16x16>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x16x16xbf16>)
    attributes {packed_block = array<i64: 64, 64>, packed_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x16x16xbf16>
  sparsec.return %s : tensor<?x16x16xbf16>
}

// -----

// expected-error @+1 {{expects packed_schedules and packed_block together, for sparsec.spmm without scales only}}
sparsec.kernel @kernel_c16_scales(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 16x16>, %s: tensor<?xf32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>)
    attributes {packed_block = array<i64: 64, 64>, packed_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w scales(%s), %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 16x16>, tensor<?xf32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects packed_block to be rows and columns of a block with several blocks of 16x16, but got array<i64: 64>}}
sparsec.kernel @kernel_c16_rank(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {packed_block = array<i64: 64>, packed_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects packed_block to be rows and columns of a block with several blocks of 48x48, but got array<i64: 64, 96>}}
sparsec.kernel @kernel_c16_multiple(%w: !sparsec.bsr<?x?xbf16, block = 48x48>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {packed_block = array<i64: 64, 96>, packed_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 48x48>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects packed_block to be rows and columns of a block with several blocks of 16x16, but got array<i64: -64, 64>}}
sparsec.kernel @kernel_c16_negative(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {packed_block = array<i64: -64, 64>, packed_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects packed_block to be rows and columns of a block with several blocks of 64x64, but got array<i64: 64, 64>}}
sparsec.kernel @kernel_c16_same(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {packed_block = array<i64: 64, 64>, packed_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects split_schedules for sparsec.spmm only}}
sparsec.kernel @kernel_c17(%p: !sparsec.bsr<?x?xbf16, block = 16x16>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x16x16xbf16>)
    attributes {split_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 256, tile_n = 64, tile_k = 128, stages = 5, consumers_m = 16, consumers_n = 1, walk = streams, block_stages = 4>]} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x16x16xbf16>
  sparsec.return %s : tensor<?x16x16xbf16>
}

// -----

// expected-error @+1 {{expects split_schedules with walk = streams, instruction = mma_sync and tile_n = 64, but got #sparsec.schedule<}}
sparsec.kernel @kernel_c17_walk(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {split_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects split_schedules with walk = streams, instruction = mma_sync and tile_n = 64, but got #sparsec.schedule<}}
sparsec.kernel @kernel_c17_instruction(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {split_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 256, tile_n = 64, tile_k = 128, stages = 5, consumers_m = 16, consumers_n = 1, walk = streams, block_stages = 4>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects split_schedules with walk = streams, instruction = mma_sync and tile_n = 64, but got #sparsec.schedule<}}
sparsec.kernel @kernel_c17_columns(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {split_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 256, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 16, consumers_n = 1, walk = streams, block_stages = 4>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects packed_schedules with walk = blocks or windows, but got #sparsec.schedule<}}
sparsec.kernel @kernel_c16_streams(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {packed_block = array<i64: 64, 64>, packed_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 128, stages = 3, consumers_m = 3, consumers_n = 1, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
