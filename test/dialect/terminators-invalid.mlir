// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One function per constraint of dialect/SPEC.md, named after it.

module @return_c1 {
  // expected-error @+1 {{'sparsec.return' op expects parent op 'sparsec.kernel'}}
  sparsec.return
}

// -----

module @yield_c1 {
  // expected-error @+1 {{'sparsec.yield' op expects parent op to be one of 'sparsec.spmm, sparsec.sddmm, sparsec.spgemm, sparsec.attention, sparsec.store, sparsec.tile_loop, sparsec.loop, sparsec.block_loop, sparsec.key_loop, sparsec.walk, sparsec.softmax, sparsec.tile_softmax'}}
  sparsec.yield
}
