// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every pass of the project, in pipeline order. One pass = one .cpp of the same name = one lit file of the same name in
// test/passes/. Pipeline.cpp is the list in which they run.

#ifndef SPARSEC_PASSES_TD
#define SPARSEC_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachTargetPass : Pass<"sparsec-attach-target", "::mlir::ModuleOp"> {
  let summary = "Writes the chip that the module is compiled for";
  let description = [{
    Sets the module attribute `sparsec.target`. An unknown chip is an error that lists the known ones.

    ```mlir
    module { ... }  ==>  module attributes {sparsec.target = #sparsec.target<"sm_90a">} { ... }
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "name of a row of the chip table, or host">];
  let dependentDialects = ["::sparsec::SparsecDialect"];
}

def SelectSchedulePass : Pass<"sparsec-select-schedule", "::mlir::ModuleOp"> {
  let summary = "Chooses tiles and stages for every kernel and writes them as an attribute";
  let description = [{
    Writes `schedule` and, where the schedule needs aligned operands, `fallback_schedule` (for any alignment) on every
    `sparsec.kernel`. Writes `planned_schedules` too, where the operation has variants that need sections of a plan,
    `narrow_schedules`, where it has variants for few columns, and `split_schedules`, where a variant splits K of few
    tiles. Writes `packed_schedules` and `packed_block`, where a plan can pack small blocks in larger ones. A `schedule`
    that is already there wins and is only checked. Without `planned_schedules`, `narrow_schedules`, `split_schedules`
    or `packed_schedules` beside it, the kernel gets none of these. Refuses a schedule that does not fit the chip. A
    remark for each kernel is a table of the candidates with their cost or the limit they break. A row of
    `schedule-table` with the kernel's chip and problem has precedence over the candidates.
    The host has one schedule for each kernel op, in place of all that are there.

    `sparsec.refused_schedules`, `sparsec.refused_fallback_schedules`, `sparsec.refused_planned_schedules`,
    `sparsec.refused_narrow_schedules`, `sparsec.refused_split_schedules` and `sparsec.refused_packed_schedules` on a
    kernel say why ptxas refused the candidates that were tried before, a string each. Those of narrow schedules say
    which ones were refused, as the verbose output names them. The next candidate is taken, the other narrow ones, or
    none of the packed or split ones, and the attributes go.

    ```mlir
    sparsec.kernel @k(...) -> (...) { ... }
    ==>
    sparsec.kernel @k(...) -> (...)
        attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, ...>} { ... }
    ```
  }];
  let options = [
    Option<"expectDensity", "expect-density", "double", "0.25", "expected fraction of blocks that are there">,
    Option<"expectN", "expect-n", "int64_t", "0", "expected number of columns of X, 0 = large">,
    Option<"scheduleTable", "schedule-table", "std::string", "", "file with schedules that were measured">];
  let dependentDialects = ["::sparsec::SparsecDialect"];
}

def LowerToTilesPass : Pass<"sparsec-lower-to-tiles", "::mlir::ModuleOp"> {
  let summary = "Turns every kernel into programs of tile ops";
  let description = [{
    Each `sparsec.kernel` gets one `sparsec.program` per schedule in a `gpu.module`: a tile loop around a block loop (of
    attention: a loop over key blocks) that loads, multiplies and stores, in values form. Those of `sparsec.sddmm`,
    `sparsec.spgemm` and `sparsec.merge` for a GPU have roles from the start. A program of the host is beside its
    kernel, in values form. The kernel op stays as the description of the interface.
  }];
  let dependentDialects = ["::sparsec::SparsecDialect", "::mlir::gpu::GPUDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def PipelineStagesPass : Pass<"sparsec-pipeline-stages", "::sparsec::ProgramOp"> {
  let summary = "Makes roles of a program, with rings of shared-memory stages between copies and products";
  let description = [{
    Values form to roles. With `copy = tma` a producer and a consumer role meet at the ring; otherwise all warps are one
    role, which starts copies up to `stages - 1` steps ahead. Attention gets a ring for the queries, and one for keys
    and values or one each.
  }];
  let dependentDialects = ["::sparsec::SparsecDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def AssignSharedMemoryPass : Pass<"sparsec-assign-shared-memory", "::sparsec::ProgramOp"> {
  let summary = "Gives every buffer, barrier and staging area its place in shared memory";
  let description = [{
    Sets `offsets` and `barrier_offset` of the ring, `staging_offset` of the store and `shared_memory` of the program.
    Swizzled buffers start at multiples of 1024 bytes.
  }];
  let dependentDialects = ["::sparsec::SparsecDialect"];
}

def EmitTilesPass : Pass<"sparsec-emit-tiles", "::mlir::ModuleOp"> {
  let summary = "Emits programs as NVVM functions";
  let description = [{
    Replaces each `sparsec.program` by an `llvm.func` with the NVVM instructions of its schedule, with `scf` and `arith`
    for control flow. The function's attributes `sparsec.kernel`, `sparsec.variant`, `sparsec.schedule`,
    `sparsec.alignment`, `sparsec.shared_memory`, `sparsec.threads`, `sparsec.parameters` and `sparsec.tensor_maps` hold
    what the launch info needs. An attention kernel with a pattern gets one more function, with the attribute
    `sparsec.auxiliary` in place of the variant, which writes the lists of a pattern from a block mask, and with a mask
    region another one, which writes them from the region.
  }];
  let dependentDialects = ["::sparsec::SparsecDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def LowerMathPass : Pass<"sparsec-lower-math", "::mlir::ModuleOp"> {
  let summary = "Lowers the math ops of epilogues to GPU instructions and polynomials";
  let description = [{
    exp, exp2, log, log2, sqrt, rsqrt, tanh, erf, sin, cos, ... in f32. The largest error of each approximation is
    documented in LowerMath.cpp and checked by a test.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def EmitHostPass : Pass<"sparsec-emit-host", "::mlir::ModuleOp"> {
  let summary = "Emits programs as loops for the processor";
  let description = [{
    Replaces every `sparsec.program` of the host by an `llvm.func` of type sparsec_host_kernel_t (launch_info.h), op by
    op: loops over tiles, blocks and elements in `scf` and `arith`. bf16 is i16 from the load to the store. The function
    carries the same `sparsec.*` attributes as those of sparsec-emit-tiles.

    ```mlir
    sparsec.program @k.host ... { ... }  ==>  llvm.func @k.host(%slots: !llvm.ptr, %begin: i64, %end: i64) { ... }
    ```
  }];
  let dependentDialects = ["::sparsec::SparsecDialect", "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def EmbedLaunchInfoPass : Pass<"sparsec-embed-launch-info", "::mlir::ModuleOp"> {
  let summary = "Writes the launch info as a constant global";
  let description = [{
    Collects the kernels' arguments, their regions and the variants (from the functions' `sparsec.*` attributes) into
    the constant global `sparsec_launch_info` and erases the `sparsec.kernel` ops.
  }];
  let dependentDialects = ["::sparsec::SparsecDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // SPARSEC_PASSES_TD
