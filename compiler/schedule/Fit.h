// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Does a schedule fit a chip and a problem? If not: which limit, and by how much. Pure functions.

#ifndef SPARSEC_COMPILER_SCHEDULE_FIT_H
#define SPARSEC_COMPILER_SCHEDULE_FIT_H

#include "Schedule.h"
#include "TargetInfo.h"

#include <initializer_list>

namespace sparsec {

enum class Limit { None, Instruction, Geometry, Threads, Registers, SharedMemory };

/// The answer. `allowed` and `needed` are threads, registers or bytes where the limit is one of those.
struct Fit {
  Limit broken = Limit::None;
  int64_t allowed = 0;
  int64_t needed = 0;
  /// "expects at most 232448 bytes of shared memory on sm_90a, but the schedule needs 245760 (13312 too many)"
  std::string message;

  bool ok() const { return broken == Limit::None; }
  int64_t excess() const { return needed - allowed; }
};

/// Who wrote a schedule. The compiler's own choice keeps a distance from the limits; one written by hand is refused
/// only when it cannot work.
enum class Origin { Chosen, HandWritten };

/// Registers that a thread of a consumer is expected to need (Chosen), or cannot do without (HandWritten).
int64_t estimatedRegisters(const Schedule &schedule, const ProblemDescription &problem, Origin origin);

/// Registers of one CTA that setmaxnreg can share out: what its threads have together at launch.
int64_t registerPool(const Chip &chip, int64_t threads, int64_t ctasPerSm);

/// Gives the consumers what the producer leaves, in eights.
void shareRegisters(Schedule &schedule, int64_t producerRegisters, const Chip &chip);

/// The most registers that a thread of a consumer may use.
int64_t consumerBudget(const Schedule &schedule, const Chip &chip);

/// K of a stage whose slots have rows of K, one after the other: the elements that lie together, or half of them where
/// blocks of fp8 have fewer columns.
int64_t stageDepth(const MatrixInstructionInfo &info, const ProblemDescription &problem);

/// Whether a block has the rows and the depth of one instruction, where a consumer does not repeat it.
bool fillsInstruction(MatrixInstruction instruction, const ProblemDescription &problem);

// The parts of a check that do not depend on what is computed.

/// The first answer that is not good, or a good one.
Fit firstBroken(std::initializer_list<Fit> fits);
Fit atMost(Limit limit, int64_t allowed, int64_t needed, const std::string &what);
/// Whether the chip has the instruction, the copy method and clusters where there is one, and whether the instruction
/// multiplies such elements.
Fit checkFeatures(const Schedule &schedule, ElementType elementType, const Chip &chip);
/// Whether the instruction can read the slots as the copy writes them. `purpose` goes into the message.
Fit checkSlotLayout(const Schedule &schedule, const char *purpose);
Fit checkThreads(const Schedule &schedule, const Chip &chip);
/// Consumers can only take registers that the producer gives up: both have a count, or none. Without a producer there
/// is only the consumers' count.
Fit checkRegisterRoles(const Schedule &schedule);
/// The counts for setmaxnreg: the producer gives up registers of the launch, the consumers take them.
Fit checkRegisterCounts(const Schedule &schedule, const Chip &chip);
/// The most registers that a thread may use, where all threads have one role: as many as CTAs share an SM.
Fit checkRegistersOfOneRole(const Schedule &schedule, const Chip &chip);
/// `total` bytes for one CTA, and as often as CTAs share an SM.
Fit checkSharedMemory(const Schedule &schedule, int64_t total, const Chip &chip);

/// Expects the numbers that the attribute's verifier lets through (dialect/SPEC.md, schedule_c1 to schedule_c3).
Fit checkFit(const Schedule &schedule, const ProblemDescription &problem, const Chip &chip, Origin origin);
Fit checkFit(const Schedule &schedule, const SampledDescription &problem, const Chip &chip, Origin origin);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_FIT_H
