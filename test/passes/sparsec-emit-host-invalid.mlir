// RUN: sparsec-opt %s --sparsec-emit-host --verify-diagnostics

// A program of the host has no roles.
sparsec.program @roles.host attributes {kernel = @roles, variant = 0, alignment = 2, schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 32, tile_n = 64, tile_k = 48, stages = 1, consumers_m = 1, consumers_n = 1>} {
^bb0(%x: tensor<?x?xf16>):
  // expected-error @+1 {{'sparsec.role' op expects a program in values form on the host, which does not have this op}}
  sparsec.role "all" warp(1) registers(0) {
  }
}
