// RUN: sparsec-opt %s --sparsec-lower-math | FileCheck %s
// How exact the results are is tested in test/unit/lower_math_test.cpp.

// The epilogue of a kernel op describes the interface and stays as it is.
// CHECK-LABEL: sparsec.kernel @kernel
// CHECK: math.exp
sparsec.kernel @kernel(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x epilogue (%acc: f32) {
    %e = math.exp %acc : f32
    sparsec.yield %e : f32
  } : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @exact
  // CHECK-NEXT: math.absf
  // CHECK-NEXT: math.floor
  // CHECK-NEXT: math.ceil
  // CHECK-NEXT: math.fma
  // CHECK-NEXT: llvm.return
  llvm.func @exact(%x: f32) -> f32 {
    %0 = math.absf %x : f32
    %1 = math.floor %0 : f32
    %2 = math.ceil %1 : f32
    %3 = math.fma %0, %1, %2 : f32
    llvm.return %3 : f32
  }

  // CHECK-LABEL: llvm.func @one_instruction
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.f"
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.ex2.approx"
  // CHECK-NEXT: llvm.return
  llvm.func @one_instruction(%x: f32) -> f32 {
    %0 = math.sqrt %x : f32
    %1 = math.rsqrt %0 : f32
    %2 = math.exp2 %1 : f32
    llvm.return %2 : f32
  }

  // The rounding error of x log2(e) is multiplied back in; NaN stays NaN in the clamps.
  // CHECK-LABEL: llvm.func @exp
  // CHECK: arith.maximumf
  // CHECK: %[[BOUNDED:.*]] = arith.minimumf
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %[[BOUNDED]]
  // CHECK: %[[POWER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx"(%[[PRODUCT]])
  // CHECK: math.fma %[[POWER]], %{{.*}}, %[[POWER]]
  // CHECK-NOT: math.exp
  llvm.func @exp(%x: f32) -> f32 {
    %0 = math.exp %x : f32
    llvm.return %0 : f32
  }

  // CHECK-LABEL: llvm.func @expm1
  // CHECK-NOT: llvm.call_intrinsic
  // CHECK-NOT: math.expm1
  // CHECK: llvm.return
  llvm.func @expm1(%x: f32) -> f32 {
    %0 = math.expm1 %x : f32
    llvm.return %0 : f32
  }

  // Not tanh.approx: its error is 2^-11.
  // CHECK-LABEL: llvm.func @tanh(
  // CHECK-NOT: tanh.approx
  // CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
  // CHECK-NOT: tanh.approx
  // CHECK: math.copysign
  // CHECK-NOT: math.tanh
  llvm.func @tanh(%x: f32) -> f32 {
    %0 = math.tanh %x : f32
    llvm.return %0 : f32
  }

  // Unless the op allows it, which other flags do not.
  // CHECK-LABEL: llvm.func @approximate_tanh(
  // CHECK-NEXT: %[[TANH:.*]] = llvm.inline_asm {{.*}}"tanh.approx.f32 $0, $1;", "=f,f" %{{.*}} : (f32) -> f32
  // CHECK-NEXT: llvm.return %[[TANH]]
  llvm.func @approximate_tanh(%x: f32) -> f32 {
    %0 = math.tanh %x fastmath<afn> : f32
    llvm.return %0 : f32
  }

  // CHECK-LABEL: llvm.func @other_flags_of_tanh(
  // CHECK-NOT: tanh.approx
  // CHECK: math.copysign
  // CHECK-NOT: tanh.approx
  // CHECK: llvm.return
  llvm.func @other_flags_of_tanh(%x: f32) -> f32 {
    %0 = math.tanh %x fastmath<nnan,ninf,nsz,arcp,contract,reassoc> : f32
    llvm.return %0 : f32
  }

  // CHECK-LABEL: llvm.func @all_flags_of_tanh(
  // CHECK-NEXT: "tanh.approx.f32 $0, $1;"
  llvm.func @all_flags_of_tanh(%x: f32) -> f32 {
    %0 = math.tanh %x fastmath<fast> : f32
    llvm.return %0 : f32
  }

  // The hardware's logarithm only gives the special values.
  // CHECK-LABEL: llvm.func @logarithms
  // CHECK-COUNT-3: %[[SPECIAL:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
  // CHECK-NEXT: arith.select %{{.*}}, %{{.*}}, %[[SPECIAL]]
  // CHECK-NOT: math.log
  llvm.func @logarithms(%x: f32) -> f32 {
    %0 = math.log %x : f32
    %1 = math.log2 %0 : f32
    %2 = math.log1p %1 : f32
    llvm.return %2 : f32
  }

  // CHECK-LABEL: llvm.func @erf
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
  // CHECK: math.copysign
  // CHECK-NOT: math.erf
  llvm.func @erf(%x: f32) -> f32 {
    %0 = math.erf %x : f32
    llvm.return %0 : f32
  }

  // Large arguments take a branch of their own.
  // CHECK-LABEL: llvm.func @sine_and_cosine
  // CHECK-COUNT-2: scf.if %{{.*}} -> (f32, i32)
  // CHECK-NOT: math.sin
  // CHECK-NOT: math.cos
  // CHECK: llvm.return
  llvm.func @sine_and_cosine(%x: f32) -> f32 {
    %0 = math.sin %x : f32
    %1 = math.cos %0 : f32
    llvm.return %1 : f32
  }

  // In the loop of a very long region, functions are called; what is one instruction or of another loop is not.
  // CHECK-LABEL: llvm.func @calls
  // CHECK-COUNT-2: llvm.call @sparsec$erf
  // CHECK: llvm.call @sparsec$tanh
  // CHECK: llvm.inline_asm
  // CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.f"
  // CHECK-NOT: llvm.call @
  // CHECK: llvm.func internal @sparsec$erf(%{{.*}}: f32) -> f32 attributes {no_inline}
  // CHECK-NOT: math.erf
  // CHECK: llvm.return
  // CHECK: llvm.func internal @sparsec$tanh
  // CHECK-NOT: llvm.func internal
  llvm.func @calls(%x: f32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %last = scf.for %i = %zero to %one step %one iter_args(%v = %x) -> f32 : i32 {
      %0 = math.erf %v : f32
      %1 = math.erf %0 : f32
      %2 = math.tanh %1 : f32
      %3 = math.tanh %2 fastmath<afn> : f32
      %4 = math.sqrt %3 : f32
      scf.yield %4 : f32
    } {sparsec.calls_math}
    %other = scf.for %i = %zero to %one step %one iter_args(%v = %last) -> f32 : i32 {
      %0 = math.erf %v : f32
      scf.yield %0 : f32
    }
    llvm.return
  }
}
