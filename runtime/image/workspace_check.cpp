// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image/operation_rules.h"
#include "image/record_check.h"
#include "operations/kernel_shape.h"

#include <algorithm>
#include <iterator>

namespace sparsec::runtime {

namespace {

/// The rule that all records of a kind of workspace follow. None of these kinds has extents.
struct WorkspaceRule {
  uint32_t kind;
  const char *name;
  uint32_t elementBytes; // 0: any
  bool isOfCuts;         // variants have one if their tiles are cut, and only then or for parts of a product
  bool isKept;           // lifetime LAUNCHES and zeroed, or lifetime LAUNCH and not zeroed
};

constexpr WorkspaceRule workspaceRules[] = {
    {SPARSEC_WORKSPACE_TILE_COUNTER, "a tile counter", sizeof(uint32_t), false, true},
    {SPARSEC_WORKSPACE_TILE_SUMS, "memory for sums", 0, true, false},
    {SPARSEC_WORKSPACE_SUM_FLAGS, "flags of sums", 0, true, true},
};

} // namespace

Status checkWorkspace(const KernelRecords &records, const sparsec_workspace_info_t &workspace,
                      const std::string &name) {
  if (workspace.lifetime != SPARSEC_LIFETIME_LAUNCH && workspace.lifetime != SPARSEC_LIFETIME_LAUNCHES)
    return records.unknown("lifetime of a workspace", workspace.lifetime);
  if (workspace.element_bytes == 0 || workspace.is_zeroed > 1)
    return records.broken("a workspace of ", name, " has elements of ", workspace.element_bytes,
                          " bytes and is_zeroed ", workspace.is_zeroed);
  if (workspace.kind == SPARSEC_WORKSPACE_SCRATCH)
    return {};
  const auto *rule = std::find_if(std::begin(workspaceRules), std::end(workspaceRules),
                                  [&](const WorkspaceRule &each) { return each.kind == workspace.kind; });
  if (rule == std::end(workspaceRules))
    return records.unknown("kind of a workspace", workspace.kind);
  const bool isKept = workspace.is_zeroed == 1 && workspace.lifetime == SPARSEC_LIFETIME_LAUNCHES;
  const bool isOfLaunch = workspace.is_zeroed == 0 && workspace.lifetime == SPARSEC_LIFETIME_LAUNCH;
  const bool hasSize = rule->elementBytes == 0 || workspace.element_bytes == rule->elementBytes;
  if (hasSize && workspace.extent_count == 0 && (rule->isKept ? isKept : isOfLaunch))
    return {};
  return records.broken(rule->name, " of ", name, " has ", workspace.extent_count, " extents, elements of ",
                        workspace.element_bytes, " bytes, lifetime ", workspace.lifetime, " and is_zeroed ",
                        workspace.is_zeroed);
}

/// Only products and attention have tiles that are cut, and their sums need both workspaces.
Status checkCuts(const KernelRecords &records, const sparsec_variant_info_t &variant, const std::string &name) {
  const uint32_t sections = variant.required_sections & cutSections;
  const bool hasParts = variant.part_keys != 0 && takesStreams(variant);
  for (const WorkspaceRule &rule : workspaceRules) {
    uint32_t found = 0;
    for (const sparsec_workspace_info_t &workspace : records.info.workspacesOf(variant))
      found += workspace.kind == rule.kind;
    const uint32_t expected = sections != 0 || (hasParts && rule.kind == SPARSEC_WORKSPACE_SUM_FLAGS);
    if (rule.isOfCuts && found != expected)
      return records.broken(name, " has ", rule.name, " ", found, " times, ", expected, " is expected");
  }
  if (sections == 0)
    return {};
  const uint32_t kind = records.operation().kind;
  const bool mayCut = kind == SPARSEC_OPERATION_SPMM || kind == SPARSEC_OPERATION_ATTENTION;
  if (sections != cutSections || variant.required_sections != cutSections || !mayCut || records.info.isHost())
    return records.broken(name, " requires plan sections ", variant.required_sections,
                          ", but those of cut tiles go together and alone, in products and attention of a GPU");
  return {};
}

} // namespace sparsec::runtime
