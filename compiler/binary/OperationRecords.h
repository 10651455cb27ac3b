// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of which families make the record of what a kernel computes: its operation, with operands, attributes and
// regions, and the grids of its machine kernels.

#ifndef SPARSEC_COMPILER_BINARY_OPERATIONRECORDS_H
#define SPARSEC_COMPILER_BINARY_OPERATIONRECORDS_H

#include "LaunchInfoWriter.h"
#include "SparsecDialect.h"

namespace sparsec {

/// Collects the operands of an anchor.
class OperandList {
public:
  explicit OperandList(KernelOp kernel) : firstResult(kernel.getArgumentTypes().size()) {}

  void add(uint32_t slot, mlir::Value operand, uint32_t layout = SPARSEC_LAYOUT_NONE,
           uint32_t broadcast = SPARSEC_BROADCAST_NONE) {
    operands.push_back({slot, mlir::cast<mlir::BlockArgument>(operand).getArgNumber(), layout, broadcast});
  }
  /// The operands of an epilogue. Those of the shape of the result have its layout.
  template <typename Op> void addExtras(uint32_t slot, Op op, uint32_t layoutOfResult) {
    for (auto [index, extra] : llvm::enumerate(op.getExtras())) {
      auto broadcast = static_cast<uint32_t>(op.getBroadcastOf(index));
      add(slot, extra, broadcast == SPARSEC_BROADCAST_FULL ? layoutOfResult : uint32_t(SPARSEC_LAYOUT_NONE), broadcast);
    }
  }
  /// Result `number` of the kernel.
  void addResult(uint32_t slot, uint32_t number, uint32_t layout = SPARSEC_LAYOUT_NONE) {
    operands.push_back({slot, firstResult + number, layout, SPARSEC_BROADCAST_NONE});
  }
  std::vector<sparsec_operand_info_t> take() { return std::move(operands); }

private:
  uint32_t firstResult;
  std::vector<sparsec_operand_info_t> operands;
};

/// Whether a region gives back its first value.
bool isIdentity(mlir::Region &region);
/// The epilogue of a product, if it is not the identity. Its operands are those in `extraSlot`.
void addEpilogue(OperationRecord &record, mlir::Region &region, uint32_t extraSlot);
/// A region of attention: its values come first, then the tensors that it loads from.
RegionRecord describeRegion(mlir::Region &region, sparsec_region_slot_t slot,
                            llvm::ArrayRef<sparsec_operand_info_t> operands);

/// The records of a kernel, as those of its stages refer to them.
class RecordView {
public:
  explicit RecordView(const KernelRecord &record) : record(record) {}

  uint32_t kind() const { return record.operation.kind; }
  /// The (first) operand in a slot.
  const sparsec_operand_info_t &operandIn(uint32_t slot) const;
  const sparsec_argument_info_t &argumentIn(uint32_t slot) const { return record.arguments[operandIn(slot).argument]; }
  /// The value of an attribute; 0: the operation does not have it.
  int64_t attribute(sparsec_attribute_key_t key) const;
  /// The number of tiles that cover a dimension and do not cross blocks.
  sparsec_extent_info_t tilesOf(uint32_t slot, uint32_t dimension, uint32_t block, uint32_t tile) const;

private:
  const KernelRecord &record;
};

/// The sections of a plan without which a machine kernel cannot run: those of windows, of transposed matrices and of
/// pairs.
uint32_t requiredSections(const StageRecord &stage);
bool hasWindows(const StageRecord &stage);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_OPERATIONRECORDS_H
