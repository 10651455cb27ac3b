// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The launch info of one image, as bytes: what runtime/include/sparsec/launch_info.h describes. Knows no MLIR.

#ifndef SPARSEC_COMPILER_BINARY_LAUNCHINFOWRITER_H
#define SPARSEC_COMPILER_BINARY_LAUNCHINFOWRITER_H

#include "sparsec/launch_info.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace sparsec {

/// One machine kernel. The tensor maps that `parameters` name by index are numbered within the variant, from 0.
struct VariantRecord {
  sparsec_variant_info_t info = {};
  std::vector<sparsec_parameter_info_t> parameters;
  std::vector<sparsec_tensor_map_info_t> tensorMaps;
};

/// What is special about an attention kernel. The writer fills in the table positions of `info`.
struct AttentionRecord {
  sparsec_attention_info_t info = {};
  std::vector<sparsec_step_info_t> score, mask;
  std::optional<VariantRecord> patternBuilder;
};

/// One sparsec.kernel. The writer fills in the table positions of `info`.
struct KernelRecord {
  sparsec_kernel_info_t info = {};
  std::vector<sparsec_argument_info_t> arguments;
  std::vector<sparsec_step_info_t> steps;
  std::optional<AttentionRecord> attention;
  std::vector<VariantRecord> variants;
};

/// What ptxas reports about one machine kernel.
struct KernelResources {
  std::string symbol;
  unsigned registers = 0;
  unsigned spillStoreBytes = 0;
  unsigned spillLoadBytes = 0;
  unsigned staticSharedMemory = 0;
};

/// Copies `text` into a field of the launch info. The caller has checked that it fits with its zero.
template <size_t size> void setText(char (&field)[size], llvm::StringRef text) {
  assert(text.size() < size && "text does not fit its field");
  std::memset(field, 0, size);
  std::memcpy(field, text.data(), text.size());
}

/// The bytes of the launch info. `target` gives the fields that describe the chip; the rest of it is filled in.
std::string writeLaunchInfo(sparsec_launch_info_t target, llvm::ArrayRef<KernelRecord> kernels);

/// The bytes of the launch info inside an ELF image, found by its symbol.
llvm::Expected<llvm::MutableArrayRef<char>> findLaunchInfo(llvm::MutableArrayRef<char> elf);

/// Writes what ptxas reported into the variants of a launch info and renews its checksum.
void setResources(llvm::MutableArrayRef<char> launchInfo, llvm::ArrayRef<KernelResources> resources);

/// The table at `offset` in a launch info that this compiler wrote.
template <typename Record>
llvm::ArrayRef<Record> getRecords(llvm::ArrayRef<char> launchInfo, uint32_t offset, uint32_t count) {
  return {reinterpret_cast<const Record *>(launchInfo.data() + offset), count};
}

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_LAUNCHINFOWRITER_H
