// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One program per constraint of dialect/SPEC.md, named after it: loads of parts.

sparsec.program @load_part_c1 attributes {kernel = @k, variant = 0, alignment = 2, schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 32, tile_n = 64, tile_k = 48, stages = 1, consumers_m = 1, consumers_n = 1>} {
^bb0(%w: !sparsec.bsr<?x?xf16, block = 32x48>, %b: tensor<?x?xf16>, %c: tensor<?x?x?xf16>):
  %zero = arith.constant 0 : i32
  // expected-error @+1 {{'sparsec.load_part' op expects a tensor of rank 2 or a !sparsec.bsr, but got 'tensor<?x?x?xf16>'}}
  %x = sparsec.load_part x %c[%zero, %zero] : tensor<?x?x?xf16> -> <48, 64, f16>
}

// -----

sparsec.program @load_part_c2 attributes {kernel = @k, variant = 0, alignment = 2, schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 32, tile_n = 64, tile_k = 48, stages = 1, consumers_m = 1, consumers_n = 1>} {
^bb0(%w: !sparsec.bsr<?x?xf16, block = 32x48>, %b: tensor<?x?xf16>, %c: tensor<?x?x?xf16>):
  %zero = arith.constant 0 : i32
  // expected-error @+1 {{'sparsec.load_part' op expects 3 coordinates, but got 2}}
  %a = sparsec.load_part a %w[%zero, %zero] : !sparsec.bsr<?x?xf16, block = 32x48> -> <32, 48, f16>
}

// -----

sparsec.program @load_part_c3 attributes {kernel = @k, variant = 0, alignment = 2, schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 32, tile_n = 64, tile_k = 48, stages = 1, consumers_m = 1, consumers_n = 1>} {
^bb0(%w: !sparsec.bsr<?x?xf16, block = 32x48>, %b: tensor<?x?xf16>, %c: tensor<?x?x?xf16>):
  %zero = arith.constant 0 : i32
  // expected-error @+1 {{'sparsec.load_part' op expects a depth only for a block, but got 'tensor<?x?xf16>'}}
  %x = sparsec.load_part x %b[%zero, %zero] depth(%zero) : tensor<?x?xf16> -> <48, 64, f16>
}
