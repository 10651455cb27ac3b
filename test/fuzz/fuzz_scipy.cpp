// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzzes the reader of SciPy BSR matrices.

#include "invariants.h"
#include "scipy.h"
#include "stored_zip.h"

using namespace sparsec;

/// Cuts arrays that follow one another apart and puts them into an archive: hardly any change to an archive itself gets
/// past its checksums.
static std::string packArrays(llvm::StringRef bytes) {
  constexpr llvm::StringLiteral magic = "\x93NUMPY";
  fuzz::ZipMembers members;
  for (const char *name : {"format.npy", "shape.npy", "indptr.npy", "indices.npy", "data.npy"}) {
    llvm::StringRef array = bytes.take_front(bytes.find(magic, /*From=*/1));
    members.emplace_back(name, array.str());
    bytes = bytes.drop_front(array.size());
  }
  return fuzz::makeStoredZip(members);
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  std::string archive = bytes.starts_with("PK") ? bytes.str() : packArrays(bytes);
  fuzz::checkMatrix(readers::readSciPyBsr(archive, "input.npz", fuzz::format, fuzz::limits));
  return 0;
}
