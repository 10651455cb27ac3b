// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image/image.h"
#include "image/checksum.h"

#include <cstring>
#include <tuple>

namespace sparsec::runtime {

namespace {

bool isBundle(Bytes file) {
  uint64_t magic;
  if (file.size() < sizeof(magic))
    return false;
  std::memcpy(&magic, file.data(), sizeof(magic));
  return magic == SPARSEC_BUNDLE_MAGIC;
}

Status readBundle(Bytes file, sparsec_bundle_t &bundle) {
  if (file.size() < sizeof(bundle))
    return invalidImage("bundle is truncated: it has ", file.size(), " bytes, its header alone needs ", sizeof(bundle));
  std::memcpy(&bundle, file.data(), sizeof(bundle));
  if (bundle.major != SPARSEC_BUNDLE_MAJOR)
    return makeStatus(SPARSEC_STATUS_VERSION_MISMATCH, "bundle has version ", bundle.major, ".", bundle.minor,
                      ", but this runtime reads version ", SPARSEC_BUNDLE_MAJOR, ".x");
  if (bundle.total_size < sizeof(bundle) || bundle.total_size > file.size())
    return invalidImage("bundle is truncated: it says that it has ", bundle.total_size, " bytes, but ", file.size(),
                        " are there");
  constexpr size_t field = offsetof(sparsec_bundle_t, checksum);
  uint32_t actual = crc32WithZeros(file.data(), bundle.total_size, field, field + sizeof(bundle.checksum));
  if (actual != bundle.checksum)
    return invalidImage("bundle is corrupt: its checksum is ", actual, ", but it says ", bundle.checksum);
  constexpr uint32_t maxEntries = 256;
  if (bundle.entry_count == 0 || bundle.entry_count > maxEntries ||
      bundle.entry_size < sizeof(sparsec_bundle_entry_t) ||
      !containsRange(file, bundle.entry_offset, uint64_t(bundle.entry_count) * bundle.entry_size))
    return invalidImage("bundle: ", bundle.entry_count, " entries of ", bundle.entry_size, " bytes at offset ",
                        bundle.entry_offset, " do not lie within its ", file.size(), " bytes");
  return {};
}

/// `begin` and `end` are where the two checksums lie in the image; both 0 where they lie beside it.
Status checkImage(Bytes code, const LaunchInfo &info, size_t begin, size_t end) {
  uint32_t actual = crc32WithZeros(code.data(), code.size(), begin, end), expected = info.header().image_checksum;
  if (actual == expected)
    return {};
  return invalidImage("image for '", info.header().target, "' is corrupt: its checksum is ", actual,
                      ", but its launch info says ", expected);
}

Status readElfImage(Bytes code, Image &image) {
  ElfFile elf;
  SPARSEC_RETURN_IF_ERROR(ElfFile::parse(code, elf));
  const ElfSymbol *symbol = elf.findSymbol(SPARSEC_LAUNCH_INFO_SYMBOL);
  if (!symbol)
    return invalidImage("ELF file has no symbol '", SPARSEC_LAUNCH_INFO_SYMBOL, "': not written by sparsec");
  Bytes contents;
  SPARSEC_RETURN_IF_ERROR(elf.symbolContents(*symbol, contents));
  SPARSEC_RETURN_IF_ERROR(LaunchInfo::parse(contents, image.info));
  constexpr unsigned cudaMachine = 190;
  unsigned machine = image.info.isHost() ? EM_X86_64 : cudaMachine;
  // The two checksums are neighbours.
  constexpr size_t first = offsetof(sparsec_launch_info_t, image_checksum);
  static_assert(offsetof(sparsec_launch_info_t, checksum) == first + sizeof(uint32_t));
  size_t place = contents.data() - code.data() + first;
  SPARSEC_RETURN_IF_ERROR(checkImage(code, image.info, place, place + 2 * sizeof(uint32_t)));
  if (elf.header.e_machine != machine)
    return invalidImage("ELF file for '", image.info.header().target, "': expects machine ", machine, ", but got ",
                        elf.header.e_machine);
  image.format = SPARSEC_IMAGE_ELF;
  image.code = code;
  return {};
}

Status readPtxImage(Bytes code, Bytes launchInfo, Image &image) {
  if (code.empty() || code.back() != 0)
    return invalidImage("PTX image is not zero-terminated");
  SPARSEC_RETURN_IF_ERROR(LaunchInfo::parse(launchInfo, image.info));
  SPARSEC_RETURN_IF_ERROR(checkImage(code, image.info, 0, 0));
  if (image.info.isHost())
    return invalidImage("PTX image has a launch info of the host");
  image.format = SPARSEC_IMAGE_PTX;
  image.code = code;
  return {};
}

Status readBundleEntry(Bytes file, const sparsec_bundle_t &bundle, size_t index, Image &image) {
  if (index >= bundle.entry_count)
    return invalidArgument("image_index is ", index, ", but the bundle has ", bundle.entry_count, " images");
  sparsec_bundle_entry_t entry;
  std::memcpy(&entry, file.data() + bundle.entry_offset + index * bundle.entry_size, sizeof(entry));
  if (entry.image_offset % 16 != 0 || !containsRange(file, entry.image_offset, entry.image_size))
    return invalidImage("bundle: image ", index, " at offset ", entry.image_offset, " with ", entry.image_size,
                        " bytes does not lie within its ", file.size(), " bytes at a multiple of 16");
  Bytes code = file.subspan(entry.image_offset, entry.image_size);
  switch (entry.format) {
  case SPARSEC_IMAGE_ELF:
    return readElfImage(code, image);
  case SPARSEC_IMAGE_PTX:
    if (!containsRange(file, entry.launch_info_offset, entry.launch_info_size))
      return invalidImage("bundle: the launch info of image ", index, " at offset ", entry.launch_info_offset, " with ",
                          entry.launch_info_size, " bytes does not lie within its ", file.size(), " bytes");
    return readPtxImage(code, file.subspan(entry.launch_info_offset, entry.launch_info_size), image);
  }
  return invalidImage("bundle: image ", index, " has the unknown format ", entry.format);
}

bool runsOn(const Image &image, const sparsec_device_info_t &device) {
  if (image.info.isHost() || device.kind == SPARSEC_TARGET_HOST)
    return image.info.isHost() && device.kind == SPARSEC_TARGET_HOST;
  uint32_t has = image.info.header().compute_capability, runs = device.compute_capability;
  if (image.info.header().arch_specific)
    return has == runs;
  return has <= runs && (image.format == SPARSEC_IMAGE_PTX || has / 10 == runs / 10);
}

auto preference(const Image &image) {
  const sparsec_launch_info_t &header = image.info.header();
  return std::tuple(header.compute_capability, header.arch_specific, image.format == SPARSEC_IMAGE_ELF);
}

} // namespace

Status countImages(Bytes file, size_t &outCount) {
  outCount = 1;
  if (hasElfMagic(file))
    return {};
  if (!isBundle(file))
    return invalidImage("not a compiled file: ", file.size(),
                        " bytes that start neither like an ELF file nor like a "
                        "sparsec bundle");
  sparsec_bundle_t bundle;
  SPARSEC_RETURN_IF_ERROR(readBundle(file, bundle));
  outCount = bundle.entry_count;
  return {};
}

Status readImage(Bytes file, size_t index, Image &outImage) {
  size_t count;
  SPARSEC_RETURN_IF_ERROR(countImages(file, count));
  if (isBundle(file)) {
    sparsec_bundle_t bundle;
    SPARSEC_RETURN_IF_ERROR(readBundle(file, bundle));
    return readBundleEntry(file, bundle, index, outImage);
  }
  if (index != 0)
    return invalidArgument("image_index is ", index, ", but the file has 1 image");
  return readElfImage(file, outImage);
}

Status selectImage(Bytes file, const sparsec_device_info_t &device, Image &outImage) {
  size_t count;
  SPARSEC_RETURN_IF_ERROR(countImages(file, count));
  bool found = false;
  std::string targets;
  for (size_t i = 0; i < count; ++i) {
    Image image;
    SPARSEC_RETURN_IF_ERROR(readImage(file, i, image));
    targets += std::string(i ? ", " : "") + image.info.header().target;
    targets += image.format == SPARSEC_IMAGE_PTX ? " (PTX)" : "";
    if (runsOn(image, device) && (!found || preference(image) > preference(outImage))) {
      outImage = std::move(image);
      found = true;
    }
  }
  if (found)
    return {};
  if (device.kind == SPARSEC_TARGET_HOST)
    return makeStatus(SPARSEC_STATUS_WRONG_DEVICE, "no image runs on the host: the file is for ", targets);
  return makeStatus(SPARSEC_STATUS_WRONG_DEVICE, "no image runs on '", device.name, "' of compute capability ",
                    device.compute_capability / 10, ".", device.compute_capability % 10, ": the file is for ", targets);
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_image_count(const void *data, size_t bytes, size_t *out_count) {
  return guarded([&]() -> Status {
    if (!out_count)
      return invalidArgument("out_count is NULL");
    *out_count = 0;
    if (!data)
      return invalidArgument("data is NULL");
    size_t count;
    SPARSEC_RETURN_IF_ERROR(countImages({static_cast<const uint8_t *>(data), bytes}, count));
    *out_count = count;
    return {};
  });
}

sparsec_status_t sparsec_image_format(const void *data, size_t bytes, size_t image_index,
                                      sparsec_image_format_t *out_format) {
  return guarded([&]() -> Status {
    if (!out_format)
      return invalidArgument("out_format is NULL");
    if (!data)
      return invalidArgument("data is NULL");
    Image image;
    SPARSEC_RETURN_IF_ERROR(readImage({static_cast<const uint8_t *>(data), bytes}, image_index, image));
    *out_format = image.format;
    return {};
  });
}

sparsec_status_t sparsec_launch_info_read(const void *data, size_t bytes, size_t image_index,
                                          sparsec_launch_info_t **out_info) {
  return guarded([&]() -> Status {
    if (!out_info)
      return invalidArgument("out_info is NULL");
    *out_info = nullptr;
    if (!data)
      return invalidArgument("data is NULL");
    Image image;
    SPARSEC_RETURN_IF_ERROR(readImage({static_cast<const uint8_t *>(data), bytes}, image_index, image));
    *out_info = image.info.release();
    return {};
  });
}
