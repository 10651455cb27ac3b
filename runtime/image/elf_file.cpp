// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image/elf_file.h"

#include <cstring>

namespace sparsec::runtime {

namespace {

/// Copies a record out: the file gives no alignment.
template <typename Record> Record readRecord(Bytes bytes, uint64_t offset) {
  Record record;
  std::memcpy(&record, bytes.data() + offset, sizeof(record));
  return record;
}

Status checkHeader(Bytes bytes, const Elf64_Ehdr &header) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return invalidImage("ELF file: expects 64-bit little-endian, but got class ", header.e_ident[EI_CLASS],
                        " and data encoding ", header.e_ident[EI_DATA]);
  if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr))
    return invalidImage("ELF file: expects sections of ", sizeof(Elf64_Shdr), " header bytes, but got ", header.e_shnum,
                        " of ", header.e_shentsize);
  if (!containsRange(bytes, header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr)))
    return invalidImage("ELF file is truncated: the section headers at offset ", header.e_shoff,
                        " are beyond its end, ", bytes.size());
  if (header.e_shstrndx >= header.e_shnum)
    return invalidImage("ELF file: the section of names is ", header.e_shstrndx, ", but there are ", header.e_shnum,
                        " sections");
  return {};
}

Status readString(Bytes table, uint64_t offset, std::string_view &outString) {
  if (offset >= table.size())
    return invalidImage("ELF file: a name is at offset ", offset, " of a table of ", table.size(), " bytes");
  const char *begin = reinterpret_cast<const char *>(table.data()) + offset;
  const void *end = std::memchr(begin, 0, table.size() - offset);
  if (!end)
    return invalidImage("ELF file: the name at offset ", offset, " has no end");
  outString = std::string_view(begin, static_cast<const char *>(end) - begin);
  return {};
}

Status readSections(Bytes bytes, ElfFile &file) {
  for (unsigned i = 0; i < file.header.e_shnum; ++i) {
    ElfSection section = {readRecord<Elf64_Shdr>(bytes, file.header.e_shoff + i * sizeof(Elf64_Shdr)), {}, {}};
    const Elf64_Shdr &header = section.header;
    if (header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL) {
      if (!containsRange(bytes, header.sh_offset, header.sh_size))
        return invalidImage("ELF file is truncated: section ", i, " at offset ", header.sh_offset, " with ",
                            header.sh_size, " bytes is beyond its end, ", bytes.size());
      section.contents = bytes.subspan(header.sh_offset, header.sh_size);
    }
    file.sections.push_back(section);
  }
  Bytes names = file.sections[file.header.e_shstrndx].contents;
  for (ElfSection &section : file.sections)
    SPARSEC_RETURN_IF_ERROR(readString(names, section.header.sh_name, section.name));
  return {};
}

Status readSymbols(ElfFile &file) {
  const ElfSection *table = nullptr;
  for (const ElfSection &section : file.sections)
    if (section.header.sh_type == SHT_SYMTAB)
      table = &section;
  if (!table)
    return invalidImage("ELF file has no symbol table");
  if (table->header.sh_entsize != sizeof(Elf64_Sym) || table->contents.size() % sizeof(Elf64_Sym) != 0)
    return invalidImage("ELF file: expects symbols of ", sizeof(Elf64_Sym), " bytes, but got ",
                        table->header.sh_entsize);
  if (table->header.sh_link >= file.sections.size())
    return invalidImage("ELF file: the names of the symbols are in section ", table->header.sh_link, ", but there are ",
                        file.sections.size(), " sections");
  Bytes names = file.sections[table->header.sh_link].contents;
  for (uint64_t offset = 0; offset < table->contents.size(); offset += sizeof(Elf64_Sym)) {
    ElfSymbol symbol = {readRecord<Elf64_Sym>(table->contents, offset), {}};
    SPARSEC_RETURN_IF_ERROR(readString(names, symbol.entry.st_name, symbol.name));
    file.symbols.push_back(symbol);
  }
  return {};
}

} // namespace

bool hasElfMagic(Bytes bytes) { return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0; }

Status ElfFile::parse(Bytes bytes, ElfFile &outFile) {
  if (!hasElfMagic(bytes))
    return invalidImage("not an ELF file");
  if (bytes.size() < sizeof(Elf64_Ehdr))
    return invalidImage("ELF file is truncated: it has ", bytes.size(), " bytes, its header alone needs ",
                        sizeof(Elf64_Ehdr));
  ElfFile file = {readRecord<Elf64_Ehdr>(bytes, 0), {}, {}};
  SPARSEC_RETURN_IF_ERROR(checkHeader(bytes, file.header));
  SPARSEC_RETURN_IF_ERROR(readSections(bytes, file));
  SPARSEC_RETURN_IF_ERROR(readSymbols(file));
  outFile = std::move(file);
  return {};
}

const ElfSymbol *ElfFile::findSymbol(std::string_view name) const {
  for (const ElfSymbol &symbol : symbols)
    if (symbol.name == name && symbol.entry.st_shndx != SHN_UNDEF && symbol.entry.st_shndx < sections.size())
      return &symbol;
  return nullptr;
}

Status ElfFile::symbolContents(const ElfSymbol &symbol, Bytes &outContents) const {
  const ElfSection &section = sections[symbol.entry.st_shndx];
  // Relocatable files count from the section's start, linked ones from address 0.
  uint64_t base = header.e_type == ET_REL ? 0 : section.header.sh_addr;
  uint64_t offset = symbol.entry.st_value - base;
  if (symbol.entry.st_value < base || !containsRange(section.contents, offset, symbol.entry.st_size))
    return invalidImage("ELF file: symbol '", std::string(symbol.name), "' at offset ", offset, " with ",
                        symbol.entry.st_size, " bytes is beyond the ", section.contents.size(),
                        " bytes of its section");
  outContents = section.contents.subspan(offset);
  if (symbol.entry.st_size != 0)
    outContents = outContents.first(symbol.entry.st_size);
  return {};
}

} // namespace sparsec::runtime
