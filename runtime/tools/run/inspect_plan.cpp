// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "inspect_plan.h"

#include "launch_info_view.h"
#include "plan/saved_plan.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/JSON.h"

namespace sparsec::run {

using runtime::Bytes;
using runtime::SavedPlan;
using runtime::SavedPlanHeader;
using runtime::SavedSection;
using runtime::SavedVariant;

static Bytes bytesOf(llvm::StringRef file) { return {reinterpret_cast<const uint8_t *>(file.data()), file.size()}; }

static std::string countName(int64_t count) { return count == SPARSEC_DYNAMIC ? "?" : std::to_string(count); }

static llvm::json::Value countValue(int64_t count) {
  return count == SPARSEC_DYNAMIC ? llvm::json::Value(nullptr) : llvm::json::Value(count);
}

/// The lists that launches must have: the number of their argument, and the checksum; nothing: any will do.
static std::string listsName(const SavedPlan &plan) {
  std::string name;
  for (const runtime::SavedList &list : plan.lists())
    name += fmt::format("{}of argument {}, checksum {:08x}", name.empty() ? "" : "; ", list.argument, list.checksum);
  return name.empty() ? "of any pattern" : name;
}

const char *orderName(uint32_t order) {
  static constexpr const char *names[] = {"fixed", "lists", "counter"};
  return order < std::size(names) ? names[order] : "unknown";
}

bool isSavedPlan(llvm::StringRef file) { return SavedPlan::isSavedPlan(bytesOf(file)); }

static int64_t sectionBytes(const SavedPlan &plan, size_t variant) {
  int64_t bytes = 0;
  for (const SavedSection &each : plan.sections())
    bytes += each.variant == variant ? int64_t(each.bytes) : 0;
  return bytes;
}

static llvm::json::Value describe(const SavedPlan &plan) {
  const SavedPlanHeader &header = plan.header();
  llvm::json::Array variants;
  for (size_t number : llvm::seq(plan.variants().size())) {
    const SavedVariant &variant = plan.variants()[number];
    llvm::json::Object sections;
    for (const SavedSection &each : plan.sections())
      if (each.variant == number)
        sections[runtime::planSectionNames[each.section]] = int64_t(each.bytes);
    variants.push_back(llvm::json::Object{{"schedule", nameOf(variant.schedule).str()},
                                          {"order", orderName(variant.order)},
                                          {"reason", nameOf(variant.reason).str()},
                                          {"workers", countValue(variant.workers)},
                                          {"tiles", countValue(variant.tiles)},
                                          {"period", countValue(variant.period)},
                                          {"windows", variant.windows},
                                          {"columns", variant.columns},
                                          {"balance", variant.balance},
                                          {"bytes", sectionBytes(plan, number)},
                                          {"sections", std::move(sections)}});
  }
  llvm::json::Object object{{"version", fmt::format("{}.{}", header.major, header.minor)},
                            {"bytes", int64_t(header.totalSize)},
                            {"kernel", nameOf(header.kernel).str()},
                            {"target", nameOf(header.target).str()},
                            {"launch_info_checksum", header.launchInfoChecksum},
                            {"multiprocessors", header.multiprocessors},
                            {"variants", std::move(variants)}};
  llvm::json::Array lists;
  for (const runtime::SavedList &list : plan.lists())
    lists.push_back(llvm::json::Object{{"argument", list.argument}, {"checksum", list.checksum}});
  object["lists"] = std::move(lists);
  return object;
}

static void print(llvm::raw_ostream &stream, const SavedPlan &plan) {
  const SavedPlanHeader &header = plan.header();
  stream << fmt::format("plan of kernel {} for {}, version {}.{}, {} bytes\n", view(nameOf(header.kernel)),
                        view(nameOf(header.target)), header.major, header.minor, header.totalSize);
  if (header.multiprocessors != 0)
    stream << fmt::format("  {:<12} {}\n", "SMs", header.multiprocessors);
  stream << fmt::format("  {:<12} {}\n", "lists", listsName(plan));
  stream << fmt::format("  {:<12} checksum {:08x}\n", "launch info", header.launchInfoChecksum);
  for (size_t number : llvm::seq(plan.variants().size())) {
    const SavedVariant &variant = plan.variants()[number];
    stream << fmt::format("  variant {}: {}\n", number, view(nameOf(variant.schedule)));
    stream << fmt::format("    {:<10} {}\n", "reason", view(nameOf(variant.reason)));
    stream << fmt::format("    {:<10} {}, {} workers, {} tiles, balance {:.3f}\n", "order", orderName(variant.order),
                          countName(variant.workers), countName(variant.tiles), variant.balance);
    if (variant.windows != 0)
      stream << fmt::format("    {:<10} {}, with {} columns\n", "windows", variant.windows, variant.columns);
    stream << fmt::format("    {:<10} {} bytes\n", "sections", sectionBytes(plan, number));
    for (const SavedSection &each : plan.sections())
      if (each.variant == number)
        stream << fmt::format("      {:<16} {} bytes\n", runtime::planSectionNames[each.section], each.bytes);
  }
}

llvm::Error inspectPlan(llvm::raw_ostream &stream, llvm::StringRef file, bool asJson) {
  SavedPlan plan;
  if (llvm::Error error = toError(SavedPlan::read(bytesOf(file), plan).release()))
    return error;
  if (asJson)
    stream << llvm::formatv("{0:2}\n", describe(plan));
  else
    print(stream, plan);
  return llvm::Error::success();
}

} // namespace sparsec::run
