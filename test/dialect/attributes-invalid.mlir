// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One function per constraint of dialect/SPEC.md, named after it.

// expected-error @+1 {{expects argument to be from 0 to 65535, but got -1}}
module @parameter_c1 attributes {sparsec.attribute = #sparsec.parameter<kind = size, argument = -1>} {}

// -----

// expected-error @+1 {{expects argument to be from 0 to 65535, but got 4294967296}}
module @parameter_c1_large attributes {sparsec.attribute = #sparsec.parameter<kind = size, argument = 4294967296>} {}

// -----

// expected-error @+1 {{expects argument to be from 0 to 65535, but got 4294967296}}
module @tensor_map_c1_large attributes {sparsec.attribute = #sparsec.tensor_map<kind = dense, argument = 4294967296, swizzle = 128, box = [64, 64]>} {}

// -----

// expected-error @+1 {{expects bytes to be from 1 to 2147483647, but got 0}}
module @workspace_c1 attributes {sparsec.attribute = #sparsec.workspace<kind = scratch, bytes = 0>} {}

// -----

// expected-error @+1 {{expects index to be from 0 to 65535, but got -2}}
module @parameter_c1_index attributes {sparsec.attribute = #sparsec.parameter<kind = size, argument = 1, index = -2>} {}

// -----

// expected-error @+1 {{expects argument to be from 0 to 65535, but got -1}}
module @tensor_map_c1 attributes {sparsec.attribute = #sparsec.tensor_map<kind = dense, argument = -1, swizzle = 128, box = [64, 64]>} {}

// -----

// expected-error @+1 {{expects swizzle to be 0, 32, 64 or 128, but got 48}}
module @tensor_map_c2 attributes {sparsec.attribute = #sparsec.tensor_map<kind = dense, argument = 1, swizzle = 48, box = [64, 64]>} {}

// -----

// expected-error @+1 {{expects the box of a dense tensor map to have 2 to 5 sizes, but got 1}}
module @tensor_map_c3 attributes {sparsec.attribute = #sparsec.tensor_map<kind = dense, argument = 1, swizzle = 128, box = [64]>} {}

// -----

// expected-error @+1 {{expects the box of a dense tensor map to have 2 to 5 sizes, but got 6}}
module @tensor_map_c3_too_many attributes {sparsec.attribute = #sparsec.tensor_map<kind = dense, argument = 1, swizzle = 128, box = [64, 64, 1, 1, 1, 1]>} {}

// -----

// expected-error @+1 {{expects the box of a bsr_values tensor map to have 3 sizes, but got 2}}
module @tensor_map_c3_values attributes {sparsec.attribute = #sparsec.tensor_map<kind = bsr_values, argument = 0, swizzle = 128, box = [64, 64]>} {}

// -----

// expected-error @+1 {{expects the box of a bsr_edge_values tensor map to have 3 sizes, but got 4}}
module @tensor_map_c3_edge_values attributes {sparsec.attribute = #sparsec.tensor_map<kind = bsr_edge_values, argument = 0, swizzle = 128, box = [64, 64, 1, 1]>} {}

// -----

// expected-error @+1 {{expects box sizes from 1 to 256, but got 512}}
module @tensor_map_c4 attributes {sparsec.attribute = #sparsec.tensor_map<kind = dense, argument = 1, swizzle = 128, box = [64, 512]>} {}
