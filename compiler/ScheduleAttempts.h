// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Only ptxas knows whether registers suffice for a schedule. Where they do not, the passes run again, and the kernel
// gets its next best schedule.

#ifndef SPARSEC_COMPILER_SCHEDULEATTEMPTS_H
#define SPARSEC_COMPILER_SCHEDULEATTEMPTS_H

#include "Ptxas.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace sparsec {

/// The schedules that ptxas has refused so far for one target.
class ScheduleAttempts {
public:
  /// `source` is the module before all passes.
  explicit ScheduleAttempts(mlir::ModuleOp source) : source(source) {}

  /// Tells sparsec-select-schedule, in a copy of the source, what has been refused. A schedule written by hand that has
  /// been is taken away, so that one is found that would do.
  void apply(mlir::ModuleOp copy) const;

  /// Notes what ptxas says about the machine kernels of a launch info. False if none of them has a schedule left.
  bool refuse(llvm::ArrayRef<PtxasProblem> problems, llvm::ArrayRef<char> launchInfo);

  /// Reports every schedule written by hand that ptxas refused, with the one that a launch info has in its place.
  mlir::LogicalResult reportRefusalsByHand(llvm::ArrayRef<char> launchInfo);

private:
  struct Refusal {
    std::string schedule, reason;
  };
  struct Variant {
    std::optional<Refusal> byHand;
    std::vector<Refusal> chosen;
  };
  /// The name of a kernel, and the number of the attribute that holds a variant's schedule.
  using Key = std::pair<std::string, size_t>;

  bool refuse(const Key &key, const Refusal &refusal);

  mlir::ModuleOp source;
  std::map<Key, Variant> variants; // of which something was refused
};

/// "kernel linear (schedule ...): spills registers, ...", with the schedule from a launch info.
std::string describe(const PtxasProblem &problem, llvm::ArrayRef<char> launchInfo);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULEATTEMPTS_H
