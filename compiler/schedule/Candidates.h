// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules that are worth a look, and the best of them. Pure functions.
//
// A description says what a kernel computes: ProblemDescription for products, SampledDescription for those that are
// sampled at a pattern, AttentionDescription for attention. Each of them has the functions candidateSchedules,
// checkFit, estimatedRegisters and estimateCost. They share everything else.

#ifndef SPARSEC_COMPILER_SCHEDULE_CANDIDATES_H
#define SPARSEC_COMPILER_SCHEDULE_CANDIDATES_H

#include "CostModel.h"
#include "Fit.h"

#include <optional>
#include <vector>

namespace sparsec {

struct Candidate {
  Schedule schedule;
  Fit fit;
  /// Only where it fits.
  Cost cost;
  /// Registers that a consumer thread may use beyond those that it is expected to need.
  int64_t spareRegisters = 0;
};

/// The copy that feeds an instruction where pointers and row strides are multiples of `alignment` bytes: the first of
/// the table whose slots it can read. None where the chip has none.
std::optional<CopyMethod> copyFor(MatrixInstruction instruction, const Chip &chip, int64_t alignment);

/// All schedules to consider when pointers and row strides are multiples of `alignment` bytes. Each has as many stages
/// as are useful and fit.
std::vector<Schedule> candidateSchedules(const ProblemDescription &problem, const Chip &chip, int64_t alignment);
std::vector<Schedule> candidateSchedules(const SampledDescription &problem, const Chip &chip, int64_t alignment);

/// The schedules for launches whose plan has the sections that they need, in order of preference.
std::vector<Schedule> plannedSchedules(const ProblemDescription &problem, const Chip &chip);
/// The schedules for launches with few tiles, which split K into parts. They read the streams of a planned schedule.
std::vector<Schedule> splitSchedules(const Schedule &planned, const ProblemDescription &problem, const Chip &chip);

/// The schedules for launches with at most as many columns as their tile has, by rising width.
std::vector<Schedule> narrowSchedules(const ProblemDescription &problem, const Chip &chip);

/// Rows and columns of the packed blocks of a product. None where stored blocks are large enough, do not fill packed
/// ones, or have scales.
struct PackedBlock {
  int64_t rows, columns;
};
std::optional<PackedBlock> packedBlock(const ProblemDescription &problem);

/// The product with packed values: the same with packed blocks in place of the stored ones.
ProblemDescription withPackedBlocks(ProblemDescription problem, PackedBlock block);

/// The schedules of that product for launches with packed values, in order of preference.
std::vector<Schedule> packedSchedules(const ProblemDescription &packed, const Chip &chip);

/// Those that fit first, the cheapest at the front; what is equal keeps its order.
void sortByCost(std::vector<Candidate> &candidates);

/// The candidates where pointers and strides are multiples of `alignment` bytes, with fit and cost: those that fit
/// first, the cheapest at the front.
template <typename Description>
std::vector<Candidate> rankCandidates(const Description &problem, const Chip &chip, int64_t alignment) {
  std::vector<Candidate> candidates;
  for (const Schedule &schedule : candidateSchedules(problem, chip, alignment)) {
    Candidate candidate = {schedule,
                           checkFit(schedule, problem, chip, Origin::Chosen),
                           {},
                           consumerBudget(schedule, chip) - estimatedRegisters(schedule, problem, Origin::Chosen)};
    if (candidate.fit.ok())
      candidate.cost = estimateCost(schedule, problem, chip);
    candidates.push_back(candidate);
  }
  sortByCost(candidates);
  return candidates;
}

/// A tuner measures these: the candidates that fit, and each of them with fewer stages. The cheapest comes first.
template <typename Description>
std::vector<Candidate> sweepCandidates(const Description &problem, const Chip &chip, int64_t alignment) {
  constexpr int64_t leastStages = 2;
  std::vector<Candidate> sweep = rankCandidates(problem, chip, alignment);
  std::erase_if(sweep, [](const Candidate &candidate) { return !candidate.fit.ok(); });
  for (size_t i = 0, count = sweep.size(); i < count; ++i)
    for (Candidate candidate = sweep[i]; --candidate.schedule.stages >= leastStages;) {
      candidate.fit = checkFit(candidate.schedule, problem, chip, Origin::Chosen);
      if (!candidate.fit.ok())
        break;
      candidate.cost = estimateCost(candidate.schedule, problem, chip);
      sweep.push_back(candidate);
    }
  sortByCost(sweep);
  return sweep;
}

/// Gives the schedule as many stages as are useful and fit in shared memory.
template <typename Description>
void chooseStages(Schedule &schedule, const Description &problem, const Chip &chip, int64_t least, int64_t most) {
  for (schedule.stages = most; schedule.stages > least; --schedule.stages)
    if (checkFit(schedule, problem, chip, Origin::HandWritten).broken != Limit::SharedMemory)
      break;
}

/// The positions of the candidates to try, in order, while the assembler finds that registers do not suffice: the
/// cheapest, then always the next one that leaves a thread more registers than all before.
std::vector<size_t> orderOfAttempts(const std::vector<Candidate> &candidates);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_CANDIDATES_H
