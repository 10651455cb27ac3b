// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bounds-checked reader of 64-bit little-endian ELF files (cubins and relocatable host objects). The bytes are
// untrusted: after parse() every section, name and symbol lies inside the file.

#ifndef SPARSEC_RUNTIME_ELF_FILE_H
#define SPARSEC_RUNTIME_ELF_FILE_H

#include "status.h"

#include <elf.h>
#include <span>
#include <string_view>
#include <vector>

namespace sparsec::runtime {

using Bytes = std::span<const uint8_t>;

struct ElfSection {
  Elf64_Shdr header;
  std::string_view name;
  Bytes contents; // empty for SHT_NOBITS
};

struct ElfSymbol {
  Elf64_Sym entry;
  std::string_view name;
};

struct ElfFile {
  Elf64_Ehdr header;
  std::vector<ElfSection> sections;
  std::vector<ElfSymbol> symbols; // of the symbol table, by symbol number

  static Status parse(Bytes bytes, ElfFile &outFile);

  /// The defined symbol of that name, or null.
  const ElfSymbol *findSymbol(std::string_view name) const;

  /// The bytes of a defined data symbol: from its start to its end, or to the section's end when it has no size.
  Status symbolContents(const ElfSymbol &symbol, Bytes &outContents) const;
};

/// Whether [offset, offset + size) lies inside the bytes, without overflow.
inline bool containsRange(Bytes bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

/// Whether the bytes start like any ELF file.
bool hasElfMagic(Bytes bytes);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_ELF_FILE_H
