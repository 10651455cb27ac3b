// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The choice of the schedules of a kernel. A remark for each kernel tells how it came about.

#ifndef SPARSEC_COMPILER_SCHEDULE_SELECTION_H
#define SPARSEC_COMPILER_SCHEDULE_SELECTION_H

#include "AttentionCandidates.h"
#include "ScheduleAttribute.h"

namespace sparsec {

/// The schedules of one kernel.
class Selection {
public:
  Selection(KernelOp kernel, int64_t elementBytes) : kernel(kernel), elementBytes(elementBytes) {}
  virtual ~Selection() = default;

  mlir::LogicalResult run();

protected:
  virtual std::vector<Candidate> rank(int64_t alignment) const = 0;
  /// Those for launches with a plan; the operation may have none.
  virtual std::vector<Schedule> planned() const { return {}; }
  /// Returns the schedules for launches whose width fits in one tile; the operation may have none.
  virtual std::vector<Schedule> narrow() const { return {}; }
  /// Returns the block of packed values; the operation may have none.
  virtual std::optional<PackedBlock> packed() const { return std::nullopt; }
  /// Returns the schedules for launches with packed values.
  virtual std::vector<Schedule> packedWith(PackedBlock /*block*/) const { return {}; }
  /// Says whether a schedule fits the problem and the chip. It may be written by hand.
  virtual Fit check(const Schedule &schedule) const = 0;
  /// The same of a schedule for packed values.
  virtual Fit checkPacked(const Schedule &schedule, PackedBlock /*block*/) const { return check(schedule); }

private:
  mlir::LogicalResult runPlanned();
  mlir::LogicalResult runNarrow();
  mlir::LogicalResult runPacked();
  mlir::LogicalResult expectFits(llvm::StringRef attribute, mlir::ArrayAttr schedules);
  mlir::ArrayAttr toArray(llvm::ArrayRef<Schedule> schedules);
  ScheduleAttr choose(int64_t alignment, mlir::ArrayAttr refused);
  void tabulate(const std::vector<Candidate> &candidates, const std::vector<size_t> &attempts, size_t attempt,
                mlir::ArrayAttr refused, int64_t alignment);
  mlir::LogicalResult expectFit(llvm::StringRef attribute, const Schedule &schedule);

  KernelOp kernel;
  int64_t elementBytes;
  std::string table; // for a remark
};

/// For a kernel that a description tells about.
template <typename Description> class SelectionFor : public Selection {
public:
  SelectionFor(KernelOp kernel, const Description &problem, const Chip &chip)
      : Selection(kernel, bytesOf(problem.elementType)), problem(problem), chip(chip) {}

protected:
  std::vector<Candidate> rank(int64_t alignment) const override { return rankCandidates(problem, chip, alignment); }
  Fit check(const Schedule &schedule) const override { return checkFit(schedule, problem, chip, Origin::HandWritten); }

  const Description problem;
  const Chip &chip;
};

template <typename Description>
std::unique_ptr<Selection> makeSelection(KernelOp kernel, const Description &problem, const Chip &chip) {
  return std::make_unique<SelectionFor<Description>>(kernel, problem, chip);
}

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_SELECTION_H
