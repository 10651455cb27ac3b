// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The measurements so far, in a file that grows by a line with each one. A run that was stopped goes on where it was.

#ifndef SPARSEC_TOOLS_TUNE_MEASUREMENTS_H
#define SPARSEC_TOOLS_TUNE_MEASUREMENTS_H

#include "candidates.h"

#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace sparsec::tune {

/// The machine, and how it measures.
struct Setting {
  std::string device;
  int64_t driver = 0;
  int64_t columns = 0, launches = 0;
};

/// A block pattern.
struct Pattern {
  std::string text; // what --arg takes
  std::string hash; // of the contents of the file
};

/// A candidate on a pattern: its times, or why it has none.
struct Measurement {
  std::string cubin; // a hash of the file
  std::string pattern, patternHash;
  Setting setting;
  std::string problem, name;
  double predicted = 0;
  int64_t rows = 0, depth = 0, blocks = 0;
  double density = 0;
  double milliseconds = 0, bestMilliseconds = 0, teraflops = 0;
  std::string error; // empty: the result was right
};

/// The file. It is created with the first measurement.
class Journal {
public:
  /// Reads the file if it is there. A last line that was cut off is taken away.
  static llvm::Expected<Journal> open(std::string path);

  /// The same measurement of an earlier run; null: there is none.
  const Measurement *find(const std::string &cubin, const Pattern &pattern, const Setting &setting) const;
  llvm::Error append(const Measurement &measurement);
  const std::vector<Measurement> &all() const { return measurements; }

private:
  std::string path;
  std::vector<Measurement> measurements;
};

/// A hash of bytes, as text.
std::string hashOf(llvm::StringRef bytes);

using Clock = std::chrono::steady_clock;

/// --time-limit; none where it is not given.
using Deadline = std::optional<Clock::time_point>;
inline bool isOver(const Deadline &deadline) { return deadline && Clock::now() >= *deadline; }

/// The part that needs a GPU.
class Measurer {
public:
  virtual ~Measurer() = default;
  virtual const Setting &setting() const = 0;
  /// Makes a pattern the one of the next measurements.
  virtual llvm::Error begin(const Pattern &pattern, const Candidate &first) = 0;
  /// Fails where nothing can be measured after it; the measurement may then say why.
  virtual llvm::Error measure(const Candidate &candidate, Measurement &measurement) = 0;
};

/// Measures all candidates with a cubin on all patterns, but for those that the journal has. False where the deadline
/// came first.
llvm::Expected<bool> measureAll(const WorkFolder &folder, llvm::ArrayRef<Candidate> candidates,
                                llvm::ArrayRef<Pattern> patterns, Measurer &measurer, const Deadline &deadline,
                                Journal &journal);

} // namespace sparsec::tune

#endif // SPARSEC_TOOLS_TUNE_MEASUREMENTS_H
