// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The launch info of one image, as bytes: what runtime/include/sparsec/launch_info.h describes. Knows no MLIR.

#ifndef SPARSEC_COMPILER_BINARY_LAUNCHINFOWRITER_H
#define SPARSEC_COMPILER_BINARY_LAUNCHINFOWRITER_H

#include "sparsec/launch_info.hpp"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstring>
#include <string>
#include <vector>

namespace sparsec {

// The records below hold those that they refer to. Numbers of records (fields that end in _first and _count, and the
// tensor map of a parameter) count within their parent; the writer makes them numbers of the image.

/// One machine kernel.
struct StageRecord {
  sparsec_stage_info_t info = {};
  std::vector<sparsec_parameter_info_t> parameters;
  std::vector<sparsec_tensor_map_info_t> tensorMaps;
  std::vector<sparsec_extent_info_t> rows, panels;
};

struct WorkspaceRecord {
  sparsec_workspace_info_t info = {};
  std::vector<sparsec_extent_info_t> extents;
};

struct VariantRecord {
  sparsec_variant_info_t info = {};
  std::vector<sparsec_requirement_info_t> requirements;
  std::vector<WorkspaceRecord> workspaces;
  std::vector<StageRecord> stages;
  std::vector<sparsec_plan_cost_info_t> planCosts;
};

struct AuxiliaryRecord {
  sparsec_auxiliary_kind_t kind = {};
  StageRecord stage;
};

struct RegionRecord {
  sparsec_region_slot_t slot = {};
  std::vector<sparsec_input_info_t> inputs;
  std::vector<sparsec_step_info_t> steps;
};

struct OperationRecord {
  sparsec_operation_kind_t kind = {};
  std::vector<sparsec_operand_info_t> operands;
  std::vector<sparsec_attribute_info_t> attributes;
  std::vector<RegionRecord> regions;
};

/// One sparsec.kernel.
struct KernelRecord {
  sparsec_kernel_info_t info = {};
  std::vector<sparsec_argument_info_t> arguments;
  OperationRecord operation;
  std::vector<VariantRecord> variants;
  std::vector<AuxiliaryRecord> auxiliaries;
};

/// The figures that ptxas reports about one machine kernel.
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

/// The bytes of the launch info. `target` gives the fields that describe the chip; the rest of it is filled in, but for
/// the checksums.
std::string writeLaunchInfo(sparsec_launch_info_t target, llvm::ArrayRef<KernelRecord> kernels);

/// The bytes of the launch info inside an ELF image, found by its symbol.
llvm::Expected<llvm::MutableArrayRef<char>> findLaunchInfo(llvm::MutableArrayRef<char> elf);

/// Writes what ptxas reported into the stages of a launch info.
void setResources(llvm::MutableArrayRef<char> launchInfo, llvm::ArrayRef<KernelResources> resources);

/// Sets both checksums of an ELF image that holds its launch info. Nothing may change afterwards.
llvm::Error sealElf(llvm::MutableArrayRef<char> elf);
/// Sets both checksums of a launch info that lies beside PTX text.
void sealPtx(llvm::StringRef ptx, llvm::MutableArrayRef<char> launchInfo);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_LAUNCHINFOWRITER_H
