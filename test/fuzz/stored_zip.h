// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a zip archive of uncompressed members in memory, with the right checksums.

#ifndef SPARSEC_TEST_FUZZ_STORED_ZIP_H
#define SPARSEC_TEST_FUZZ_STORED_ZIP_H

#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sparsec::fuzz {

using ZipMembers = std::vector<std::pair<std::string, std::string>>; // name, contents

/// Appends a little-endian number.
inline void append(std::string &bytes, uint32_t value, int width) {
  for (int index = 0; index < width; ++index)
    bytes.push_back(char(value >> (8 * index)));
}

/// The fields that a local header and a directory entry have in common, up to the length of the extra field.
inline void appendCommonFields(std::string &bytes, const std::string &name, const std::string &contents) {
  append(bytes, 20, 2); // version 2.0
  append(bytes, 0, 2);  // flags
  append(bytes, 0, 2);  // stored
  append(bytes, 0, 4);  // time and date
  append(bytes, uint32_t(crc32(0, reinterpret_cast<const Bytef *>(contents.data()), uInt(contents.size()))), 4);
  append(bytes, uint32_t(contents.size()), 4); // compressed
  append(bytes, uint32_t(contents.size()), 4); // uncompressed
  append(bytes, uint32_t(name.size()), 2);
  append(bytes, 0, 2); // extra field
}

inline std::string makeStoredZip(const ZipMembers &members) {
  std::string archive, directory;
  for (const auto &[name, contents] : members) {
    append(directory, 0x02014b50, 4);
    append(directory, 20, 2); // made by version 2.0
    appendCommonFields(directory, name, contents);
    append(directory, 0, 4);                        // comment, disk
    append(directory, 0, 2);                        // internal attributes
    append(directory, 0, 4);                        // external attributes
    append(directory, uint32_t(archive.size()), 4); // where the local header is
    directory += name;
    append(archive, 0x04034b50, 4);
    appendCommonFields(archive, name, contents);
    archive += name + contents;
  }
  uint32_t start = uint32_t(archive.size());
  archive += directory;
  append(archive, 0x06054b50, 4);
  append(archive, 0, 4); // disks
  append(archive, uint32_t(members.size()), 2);
  append(archive, uint32_t(members.size()), 2);
  append(archive, uint32_t(directory.size()), 4);
  append(archive, start, 4);
  append(archive, 0, 2); // comment
  return archive;
}

} // namespace sparsec::fuzz

#endif // SPARSEC_TEST_FUZZ_STORED_ZIP_H
