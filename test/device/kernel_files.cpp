// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kernel_files.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace sparsec::device_test {

using namespace harness;

namespace {

/// Whether image `index` is PTX text. A file that is no bundle is one ELF image.
bool isPtxImage(const std::vector<char> &bytes, size_t index) {
  sparsec_bundle_t bundle;
  if (bytes.size() < sizeof bundle)
    return false;
  std::memcpy(&bundle, bytes.data(), sizeof bundle);
  if (bundle.magic != SPARSEC_BUNDLE_MAGIC)
    return false;
  sparsec_bundle_entry_t entry;
  std::memcpy(&entry, bytes.data() + bundle.entry_offset + index * bundle.entry_size, sizeof entry);
  return entry.format == SPARSEC_IMAGE_PTX;
}

/// A is r x s and B is s x t.
void readPairedOperand(const sparsec_operand_info_t &operand, const sparsec_argument_info_t &argument,
                       KernelRecord &record) {
  switch (operand.slot) {
  case SPARSEC_SPGEMM_LEFT:
    record.dtype = static_cast<sparsec_dtype_t>(argument.dtype);
    record.blockRows = argument.block_rows;
    record.blockDepth = argument.block_columns;
    break;
  case SPARSEC_SPGEMM_RIGHT:
    record.blockColumns = argument.block_columns;
    break;
  case SPARSEC_SPGEMM_RESULT:
    record.resultLayout = static_cast<sparsec_layout_t>(operand.layout);
    record.resultDtype = static_cast<sparsec_dtype_t>(argument.dtype);
  }
}

void readMergedOperand(const sparsec_operand_info_t &operand, const sparsec_argument_info_t &argument,
                       KernelRecord &record) {
  const auto dtype = static_cast<sparsec_dtype_t>(argument.dtype);
  switch (operand.slot) {
  case SPARSEC_MERGE_FIRST:
    record.dtype = dtype;
    record.headDimension = argument.sizes[3];
    break;
  case SPARSEC_MERGE_SECOND:
    record.secondDtype = dtype;
    break;
  case SPARSEC_MERGE_RESULT:
    record.resultDtype = dtype;
  }
}

void readOperand(const sparsec_operand_info_t &operand, const sparsec_argument_info_t &argument, KernelRecord &record) {
  if (record.kind == SPARSEC_OPERATION_MERGE)
    return readMergedOperand(operand, argument, record);
  if (record.kind == SPARSEC_OPERATION_SPGEMM || record.kind == SPARSEC_OPERATION_SAMPLED_SPGEMM)
    return readPairedOperand(operand, argument, record);
  if (argument.kind == SPARSEC_ARGUMENT_BSR || argument.kind == SPARSEC_ARGUMENT_PATTERN) {
    record.isTransposed = operand.layout == SPARSEC_LAYOUT_TRANSPOSED;
    record.blockRows = record.isTransposed ? argument.block_columns : argument.block_rows;
    record.blockColumns = record.isTransposed ? argument.block_rows : argument.block_columns;
  }
  auto dtype = static_cast<sparsec_dtype_t>(argument.dtype);
  auto layout = static_cast<sparsec_layout_t>(operand.layout);
  auto is = [&](sparsec_operation_kind_t kind, uint32_t slot) { return record.kind == kind && operand.slot == slot; };
  if (is(SPARSEC_OPERATION_SPMM, SPARSEC_SPMM_MATRIX) || is(SPARSEC_OPERATION_SDDMM, SPARSEC_SDDMM_LEFT) ||
      is(SPARSEC_OPERATION_ATTENTION, SPARSEC_ATTENTION_QUERY))
    record.dtype = dtype;
  if (is(SPARSEC_OPERATION_SPMM, SPARSEC_SPMM_DENSE) || is(SPARSEC_OPERATION_SDDMM, SPARSEC_SDDMM_RIGHT))
    record.denseLayout = layout;
  if (is(SPARSEC_OPERATION_SDDMM, SPARSEC_SDDMM_LEFT))
    record.leftLayout = layout;
  if (is(SPARSEC_OPERATION_SPMM, SPARSEC_SPMM_RESULT) || is(SPARSEC_OPERATION_SDDMM, SPARSEC_SDDMM_RESULT) ||
      is(SPARSEC_OPERATION_ATTENTION, SPARSEC_ATTENTION_RESULT)) {
    record.resultLayout = layout;
    record.resultDtype = dtype;
  }
  record.hasScale |= is(SPARSEC_OPERATION_ATTENTION, SPARSEC_ATTENTION_SCALE);
  record.hasSinks |= is(SPARSEC_OPERATION_ATTENTION, SPARSEC_ATTENTION_SINKS);
  record.hasLse |= is(SPARSEC_OPERATION_ATTENTION, SPARSEC_ATTENTION_LSE);
  record.hasQueryStarts |= is(SPARSEC_OPERATION_ATTENTION, SPARSEC_ATTENTION_QUERY_STARTS);
  record.hasKeyStarts |= is(SPARSEC_OPERATION_ATTENTION, SPARSEC_ATTENTION_KEY_STARTS);
  record.hasKeyLengths |= is(SPARSEC_OPERATION_ATTENTION, SPARSEC_ATTENTION_KEY_LENGTHS);
  if (is(SPARSEC_OPERATION_ATTENTION, SPARSEC_ATTENTION_KEY) && layout == SPARSEC_LAYOUT_PAGED)
    record.pageRows = argument.sizes[2];
}

void readAttribute(const sparsec_attribute_info_t &attribute, KernelRecord &record) {
  switch (attribute.key) {
  case SPARSEC_ATTRIBUTE_HEAD_DIMENSION:
    record.headDimension = attribute.value;
    break;
  case SPARSEC_ATTRIBUTE_VALUE_DIMENSION:
    record.valueDimension = attribute.value;
    break;
  case SPARSEC_ATTRIBUTE_CAUSAL:
    record.isCausal = attribute.value != 0;
    break;
  case SPARSEC_ATTRIBUTE_WINDOW_LEFT:
  case SPARSEC_ATTRIBUTE_WINDOW_RIGHT:
    record.hasWindow |= attribute.value >= 0;
    (attribute.key == SPARSEC_ATTRIBUTE_WINDOW_LEFT ? record.windowLeft : record.windowRight) = attribute.value;
    break;
  }
}

KernelRecord readKernel(const sparsec_launch_info_t &info, const sparsec_kernel_info_t &kernel) {
  const auto &operation = recordsOf<sparsec_operation_info_t>(info)[kernel.operation];
  KernelRecord record = {};
  record.name = kernel.name;
  record.kind = static_cast<sparsec_operation_kind_t>(operation.kind);
  for (const auto &operand :
       recordsOf<sparsec_operand_info_t>(info).slice(operation.operand_first, operation.operand_count))
    readOperand(operand, recordsOf<sparsec_argument_info_t>(info)[kernel.argument_first + operand.argument], record);
  for (const auto &attribute :
       recordsOf<sparsec_attribute_info_t>(info).slice(operation.attribute_first, operation.attribute_count))
    readAttribute(attribute, record);
  for (const auto &region :
       recordsOf<sparsec_region_info_t>(info).slice(operation.region_first, operation.region_count))
    record.hasMask |= region.slot == SPARSEC_REGION_MASK;
  return record;
}

KernelFile readKernelFile(const std::filesystem::path &path) {
  KernelFile file;
  file.path = path;
  file.group = path.parent_path().filename();
  std::ifstream stream(path, std::ios::binary);
  file.bytes.assign(std::istreambuf_iterator<char>(stream), {});
  size_t imageCount = 0;
  check(sparsec_image_count(file.bytes.data(), file.bytes.size(), &imageCount));
  for (size_t image = 0; image < imageCount; ++image) {
    sparsec_launch_info_t *handle = nullptr;
    check(sparsec_launch_info_read(file.bytes.data(), file.bytes.size(), image, &handle));
    LaunchInfo info(handle);
    file.targets.push_back({static_cast<sparsec_target_kind_t>(info->target_kind),
                            static_cast<int>(info->compute_capability), info->arch_specific != 0,
                            isPtxImage(file.bytes, image)});
    if (image != 0)
      continue;
    for (const sparsec_kernel_info_t &kernel : recordsOf<sparsec_kernel_info_t>(*info))
      file.kernels.push_back(readKernel(*info, kernel));
  }
  return file;
}

} // namespace

bool KernelFile::isForHost() const { return runsOn(SPARSEC_TARGET_HOST, 0); }

const KernelRecord *KernelFile::find(sparsec_operation_kind_t kind) const {
  auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelRecord &kernel) {
    return kernel.kind == kind && !kernel.isTransposed && !kernel.hasSequences();
  });
  return found == kernels.end() ? nullptr : &*found;
}

bool KernelFile::runsOn(sparsec_target_kind_t kind, int capability) const {
  return std::any_of(targets.begin(), targets.end(), [&](const ImageTarget &target) {
    if (target.kind != kind)
      return false;
    if (kind == SPARSEC_TARGET_HOST)
      return true;
    if (target.archSpecific)
      return capability == target.capability;
    // Machine code runs on later minor revisions of its generation, PTX on everything later.
    return capability >= target.capability && (target.isPtx || capability / 10 == target.capability / 10);
  });
}

std::vector<KernelFile> findKernelFiles(const std::filesystem::path &folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && (entry.path().extension() == ".cubin" || entry.path().extension() == ".o"))
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<KernelFile> files;
  for (const auto &path : paths) {
    try {
      files.push_back(readKernelFile(path));
    } catch (const std::exception &error) {
      throw std::runtime_error(path.string() + ": " + error.what());
    }
  }
  return files;
}

} // namespace sparsec::device_test
