// REQUIRES: ptxas
// From text to one file for three targets, and what the runtime reads from it.

// RUN: sparsec %s --arch=sm_90a,sm_89,host --embed-ptx -o %t.bundle
// RUN: sparsec-run --inspect %t.bundle | FileCheck %s --check-prefix=INSPECT
// INSPECT: image 0: sm_90a
// INSPECT: kernel linear (spmm)
// INSPECT: w {{.*}}!sparsec.bsr<?x?xbf16, block = 64x64>
// INSPECT: x {{.*}}tensor<?x?xbf16>, transposed
// INSPECT: bias {{.*}}tensor<?xf32>, per row
// INSPECT: y {{.*}}tensor<?x?xbf16>, row-major
// INSPECT: epilogue steps: 1
// INSPECT: variant 0: mma_sync cp_async 16x8x64 {{.*}} slices 4
// INSPECT: alignment 16 bytes
// INSPECT: panels at most 1
// INSPECT: variant 1: mma_sync cp_async 16x16x64
// INSPECT: variant 2: mma_sync cp_async 32x32x64
// INSPECT: variant 3: wgmma tma 64x64x64
// INSPECT: variant 4: wgmma tma 64x128x64
// INSPECT: variant 5: wgmma tma 64x256x64
// INSPECT: panels at most 1
// INSPECT: variant 6: wgmma tma {{.*}} windows
// INSPECT: alignment 16 bytes
// INSPECT: needs a plan
// INSPECT: registers {{[1-9][0-9]*}}, 0 bytes spilled
// INSPECT: variant 7: wgmma tma
// INSPECT: alignment 16 bytes
// INSPECT: registers {{[1-9][0-9]*}}, 0 bytes spilled
// INSPECT: variant 8: mma_sync scalar
// INSPECT: alignment 2 bytes
// INSPECT: image 1: sm_89
// INSPECT: variant 0: mma_sync cp_async
// INSPECT: registers {{[1-9][0-9]*}}, 0 bytes spilled
// INSPECT: image 2: sm_89
// INSPECT: image 3: host
// INSPECT: variant 0: loops

// Run where there is always a device.
// RUN: sparsec-run %t.bundle --device=host --arg w=random:192x128:density=0.5 --arg x=random:40x128 --arg bias=random:192 --check=all | FileCheck %s --check-prefix=RUN-HOST
// RUN-HOST: 192x128x40 {{.*}}64x64 {{.*}}host

// Each layer leaves nothing of the one above.
// RUN: sparsec %s --emit=tile | FileCheck %s --check-prefix=TILE
// TILE-LABEL: gpu.module
// TILE: sparsec.program
// TILE: sparsec.product
// RUN: sparsec %s --emit=nvvm | FileCheck %s --check-prefix=NVVM
// NVVM-LABEL: gpu.module
// NVVM-NOT: sparsec.product
// NVVM: llvm.func @linear
// RUN: sparsec-opt %s --sparsec-gpu-pipeline | FileCheck %s --check-prefix=LLVM --implicit-check-not='{{sparsec\.(kernel|spmm|program) }}' --implicit-check-not=scf. --implicit-check-not=arith. --implicit-check-not=math. --implicit-check-not=unrealized_conversion_cast
// LLVM: llvm.mlir.global external constant @sparsec_launch_info
// LLVM: llvm.func @linear
// RUN: sparsec-opt %s --sparsec-host-pipeline | FileCheck %s --check-prefix=LLVM --implicit-check-not='{{sparsec\.(kernel|spmm) }}' --implicit-check-not=scf. --implicit-check-not=arith. --implicit-check-not=math. --implicit-check-not=unrealized_conversion_cast

sparsec.kernel @linear(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %bias: tensor<?xf32>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %bias per_row x_layout(nk) epilogue (%acc: f32, %b: f32) {
    %s = arith.addf %acc, %b : f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
