// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Members of a zip archive in memory, through minizip.

#ifndef SPARSEC_TOOLS_READERS_ZIP_ARCHIVE_H
#define SPARSEC_TOOLS_READERS_ZIP_ARCHIVE_H

#include "reader.h"

#include <string>

namespace sparsec::readers {

/// The bytes of one member, stored or deflated; its checksum is verified. `name` is the archive's name, for messages.
llvm::Expected<std::string> readZipMember(llvm::StringRef archive, llvm::StringRef member, llvm::StringRef name,
                                          const Limits &limits);

} // namespace sparsec::readers

#endif // SPARSEC_TOOLS_READERS_ZIP_ARCHIVE_H
