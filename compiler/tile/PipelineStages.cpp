// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pass sparsec-pipeline-stages: makes roles of a program in values form, with rings of shared-memory stages between the
// copies and the products.

#include "AttentionRoles.h"
#include "AttentionWarps.h"
#include "Passes.h"
#include "RoleBuilding.h"
#include "ScheduleAttribute.h"
#include "SpmmRoles.h"
#include "SpmmScaledRoles.h"
#include "SpmmWarps.h"

namespace sparsec {
#define GEN_PASS_DEF_PIPELINESTAGESPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

namespace {

class PipelineStages : public sparsec::impl::PipelineStagesPassBase<PipelineStages> {
public:
  using PipelineStagesPassBase::PipelineStagesPassBase;
  void runOnOperation() override {
    ProgramOp program = getOperation();
    if (!program.getBody().getOps<RoleOp>().empty())
      return tidy(program); // it was built with roles
    bool isSplit = program.getSchedule().getCopy() == Copy::tma;
    TileLoopOp tileLoop = *program.getBody().getOps<TileLoopOp>().begin();
    if (!tileLoop.getBody().getOps<BlockLoopOp>().empty())
      isSplit ? splitSpmm(program) : makeSpmmWarps(program);
    else
      isSplit ? splitAttentionRoles(program) : makeAttentionWarps(program);
    tidy(program);
  }

private:
  static void splitSpmm(ProgramOp program) {
    bool hasXScale = false;
    program.walk([&](ChainOp chain) { hasXScale |= bool(chain.getXScale()); });
    const bool hasSlices = int64_t(program.getSchedule().getSlices()) > 1;
    hasXScale && !hasSlices ? splitScaledSpmmRoles(program) : splitSpmmRoles(program);
  }
};

} // namespace
