// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes launch infos, ELF files and bundles in memory, good ones by default, for tests that break them.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_IMAGES_H
#define SPARSEC_TEST_UNIT_RUNTIME_IMAGES_H

#include "sparsec/launch_info.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sparsec::test {

using ByteVector = std::vector<uint8_t>;

/// A launch info as records; build() lays them out and sets offsets, sizes and the checksum.
struct LaunchInfoBuilder {
  sparsec_launch_info_t header = {};
  std::vector<sparsec_kernel_info_t> kernels;
  std::vector<sparsec_argument_info_t> arguments;
  std::vector<sparsec_operation_info_t> operations;
  std::vector<sparsec_operand_info_t> operands;
  std::vector<sparsec_attribute_info_t> attributes;
  std::vector<sparsec_region_info_t> regions;
  std::vector<sparsec_input_info_t> inputs;
  std::vector<sparsec_step_info_t> steps;
  std::vector<sparsec_variant_info_t> variants;
  std::vector<sparsec_requirement_info_t> requirements;
  std::vector<sparsec_workspace_info_t> workspaces;
  std::vector<sparsec_stage_info_t> stages;
  std::vector<sparsec_parameter_info_t> parameters;
  std::vector<sparsec_tensor_map_info_t> tensorMaps;
  std::vector<sparsec_extent_info_t> extents;
  std::vector<sparsec_auxiliary_info_t> auxiliaries;
  std::vector<sparsec_plan_cost_info_t> planCosts;

  ByteVector build() const;

  /// The operand that the argument is.
  sparsec_operand_info_t &operandOf(uint32_t argument);
  sparsec_attribute_info_t &attribute(sparsec_attribute_key_t key);
  /// The value of a plan cost of variant 0.
  uint32_t &planCost(sparsec_plan_cost_key_t key);
  /// Changes the size of a stage's tiles, and its grid with it.
  void setTile(uint32_t stage, uint32_t m, uint32_t n);
  /// Adds a copy of variant 0 and of its stage; returns the number of the stage.
  uint32_t addVariant();
  /// Makes a variant require the alignment of every argument of attention's rows.
  void requireRowsAligned(uint32_t variant, uint32_t alignment);
};

/// Sets the checksum of a launch info that a test has changed.
void updateChecksum(ByteVector &launchInfo);
/// Sets both checksums of an ELF file that a test has changed; false where it no longer holds a launch info.
bool updateElfChecksums(ByteVector &file);
/// Sets the checksum of a bundle that a test has changed.
void updateBundleChecksum(ByteVector &bundle);

/// y = alpha * (w x) + bias: arguments w (bf16, blocks 64 x 64), x (K, N), bias (f32 per row), alpha (f32 by value) and
/// y (M, N), all sizes dynamic, for compute capability 9.0 exactly. Variant 0: alignment 16, tensor maps, tile
/// 64 x 256 x 64, cluster 2. Variant 1: alignment 2, pointers, tile 64 x 128 x 32.
LaunchInfoBuilder cudaLinear();

/// s = alpha * (a b^T) + old at the blocks of p: arguments p (f16, blocks 16 x 32), a (M, K), b (N, K) (f16), old (f32,
/// an array of values), alpha (f32 by value) and s (f32), all sizes dynamic, for compute capability 9.0 exactly. One
/// variant: alignment 16, pointers, tiles of 16 rows and two blocks, groups of two tile rows.
LaunchInfoBuilder cudaSampled();

/// Attention with everything: arguments q, k, v (bf16), pattern (blocks of 64 queries x 128 keys), scale, slopes (f32,
/// rank 1), ids (i32, rank 2), o (bf16) and lse; head dimension 64, all other sizes dynamic, for compute capability 9.0
/// exactly. Score: s + slopes[head] * (k - q). Mask: ids[batch, q] == ids[batch, k]. One variant with pointers,
/// alignment 2, tile 64 x 64.
LaunchInfoBuilder cudaAttention();

/// cudaAttention() with a pattern builder, "attention_pattern": Sq, Skv, the heads of the pattern, its capacity and
/// four pointers, the ids; and with a block mask reader, "attention_block_mask": the mask, Skv, the capacity of the
/// pattern and four pointers, the number of lists.
LaunchInfoBuilder cudaAttentionWithBuilder();

/// Gives variant 0 workspace 0, a tile counter.
void addTileCounter(LaunchInfoBuilder &info);

/// y = tanh(w x) in f32 with blocks of 16 x 16, tiles of 16 x 8, for the host: sparsec_test_tanh_product of
/// runtime_host_kernel.c.
LaunchInfoBuilder hostProduct();

/// Takes an argument out of a kernel of cudaAttention(); its operand and parameters go too.
void removeArgument(LaunchInfoBuilder &info, uint32_t number);

/// Makes the image one for the host.
void makeHostInfo(LaunchInfoBuilder &info);

#ifdef SPARSEC_HAS_TEST_HOST_OBJECT
/// runtime_host_kernel.c as compiled, with the launch info in it.
ByteVector hostObject(const LaunchInfoBuilder &info);
#endif

struct ElfSectionSpec {
  std::string name;
  uint32_t type;
  uint64_t flags;
  ByteVector contents;
  uint64_t address = 0, entrySize = 0, alignment = 1;
  uint32_t link = 0, info = 0;
  uint64_t sizeWithoutContents = 0; // SHT_NOBITS
};
struct ElfSymbolSpec {
  std::string name;
  uint16_t section; // as in the file: the first of ElfSpec::sections is 1
  uint64_t value, size;
  uint8_t info = 0;
};
struct ElfSpec {
  uint16_t type, machine;
  std::vector<ElfSectionSpec> sections;
  std::vector<ElfSymbolSpec> symbols; // numbered from 1
};
/// The symbol table, its strings and the section names follow the given sections.
ByteVector makeElf(const ElfSpec &spec);

/// A linked CUDA ELF file that holds the launch info, as a cubin does.
ByteVector makeCubin(const ByteVector &launchInfo);

struct BundleEntrySpec {
  std::string target;
  sparsec_image_format_t format;
  ByteVector image, launchInfo;
};
ByteVector makeBundle(const std::vector<BundleEntrySpec> &entries);
BundleEntrySpec ptxEntry(const LaunchInfoBuilder &info);
BundleEntrySpec cubinEntry(const LaunchInfoBuilder &info);

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_IMAGES_H
