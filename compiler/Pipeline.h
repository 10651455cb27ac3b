// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pipeline and its named stages.

#ifndef SPARSEC_COMPILER_PIPELINE_H
#define SPARSEC_COMPILER_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace sparsec {

/// Points of the pipeline at which the module can be looked at, in order.
enum class Stage {
  Mlir,     // the input, verified, with its target
  Schedule, // every kernel has its schedule
  Tile,     // tile ops with their places in shared memory
  Nvvm,     // machine kernels in NVVM, scf and arith
  Llvm,     // the llvm and nvvm dialects only, and the launch info
};

struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::desc("name of a row of the chip table"), llvm::cl::init("sm_90a")};
  Option<double> expectDensity{*this, "expect-density", llvm::cl::desc("expected fraction of blocks that are there"),
                               llvm::cl::init(0.25)};
  Option<int64_t> expectN{*this, "expect-n", llvm::cl::desc("expected number of columns of X, 0 = large"),
                          llvm::cl::init(0)};
  Option<std::string> scheduleTable{*this, "schedule-table", llvm::cl::desc("file with schedules that were measured"),
                                    llvm::cl::init("")};
};

/// Adds sparsec's passes from the input to `last`. The passes for a GPU are in three parts. The first part ends with
/// tile ops, which are few. The second one makes the ops of a machine, which are many, and the launch info. The third
/// one lowers the maths of regions. MLIR's conversions follow the passes to Stage::Llvm (Conversions.h).
void addGpuPasses(mlir::OpPassManager &passes, const PipelineOptions &options, Stage last);
void addGpuEmissionPasses(mlir::OpPassManager &passes, Stage last);
void addGpuMathPass(mlir::OpPassManager &passes);
void addHostPasses(mlir::OpPassManager &passes, Stage last);

/// Whether the pass of this name checks what the user wrote: it may refuse it, where every other pass takes all that an
/// earlier one makes. Such a pass fails before it makes anything invalid.
bool refusesInput(llvm::StringRef pass);

/// Makes both known to sparsec-opt as --sparsec-gpu-pipeline and --sparsec-host-pipeline, and registers the patterns of
/// MLIR's conversions.
void registerPipelines(mlir::DialectRegistry &registry);

} // namespace sparsec

#endif // SPARSEC_COMPILER_PIPELINE_H
