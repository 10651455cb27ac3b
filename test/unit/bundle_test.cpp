// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bundle, read back through launch_info.h.

#include "Bundle.h"

#include "llvm/ADT/StringRef.h"

#include <gtest/gtest.h>

using namespace sparsec;

namespace {

const sparsec_bundle_entry_t &entryOf(llvm::StringRef bytes, unsigned index) {
  auto *header = reinterpret_cast<const sparsec_bundle_t *>(bytes.data());
  return *reinterpret_cast<const sparsec_bundle_entry_t *>(bytes.data() + header->entry_offset +
                                                           index * header->entry_size);
}

TEST(Bundle, Header) {
  std::string bytes = writeBundle({{"sm_90a", SPARSEC_IMAGE_ELF, "cubin", ""}});
  auto *header = reinterpret_cast<const sparsec_bundle_t *>(bytes.data());
  EXPECT_EQ(header->magic, SPARSEC_BUNDLE_MAGIC);
  EXPECT_EQ(header->major, SPARSEC_BUNDLE_MAJOR);
  EXPECT_EQ(header->minor, SPARSEC_BUNDLE_MINOR);
  EXPECT_EQ(header->entry_count, 1u);
  EXPECT_EQ(header->entry_size, sizeof(sparsec_bundle_entry_t));
  EXPECT_EQ(header->total_size, bytes.size());
}

TEST(Bundle, ElfImagesAreWholeAndAligned) {
  std::string bytes =
      writeBundle({{"sm_90a", SPARSEC_IMAGE_ELF, "seventeen bytes !", ""}, {"host", SPARSEC_IMAGE_ELF, "second", ""}});
  for (auto [index, target, image] :
       {std::tuple(0u, "sm_90a", "seventeen bytes !"), std::tuple(1u, "host", "second")}) {
    const sparsec_bundle_entry_t &entry = entryOf(bytes, index);
    EXPECT_STREQ(entry.target, target);
    EXPECT_EQ(entry.format, SPARSEC_IMAGE_ELF);
    EXPECT_EQ(entry.image_offset % 16, 0u);
    EXPECT_EQ(bytes.substr(entry.image_offset, entry.image_size), image);
    EXPECT_EQ(entry.launch_info_offset, 0u);
    EXPECT_EQ(entry.launch_info_size, 0u);
  }
}

TEST(Bundle, PtxIsTerminatedAndHasItsLaunchInfo) {
  std::string bytes = writeBundle({{"sm_89", SPARSEC_IMAGE_PTX, ".version 8.1", "info"}});
  const sparsec_bundle_entry_t &entry = entryOf(bytes, 0);
  EXPECT_EQ(entry.format, SPARSEC_IMAGE_PTX);
  EXPECT_EQ(bytes.substr(entry.image_offset, entry.image_size), std::string(".version 8.1") + '\0');
  EXPECT_EQ(entry.launch_info_offset % 16, 0u);
  EXPECT_EQ(bytes.substr(entry.launch_info_offset, entry.launch_info_size), "info");
}

} // namespace
