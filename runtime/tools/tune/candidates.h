// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules that are measured: a line of JSON each, as `sparsec --emit=candidates` prints them, and a cubin each.

#ifndef SPARSEC_TOOLS_TUNE_CANDIDATES_H
#define SPARSEC_TOOLS_TUNE_CANDIDATES_H

#include "status_error.h"

#include <string>
#include <vector>

namespace sparsec::tune {

using run::failure;
using run::view;

struct Candidate {
  size_t number = 0; // from 1 on, in the order of the cost model: 1 is its choice
  std::string row;   // the line, which is a row of a schedule table
  std::string kernel, chip, problem;
  std::string schedule; // #sparsec.schedule<...>
  std::string name;     // the schedule as the launch info describes it
  double predicted = 0; // useful operations in a clock of a multiprocessor
};

/// Reads the lines. `path` is the file's name, for messages.
llvm::Expected<std::vector<Candidate>> parseCandidates(llvm::StringRef text, llvm::StringRef path);

/// The candidates of one kernel, of which `name` may be empty where there is only one.
llvm::Expected<std::vector<Candidate>> candidatesOf(std::vector<Candidate> all, llvm::StringRef name);

/// The folder that the two halves of sparsec-tune share: candidates.jsonl, NNNN.cubin and measurements.jsonl.
class WorkFolder {
public:
  explicit WorkFolder(std::string path) : path(std::move(path)) {}
  std::string file(llvm::StringRef name) const;
  std::string cubin(const Candidate &candidate) const;

private:
  std::string path;
};

} // namespace sparsec::tune

#endif // SPARSEC_TOOLS_TUNE_CANDIDATES_H
