// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The epilogue of a product, in double.

#ifndef SPARSEC_RUNTIME_REFERENCE_EPILOGUE_H
#define SPARSEC_RUNTIME_REFERENCE_EPILOGUE_H

#include "region.h"

namespace sparsec::runtime {

/// The elements of extra operands that belong to an element of the result.
struct ExtraPosition {
  int64_t row, column; // of vectors
  /// Where the memory of a full operand has its element.
  int64_t (*fullIndex)(const sparsec_operand_info_t &operand, const sparsec_dense_t &tensor, int64_t row,
                       int64_t column);
  int64_t fullRow, fullColumn; // for `fullIndex`
};

/// For one thread.
class Epilogue {
public:
  /// `extraSlot` is that of the operation's extra operands.
  Epilogue(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, uint32_t extraSlot)
      : arguments(arguments), operands(kernel.operands()), extraSlot(extraSlot),
        region(kernel, arguments, SPARSEC_REGION_EPILOGUE), elements(operands.size()) {}

  bool isEmpty() const { return region.isEmpty(); }
  /// Replaces an accumulator by the result, and its magnitude (may be null) by that of the result.
  Status apply(const ExtraPosition &at, double &value, double *magnitude);

private:
  double readExtra(const sparsec_operand_info_t &operand, const ExtraPosition &at) const;

  const sparsec_argument_t *arguments;
  Records<sparsec_operand_info_t> operands;
  uint32_t extraSlot;
  Region region;
  std::vector<double> elements; // by operand
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_EPILOGUE_H
