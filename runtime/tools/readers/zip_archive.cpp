// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "zip_archive.h"

#include "llvm/ADT/ScopeExit.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <cstring>

namespace sparsec::readers {

namespace {
/// The archive as the file that minizip reads.
struct MemoryFile {
  llvm::StringRef bytes;
  uint64_t position = 0;
};
} // namespace

static uLong readMemory(voidpf, voidpf stream, void *buffer, uLong size) {
  auto *file = static_cast<MemoryFile *>(stream);
  uint64_t count = std::min<uint64_t>(size, file->bytes.size() - file->position);
  if (count != 0)
    std::memcpy(buffer, file->bytes.data() + file->position, count);
  file->position += count;
  return count;
}

static long seekMemory(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  auto *file = static_cast<MemoryFile *>(stream);
  uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? file->position
                  : origin == ZLIB_FILEFUNC_SEEK_END ? file->bytes.size()
                                                     : 0;
  if (offset > file->bytes.size() - base)
    return -1;
  file->position = base + offset;
  return 0;
}

/// minizip's callbacks for a MemoryFile, which is also the handle.
static zlib_filefunc64_def memoryFunctions(MemoryFile &file) {
  zlib_filefunc64_def functions = {};
  functions.opaque = &file;
  functions.zopen64_file = [](voidpf opaque, const void *, int) -> voidpf { return opaque; };
  functions.zread_file = readMemory;
  functions.zwrite_file = [](voidpf, voidpf, const void *, uLong) -> uLong { return 0; };
  functions.ztell64_file = [](voidpf, voidpf stream) -> ZPOS64_T {
    return static_cast<MemoryFile *>(stream)->position;
  };
  functions.zseek64_file = seekMemory;
  functions.zclose_file = [](voidpf, voidpf) -> int { return 0; };
  functions.zerror_file = [](voidpf, voidpf) -> int { return 0; };
  return functions;
}

/// Reads the open member; `size` bytes are expected.
static llvm::Expected<std::string> readOpenMember(unzFile archive, uint64_t size, const std::string &label) {
  std::string bytes;
  bytes.resize(size);
  uint64_t position = 0;
  while (position < size) {
    unsigned chunk = unsigned(std::min<uint64_t>(size - position, 1u << 20));
    int count = unzReadCurrentFile(archive, bytes.data() + position, chunk);
    if (count <= 0)
      return failure("{}: expects {} bytes, but the compressed data ends or is corrupt after {}", label, size,
                     position);
    position += uint64_t(count);
  }
  if (unzCloseCurrentFile(archive) != UNZ_OK)
    return failure("{}: expects data that matches its checksum, but got other data", label);
  return bytes;
}

llvm::Expected<std::string> readZipMember(llvm::StringRef archive, llvm::StringRef member, llvm::StringRef name,
                                          const Limits &limits) {
  MemoryFile file{archive};
  zlib_filefunc64_def functions = memoryFunctions(file);
  unzFile handle = unzOpen2_64("", &functions);
  if (!handle)
    return failure("{}: expects a zip archive (.npz), but got other or truncated data", view(name));
  llvm::scope_exit close([&] { unzClose(handle); });
  constexpr int caseSensitive = 1;
  if (unzLocateFile(handle, member.str().c_str(), caseSensitive) != UNZ_OK)
    return failure("{}: expects a member '{}', but the archive has none", view(name), view(member));

  std::string label = fmt::format("{}: {}", view(name), view(member));
  unz_file_info64 info;
  if (unzGetCurrentFileInfo64(handle, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
    return failure("{}: expects a readable entry, but got corrupt data", label);
  constexpr uLong encrypted = 1, stored = 0;
  if (info.flag & encrypted)
    return failure("{}: expects a member without encryption, but got an encrypted one", label);
  if (info.compression_method != stored && info.compression_method != Z_DEFLATED)
    return failure("{}: expects a stored or deflated member, but got compression method {}", label,
                   info.compression_method);
  // Deflate compresses by a factor of 1032 at most, so a larger claim cannot be true.
  constexpr uint64_t largestRatio = 1032;
  if (info.compressed_size > archive.size() || info.uncompressed_size > largestRatio * info.compressed_size)
    return failure("{}: expects sizes that the archive can hold, but got {} bytes from {}", label,
                   info.uncompressed_size, info.compressed_size);
  if (info.uncompressed_size > limits.bytes)
    return failure("{}: expects at most {} bytes, but got {}", label, limits.bytes, info.uncompressed_size);
  if (unzOpenCurrentFile(handle) != UNZ_OK)
    return failure("{}: expects a readable entry, but got corrupt data", label);
  return readOpenMember(handle, info.uncompressed_size, label);
}

} // namespace sparsec::readers
