// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One function per constraint of dialect/SPEC.md, named after it.

// expected-error @+1 {{expects block rows to be a multiple of 16, but got 60}}
module @bsr_c1 attributes {sparsec.type = !sparsec.bsr<?x?xbf16, block = 60x64>} {}

// -----

// expected-error @+1 {{expects block columns to be a multiple of 16, but got 40}}
module @bsr_c1_columns attributes {sparsec.type = !sparsec.bsr<?x?xbf16, block = 64x40>} {}

// -----

// expected-error @+1 {{expects block rows to be from 16 to 512, but got 528}}
module @bsr_c2 attributes {sparsec.type = !sparsec.bsr<?x?xbf16, block = 528x64>} {}

// -----

// expected-error @+1 {{expects block columns to be from 16 to 256, but got 0}}
module @bsr_c2_columns attributes {sparsec.type = !sparsec.bsr<?x?xbf16, block = 64x0>} {}

// -----

// expected-error @+1 {{expects rows to be ? or from 0 to 2147418111, but got 2147418112}}
module @bsr_c3 attributes {sparsec.type = !sparsec.bsr<2147418112x?xbf16, block = 64x64>} {}

// -----

// expected-error @+1 {{expects columns to be ? or from 0 to 2147418111, but got 2147418112}}
module @bsr_c3_columns attributes {sparsec.type = !sparsec.bsr<?x2147418112xbf16, block = 64x64>} {}

// -----

// expected-error @+1 {{expects elements of bf16, f16, f8E4M3FN or f8E5M2, but got 'f32'}}
module @bsr_c4 attributes {sparsec.type = !sparsec.bsr<?x?xf32, block = 64x64>} {}

// -----

// expected-error @+1 {{expects two sizes and two block sizes, as in <?x?xbf16, block = 64x64>}}
module @bsr_syntax attributes {sparsec.type = !sparsec.bsr<?x?x?xbf16, block = 64x64>} {}

// -----

// expected-error @+1 {{expects two sizes and two block sizes, as in <?x?xbf16, block = 64x64>}}
module @bsr_syntax_block attributes {sparsec.type = !sparsec.bsr<?x?xbf16, block = 64>} {}

// -----

// expected-error @+1 {{expected 'transposed'}}
module @bsr_syntax_transposed attributes {sparsec.type = !sparsec.bsr<?x?xbf16, block = 64x64, swapped>} {}
