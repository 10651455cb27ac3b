// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ranking.h"

#include "json_lines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <cmath>

namespace sparsec::tune {

namespace {
/// The measurements of one pattern.
struct PatternTimes {
  const Pattern *pattern;
  /// The best one first, then those without a result.
  std::vector<std::pair<const Candidate *, const Measurement *>> rows;

  bool isEmpty() const { return rows.empty() || !rows.front().second->error.empty(); }
  double best() const { return rows.front().second->milliseconds; }
};
} // namespace

/// Returns the measured times of the candidates. Two of them may have the same name only if they are the same.
static PatternTimes timesOf(llvm::ArrayRef<Candidate> candidates, const Pattern &pattern, const Setting &setting,
                            const Journal &journal) {
  llvm::StringMap<const Measurement *> byName;
  for (const Measurement &each : journal.all())
    if (each.pattern == pattern.text && each.patternHash == pattern.hash && each.setting.device == setting.device &&
        each.setting.driver == setting.driver && each.setting.columns == setting.columns &&
        each.problem == candidates.front().problem)
      byName[each.name] = &each;
  PatternTimes times = {&pattern, {}};
  for (const Candidate &candidate : candidates)
    if (const Measurement *measurement = byName.lookup(candidate.name))
      times.rows.emplace_back(&candidate, measurement);
  llvm::stable_sort(times.rows, [](const auto &one, const auto &other) {
    bool isWrong = !one.second->error.empty(), isOtherWrong = !other.second->error.empty();
    return std::pair(isWrong, one.second->milliseconds) < std::pair(isOtherWrong, other.second->milliseconds);
  });
  return times;
}

static std::vector<PatternTimes> timesOf(llvm::ArrayRef<Candidate> candidates, llvm::ArrayRef<Pattern> patterns,
                                         const Setting &setting, const Journal &journal) {
  std::vector<PatternTimes> all;
  for (const Pattern &pattern : patterns)
    all.push_back(timesOf(candidates, pattern, setting, journal));
  return all;
}

Ranking rank(llvm::ArrayRef<Candidate> candidates, llvm::ArrayRef<Pattern> patterns, const Setting &setting,
             const Journal &journal) {
  Ranking ranking;
  const std::vector<PatternTimes> all = timesOf(candidates, patterns, setting, journal);
  size_t mostRows = 0; // a time limit leaves the last pattern unfinished
  for (const PatternTimes &times : all)
    mostRows = std::max(mostRows, times.rows.size());
  std::vector<double> logarithms(candidates.size()), worst(candidates.size());
  std::vector<size_t> counts(candidates.size());
  for (const PatternTimes &times : all) {
    if (times.isEmpty() || times.rows.size() < mostRows)
      continue;
    ++ranking.patterns;
    for (const auto &[candidate, measurement] : times.rows) {
      if (!measurement->error.empty())
        continue;
      const size_t index = candidate - candidates.data();
      const double ratio = measurement->milliseconds / times.best();
      ++counts[index];
      logarithms[index] += std::log(ratio);
      worst[index] = std::max(worst[index], ratio);
    }
  }
  for (const auto &[index, candidate] : llvm::enumerate(candidates))
    if (ranking.patterns != 0 && counts[index] == ranking.patterns)
      ranking.ranks.push_back({&candidate, std::exp(logarithms[index] / double(ranking.patterns)), worst[index]});
  llvm::stable_sort(ranking.ranks, [](const Rank &one, const Rank &other) { return one.mean < other.mean; });
  return ranking;
}

/// "1.034 of the best" for the choice of the model, which is the first candidate.
static void printChoice(llvm::raw_ostream &stream, const PatternTimes &times) {
  for (const auto &[candidate, measurement] : times.rows)
    if (candidate->number == 1)
      stream << (measurement->error.empty() ? fmt::format("the model's choice takes {:.3f} of the time of the best\n",
                                                          measurement->milliseconds / times.best())
                                            : "the model's choice has no time: " + measurement->error + "\n");
}

void printRanking(llvm::raw_ostream &stream, llvm::ArrayRef<Candidate> candidates, llvm::ArrayRef<Pattern> patterns,
                  const Setting &setting, const Journal &journal) {
  constexpr size_t mostShown = 10;
  for (const PatternTimes &times : timesOf(candidates, patterns, setting, journal)) {
    if (times.rows.empty())
      continue;
    const Measurement &first = *times.rows.front().second;
    stream << fmt::format("\n{}: {} x {}, density {:.3f}, {} columns, {}\n{:>10}  {:>6}  {:>8}  {:>5}  {}\n",
                          times.pattern->text, first.rows, first.depth, first.density, setting.columns, setting.device,
                          "ms", "ratio", "TFLOP/s", "model", "schedule");
    size_t shown = 0;
    for (const auto &[candidate, measurement] : times.rows) {
      if (measurement->error.empty() && ++shown > mostShown && candidate->number != 1)
        continue;
      stream << (measurement->error.empty()
                     ? fmt::format("{:>10.5f}  {:>6.3f}  {:>8.1f}  {:>5}  {}\n", measurement->milliseconds,
                                   measurement->milliseconds / times.best(), measurement->teraflops, candidate->number,
                                   candidate->name)
                     : fmt::format("{:>10}  {:>6}  {:>8}  {:>5}  {}: {}\n", "-", "-", "-", candidate->number,
                                   candidate->name, measurement->error));
    }
    if (shown > mostShown)
      stream << fmt::format("{} candidates were measured; the others are slower\n", shown);
    if (!times.isEmpty())
      printChoice(stream, times);
  }
}

/// Whether a table has it beside the schedule for launches without a plan.
static bool isPlanned(llvm::StringRef schedule) { return schedule.contains("walk = "); }

/// The line of the best candidate, with what was measured.
static std::string bestRow(const Ranking &ranking, const Setting &setting) {
  const Rank &best = ranking.ranks.front();
  std::string line;
  llvm::raw_string_ostream stream(line);
  llvm::json::OStream row(stream);
  row.object([&] {
    row.attribute("chip", best.candidate->chip);
    row.attribute("problem", best.candidate->problem);
    row.attribute("schedule", best.candidate->schedule);
    row.attribute("name", best.candidate->name);
    row.attribute("device", setting.device);
    row.attribute("driver", setting.driver);
    row.attribute("columns", setting.columns);
    row.attribute("patterns", int64_t(ranking.patterns));
    row.attribute("ratio_to_best", best.mean);
    for (const Rank &rank : ranking.ranks)
      if (rank.candidate->number == 1)
        row.attribute("ratio_of_model", rank.mean);
  });
  return line + "\n";
}

llvm::Expected<std::string> updateTable(llvm::StringRef table, llvm::StringRef path, const Ranking &ranking,
                                        const Setting &setting) {
  const Candidate &best = *ranking.ranks.front().candidate;
  std::string rows;
  llvm::Error error =
      forEachLine(table, path, [&](llvm::StringRef line, const llvm::json::Value &value, llvm::json::Path place) {
        std::string chip, problem, schedule;
        llvm::json::ObjectMapper row(value, place);
        if (!row || !row.map("chip", chip) || !row.map("problem", problem) || !row.map("schedule", schedule))
          return false;
        if (chip != best.chip || problem != best.problem || isPlanned(schedule) != isPlanned(best.schedule))
          rows += line.str() + "\n";
        return true;
      });
  if (error)
    return error;
  return rows + bestRow(ranking, setting);
}

} // namespace sparsec::tune
