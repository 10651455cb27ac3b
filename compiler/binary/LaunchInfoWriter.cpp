// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LaunchInfoWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/CRC.h"

using namespace llvm;
using namespace sparsec;

static uint32_t computeChecksum(ArrayRef<char> launchInfo) {
  std::string bytes(launchInfo.begin(), launchInfo.end());
  std::memset(bytes.data() + offsetof(sparsec_launch_info_t, checksum), 0, sizeof(uint32_t));
  return crc32(arrayRefFromStringRef(bytes));
}

static void setChecksum(MutableArrayRef<char> launchInfo) {
  uint32_t checksum = computeChecksum(launchInfo);
  std::memcpy(launchInfo.data() + offsetof(sparsec_launch_info_t, checksum), &checksum, sizeof(checksum));
}

namespace {
/// The record tables, in the order in which they follow the header.
struct Tables {
  std::vector<sparsec_kernel_info_t> kernels;
  std::vector<sparsec_argument_info_t> arguments;
  std::vector<sparsec_variant_info_t> variants;
  std::vector<sparsec_parameter_info_t> parameters;
  std::vector<sparsec_tensor_map_info_t> tensorMaps;
  std::vector<sparsec_step_info_t> steps;
  std::vector<sparsec_attention_info_t> attentions;

  void add(const KernelRecord &kernel);
  void add(const AttentionRecord &attention);
  void add(const VariantRecord &variant);
};
} // namespace

void Tables::add(const KernelRecord &kernel) {
  sparsec_kernel_info_t info = kernel.info;
  info.argument_first = arguments.size();
  info.argument_count = kernel.arguments.size();
  info.variant_first = variants.size();
  info.variant_count = kernel.variants.size();
  info.step_first = steps.size();
  info.step_count = kernel.steps.size();
  info.detail = kernel.attention ? attentions.size() : 0;
  kernels.push_back(info);
  llvm::append_range(arguments, kernel.arguments);
  llvm::append_range(steps, kernel.steps);
  if (kernel.attention)
    add(*kernel.attention);
  for (const VariantRecord &variant : kernel.variants)
    add(variant);
  if (!kernel.attention || !kernel.attention->patternBuilder)
    return;
  attentions.back().builder_first = variants.size();
  attentions.back().builder_count = 1;
  add(*kernel.attention->patternBuilder);
}

void Tables::add(const AttentionRecord &attention) {
  sparsec_attention_info_t info = attention.info;
  info.score_step_first = steps.size();
  info.score_step_count = attention.score.size();
  llvm::append_range(steps, attention.score);
  info.mask_step_first = steps.size();
  info.mask_step_count = attention.mask.size();
  llvm::append_range(steps, attention.mask);
  attentions.push_back(info);
}

void Tables::add(const VariantRecord &variant) {
  sparsec_variant_info_t info = variant.info;
  info.parameter_first = parameters.size();
  info.parameter_count = variant.parameters.size();
  variants.push_back(info);
  for (sparsec_parameter_info_t parameter : variant.parameters) {
    if (parameter.kind == SPARSEC_PARAMETER_TENSOR_MAP)
      parameter.index += tensorMaps.size();
    parameters.push_back(parameter);
  }
  llvm::append_range(tensorMaps, variant.tensorMaps);
}

template <typename Record>
static void writeTable(std::string &bytes, ArrayRef<Record> table, uint32_t &offset, uint32_t &count, uint32_t &size) {
  bytes.resize(alignTo(bytes.size(), 16));
  offset = bytes.size();
  count = table.size();
  size = sizeof(Record);
  bytes.append(reinterpret_cast<const char *>(table.data()), table.size() * sizeof(Record));
}

std::string sparsec::writeLaunchInfo(sparsec_launch_info_t header, ArrayRef<KernelRecord> kernels) {
  Tables tables;
  for (const KernelRecord &kernel : kernels)
    tables.add(kernel);

  std::string bytes(sizeof(header), '\0');
  writeTable<sparsec_kernel_info_t>(bytes, tables.kernels, header.kernel_offset, header.kernel_count,
                                    header.kernel_size);
  writeTable<sparsec_argument_info_t>(bytes, tables.arguments, header.argument_offset, header.argument_count,
                                      header.argument_size);
  writeTable<sparsec_variant_info_t>(bytes, tables.variants, header.variant_offset, header.variant_count,
                                     header.variant_size);
  writeTable<sparsec_parameter_info_t>(bytes, tables.parameters, header.parameter_offset, header.parameter_count,
                                       header.parameter_size);
  writeTable<sparsec_tensor_map_info_t>(bytes, tables.tensorMaps, header.tensor_map_offset, header.tensor_map_count,
                                        header.tensor_map_size);
  writeTable<sparsec_step_info_t>(bytes, tables.steps, header.step_offset, header.step_count, header.step_size);
  writeTable<sparsec_attention_info_t>(bytes, tables.attentions, header.attention_offset, header.attention_count,
                                       header.attention_size);

  header.magic = SPARSEC_LAUNCH_INFO_MAGIC;
  header.major = SPARSEC_LAUNCH_INFO_MAJOR;
  header.minor = SPARSEC_LAUNCH_INFO_MINOR;
  header.total_size = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof(header));
  setChecksum({bytes.data(), bytes.size()});
  return bytes;
}

Expected<MutableArrayRef<char>> sparsec::findLaunchInfo(MutableArrayRef<char> elf) {
  using Elf = object::ELF64LE;
  auto file = object::ELFFile<Elf>::create({elf.data(), elf.size()});
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  for (const Elf::Shdr &section : *sections) {
    if (section.sh_type != ELF::SHT_SYMTAB)
      continue;
    auto symbols = file->symbols(&section);
    auto names = file->getStringTableForSymtab(section);
    if (!symbols || !names)
      return joinErrors(symbols.takeError(), names.takeError());
    for (const Elf::Sym &symbol : *symbols) {
      auto name = symbol.getName(*names);
      if (!name)
        return name.takeError();
      if (*name != SPARSEC_LAUNCH_INFO_SYMBOL)
        continue;
      auto home = file->getSection(symbol.st_shndx);
      if (!home)
        return home.takeError();
      // Section addresses are zero in cubins and relocatable objects: the value is the offset in the section.
      uint64_t offset = (*home)->sh_offset + symbol.st_value;
      if (offset > elf.size() || symbol.st_size > elf.size() - offset)
        return createStringError("the symbol " SPARSEC_LAUNCH_INFO_SYMBOL " lies outside the image");
      return elf.slice(offset, symbol.st_size);
    }
  }
  return createStringError("the image has no symbol " SPARSEC_LAUNCH_INFO_SYMBOL);
}

void sparsec::setResources(MutableArrayRef<char> launchInfo, ArrayRef<KernelResources> resources) {
  auto *header = reinterpret_cast<const sparsec_launch_info_t *>(launchInfo.data());
  auto *variants = reinterpret_cast<sparsec_variant_info_t *>(launchInfo.data() + header->variant_offset);
  for (sparsec_variant_info_t &variant : MutableArrayRef(variants, header->variant_count)) {
    for (const KernelResources &kernel : resources) {
      if (kernel.symbol != variant.symbol)
        continue;
      variant.registers = kernel.registers;
      variant.static_shared_memory = kernel.staticSharedMemory;
      variant.spill_bytes = kernel.spillStoreBytes + kernel.spillLoadBytes;
    }
  }
  setChecksum(launchInfo);
}
