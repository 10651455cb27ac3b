// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix of a product in packed blocks, for the variants of a plan that read packed values.

#ifndef SPARSEC_RUNTIME_PACKED_MATRIX_H
#define SPARSEC_RUNTIME_PACKED_MATRIX_H

#include "plan/host_lists.h"
#include "plan/packing.h"
#include "plan/plan.h"

namespace sparsec::runtime {

/// The first variant with packed values; all of them have the same packed blocks. Null if there is none.
const Variant *findPackedVariant(const sparsec_kernel_s &kernel);

/// How many stored blocks of an argument a packed block of the variant has side by side.
PackedShape packedShape(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant, uint32_t argument);

/// Bytes of the packed values that the variant reads; 0: its part of the plan has none.
size_t packedBytes(const sparsec_kernel_s &kernel, const Variant &variant, const VariantPlan &part);

class PackedMatrix {
public:
  PackedMatrix() = default;
  PackedMatrix(const PackedMatrix &) = delete; // rows() refers to the arrays
  PackedMatrix &operator=(const PackedMatrix &) = delete;

  /// Packs the blocks of the kernel's matrix, or says why the plan has no packed values. `flags` are those of
  /// sparsec_plan_flag_t.
  void make(const sparsec_kernel_s &kernel, const Problem &problem, const HostLists &lists, uint32_t flags);

  const Packing &packing() const { return packed; }
  /// The packed blocks by the block rows of the product; null if there are none.
  const MatrixRows *rows() const { return matrix ? &*matrix : nullptr; }
  /// Empty unless the matrix is transposed.
  const TransposedIndex &transposedIndex() const { return index; }
  /// Why there are packed blocks, or none.
  const std::string &reason() const { return text; }

private:
  Packing packed;
  TransposedIndex index;
  std::optional<MatrixRows> matrix;
  std::string text;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PACKED_MATRIX_H
