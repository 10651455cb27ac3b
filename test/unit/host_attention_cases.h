// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels and sizes of host_attention_test.cpp.

#ifndef SPARSEC_TEST_UNIT_HOST_ATTENTION_CASES_H
#define SPARSEC_TEST_UNIT_HOST_ATTENTION_CASES_H

#include "host_kernels.h"

#include <ostream>

namespace sparsec::test {

enum Region { None, Alibi, Softcap, Bias, Hide };
enum Lists { Dense, Index, Padded };
/// How the scores go along the keys: up for even queries, down for odd ones, or far up and down at every 61st key.
enum Course { Normal, Ramp, Spikes };

struct AttentionCase {
  std::string name;
  Format input = bf16, output = bf16;
  int headDimension = 64;
  int valueDimension = headDimension;
  int batches = 1, heads = 2, keyHeads = 2, queries = 64, keys = 64;
  Lists lists = Dense;
  int queryBlock = 64, keyBlock = 64;
  bool oneListForBatches = false, oneListForHeads = false, noFullLists = false;
  bool causal = false;
  int left = -1, right = -1;
  Region score = None;
  bool mask = false, scale = false, sinks = false, lse = true, batchSequenceHead = false;
  double amplitude = 1; // of the scores
  Course course = Normal;
};

inline std::ostream &operator<<(std::ostream &stream, const AttentionCase &p) { return stream << p.name; }

/// All options and their combinations.
std::vector<AttentionCase> attentionCases();

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_HOST_ATTENTION_CASES_H
