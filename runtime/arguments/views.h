// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The structs of callers that begin with their size, and the views behind arguments.

#ifndef SPARSEC_RUNTIME_VIEWS_H
#define SPARSEC_RUNTIME_VIEWS_H

#include "operations/kernel_shape.h"
#include "status.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace sparsec::runtime {

/// The size of a struct in the first version.
template <typename Struct> constexpr size_t firstSize = sizeof(Struct);
template <> inline constexpr size_t firstSize<sparsec_plan_info_t> = offsetof(sparsec_plan_info_t, windows);
template <> inline constexpr size_t firstSize<sparsec_launch_options_t> = offsetof(sparsec_launch_options_t, packed);
template <> inline constexpr size_t firstSize<sparsec_plan_options_t> = offsetof(sparsec_plan_options_t, progress);

/// Structs that still have the size of their first version are read in place. readStruct() copies one that has grown.
template <typename Struct> Status checkStructSize(const Struct &value, const Subject &subject) {
  if (value.size >= firstSize<Struct>)
    return {};
  return invalidArgument(subject, ": expects a size of at least ", firstSize<Struct>, " bytes, but got ", value.size);
}

/// Copies a struct that may have grown: fields that an older caller does not pass are 0.
template <typename Struct> Status readStruct(const Struct &value, const Subject &subject, Struct &out) {
  SPARSEC_RETURN_IF_ERROR(checkStructSize(value, subject));
  out = {};
  std::memcpy(static_cast<void *>(&out), &value, std::min(value.size, sizeof(Struct)));
  return {};
}

/// Fills a started output, as far as the caller knows the struct; the size stays that of the caller.
template <typename Struct> void fillOutput(Struct &out, Struct value) {
  value.size = out.size;
  std::memcpy(static_cast<void *>(&out), &value, std::min(value.size, sizeof(Struct)));
}

/// A struct that a function fills: refuses one that is missing or too small, and clears what is known of it.
template <typename Struct> Status startOutput(Struct *out, const char *name) {
  if (!out)
    return invalidArgument(name, " is NULL");
  SPARSEC_RETURN_IF_ERROR(checkStructSize(*out, {name}));
  fillOutput(*out, Struct());
  return {};
}

// The views of arguments whose kinds and sizes are checked.
inline const sparsec_dense_t &denseOf(const sparsec_argument_t &argument) {
  return *static_cast<const sparsec_dense_t *>(argument.view);
}
inline const sparsec_blocks_t &blocksOf(const sparsec_argument_t &argument) {
  return *static_cast<const sparsec_blocks_t *>(argument.view);
}
inline float scalarOf(const sparsec_argument_t &argument) { return float(argument.scalar); }

inline bool isBlocks(uint32_t kind) { return kind == SPARSEC_ARGUMENT_BSR || kind == SPARSEC_ARGUMENT_PATTERN; }

inline int64_t blockRowCount(const sparsec_blocks_t &blocks) { return ceilDivide(blocks.rows, blocks.block_rows); }
inline int64_t blockColumnCount(const sparsec_blocks_t &blocks) {
  return ceilDivide(blocks.columns, blocks.block_columns);
}
inline int64_t listCount(const sparsec_blocks_t &blocks) {
  return blocks.batches * blocks.heads * blockRowCount(blocks);
}

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_VIEWS_H
