// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// THE list of passes, from kernel.mlir to what LLVM translates. Start reading here: every pass is described in
// Passes.td and lies in a file of its own name. MLIR's conversions follow (emit/Conversions.cpp). What comes behind
// them (LLVM IR, PTX, ptxas) is in binary/, and Compiler.cpp runs it all.

#include "Pipeline.h"

#include "Conversions.h"
#include "Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace sparsec;

void sparsec::addGpuPasses(OpPassManager &passes, const PipelineOptions &options, Stage last) {
  passes.addPass(createAttachTargetPass({options.chip}));
  if (last == Stage::Mlir)
    return;

  passes.addPass(createSelectSchedulePass({options.expectDensity, options.expectN, options.scheduleTable}));
  if (last == Stage::Schedule)
    return;

  passes.addPass(createLowerToTilesPass());
  OpPassManager &programs = passes.nest<gpu::GPUModuleOp>().nest<ProgramOp>();
  programs.addPass(createPipelineStagesPass());
  programs.addPass(createAssignSharedMemoryPass());
}

void sparsec::addGpuEmissionPasses(OpPassManager &passes, Stage last) {
  if (last <= Stage::Tile)
    return;
  passes.addPass(createEmitTilesPass());
  if (last == Stage::Nvvm)
    return;

  // The kernel ops go before anything converts the ops in their epilogues: these are part of the launch info.
  passes.addPass(createEmbedLaunchInfoPass());
}

void sparsec::addGpuMathPass(OpPassManager &passes) { passes.addPass(createLowerMathPass()); }

void sparsec::addHostPasses(OpPassManager &passes, Stage last) {
  passes.addPass(createAttachTargetPass({"host"}));
  if (last == Stage::Mlir)
    return;

  passes.addPass(createSelectSchedulePass());
  if (last == Stage::Schedule)
    return;

  passes.addPass(createLowerToTilesPass());
  if (last == Stage::Tile)
    return;

  passes.addPass(createEmitHostPass());
  passes.addPass(createEmbedLaunchInfoPass());
}

bool sparsec::refusesInput(llvm::StringRef pass) {
  return pass == "sparsec-select-schedule" // a schedule that does not fit, a kernel without a lowering
         || pass == "sparsec-lower-math";  // an op of an epilogue without a lowering
}

void sparsec::registerPipelines(DialectRegistry &registry) {
  registerConversions(registry);
  PassPipelineRegistration<PipelineOptions>("sparsec-gpu-pipeline", "all passes for a GPU",
                                            [](OpPassManager &passes, const PipelineOptions &options) {
                                              addGpuPasses(passes, options, Stage::Tile);
                                              addGpuEmissionPasses(passes, Stage::Llvm);
                                              addGpuMathPass(passes);
                                              addGpuConversionPasses(passes);
                                              addCastRemovalPass(passes);
                                            });
  PassPipelineRegistration<>("sparsec-host-pipeline", "all passes for the host", [](OpPassManager &passes) {
    addHostPasses(passes, Stage::Llvm);
    addHostConversionPasses(passes);
    addCastRemovalPass(passes);
  });
}
