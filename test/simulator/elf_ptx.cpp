// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "elf_ptx.h"

#include <cstring>
#include <elf.h>

namespace sparsec::simulator {

std::string_view findPtx(const void *image) {
  const char *bytes = static_cast<const char *>(image);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0)
    return bytes; // the driver takes text up to its zero
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  auto section = [&](size_t index) {
    Elf64_Shdr result;
    std::memcpy(&result, bytes + header.e_shoff + index * header.e_shentsize, sizeof result);
    return result;
  };
  const char *names = bytes + section(header.e_shstrndx).sh_offset;
  for (size_t index = 0; index < header.e_shnum; ++index) {
    const Elf64_Shdr each = section(index);
    if (std::strcmp(names + each.sh_name, ".sparsec.ptx") == 0)
      return {bytes + each.sh_offset, each.sh_size};
  }
  return {};
}

} // namespace sparsec::simulator
