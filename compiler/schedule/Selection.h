// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The choice of the schedules of a kernel. A remark for each kernel tells how it came about.

#ifndef SPARSEC_COMPILER_SCHEDULE_SELECTION_H
#define SPARSEC_COMPILER_SCHEDULE_SELECTION_H

#include "AttentionCandidates.h"
#include "ProblemName.h"
#include "ScheduleAttribute.h"
#include "ScheduleTable.h"

namespace sparsec {

/// The schedules of one kernel.
class Selection {
public:
  Selection(KernelOp kernel, int64_t elementBytes) : kernel(kernel), elementBytes(elementBytes) {}
  virtual ~Selection() = default;

  /// Rows of the table have precedence over the model, and schedules written by hand over these.
  mlir::LogicalResult run(const ScheduleTable &table);

  /// The name of the problem, by which tables find it.
  virtual std::string problem() const = 0;
  /// The schedules that are worth a measurement, for 16-byte alignment: the candidates that fit, and the same with
  /// fewer stages. The model's choice is the first one.
  virtual std::vector<Candidate> sweep() const = 0;

protected:
  virtual std::vector<Candidate> rank(int64_t alignment) const = 0;
  virtual const Chip &target() const = 0;
  /// Those for launches with a plan; the operation may have none.
  virtual std::vector<Schedule> planned() const { return {}; }
  /// Returns the schedules for launches whose width fits in one tile; the operation may have none.
  virtual std::vector<Schedule> narrow() const { return {}; }
  /// Returns the schedules for launches of few tiles that split K and read the streams of `planned`.
  virtual std::vector<Schedule> splitBeside(const Schedule & /*planned*/) const { return {}; }
  /// Returns the block of packed values; the operation may have none.
  virtual std::optional<PackedBlock> packed() const { return std::nullopt; }
  /// Returns the schedules for launches with packed values.
  virtual std::vector<Schedule> packedWith(PackedBlock /*block*/) const { return {}; }
  /// Says whether a schedule fits the problem and the chip. It may be written by hand.
  virtual Fit check(const Schedule &schedule) const = 0;
  /// The same of a schedule for packed values.
  virtual Fit checkPacked(const Schedule &schedule, PackedBlock /*block*/) const { return check(schedule); }

private:
  mlir::LogicalResult runPlanned(const ScheduleRow *row);
  mlir::LogicalResult runNarrow();
  mlir::LogicalResult runSplit();
  mlir::LogicalResult runPacked();
  mlir::LogicalResult expectFits(llvm::StringRef attribute, mlir::ArrayAttr schedules);
  mlir::ArrayAttr toArray(llvm::ArrayRef<Schedule> schedules);
  ScheduleAttr choose(int64_t alignment, mlir::ArrayAttr refused);
  ScheduleAttr choose(const ScheduleRow &row, mlir::ArrayAttr refused);
  void noteRow(const ScheduleRow &row, mlir::ArrayAttr refused);
  mlir::LogicalResult expectFit(const ScheduleRow &row);
  void tabulate(const std::vector<Candidate> &candidates, const std::vector<size_t> &attempts, size_t attempt,
                mlir::ArrayAttr refused, int64_t alignment);
  mlir::LogicalResult expectFit(llvm::StringRef attribute, const Schedule &schedule);

  KernelOp kernel;
  int64_t elementBytes;
  std::string remarks; // a text
};

/// For a kernel that a description tells about.
template <typename Description> class SelectionFor : public Selection {
public:
  SelectionFor(KernelOp kernel, const Description &description, const Chip &chip)
      : Selection(kernel, bytesOf(description.elementType)), description(description), chip(chip) {}

  std::string problem() const override { return problemName(description); }
  std::vector<Candidate> sweep() const override { return sweepCandidates(description, chip, /*alignment=*/16); }

protected:
  std::vector<Candidate> rank(int64_t alignment) const override { return rankCandidates(description, chip, alignment); }
  const Chip &target() const override { return chip; }
  Fit check(const Schedule &schedule) const override {
    return checkFit(schedule, description, chip, Origin::HandWritten);
  }

  const Description description;
  const Chip &chip;
};

template <typename Description>
std::unique_ptr<Selection> makeSelection(KernelOp kernel, const Description &problem, const Chip &chip) {
  return std::make_unique<SelectionFor<Description>>(kernel, problem, chip);
}

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_SELECTION_H
