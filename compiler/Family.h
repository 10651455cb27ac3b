// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The family of a kernel op says what distinguishes the op from the others, beyond its definition in the dialect. Each
// family is one file of families/. Passes ask the family of a kernel, and do not know kernel ops themselves.

#ifndef SPARSEC_COMPILER_FAMILY_H
#define SPARSEC_COMPILER_FAMILY_H

#include "SparsecDialect.h"

#include "sparsec/launch_info.h"

#include <memory>
#include <vector>

namespace sparsec {

struct Chip;
struct OperationRecord;
struct PlanCosts;
struct StageRecord;
class ProgramBuilder;
class RecordView;
class Selection;

/// The options of sparsec-select-schedule: properties that launches are expected to have.
struct Expectations {
  double density;  // the fraction of blocks that are stored
  int64_t columns; // of the result; 0: any number
};

/// The tiles of the host: rows and columns of the result, and elements of K in a step.
struct HostTile {
  int64_t m, n, k;
};

/// The columns of a tile of the host, or keys of a step, where the op leaves them open; their sums stay in a cache.
inline constexpr int64_t columnsOfHostTile = 64;

/// The sides of a block of M x K, or 0.
struct BlockSides {
  uint32_t rows = 0, columns = 0;
};

/// The properties of a variant on which the costs depend that its plans compare.
struct VariantShape {
  ScheduleAttr schedule; // null for the host
  bool hasWindows;
  const Chip *chip;  // null for the host
  BlockSides stored; // those of the stored blocks, of a variant with packed values
};

class Family {
public:
  virtual ~Family() = default;

  // Schedules (sparsec-select-schedule).

  /// The choice of the kernel's schedules. Fails with an error if the chip has no instruction for it.
  virtual mlir::FailureOr<std::unique_ptr<Selection>> select(KernelOp kernel, const Expectations &expected,
                                                             const Chip &chip) const = 0;
  virtual HostTile hostTile(KernelOp kernel) const = 0;

  // Programs (sparsec-lower-to-tiles).

  virtual std::unique_ptr<ProgramBuilder> makeBuilder(KernelOp kernel, ScheduleAttr schedule) const = 0;
  /// Whether launches may split the work of a tile into parts. Such launches run a program of their own, because a
  /// store that writes either results or parts would cost registers.
  virtual bool hasParts() const { return false; }
  /// Whether plans may cut tiles along K, or along the keys. Launches with such a plan run a program of their own: one
  /// for whole tiles too would have no register left.
  virtual bool mayCutTiles(KernelOp /*kernel*/) const { return false; }
  /// Whether the rows of a dense operand are as far apart as the result has columns. If these are few, that is rarely a
  /// multiple of 16 bytes.
  virtual bool hasRowsOfResultColumns(KernelOp /*kernel*/) const { return false; }
  /// The block-sparse matrix whose values a plan may pack; null for none.
  virtual mlir::TypedValue<BsrType> packedMatrix(KernelOp /*kernel*/) const { return {}; }

  // The launch info (sparsec-embed-launch-info).

  /// The record of the operation. Regions that give back their first value are left out.
  virtual OperationRecord describe(KernelOp kernel) const = 0;
  /// Says how a machine kernel cuts the result into tiles: `rows` and `panels` of its stage. `schedule` is null for the
  /// host.
  virtual void setGrid(const RecordView &kernel, StageRecord &stage, ScheduleAttr schedule) const = 0;
  /// Whether machine kernels read at most single elements of the operand in a slot, which may then begin anywhere,
  /// unless they have a tensor map of it.
  virtual bool readsSingleElements(uint32_t /*slot*/) const { return false; }
  /// Whether they move whole units of 16 bytes beyond the width of an operand, where that is no multiple of 16.
  virtual bool movesWholeUnits(uint32_t /*kind*/, uint32_t /*slot*/, bool /*hasTensorMap*/) const { return false; }
  /// The bytes of which the width of an operand must be a multiple where blocks are copied in lines of 128 bytes: no
  /// block is then cut.
  virtual uint32_t widthOfWholeBlocks(const RecordView & /*kernel*/, const sparsec_operand_info_t & /*operand*/) const {
    return 1;
  }
  /// The field least_narrow_blocks of variants that split K (docs/abi.md, "Parts of K"): with fewer blocks, a program
  /// for few columns takes less time.
  virtual uint32_t leastNarrowBlocks() const { return 0; }
  /// The costs that plans compare. Those of an operation without such costs are none.
  virtual std::vector<sparsec_plan_cost_info_t> planCosts(const RecordView & /*kernel*/, const PlanCosts & /*costs*/,
                                                          const VariantShape & /*variant*/) const {
    return {};
  }
};

#define SPARSEC_FAMILY(Op, family) const Family &family();
#include "Families.def"

/// The family of the kernel's anchor op.
const Family &familyOf(KernelOp kernel);

} // namespace sparsec

#endif // SPARSEC_COMPILER_FAMILY_H
