// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Bundle.h"

#include "LaunchInfoWriter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;

/// Appends `contents` at the next multiple of 16 bytes and returns where.
static uint64_t append(std::string &bytes, StringRef contents) {
  bytes.resize(llvm::alignTo(bytes.size(), 16));
  uint64_t offset = bytes.size();
  bytes.append(contents.begin(), contents.end());
  return offset;
}

std::string sparsec::writeBundle(ArrayRef<BundleImage> images) {
  std::vector<sparsec_bundle_entry_t> entries(images.size());
  std::string bytes(sizeof(sparsec_bundle_t) + images.size() * sizeof(sparsec_bundle_entry_t), '\0');
  for (auto [entry, image] : llvm::zip_equal(entries, images)) {
    entry = {};
    setText(entry.target, image.target);
    entry.format = image.format;
    entry.image_offset = append(bytes, image.image);
    if (image.format == SPARSEC_IMAGE_PTX) {
      bytes.push_back('\0');
      entry.image_size = image.image.size() + 1;
      entry.launch_info_offset = append(bytes, image.launchInfo);
      entry.launch_info_size = image.launchInfo.size();
    } else {
      entry.image_size = image.image.size();
    }
  }

  sparsec_bundle_t header = {};
  header.magic = SPARSEC_BUNDLE_MAGIC;
  header.major = SPARSEC_BUNDLE_MAJOR;
  header.minor = SPARSEC_BUNDLE_MINOR;
  header.entry_count = entries.size();
  header.entry_offset = sizeof(header);
  header.entry_size = sizeof(sparsec_bundle_entry_t);
  header.total_size = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), entries.data(), entries.size() * sizeof(sparsec_bundle_entry_t));
  header.checksum = llvm::crc32(llvm::arrayRefFromStringRef(bytes));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}
