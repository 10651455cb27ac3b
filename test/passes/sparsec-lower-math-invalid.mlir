// RUN: sparsec-opt %s --sparsec-lower-math --split-input-file --verify-diagnostics

gpu.module @kernels {
  llvm.func @atan(%x: f32) -> f32 {
    // expected-error @below {{expects a math op with a GPU lowering, but got math.atan}}
    %0 = math.atan %x : f32
    llvm.return %0 : f32
  }
}

// -----

gpu.module @kernels {
  llvm.func @half(%x: f16) -> f16 {
    // expected-error @below {{expects a math op of f32, but got 'f16'}}
    %0 = math.exp %x : f16
    llvm.return %0 : f16
  }
}
