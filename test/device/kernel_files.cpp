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

void readArgument(const sparsec_argument_info_t &argument, KernelRecord &record) {
  switch (argument.role) {
  case SPARSEC_ROLE_MATRIX:
    record.dtype = static_cast<sparsec_dtype_t>(argument.dtype);
    [[fallthrough]];
  case SPARSEC_ROLE_PATTERN:
    record.blockRows = argument.block_rows;
    record.blockColumns = argument.block_columns;
    break;
  case SPARSEC_ROLE_QUERY:
    record.dtype = static_cast<sparsec_dtype_t>(argument.dtype);
    break;
  case SPARSEC_ROLE_DENSE:
    record.denseLayout = static_cast<sparsec_layout_t>(argument.layout);
    break;
  case SPARSEC_ROLE_RESULT:
    record.resultLayout = static_cast<sparsec_layout_t>(argument.layout);
    record.resultDtype = static_cast<sparsec_dtype_t>(argument.dtype);
    break;
  case SPARSEC_ROLE_SCALE:
    record.hasScale = true;
    break;
  case SPARSEC_ROLE_LSE:
    record.hasLse = true;
    break;
  }
}

KernelRecord readKernel(const sparsec_launch_info_t *info, uint32_t index) {
  auto &kernel = launchInfoRecord<sparsec_kernel_info_t>(info, info->kernel_offset, info->kernel_size, index);
  KernelRecord record = {};
  record.name = kernel.name;
  record.family = static_cast<sparsec_kernel_family_t>(kernel.family);
  if (record.family == SPARSEC_FAMILY_ATTENTION)
    record.attention =
        launchInfoRecord<sparsec_attention_info_t>(info, info->attention_offset, info->attention_size, kernel.detail);
  for (uint32_t i = 0; i < kernel.argument_count; ++i)
    readArgument(launchInfoRecord<sparsec_argument_info_t>(info, info->argument_offset, info->argument_size,
                                                           kernel.argument_first + i),
                 record);
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
    for (uint32_t i = 0; image == 0 && i < info->kernel_count; ++i)
      file.kernels.push_back(readKernel(info.get(), i));
  }
  return file;
}

} // namespace

bool KernelFile::isForHost() const { return runsOn(SPARSEC_TARGET_HOST, 0); }

const KernelRecord *KernelFile::find(sparsec_kernel_family_t family) const {
  auto found =
      std::find_if(kernels.begin(), kernels.end(), [&](const KernelRecord &kernel) { return kernel.family == family; });
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
