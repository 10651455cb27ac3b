// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "candidate.h"

#include "sparsec/launch_info.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <optional>

namespace sparsec::bench {

using namespace harness;

namespace {

bool isFast(const sparsec_launch_info_t &info, const sparsec_operation_info_t &operation) {
  auto attributes = recordsOf<sparsec_attribute_info_t>(info);
  for (const auto &attribute : attributes.slice(operation.attribute_first, operation.attribute_count))
    if (attribute.key == SPARSEC_ATTRIBUTE_ACCUMULATION)
      return attribute.value == SPARSEC_ACCUMULATION_FAST;
  return false;
}

/// Nothing for kernels of other types and for those that have an epilogue.
std::optional<Candidate> makeCandidate(const std::shared_ptr<sparsec_module_s> &module, size_t index) {
  Candidate candidate = {};
  candidate.module = module;
  check(sparsec_module_kernel_at(module.get(), index, &candidate.kernel));
  const sparsec_kernel_info_t *info = sparsec_kernel_info(candidate.kernel);
  if (sparsec_kernel_operation(candidate.kernel)->kind != SPARSEC_OPERATION_SPMM || info->argument_count < 3)
    return std::nullopt;
  candidate.hasScales = operandOf(candidate.kernel, 1).slot == SPARSEC_SPMM_SCALES;
  const size_t ofX = candidate.hasScales ? 2 : 1;
  candidate.hasXScale = operandOf(candidate.kernel, ofX + 1).slot == SPARSEC_SPMM_X_SCALE;
  const size_t ofY = candidate.hasXScale ? ofX + 2 : ofX + 1;
  if (info->argument_count != ofY + 1)
    return std::nullopt;
  const sparsec_argument_info_t *w = sparsec_kernel_argument(candidate.kernel, 0);
  const sparsec_argument_info_t *y = sparsec_kernel_argument(candidate.kernel, ofY);
  bool isF8 = w->dtype == SPARSEC_DTYPE_F8E4M3FN;
  if ((!isF8 && w->dtype != SPARSEC_DTYPE_BF16) || sparsec_kernel_argument(candidate.kernel, ofX)->dtype != w->dtype)
    return std::nullopt;
  candidate.dtype = static_cast<sparsec_dtype_t>(w->dtype);
  candidate.type = isF8 ? "f8E4M3FN" : "bf16";
  if (isFast(*sparsec_module_launch_info(module.get()), *sparsec_kernel_operation(candidate.kernel)))
    candidate.type += " fast";
  if (candidate.hasScales)
    candidate.type += " scales";
  if (candidate.hasXScale)
    candidate.type += " x_scale";
  candidate.matrixTransposed = operandOf(candidate.kernel, 0).layout == SPARSEC_LAYOUT_TRANSPOSED;
  candidate.blockRows = candidate.matrixTransposed ? w->block_columns : w->block_rows;
  candidate.blockColumns = candidate.matrixTransposed ? w->block_rows : w->block_columns;
  candidate.resultDtype = static_cast<sparsec_dtype_t>(y->dtype);
  candidate.denseTransposed = operandOf(candidate.kernel, ofX).layout == SPARSEC_LAYOUT_TRANSPOSED;
  candidate.resultTransposed = operandOf(candidate.kernel, ofY).layout == SPARSEC_LAYOUT_TRANSPOSED;
  candidate.layouts = fmt::format("{}{}_{}", candidate.matrixTransposed ? "km_" : "",
                                  candidate.denseTransposed ? "nk" : "kn", candidate.resultTransposed ? "nm" : "mn");
  return candidate;
}

/// "sm_90a", or both names when a file holds several images.
std::string targetOf(const std::vector<char> &bytes) {
  size_t count = 0;
  check(sparsec_image_count(bytes.data(), bytes.size(), &count));
  std::vector<std::string> targets;
  for (size_t i = 0; i < count; ++i) {
    sparsec_launch_info_t *handle = nullptr;
    check(sparsec_launch_info_read(bytes.data(), bytes.size(), i, &handle));
    LaunchInfo info(handle);
    if (targets.empty() || targets.back() != info->target)
      targets.push_back(info->target);
  }
  return fmt::format("{}", fmt::join(targets, "+"));
}

} // namespace

std::vector<Candidate> loadCandidates(sparsec_device_t device, const std::string &folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".cubin")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Candidate> candidates;
  for (const auto &path : paths) {
    std::ifstream stream(path, std::ios::binary);
    std::vector<char> bytes(std::istreambuf_iterator<char>(stream), {});
    sparsec_module_t handle = nullptr;
    if (sparsec_status_t status = sparsec_module_load(device, bytes.data(), bytes.size(), &handle)) {
      fmt::print(stderr, "left out: {}: {}\n", path.string(), sparsec_status_message(status));
      sparsec_status_free(status);
      continue;
    }
    std::shared_ptr<sparsec_module_s> module(handle, sparsec_module_destroy);
    for (size_t i = 0; i < sparsec_module_kernel_count(handle); ++i)
      if (auto candidate = makeCandidate(module, i)) {
        candidate->label = std::filesystem::relative(path, folder).replace_extension().string();
        candidate->target = targetOf(bytes);
        candidates.push_back(std::move(*candidate));
      }
  }
  return candidates;
}

} // namespace sparsec::bench
