// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores of the blocks of a pattern, and the blocks that a list must have of them: by a sort of all.

#ifndef SPARSEC_TEST_DEVICE_TOP_K_REFERENCE_H
#define SPARSEC_TEST_DEVICE_TOP_K_REFERENCE_H

#include "attention_problem.h"
#include "kernel_files.h"

namespace sparsec::device_test {

enum class ScoreKind {
  Distinct, ///< normal numbers of both signs
  Positive, ///< from 2^-40 to 1, as probabilities
  Few,      ///< five integers and zeros of both signs: most are equal to others
  Special,  ///< many that are NaN (of both signs), infinite or subnormal
  Equal,    ///< all the same
  None,     ///< none that may be chosen
};

/// How the scores and the limits of a problem are made.
struct ScoreCase {
  const char *name;
  ScoreKind kind;
  double share; // k, of all key blocks
  bool hasCounts, hasMask;
};
inline constexpr ScoreCase scoreCases[] = {
    {"distinct", ScoreKind::Distinct, .2, false, false}, {"positive", ScoreKind::Positive, .3, false, false},
    {"ties", ScoreKind::Few, .4, false, false},          {"equal", ScoreKind::Equal, .5, false, false},
    {"k of 0", ScoreKind::Distinct, 0, false, false},    {"all", ScoreKind::Special, 1, false, false},
    {"special", ScoreKind::Special, .3, false, false},   {"none", ScoreKind::None, .3, true, false},
    {"counts", ScoreKind::Few, .6, true, false},         {"mask", ScoreKind::Distinct, .3, false, true},
    {"everything", ScoreKind::Special, .5, true, true}};

struct ScoreProblem {
  BlockStates blocks;          // the states are the block mask
  std::vector<float> scores;   // [batches][heads][rows][columns]
  std::vector<int32_t> counts; // of the lists; empty: none
  int64_t k;
  bool hasMask;
};
ScoreProblem chooseScores(BlockStates blocks, const ScoreCase &scores, uint64_t seed);

/// The states of the blocks after the choice: those that are not chosen are empty.
BlockStates chosenBlocks(const ScoreProblem &problem, const KernelRecord &kernel);

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_TOP_K_REFERENCE_H
