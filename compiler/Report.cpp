// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Report.h"

#include "LaunchInfoWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

using namespace llvm;
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
  // Hardware gives registers to warps in units of 256, and keeps 1 KB of shared memory per CTA for itself.
  int64_t warps = divideCeil(threads, 32);
  int64_t registersPerCta = warps * alignTo(registers * 32, 256);
  return std::min({chip.maxThreadsPerMultiprocessor / (warps * 32),
                   chip.registersPerMultiprocessor / std::max<int64_t>(registersPerCta, 1),
                   chip.sharedMemoryPerMultiprocessor / (sharedMemory + 1024)});
}

static std::string describeVariant(const sparsec_variant_info_t &variant, const Chip *chip) {
  std::string text = fmt::format("  {}: {}\n", variant.symbol, variant.schedule);
  if (!chip)
    return text;
  int64_t sharedMemory = int64_t(variant.dynamic_shared_memory) + variant.static_shared_memory;
  int64_t ctas = residentCtas(*chip, variant.threads, variant.registers, sharedMemory);
  text += fmt::format("    threads {}, registers {}, spills {} B, shared memory {} B, alignment {} B\n",
                      variant.threads, variant.registers, variant.spill_bytes, sharedMemory, variant.alignment);
  return text + fmt::format("    occupancy {:.0f} %: {} CTA{} with {} of {} warps on each SM\n",
                            100.0 * ctas * variant.threads / chip->maxThreadsPerMultiprocessor, ctas,
                            ctas == 1 ? "" : "s", ctas * variant.threads / 32, chip->maxThreadsPerMultiprocessor / 32);
}

std::string sparsec::describeLaunchInfo(ArrayRef<char> launchInfo) {
  auto *header = reinterpret_cast<const sparsec_launch_info_t *>(launchInfo.data());
  auto kernels = getRecords<sparsec_kernel_info_t>(launchInfo, header->kernel_offset, header->kernel_count);
  auto variants = getRecords<sparsec_variant_info_t>(launchInfo, header->variant_offset, header->variant_count);
  std::string text;
  auto attentions = getRecords<sparsec_attention_info_t>(launchInfo, header->attention_offset, header->attention_count);
  for (const sparsec_kernel_info_t &kernel : kernels) {
    text += fmt::format("kernel {} for {}\n", kernel.name, header->target);
    auto describe = [&](uint32_t first, uint32_t count) {
      for (const sparsec_variant_info_t &variant : variants.slice(first, count))
        text += describeVariant(variant, findChip(header->target));
    };
    describe(kernel.variant_first, kernel.variant_count);
    if (kernel.family == SPARSEC_FAMILY_ATTENTION)
      describe(attentions[kernel.detail].builder_first, attentions[kernel.detail].builder_count);
  }
  return text;
}
