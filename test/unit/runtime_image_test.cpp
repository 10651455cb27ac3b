// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ELF files, bundles, and the choice of an image for a device.

#include "image/image.h"
#include "runtime_expect.h"
#include "runtime_images.h"

#include <cstring>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

Status read(const ByteVector &file, size_t index = 0) {
  Image image;
  return readImage(file, index, image);
}

/// A cubin with the ELF header changed.
ByteVector cubinWith(void (*change)(Elf64_Ehdr &)) {
  ByteVector file = makeCubin(cudaLinear().build());
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof(header));
  change(header);
  std::memcpy(file.data(), &header, sizeof(header));
  return file;
}

TEST(Image, CubinIsRead) {
  Image image;
  ASSERT_OK(readImage(makeCubin(cudaLinear().build()), 0, image));
  EXPECT_STREQ(image.info.all<sparsec_kernel_info_t>()[0].name, "linear");
  EXPECT_EQ(image.format, SPARSEC_IMAGE_ELF);
}

TEST(Image, EveryTruncationIsRefused) {
  for (const ByteVector &file : {makeCubin(cudaLinear().build()), makeBundle({ptxEntry(cudaLinear())})})
    for (size_t size = 0; size < file.size(); size += size < 300 ? 1 : 13)
      EXPECT_STATUS(read(ByteVector(file.begin(), file.begin() + size)), SPARSEC_STATUS_INVALID_IMAGE, "");
}

TEST(Image, EveryChangedByteIsNoticed) {
  for (const ByteVector &good : {makeCubin(cudaLinear().build()), makeBundle({ptxEntry(cudaLinear())})})
    for (size_t i = 0; i < good.size(); ++i)
      for (uint8_t flip : {0x01, 0x80, 0xff}) {
        ByteVector file = good;
        file[i] ^= flip;
        EXPECT_NE(sparsec_status_code(read(file).get()), SPARSEC_STATUS_OK) << "byte " << i;
      }
}

TEST(Image, ChangedBytesWithGoodChecksumsNeverBreakTheReader) {
  // Whatever it answers, it must not read outside the file (the sanitizer build watches).
  const ByteVector cubin = makeCubin(cudaLinear().build()), bundle = makeBundle({ptxEntry(cudaLinear())});
  for (uint8_t flip : {0x01, 0x80, 0xff}) {
    for (size_t i = 0; i < cubin.size(); ++i) {
      ByteVector file = cubin;
      file[i] ^= flip;
      if (updateElfChecksums(file))
        Status ignored = read(file);
    }
    for (size_t i = 0; i < bundle.size(); ++i) {
      ByteVector file = bundle;
      file[i] ^= flip;
      updateBundleChecksum(file);
      size_t count = 0;
      Status status(sparsec_image_count(file.data(), file.size(), &count));
      if (!status)
        status = read(file, count - 1);
    }
  }
}

TEST(Image, ChangedCodeIsCorrupt) {
  ByteVector cubin = makeElf(
      {ET_EXEC,
       190,
       {{".text", SHT_PROGBITS, SHF_ALLOC, {1, 2, 3, 4}}, {".data", SHT_PROGBITS, SHF_ALLOC, cudaLinear().build()}},
       {{SPARSEC_LAUNCH_INFO_SYMBOL, 2, 0, 0}}});
  ASSERT_TRUE(updateElfChecksums(cubin));
  EXPECT_OK(read(cubin));
  cubin[sizeof(Elf64_Ehdr) + 2] ^= 1; // the code is the first section
  EXPECT_STATUS(read(cubin), SPARSEC_STATUS_INVALID_IMAGE, "image for 'sm_90a' is corrupt: its checksum is ");
  ByteVector bundle = makeBundle({ptxEntry(cudaLinear())});
  sparsec_bundle_entry_t entry;
  std::memcpy(&entry, bundle.data() + sizeof(sparsec_bundle_t), sizeof(entry));
  bundle[entry.image_offset] = 'x';
  EXPECT_STATUS(read(bundle), SPARSEC_STATUS_INVALID_IMAGE, "bundle is corrupt: its checksum is ");
  updateBundleChecksum(bundle);
  EXPECT_STATUS(read(bundle), SPARSEC_STATUS_INVALID_IMAGE, "image for 'sm_90a' is corrupt: its checksum is ");
}

TEST(Image, ForeignFilesAreRefused) {
  const std::string text = "#!/bin/sh\necho not a kernel\n";
  EXPECT_STATUS(read(ByteVector(text.begin(), text.end())), SPARSEC_STATUS_INVALID_IMAGE, "not a compiled file");
  EXPECT_STATUS(read({}), SPARSEC_STATUS_INVALID_IMAGE, "not a compiled file");
  EXPECT_STATUS(read(makeElf({ET_EXEC, 190, {{".text", SHT_PROGBITS, SHF_ALLOC, {1, 2, 3}}}, {{"kernel", 1, 0, 3}}})),
                SPARSEC_STATUS_INVALID_IMAGE, "no symbol 'sparsec_launch_info'");
  EXPECT_STATUS(read(makeElf({ET_EXEC,
                              62,
                              {{".data", SHT_PROGBITS, SHF_ALLOC, cudaLinear().build()}},
                              {{SPARSEC_LAUNCH_INFO_SYMBOL, 1, 0, 0}}})),
                SPARSEC_STATUS_INVALID_IMAGE, "corrupt");
  ByteVector foreign = makeElf({ET_EXEC,
                                62,
                                {{".data", SHT_PROGBITS, SHF_ALLOC, cudaLinear().build()}},
                                {{SPARSEC_LAUNCH_INFO_SYMBOL, 1, 0, 0}}});
  ASSERT_TRUE(updateElfChecksums(foreign));
  EXPECT_STATUS(read(foreign), SPARSEC_STATUS_INVALID_IMAGE, "expects machine 190, but got 62");
}

TEST(Image, BrokenElfFilesAreRefused) {
  struct {
    const char *message;
    void (*change)(Elf64_Ehdr &);
  } cases[] = {
      {"64-bit little-endian", [](Elf64_Ehdr &h) { h.e_ident[EI_CLASS] = ELFCLASS32; }},
      {"64-bit little-endian", [](Elf64_Ehdr &h) { h.e_ident[EI_DATA] = ELFDATA2MSB; }},
      {"expects sections", [](Elf64_Ehdr &h) { h.e_shnum = 0; }},
      {"expects sections", [](Elf64_Ehdr &h) { h.e_shentsize = 10; }},
      {"truncated", [](Elf64_Ehdr &h) { h.e_shoff = UINT64_MAX - 8; }},
      {"section of names is 99", [](Elf64_Ehdr &h) { h.e_shstrndx = 99; }},
      {"a name is at offset", [](Elf64_Ehdr &h) { h.e_shstrndx = 0; }},
  };
  for (auto [message, change] : cases)
    EXPECT_STATUS(read(cubinWith(change)), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(Image, BrokenSymbolTablesAreRefused) {
  // The symbol table is section 2 of 4 behind the one section of makeCubin.
  auto cubin = [](auto change) {
    ByteVector file = makeCubin(cudaLinear().build());
    Elf64_Ehdr header;
    std::memcpy(&header, file.data(), sizeof(header));
    Elf64_Shdr table;
    uint8_t *place = file.data() + header.e_shoff + 2 * sizeof(table);
    std::memcpy(&table, place, sizeof(table));
    EXPECT_EQ(table.sh_type, uint32_t(SHT_SYMTAB));
    change(table);
    std::memcpy(place, &table, sizeof(table));
    return file;
  };
  EXPECT_STATUS(read(cubin([](auto &t) { t.sh_type = SHT_PROGBITS; })), SPARSEC_STATUS_INVALID_IMAGE,
                "no symbol table");
  EXPECT_STATUS(read(cubin([](auto &t) { t.sh_entsize = 1; })), SPARSEC_STATUS_INVALID_IMAGE, "expects symbols of 24");
  EXPECT_STATUS(read(cubin([](auto &t) { t.sh_link = 9; })), SPARSEC_STATUS_INVALID_IMAGE, "are in section 9");
  EXPECT_STATUS(read(cubin([](auto &t) { t.sh_link = 0; })), SPARSEC_STATUS_INVALID_IMAGE, "a name is at offset");
}

TEST(Image, LaunchInfoSymbolBeyondItsSectionIsRefused) {
  ByteVector info = cudaLinear().build();
  auto cubin = [&](uint64_t value, uint64_t size) {
    ByteVector file =
        makeElf({ET_EXEC, 190, {{".data", SHT_PROGBITS, 0, info}}, {{SPARSEC_LAUNCH_INFO_SYMBOL, 1, value, size}}});
    updateElfChecksums(file);
    return file;
  };
  EXPECT_OK(read(cubin(0, info.size())));
  EXPECT_OK(read(cubin(0, 0))); // no size: to the end of the section
  EXPECT_STATUS(read(cubin(1, info.size())), SPARSEC_STATUS_INVALID_IMAGE, "beyond");
  EXPECT_STATUS(read(cubin(UINT64_MAX, 1)), SPARSEC_STATUS_INVALID_IMAGE, "beyond");
}

TEST(Image, BundleIsRead) {
  LaunchInfoBuilder ada = cudaLinear();
  std::strcpy(ada.header.target, "sm_89");
  ada.header.compute_capability = 89;
  ada.header.arch_specific = 0;
  ByteVector file = makeBundle({cubinEntry(cudaLinear()), ptxEntry(ada)});
  size_t count = 0;
  ASSERT_OK(sparsec_image_count(file.data(), file.size(), &count));
  EXPECT_EQ(count, 2u);
  sparsec_launch_info_t *info = nullptr;
  ASSERT_OK(sparsec_launch_info_read(file.data(), file.size(), 1, &info));
  EXPECT_STREQ(info->target, "sm_89");
  sparsec_launch_info_free(info);
  EXPECT_STATUS(sparsec_launch_info_read(file.data(), file.size(), 2, &info), SPARSEC_STATUS_INVALID_ARGUMENT,
                "image_index is 2, but the bundle has 2");
  EXPECT_EQ(info, nullptr);
  sparsec_image_format_t format;
  ASSERT_OK(sparsec_image_format(file.data(), file.size(), 0, &format));
  EXPECT_EQ(format, SPARSEC_IMAGE_ELF);
  ASSERT_OK(sparsec_image_format(file.data(), file.size(), 1, &format));
  EXPECT_EQ(format, SPARSEC_IMAGE_PTX);
  EXPECT_STATUS(sparsec_image_format(file.data(), file.size(), 2, &format), SPARSEC_STATUS_INVALID_ARGUMENT,
                "image_index is 2, but the bundle has 2");
}

TEST(Image, BrokenBundlesAreRefused) {
  ByteVector good = makeBundle({ptxEntry(cudaLinear())});
  auto with = [&](auto change) {
    ByteVector file = good;
    sparsec_bundle_t header;
    sparsec_bundle_entry_t entry;
    std::memcpy(&header, file.data(), sizeof(header));
    std::memcpy(&entry, file.data() + sizeof(header), sizeof(entry));
    change(header, entry);
    std::memcpy(file.data(), &header, sizeof(header));
    std::memcpy(file.data() + sizeof(header), &entry, sizeof(entry));
    updateBundleChecksum(file);
    return file;
  };
  EXPECT_STATUS(read(with([](auto &h, auto &) { h.major = 3; })), SPARSEC_STATUS_VERSION_MISMATCH,
                "bundle has version 3.0, but this runtime reads version 2.x");
  EXPECT_STATUS(read(with([](auto &h, auto &) { h.total_size += 1; })), SPARSEC_STATUS_INVALID_IMAGE, "truncated");
  EXPECT_STATUS(read(with([](auto &h, auto &) { h.entry_count = 0; })), SPARSEC_STATUS_INVALID_IMAGE, "0 entries");
  EXPECT_STATUS(read(with([](auto &h, auto &) { h.entry_count = 257; })), SPARSEC_STATUS_INVALID_IMAGE,
                "257 entries of 104 bytes");
  EXPECT_STATUS(read(with([](auto &h, auto &) { h.entry_count = 200; })), SPARSEC_STATUS_INVALID_IMAGE,
                "200 entries of 104 bytes at offset 40 do not lie within");
  EXPECT_STATUS(read(with([](auto &h, auto &) { h.entry_size = 8; })), SPARSEC_STATUS_INVALID_IMAGE,
                "entries of 8 bytes");
  EXPECT_STATUS(read(with([](auto &, auto &e) { e.image_offset += 1; })), SPARSEC_STATUS_INVALID_IMAGE,
                "multiple of 16");
  EXPECT_STATUS(read(with([](auto &, auto &e) { e.image_size = UINT64_MAX; })), SPARSEC_STATUS_INVALID_IMAGE,
                "does not lie within");
  EXPECT_STATUS(read(with([](auto &, auto &e) { e.launch_info_offset = UINT64_MAX; })), SPARSEC_STATUS_INVALID_IMAGE,
                "the launch info of image 0");
  EXPECT_STATUS(read(with([](auto &, auto &e) { e.format = 5; })), SPARSEC_STATUS_INVALID_IMAGE, "unknown format 5");
  EXPECT_STATUS(read(with([](auto &, auto &e) { e.image_size -= 1; })), SPARSEC_STATUS_INVALID_IMAGE,
                "not zero-terminated");
}

/// The image that a device of the capability takes from a bundle: "target", "target ptx", or the refusal.
std::string choice(const std::vector<std::string> &targets, int capability) {
  std::vector<BundleEntrySpec> entries;
  for (const std::string &target : targets) {
    LaunchInfoBuilder info = cudaLinear();
    bool isPtx = target.find("ptx") != std::string::npos;
    std::strcpy(info.header.target, target.c_str());
    info.header.compute_capability = uint32_t(std::stoi(target.substr(3)));
    info.header.arch_specific = target[5] == 'a';
    entries.push_back(isPtx ? ptxEntry(info) : cubinEntry(info));
  }
  sparsec_device_info_t device = {
      sizeof(sparsec_device_info_t), SPARSEC_TARGET_CUDA, 0, "Fake GPU", capability, 1, 0, 0};
  Image image;
  Status status = selectImage(makeBundle(entries), device, image);
  return status ? status->message : image.info.header().target;
}

TEST(Image, BestImageForTheDevice) {
  EXPECT_EQ(choice({"sm_89", "sm_90a", "sm_89 ptx"}, 90), "sm_90a");
  EXPECT_EQ(choice({"sm_89", "sm_90a", "sm_89 ptx"}, 89), "sm_89");
  EXPECT_EQ(choice({"sm_89", "sm_89 ptx"}, 90), "sm_89 ptx") << "a cubin does not run on another major capability";
  EXPECT_EQ(choice({"sm_80", "sm_86"}, 89), "sm_86") << "the highest of the same major capability";
  EXPECT_EQ(choice({"sm_90", "sm_90a"}, 90), "sm_90a");
  EXPECT_EQ(choice({"sm_80 ptx", "sm_89 ptx"}, 100), "sm_89 ptx");
  EXPECT_EQ(choice({"sm_90a", "sm_90a ptx", "sm_89"}, 100),
            "no image runs on 'Fake GPU' of compute capability 10.0: the file is for sm_90a, sm_90a ptx (PTX), sm_89");
  EXPECT_EQ(choice({"sm_89"}, 86), "no image runs on 'Fake GPU' of compute capability 8.6: the file is for sm_89");
}

TEST(Image, EveryChipTakesItsOwnImage) {
  std::vector<std::string> all = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_120"};
  EXPECT_EQ(choice(all, 80), "sm_80");
  EXPECT_EQ(choice(all, 86), "sm_86");
  EXPECT_EQ(choice(all, 89), "sm_89");
  EXPECT_EQ(choice(all, 90), "sm_90a");
  EXPECT_EQ(choice(all, 120), "sm_120");
  EXPECT_EQ(choice(all, 121), "sm_120") << "a later capability of the same major number";
  EXPECT_EQ(choice({"sm_80"}, 86), "sm_80");
  EXPECT_EQ(choice({"sm_86"}, 80), "no image runs on 'Fake GPU' of compute capability 8.0: the file is for sm_86");
  EXPECT_EQ(choice({"sm_120"}, 100), "no image runs on 'Fake GPU' of compute capability 10.0: the file is for sm_120");
}

TEST(Image, EveryChipTakesThePtxOfAnEarlierOne) {
  EXPECT_EQ(choice({"sm_80", "sm_80 ptx"}, 86), "sm_80") << "nothing to compile";
  EXPECT_EQ(choice({"sm_80", "sm_80 ptx"}, 90), "sm_80 ptx");
  EXPECT_EQ(choice({"sm_80 ptx", "sm_86 ptx", "sm_120 ptx"}, 90), "sm_86 ptx");
  EXPECT_EQ(choice({"sm_80 ptx", "sm_86 ptx", "sm_120 ptx"}, 120), "sm_120 ptx");
  EXPECT_EQ(choice({"sm_89 ptx", "sm_90a"}, 120), "sm_89 ptx") << "code for sm_90a runs on nothing else";
  EXPECT_EQ(choice({"sm_120 ptx"}, 90),
            "no image runs on 'Fake GPU' of compute capability 9.0: the file is for sm_120 ptx (PTX)");
}

TEST(Image, HostTakesHostImagesOnly) {
  sparsec_device_info_t host = {
      sizeof(sparsec_device_info_t), SPARSEC_TARGET_HOST, SPARSEC_PLACE_HOST, "host", 0, 1, 0, 0};
  Image image;
  EXPECT_STATUS(selectImage(makeCubin(cudaLinear().build()), host, image), SPARSEC_STATUS_WRONG_DEVICE,
                "no image runs on the host: the file is for sm_90a");
}

TEST(Image, NullArgumentsAreRefused) {
  size_t count = 7;
  EXPECT_STATUS(sparsec_image_count(nullptr, 0, &count), SPARSEC_STATUS_INVALID_ARGUMENT, "data is NULL");
  EXPECT_EQ(count, 0u);
  EXPECT_STATUS(sparsec_image_count("x", 1, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_count is NULL");
  sparsec_launch_info_t *info = nullptr;
  EXPECT_STATUS(sparsec_launch_info_read(nullptr, 0, 0, &info), SPARSEC_STATUS_INVALID_ARGUMENT, "data is NULL");
  EXPECT_STATUS(sparsec_launch_info_read("x", 1, 0, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_info is NULL");
  sparsec_image_format_t format;
  EXPECT_STATUS(sparsec_image_format(nullptr, 0, 0, &format), SPARSEC_STATUS_INVALID_ARGUMENT, "data is NULL");
  EXPECT_STATUS(sparsec_image_format("x", 1, 0, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_format is NULL");
}

} // namespace
