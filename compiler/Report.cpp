// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Report.h"

#include "LaunchInfoWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

static constexpr StringLiteral assemblerPhase = "ptxas";

void PhaseTimes::add(StringRef name, double elapsed) {
  auto entry = llvm::find_if(seconds, [&](auto &entry) { return entry.first == name; });
  if (entry == seconds.end())
    entry = seconds.insert(entry, {name.str(), 0.0});
  entry->second += elapsed;
}

std::string PhaseTimes::toString() const {
  double own = 0, assembler = 0;
  std::string list;
  for (const auto &[name, time] : seconds) {
    (name == assemblerPhase ? assembler : own) += time;
    if (name != assemblerPhase)
      list += fmt::format("{}{} {:.3f} s", list.empty() ? "" : ", ", name, time);
  }
  return fmt::format("time: sparsec {:.3f} s ({}), ptxas {:.3f} s\n", own, list, assembler);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

int64_t sparsec::residentCtas(const Chip &chip, int64_t threads, int64_t registers, int64_t sharedMemory) {
  int64_t warps = llvm::divideCeil(threads, 32);
  int64_t registersPerCta = warps * llvm::alignTo(registers * 32, chip.registerUnit);
  return std::min({chip.maxThreadsPerMultiprocessor / (warps * 32),
                   chip.registersPerMultiprocessor / std::max<int64_t>(registersPerCta, 1),
                   chip.sharedMemoryPerMultiprocessor / (sharedMemory + chip.reservedSharedMemoryPerCta)});
}

static std::string describeStage(const sparsec_stage_info_t &stage, const char *schedule, const Chip *chip) {
  std::string text = fmt::format("  {}: {}\n", stage.symbol, schedule);
  if (!chip)
    return text;
  int64_t sharedMemory = int64_t(stage.dynamic_shared_memory) + stage.static_shared_memory;
  int64_t ctas = residentCtas(*chip, stage.threads, stage.registers, sharedMemory);
  text += fmt::format("    threads {}, registers {}, spills {} B, shared memory {} B\n", stage.threads, stage.registers,
                      stage.spill_bytes, sharedMemory);
  return text + fmt::format("    occupancy {:.0f} %: {} CTA{} with {} of {} warps on each SM\n",
                            100.0 * ctas * stage.threads / chip->maxThreadsPerMultiprocessor, ctas,
                            ctas == 1 ? "" : "s", ctas * stage.threads / 32, chip->maxThreadsPerMultiprocessor / 32);
}

/// By sparsec_auxiliary_kind_t.
static constexpr const char *auxiliaryTexts[] = {"",
                                                 "pattern builder, a CTA for every list",
                                                 "block mask reader, a warp for every list",
                                                 "packer of blocks, a CTA for every packed block",
                                                 "counter of columns, a CTA for 32 block rows of the argument",
                                                 "writer of the index, a CTA for 32 block rows of the argument",
                                                 "counter of windows, a CTA for every window",
                                                 "writer of windows, a CTA for every window",
                                                 "counter of pairs, a CTA for every block row",
                                                 "writer of pairs, a CTA for every block row",
                                                 "converter of values, a thread for every 16",
                                                 "chooser of the top-k blocks, a warp for every list"};

std::string sparsec::describeLaunchInfo(ArrayRef<char> launchInfo) {
  const auto &info = *reinterpret_cast<const sparsec_launch_info_t *>(launchInfo.data());
  const Chip *chip = findChip(info.target);
  auto stages = recordsOf<sparsec_stage_info_t>(info);
  std::string text;
  for (const sparsec_kernel_info_t &kernel : recordsOf<sparsec_kernel_info_t>(info)) {
    text += fmt::format("kernel {} for {}\n", kernel.name, info.target);
    for (const sparsec_variant_info_t &variant :
         recordsOf<sparsec_variant_info_t>(info).slice(kernel.variant_first, kernel.variant_count)) {
      std::string schedule = fmt::format("{}, alignment {} B", variant.schedule, variant.alignment);
      for (const sparsec_stage_info_t &stage : stages.slice(variant.stage_first, variant.stage_count)) {
        text += describeStage(stage, schedule.c_str(), chip);
        schedule = "merge of the parts of keys, two queries in a CTA";
      }
    }
    for (const sparsec_auxiliary_info_t &auxiliary :
         recordsOf<sparsec_auxiliary_info_t>(info).slice(kernel.auxiliary_first, kernel.auxiliary_count))
      text += describeStage(stages[auxiliary.stage], auxiliaryTexts[auxiliary.kind], chip);
  }
  return text;
}
