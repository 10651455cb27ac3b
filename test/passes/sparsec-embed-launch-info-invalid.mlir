// RUN: sparsec-opt %s --sparsec-embed-launch-info --split-input-file --verify-diagnostics

// expected-error @below {{expects the attribute sparsec.target, but got none}}
module {
}

// -----

module attributes {sparsec.target = #sparsec.target<"host">} {
  // expected-error @below {{expects at least one machine kernel, but got none}}
  sparsec.kernel @copy(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>) -> tensor<?x?xf16>
    sparsec.return %y : tensor<?x?xf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"host">} {
  // expected-error @below {{expects sparsec.kernel to name a kernel, but got @other}}
  llvm.func @copy_0() attributes {sparsec.kernel = @other, sparsec.parameters = []} {
    llvm.return
  }
  sparsec.kernel @copy(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>) -> tensor<?x?xf16>
    sparsec.return %y : tensor<?x?xf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @copy(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>) -> tensor<?x?xf16>
    sparsec.return %y : tensor<?x?xf16>
  }
  llvm.func @copy_0() attributes {sparsec.kernel = @copy, sparsec.parameters = []} {
    llvm.return
  }
  // expected-error @below {{expects a variant number of its own, but got that of another variant of @copy}}
  llvm.func @copy_1() attributes {sparsec.kernel = @copy, sparsec.parameters = []} {
    llvm.return
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @copy(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>) -> tensor<?x?xf16>
    sparsec.return %y : tensor<?x?xf16>
  }
  // expected-error @below {{expects the attribute sparsec.parameters on a machine kernel, but got none}}
  llvm.func @copy_0() attributes {sparsec.kernel = @copy} {
    llvm.return
  }
}

// -----

// expected-error @below {{expects a gpu.module, but got none}}
module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  sparsec.kernel @copy(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>) -> tensor<?x?xf16>
    sparsec.return %y : tensor<?x?xf16>
  }
  llvm.func @copy_0() attributes {sparsec.kernel = @copy, sparsec.parameters = [],
        sparsec.schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64,
          tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
    llvm.return
  }
}

// -----

// The costs of a plan depend on the chip and on its instruction.
module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  sparsec.kernel @copy(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>) -> tensor<?x?xf16>
    sparsec.return %y : tensor<?x?xf16>
  }
  gpu.module @kernels {
    // expected-error @below {{expects the attribute sparsec.schedule with a matrix instruction of sm_89, but got none}}
    llvm.func @copy_0() attributes {sparsec.kernel = @copy, sparsec.parameters = []} {
      llvm.return
    }
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  sparsec.kernel @copy(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>) -> tensor<?x?xf16>
    sparsec.return %y : tensor<?x?xf16>
  }
  gpu.module @kernels {
    // expected-error @below {{sparsec.schedule with a matrix instruction of sm_89, but got wgmma}}
    llvm.func @copy_0() attributes {sparsec.kernel = @copy, sparsec.parameters = [],
        sparsec.schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64,
          stages = 2, consumers_m = 1, consumers_n = 1>} {
      llvm.return
    }
  }
}
