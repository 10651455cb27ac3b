// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tells the caller of a plan how far it is, and hears whether to go on.

#ifndef SPARSEC_RUNTIME_PLAN_PROGRESS_H
#define SPARSEC_RUNTIME_PLAN_PROGRESS_H

#include "status.h"

namespace sparsec::runtime {

class PlanProgress {
public:
  /// `total` is the number of steps of all parts.
  PlanProgress(const sparsec_plan_options_t &options, int64_t total)
      : callback(options.progress), data(options.progress_data), total(total) {}

  /// Cancelled where the caller says so, now or before.
  Status report() {
    if (callback && !isCancelled)
      isCancelled = callback(data, done, total) != 0;
    return isCancelled ? makeStatus(SPARSEC_STATUS_CANCELLED, "the progress callback cancelled the plan") : Status();
  }
  /// Begins the next part of the work.
  void beginPart(int64_t steps) { end += steps; }
  /// One more step is done. False: the work ends.
  bool step() {
    ++done;
    return !report();
  }
  /// All steps of the part are done, also those that it did not take.
  Status finishPart() {
    done = end;
    return report();
  }

private:
  sparsec_progress_t callback;
  void *data;
  int64_t total, done = 0, end = 0;
  bool isCancelled = false;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PLAN_PROGRESS_H
