// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HostSchedule.h"

#include "Family.h"

using namespace mlir;
using namespace sparsec;

void sparsec::setHostSchedule(KernelOp kernel) {
  const HostTile sizes = familyOf(kernel).hostTile(kernel);
  kernel.setScheduleAttr(
      ScheduleAttr::get(kernel.getContext(), Instruction::multiply_add, Copy::unpack, sizes.m, sizes.n, sizes.k,
                        /*stages=*/1, /*consumers_m=*/1, /*consumers_n=*/1, /*cluster=*/1,
                        /*producer_registers=*/0, /*consumer_registers=*/0, /*group_m=*/1,
                        /*ctas_per_sm=*/1, /*concurrent_tiles=*/1, Walk::blocks, /*block_stages=*/0, /*slices=*/1));
  kernel.removeFallbackScheduleAttr();
  kernel.removePlannedSchedulesAttr();
  kernel.removeNarrowSchedulesAttr();
  kernel.removeSplitSchedulesAttr();
  kernel.removePackedSchedulesAttr();
  kernel.removePackedBlockAttr();
}
