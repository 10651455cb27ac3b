// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image/host_image.h"
#include "image/launch_info_reader.h"

#include <cstring>
#include <math.h> // the names of C, which are those of SPARSEC_HOST_FUNCTIONS
#include <sys/mman.h>
#include <unistd.h>

namespace sparsec::runtime {

namespace {

bool isLoaded(const ElfSection &section) {
  // Kernels do not unwind, and unwind tables would need other relocations.
  return (section.header.sh_flags & SHF_ALLOC) && section.name != ".eh_frame";
}

bool isCode(const ElfSection &section) { return section.header.sh_flags & SHF_EXECINSTR; }
bool isWritable(const ElfSection &section) { return section.header.sh_flags & SHF_WRITE; }

size_t roundUp(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

struct HostFunction {
  const char *name;
  void *address;
};

/// A function that kernels may call, by its name.
void *findHostFunction(const char *name) {
#define SPARSEC_ENTRY(FUNCTION) {#FUNCTION, reinterpret_cast<void *>(&::FUNCTION)},
  static const HostFunction functions[] = {SPARSEC_HOST_FUNCTIONS(SPARSEC_ENTRY)};
#undef SPARSEC_ENTRY
  for (const HostFunction &function : functions)
    if (std::strcmp(function.name, name) == 0)
      return function.address;
  return nullptr;
}

/// The sections that an object may hold. Relocations have other forms too (SHT_REL, SHT_RELR, SHT_CREL), and some
/// sections mean that a loader has to call something (SHT_INIT_ARRAY): skipping one of them would load an object that
/// does something else.
bool isKnownType(uint32_t type) {
  constexpr uint32_t addressSignificance = 0x6fff4c03; // SHT_LLVM_ADDRSIG, for linkers
  switch (type) {
  case SHT_NULL:
  case SHT_PROGBITS:
  case SHT_SYMTAB:
  case SHT_STRTAB:
  case SHT_RELA:
  case SHT_NOTE:
  case SHT_NOBITS:
  case addressSignificance:
    return true;
  }
  return false;
}

/// The address of such a symbol is where its value says.
bool hasPlainAddress(const Elf64_Sym &symbol) {
  unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC || type == STT_SECTION;
}

} // namespace

HostFeatures detectHostFeatures() {
#if defined(__x86_64__)
  return {bool(__builtin_cpu_supports("avx2")), bool(__builtin_cpu_supports("fma")),
          bool(__builtin_cpu_supports("f16c"))};
#else
  return {};
#endif
}

Status checkHostFeatures(const HostFeatures &features) {
  if (features.avx2 && features.fma && features.f16c)
    return {};
  return makeStatus(SPARSEC_STATUS_DEVICE_LIMIT,
                    "host kernels need a processor with AVX2, FMA and F16C; this one lacks",
                    features.avx2 ? "" : " AVX2", features.fma ? "" : " FMA", features.f16c ? "" : " F16C");
}

HostImage::~HostImage() {
  if (memory)
    munmap(memory, memorySize);
}

Status HostImage::load(Bytes object) {
  SPARSEC_RETURN_IF_ERROR(checkHostFeatures(detectHostFeatures()));
  SPARSEC_RETURN_IF_ERROR(ElfFile::parse(object, elf));
  if (elf.header.e_type != ET_REL || elf.header.e_machine != EM_X86_64)
    return invalidImage("host image: expects an x86-64 relocatable object, but got type ", elf.header.e_type,
                        " for machine ", elf.header.e_machine);
  for (const ElfSection &section : elf.sections)
    if (!isKnownType(section.header.sh_type))
      return invalidImage("host image: section '", std::string(section.name), "' is of unknown type ",
                          section.header.sh_type);
  SPARSEC_RETURN_IF_ERROR(placeSections());
  for (const ElfSection &section : elf.sections) {
    if (section.header.sh_type == SHT_RELA)
      SPARSEC_RETURN_IF_ERROR(relocateSection(section));
  }
  return protect();
}

/// Copies the loaded sections into fresh memory: code, read-only data, writable data, each from a new page on.
Status HostImage::placeSections() {
  constexpr uint64_t maxImage = uint64_t(1) << 30;
  size_t page = sysconf(_SC_PAGESIZE), size = 0;
  std::vector<size_t> offsets(elf.sections.size());
  auto place = [&](auto &&belongs) -> Status {
    size = roundUp(size, page);
    for (size_t i = 0; i < elf.sections.size(); ++i) {
      const Elf64_Shdr &header = elf.sections[i].header;
      if (!isLoaded(elf.sections[i]) || !belongs(elf.sections[i]))
        continue;
      uint64_t alignment = std::max<uint64_t>(header.sh_addralign, 1);
      if ((header.sh_flags & SHF_TLS) || (alignment & (alignment - 1)) || alignment > page)
        return invalidImage("host image: cannot load section ", i, " with flags ", header.sh_flags, " and alignment ",
                            header.sh_addralign);
      if (header.sh_size > maxImage - std::min<uint64_t>(size, maxImage))
        return invalidImage("host image: section ", i, " has ", header.sh_size, " bytes, the image at most ", maxImage);
      offsets[i] = roundUp(size, alignment);
      size = offsets[i] + header.sh_size;
    }
    return {};
  };
  SPARSEC_RETURN_IF_ERROR(place([](const ElfSection &s) { return isCode(s); }));
  readOnlyBegin = roundUp(size, page);
  SPARSEC_RETURN_IF_ERROR(place([](const ElfSection &s) { return !isCode(s) && !isWritable(s); }));
  writableBegin = roundUp(size, page);
  SPARSEC_RETURN_IF_ERROR(place([](const ElfSection &s) { return !isCode(s) && isWritable(s); }));
  memorySize = std::max(roundUp(size, page), page);

  void *mapped = mmap(nullptr, memorySize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return makeStatus(SPARSEC_STATUS_OUT_OF_MEMORY, "out of memory: cannot map ", memorySize,
                      " bytes for a host image");
  memory = static_cast<uint8_t *>(mapped);
  addresses.assign(elf.sections.size(), nullptr);
  for (size_t i = 0; i < elf.sections.size(); ++i) {
    if (!isLoaded(elf.sections[i]))
      continue;
    addresses[i] = memory + offsets[i];
    Bytes contents = elf.sections[i].contents;
    if (!contents.empty())
      std::memcpy(addresses[i], contents.data(), contents.size());
  }
  return {};
}

Status HostImage::relocateSection(const ElfSection &relocations) {
  uint32_t target = relocations.header.sh_info;
  if (target >= elf.sections.size())
    return invalidImage("host image: relocations of section ", target, " of ", elf.sections.size());
  if (!addresses[target])
    return {};
  uint64_t targetSize = elf.sections[target].header.sh_size;
  if (relocations.header.sh_entsize != sizeof(Elf64_Rela) || relocations.contents.size() % sizeof(Elf64_Rela) != 0)
    return invalidImage("host image: expects relocations of ", sizeof(Elf64_Rela), " bytes, but got ",
                        relocations.contents.size(), " bytes of ", relocations.header.sh_entsize);
  uint32_t symbols = relocations.header.sh_link;
  if (symbols >= elf.sections.size() || elf.sections[symbols].header.sh_type != SHT_SYMTAB)
    return invalidImage("host image: the symbols of relocations are in section ", symbols,
                        ", which is no symbol table");
  for (size_t i = 0; i < relocations.contents.size() / sizeof(Elf64_Rela); ++i) {
    Elf64_Rela relocation;
    std::memcpy(&relocation, relocations.contents.data() + i * sizeof(relocation), sizeof(relocation));
    if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_64)
      return invalidImage("host image: expects relocations of type ", R_X86_64_64, " (R_X86_64_64), but got ",
                          ELF64_R_TYPE(relocation.r_info));
    if (targetSize < sizeof(uint64_t) || relocation.r_offset > targetSize - sizeof(uint64_t))
      return invalidImage("host image: a relocation at offset ", relocation.r_offset, " is beyond the ", targetSize,
                          " bytes of its section");
    uint64_t value;
    SPARSEC_RETURN_IF_ERROR(symbolAddress(ELF64_R_SYM(relocation.r_info), value));
    value += relocation.r_addend;
    std::memcpy(addresses[target] + relocation.r_offset, &value, sizeof(value));
  }
  return {};
}

Status HostImage::symbolAddress(uint64_t number, uint64_t &outAddress) const {
  if (number >= elf.symbols.size())
    return invalidImage("host image: a relocation refers to symbol ", number, " of ", elf.symbols.size());
  const ElfSymbol &symbol = elf.symbols[number];
  std::string name(symbol.name);
  if (symbol.entry.st_shndx == SHN_UNDEF) {
    void *address = findHostFunction(name.c_str());
    if (!address)
      return invalidImage("host image: it refers to '", name, "', which is no function that host images may call");
    outAddress = reinterpret_cast<uintptr_t>(address);
    return {};
  }
  if (symbol.entry.st_shndx >= elf.sections.size() || !addresses[symbol.entry.st_shndx] ||
      symbol.entry.st_value > elf.sections[symbol.entry.st_shndx].header.sh_size)
    return invalidImage("host image: symbol '", name, "' is not in a loaded section");
  if (!hasPlainAddress(symbol.entry))
    return invalidImage("host image: symbol '", name, "' is of unknown type ", ELF64_ST_TYPE(symbol.entry.st_info));
  outAddress = reinterpret_cast<uintptr_t>(addresses[symbol.entry.st_shndx]) + symbol.entry.st_value;
  return {};
}

Status HostImage::protect() {
  if ((readOnlyBegin != 0 && mprotect(memory, readOnlyBegin, PROT_READ | PROT_EXEC) != 0) ||
      (writableBegin != readOnlyBegin &&
       mprotect(memory + readOnlyBegin, writableBegin - readOnlyBegin, PROT_READ) != 0))
    return makeStatus(SPARSEC_STATUS_UNAVAILABLE, "the system does not let this process make memory executable");
  return {};
}

Status HostImage::function(const char *name, sparsec_host_kernel_t &outFunction) const {
  const ElfSymbol *symbol = elf.findSymbol(name);
  if (!symbol || ELF64_ST_TYPE(symbol->entry.st_info) != STT_FUNC || !isCode(elf.sections[symbol->entry.st_shndx]) ||
      !addresses[symbol->entry.st_shndx] ||
      symbol->entry.st_value >= elf.sections[symbol->entry.st_shndx].header.sh_size)
    return invalidImage("host image has no function '", name, "'");
  outFunction = reinterpret_cast<sparsec_host_kernel_t>(addresses[symbol->entry.st_shndx] + symbol->entry.st_value);
  return {};
}

} // namespace sparsec::runtime
