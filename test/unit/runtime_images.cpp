// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime_images.h"
#include "image/checksum.h"
#include "image/elf_file.h"
#include "runtime_expect.h"

#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>

namespace sparsec::test {

namespace {

template <typename Record> void appendRecord(ByteVector &bytes, const Record &record) {
  const auto *begin = reinterpret_cast<const uint8_t *>(&record);
  bytes.insert(bytes.end(), begin, begin + sizeof(record));
}

template <typename Record>
void appendTable(ByteVector &bytes, const std::vector<Record> &records, uint32_t &offset, uint32_t &count,
                 uint32_t &size) {
  offset = uint32_t(bytes.size());
  count = uint32_t(records.size());
  size = sizeof(Record);
  for (const Record &record : records)
    appendRecord(bytes, record);
}

void setName(char *field, const char *name) { std::strcpy(field, name); }

void pad(ByteVector &bytes, size_t alignment) {
  while (bytes.size() % alignment)
    bytes.push_back(0);
}

} // namespace

ByteVector LaunchInfoBuilder::build() const {
  sparsec_launch_info_t final = header;
  ByteVector bytes(sizeof(final));
  appendTable(bytes, kernels, final.kernel_offset, final.kernel_count, final.kernel_size);
  appendTable(bytes, arguments, final.argument_offset, final.argument_count, final.argument_size);
  appendTable(bytes, variants, final.variant_offset, final.variant_count, final.variant_size);
  appendTable(bytes, parameters, final.parameter_offset, final.parameter_count, final.parameter_size);
  appendTable(bytes, tensorMaps, final.tensor_map_offset, final.tensor_map_count, final.tensor_map_size);
  appendTable(bytes, steps, final.step_offset, final.step_count, final.step_size);
  appendTable(bytes, attentions, final.attention_offset, final.attention_count, final.attention_size);
  final.total_size = uint32_t(bytes.size());
  std::memcpy(bytes.data(), &final, sizeof(final));
  updateChecksum(bytes);
  return bytes;
}

void updateChecksum(ByteVector &launchInfo) {
  uint32_t zero = 0;
  size_t offset = offsetof(sparsec_launch_info_t, checksum);
  std::memcpy(launchInfo.data() + offset, &zero, sizeof(zero));
  uint32_t checksum = runtime::crc32(launchInfo.data(), launchInfo.size());
  std::memcpy(launchInfo.data() + offset, &checksum, sizeof(checksum));
}

namespace {

sparsec_argument_info_t makeArgument(const char *name, uint32_t kind, uint32_t role, uint32_t dtype, uint32_t rank) {
  sparsec_argument_info_t argument = {};
  setName(argument.name, name);
  argument.kind = kind;
  argument.role = role;
  argument.dtype = dtype;
  argument.rank = rank;
  for (uint32_t d = 0; d < rank; ++d)
    argument.sizes[d] = SPARSEC_DYNAMIC;
  return argument;
}

sparsec_launch_info_t cudaHeader() {
  sparsec_launch_info_t header = {};
  header.magic = SPARSEC_LAUNCH_INFO_MAGIC;
  header.major = SPARSEC_LAUNCH_INFO_MAJOR;
  header.minor = SPARSEC_LAUNCH_INFO_MINOR;
  header.target_kind = SPARSEC_TARGET_CUDA;
  header.compute_capability = 90;
  header.arch_specific = 1;
  setName(header.target, "sm_90a");
  setName(header.compiler, "sparsec test");
  return header;
}

std::vector<sparsec_argument_info_t> linearArguments() {
  auto w = makeArgument("w", SPARSEC_ARGUMENT_BSR, SPARSEC_ROLE_MATRIX, SPARSEC_DTYPE_BF16, 2);
  w.block_rows = w.block_columns = 64;
  auto x = makeArgument("x", SPARSEC_ARGUMENT_DENSE, SPARSEC_ROLE_DENSE, SPARSEC_DTYPE_BF16, 2);
  x.layout = SPARSEC_LAYOUT_ROW_MAJOR;
  auto bias = makeArgument("bias", SPARSEC_ARGUMENT_DENSE, SPARSEC_ROLE_EPILOGUE, SPARSEC_DTYPE_F32, 1);
  bias.broadcast = SPARSEC_BROADCAST_PER_ROW;
  auto alpha = makeArgument("alpha", SPARSEC_ARGUMENT_SCALAR, SPARSEC_ROLE_EPILOGUE, SPARSEC_DTYPE_F32, 0);
  alpha.broadcast = SPARSEC_BROADCAST_SCALAR;
  auto y = makeArgument("y", SPARSEC_ARGUMENT_DENSE, SPARSEC_ROLE_RESULT, SPARSEC_DTYPE_BF16, 2);
  y.layout = SPARSEC_LAYOUT_ROW_MAJOR;
  return {w, x, bias, alpha, y};
}

sparsec_variant_info_t makeVariant(const char *symbol, uint32_t alignment, uint32_t threads, uint32_t sharedMemory,
                                   uint32_t cluster, uint32_t tileN, uint32_t tileK) {
  sparsec_variant_info_t variant = {};
  setName(variant.symbol, symbol);
  variant.alignment = alignment;
  variant.threads = threads;
  variant.dynamic_shared_memory = sharedMemory;
  variant.cluster = cluster;
  variant.ctas_per_sm = cluster == 1 ? 2 : 1;
  variant.tiles_per_cta = 1;
  variant.tile_m = 64;
  variant.tile_n = tileN;
  variant.tile_k = tileK;
  variant.registers = 128;
  return variant;
}

} // namespace

LaunchInfoBuilder cudaLinear() {
  enum { w, x, bias, alpha, y };
  LaunchInfoBuilder info;
  info.header = cudaHeader();
  info.arguments = linearArguments();

  info.variants = {makeVariant("linear_aligned", 16, 384, 200000, 2, 256, 64),
                   makeVariant("linear_any", 2, 128, 40000, 1, 128, 32)};
  info.parameters = {
      {SPARSEC_PARAMETER_TENSOR_MAP, 0, 0, 0},
      {SPARSEC_PARAMETER_TENSOR_MAP, 0, 1, 0},
      {SPARSEC_PARAMETER_TENSOR_MAP, 0, 2, 0},
      {SPARSEC_PARAMETER_ROW_PTR, w, 0, 0},
      {SPARSEC_PARAMETER_COL_IDX, w, 0, 0},
      {SPARSEC_PARAMETER_POINTER, bias, 0, 0},
      {SPARSEC_PARAMETER_SCALAR, alpha, 0, 0},
      {SPARSEC_PARAMETER_SIZE, w, 0, 0},
      {SPARSEC_PARAMETER_SIZE, x, 1, 0},
      {SPARSEC_PARAMETER_PLAN_SECTION, 0, SPARSEC_PLAN_TILE_OFFSETS, 0},
      {SPARSEC_PARAMETER_PLAN_SECTION, 0, SPARSEC_PLAN_TILES, 0},
      {SPARSEC_PARAMETER_TILE_ROWS, 0, 0, 0},
      {SPARSEC_PARAMETER_TILE_PANELS, 0, 0, 0},
  };
  info.variants[0].parameter_count = uint32_t(info.parameters.size());
  info.variants[1].parameter_first = info.variants[0].parameter_count;
  const sparsec_parameter_info_t fallback[] = {
      {SPARSEC_PARAMETER_POINTER, w, 0, 0},
      {SPARSEC_PARAMETER_ROW_PTR, w, 0, 0},
      {SPARSEC_PARAMETER_COL_IDX, w, 0, 0},
      {SPARSEC_PARAMETER_POINTER, x, 0, 0},
      {SPARSEC_PARAMETER_STRIDE, x, 0, 0},
      {SPARSEC_PARAMETER_POINTER, y, 0, 0},
      {SPARSEC_PARAMETER_STRIDE, y, 0, 0},
      {SPARSEC_PARAMETER_SIZE, w, 1, 0},
      {SPARSEC_PARAMETER_PLAN_SECTION, 0, SPARSEC_PLAN_TILE_OFFSETS, 0},
      {SPARSEC_PARAMETER_PLAN_SECTION, 0, SPARSEC_PLAN_TILES, 0},
      {SPARSEC_PARAMETER_TILE_ROWS, 0, 0, 0},
      {SPARSEC_PARAMETER_TILE_PANELS, 0, 0, 0},
  };
  info.parameters.insert(info.parameters.end(), std::begin(fallback), std::end(fallback));
  info.variants[1].parameter_count = uint32_t(std::size(fallback));

  info.tensorMaps = {
      {SPARSEC_TENSOR_MAP_BSR_VALUES, w, 3, SPARSEC_SWIZZLE_128B, {64, 64, 1}, 0},
      {SPARSEC_TENSOR_MAP_DENSE, x, 2, SPARSEC_SWIZZLE_128B, {64, 64}, 0},
      {SPARSEC_TENSOR_MAP_DENSE, y, 2, SPARSEC_SWIZZLE_NONE, {32, 64}, 0},
  };
  // Values: 0 the accumulator, 1 bias, 2 alpha, 3 = acc * alpha, 4 = value 3 + bias.
  info.steps = {{SPARSEC_STEP_MULTIPLY, 0, 2, 0, 0}, {SPARSEC_STEP_ADD, 3, 1, 0, 0}};
  sparsec_kernel_info_t kernel = {};
  setName(kernel.name, "linear");
  kernel.family = SPARSEC_FAMILY_SPMM;
  kernel.argument_count = uint32_t(info.arguments.size());
  kernel.variant_count = uint32_t(info.variants.size());
  kernel.step_count = uint32_t(info.steps.size());
  info.kernels = {kernel};
  return info;
}

namespace {

std::vector<sparsec_argument_info_t> attentionArguments() {
  auto dense = [](const char *name, uint32_t role, uint32_t dtype, uint32_t rank) {
    return makeArgument(name, SPARSEC_ARGUMENT_DENSE, role, dtype, rank);
  };
  auto pattern = makeArgument("pattern", SPARSEC_ARGUMENT_PATTERN, SPARSEC_ROLE_PATTERN, SPARSEC_DTYPE_I32, 0);
  pattern.block_rows = 64;
  pattern.block_columns = 128;
  std::vector<sparsec_argument_info_t> arguments = {
      dense("q", SPARSEC_ROLE_QUERY, SPARSEC_DTYPE_BF16, 4),
      dense("k", SPARSEC_ROLE_KEY, SPARSEC_DTYPE_BF16, 4),
      dense("v", SPARSEC_ROLE_VALUE, SPARSEC_DTYPE_BF16, 4),
      pattern,
      makeArgument("scale", SPARSEC_ARGUMENT_SCALAR, SPARSEC_ROLE_SCALE, SPARSEC_DTYPE_F32, 0),
      dense("slopes", SPARSEC_ROLE_REGION, SPARSEC_DTYPE_F32, 1),
      dense("ids", SPARSEC_ROLE_REGION, SPARSEC_DTYPE_I32, 2),
      dense("o", SPARSEC_ROLE_RESULT, SPARSEC_DTYPE_BF16, 4),
      dense("lse", SPARSEC_ROLE_LSE, SPARSEC_DTYPE_F32, 3)};
  for (uint32_t i : {0, 1, 2, 7})
    arguments[i].sizes[3] = 64;
  return arguments;
}

/// Values: 0 the score, 1 batch, 2 head, 3 q, 4 k.
std::vector<sparsec_step_info_t> attentionSteps(uint32_t slopes, uint32_t ids) {
  return {{SPARSEC_STEP_LOAD, slopes, 2, 0, 0},     // 5 = slopes[head]
          {SPARSEC_STEP_I32_SUBTRACT, 4, 3, 0, 0},  // 6 = k - q
          {SPARSEC_STEP_I32_TO_F32, 6, 0, 0, 0},    // 7
          {SPARSEC_STEP_FMA, 5, 7, 0, 0},           // 8 = slopes[head] * (k - q) + score
          {SPARSEC_STEP_COPY, 1, 0, 0, 0},          // 5 = batch: the indices of a load are consecutive values
          {SPARSEC_STEP_COPY, 3, 0, 0, 0},          // 6 = q
          {SPARSEC_STEP_LOAD, ids, 5, 0, 0},        // 7 = ids[batch, q]
          {SPARSEC_STEP_COPY, 1, 0, 0, 0},          // 8 = batch
          {SPARSEC_STEP_COPY, 4, 0, 0, 0},          // 9 = k
          {SPARSEC_STEP_LOAD, ids, 8, 0, 0},        // 10 = ids[batch, k]
          {SPARSEC_STEP_I32_COMPARE, 7, 10, 0, 0}}; // 11 = equal
}

/// As the compiler writes them for the host (see the order there).
std::vector<sparsec_parameter_info_t> attentionParameters() {
  enum { q, k, v, pattern, scale, slopes, ids, o, lse };
  std::vector<sparsec_parameter_info_t> parameters;
  for (uint32_t tensor : {q, k, v, o}) {
    parameters.push_back({SPARSEC_PARAMETER_POINTER, tensor, 0, 0});
    for (uint32_t d = 0; d < 3; ++d)
      parameters.push_back({SPARSEC_PARAMETER_STRIDE, tensor, d, 0});
  }
  for (uint32_t tensor : {q, k})
    for (uint32_t d : {1, 2})
      parameters.push_back({SPARSEC_PARAMETER_SIZE, tensor, d, 0});
  parameters.push_back({SPARSEC_PARAMETER_POINTER, lse, 0, 0});
  parameters.push_back({SPARSEC_PARAMETER_STRIDE, lse, 0, 0});
  parameters.push_back({SPARSEC_PARAMETER_STRIDE, lse, 1, 0});
  parameters.push_back({SPARSEC_PARAMETER_SCALAR, scale, 0, 0});
  for (uint32_t field = SPARSEC_PATTERN_FIELD_ENCODING; field <= SPARSEC_PATTERN_FIELD_FULL_INDICES; ++field)
    parameters.push_back({SPARSEC_PARAMETER_PATTERN_FIELD, pattern, field, 0});
  parameters.push_back({SPARSEC_PARAMETER_POINTER, slopes, 0, 0});
  parameters.push_back({SPARSEC_PARAMETER_POINTER, ids, 0, 0});
  parameters.push_back({SPARSEC_PARAMETER_STRIDE, ids, 0, 0});
  return parameters;
}

} // namespace

LaunchInfoBuilder cudaAttention() {
  LaunchInfoBuilder info;
  info.header = cudaHeader();
  info.arguments = attentionArguments();
  info.variants = {makeVariant("attention_any", 2, 128, 100000, 1, 64, 64)};
  info.parameters = attentionParameters();
  info.variants[0].parameter_count = uint32_t(info.parameters.size());
  info.steps = attentionSteps(5, 6);
  info.attentions = {{64, 0, -1, -1, 0, 4, 4, 7, 0, 0}};
  sparsec_kernel_info_t kernel = {};
  setName(kernel.name, "attention");
  kernel.family = SPARSEC_FAMILY_ATTENTION;
  kernel.argument_count = uint32_t(info.arguments.size());
  kernel.variant_count = 1;
  info.kernels = {kernel};
  return info;
}

void removeArgument(LaunchInfoBuilder &info, uint32_t number) {
  info.arguments.erase(info.arguments.begin() + number);
  std::erase_if(info.parameters, [&](const sparsec_parameter_info_t &p) { return p.argument == number; });
  for (sparsec_parameter_info_t &parameter : info.parameters)
    parameter.argument -= parameter.argument > number;
  for (sparsec_step_info_t &step : info.steps)
    if (step.op == SPARSEC_STEP_LOAD)
      step.a -= step.a > number;
  info.variants[0].parameter_count = uint32_t(info.parameters.size());
  info.kernels[0].argument_count = uint32_t(info.arguments.size());
}

void makeHostInfo(LaunchInfoBuilder &info) {
  info.header.target_kind = SPARSEC_TARGET_HOST;
  info.header.compute_capability = info.header.arch_specific = 0;
  setName(info.header.target, "host");
}

namespace {

/// Strings one after the other, each found again by its offset.
struct StringTable {
  ByteVector bytes = {0};
  uint32_t add(const std::string &text) {
    auto offset = uint32_t(bytes.size());
    bytes.insert(bytes.end(), text.begin(), text.end());
    bytes.push_back(0);
    return offset;
  }
};

ElfSectionSpec symbolTable(const ElfSpec &spec, StringTable &names) {
  ByteVector contents(sizeof(Elf64_Sym));
  for (const ElfSymbolSpec &symbol : spec.symbols) {
    Elf64_Sym entry = {};
    entry.st_name = names.add(symbol.name);
    entry.st_info = symbol.info;
    entry.st_shndx = symbol.section;
    entry.st_value = symbol.value;
    entry.st_size = symbol.size;
    appendRecord(contents, entry);
  }
  ElfSectionSpec table = {".symtab", SHT_SYMTAB, 0, contents};
  table.entrySize = sizeof(Elf64_Sym);
  table.link = uint32_t(spec.sections.size()) + 2;
  return table;
}

} // namespace

ByteVector makeElf(const ElfSpec &spec) {
  StringTable symbolNames, sectionNames;
  std::vector<ElfSectionSpec> sections = {{"", SHT_NULL, 0, {}}};
  sections.insert(sections.end(), spec.sections.begin(), spec.sections.end());
  sections.push_back(symbolTable(spec, symbolNames));
  sections.push_back({".strtab", SHT_STRTAB, 0, symbolNames.bytes});
  for (const ElfSectionSpec &section : sections)
    sectionNames.add(section.name);
  sectionNames.add(".shstrtab");
  sections.push_back({".shstrtab", SHT_STRTAB, 0, sectionNames.bytes});

  ByteVector file(sizeof(Elf64_Ehdr)), headers;
  uint32_t nameOffset = 1;
  for (const ElfSectionSpec &section : sections) {
    Elf64_Shdr header = {};
    header.sh_name = nameOffset;
    nameOffset += uint32_t(section.name.size()) + 1;
    header.sh_type = section.type;
    header.sh_flags = section.flags;
    header.sh_addr = section.address;
    header.sh_offset = file.size();
    header.sh_size = section.type == SHT_NOBITS ? section.sizeWithoutContents : section.contents.size();
    header.sh_link = section.link;
    header.sh_info = section.info;
    header.sh_addralign = section.alignment;
    header.sh_entsize = section.entrySize;
    appendRecord(headers, header);
    file.insert(file.end(), section.contents.begin(), section.contents.end());
    pad(file, 8);
  }
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = spec.type;
  header.e_machine = spec.machine;
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = uint16_t(sections.size());
  header.e_shstrndx = uint16_t(sections.size() - 1);
  std::memcpy(file.data(), &header, sizeof(header));
  file.insert(file.end(), headers.begin(), headers.end());
  return file;
}

#ifdef SPARSEC_HAS_TEST_HOST_OBJECT

ByteVector hostObject(const LaunchInfoBuilder &info) {
  std::ifstream file(SPARSEC_TEST_HOST_OBJECT, std::ios::binary);
  ByteVector object{std::istreambuf_iterator<char>(file), {}};
  runtime::ElfFile elf;
  EXPECT_OK(runtime::ElfFile::parse(object, elf));
  runtime::Bytes place;
  EXPECT_OK(elf.symbolContents(*elf.findSymbol(SPARSEC_LAUNCH_INFO_SYMBOL), place));
  ByteVector bytes = info.build();
  EXPECT_LE(bytes.size(), place.size());
  std::copy(bytes.begin(), bytes.end(), object.begin() + (place.data() - object.data()));
  return object;
}

#endif

ByteVector makeCubin(const ByteVector &launchInfo) {
  // Eight bytes before the launch info and an address of the section: offsets and addresses must not be mixed up.
  ByteVector contents(8);
  contents.insert(contents.end(), launchInfo.begin(), launchInfo.end());
  ElfSectionSpec section = {".nv.global.init", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, contents};
  section.address = 4096;
  return makeElf({ET_EXEC, 190, {section}, {{SPARSEC_LAUNCH_INFO_SYMBOL, 1, 4096 + 8, launchInfo.size()}}});
}

ByteVector makeBundle(const std::vector<BundleEntrySpec> &entries) {
  sparsec_bundle_t header = {SPARSEC_BUNDLE_MAGIC,
                             SPARSEC_BUNDLE_MAJOR,
                             SPARSEC_BUNDLE_MINOR,
                             uint32_t(entries.size()),
                             sizeof(sparsec_bundle_t),
                             sizeof(sparsec_bundle_entry_t),
                             0};
  ByteVector file(sizeof(header) + entries.size() * sizeof(sparsec_bundle_entry_t));
  size_t entryOffset = sizeof(header);
  for (const BundleEntrySpec &spec : entries) {
    sparsec_bundle_entry_t entry = {};
    setName(entry.target, spec.target.c_str());
    entry.format = spec.format;
    pad(file, 16);
    entry.image_offset = file.size();
    entry.image_size = spec.image.size();
    file.insert(file.end(), spec.image.begin(), spec.image.end());
    if (!spec.launchInfo.empty()) {
      pad(file, 16);
      entry.launch_info_offset = file.size();
      entry.launch_info_size = spec.launchInfo.size();
      file.insert(file.end(), spec.launchInfo.begin(), spec.launchInfo.end());
    }
    std::memcpy(file.data() + entryOffset, &entry, sizeof(entry));
    entryOffset += sizeof(entry);
  }
  header.total_size = file.size();
  std::memcpy(file.data(), &header, sizeof(header));
  return file;
}

BundleEntrySpec ptxEntry(const LaunchInfoBuilder &info) {
  const char text[] = ".version 8.1 // stands for PTX text";
  return {info.header.target, SPARSEC_IMAGE_PTX, ByteVector(text, text + sizeof(text)), info.build()};
}

BundleEntrySpec cubinEntry(const LaunchInfoBuilder &info) {
  return {info.header.target, SPARSEC_IMAGE_ELF, makeCubin(info.build()), {}};
}

} // namespace sparsec::test
