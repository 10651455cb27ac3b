// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CandidateTable.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

using namespace sparsec;

using Row = std::array<std::string, 7>;

static Row rowOf(const Candidate &candidate, const std::string &verdict) {
  const Schedule &schedule = candidate.schedule;
  bool fits = candidate.fit.ok();
  return {fmt::format("{} {}", infoOf(schedule.instruction).name, infoOf(schedule.copy).name),
          fmt::format("{}x{}x{}", schedule.tileM, schedule.tileN, schedule.tileK),
          std::to_string(schedule.stages),
          describeRoles(schedule),
          fits ? fmt::format("{:.0f}", candidate.cost.usefulFlopsPerClock) : "",
          fits ? candidate.cost.bound : "",
          fits ? verdict : candidate.fit.message};
}

std::string sparsec::tabulate(const std::vector<Candidate> &candidates, const std::vector<std::string> &verdicts) {
  std::vector<Row> rows = {{"instruction", "tile", "stages", "roles", "flop/clock/SM", "bound", "verdict"}};
  for (size_t i = 0; i < candidates.size(); ++i)
    rows.push_back(rowOf(candidates[i], verdicts[i]));

  std::array<size_t, std::tuple_size_v<Row>> widths = {};
  for (const Row &row : rows)
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  std::string text;
  for (const Row &row : rows) {
    std::string line;
    for (size_t column = 0; column < row.size(); ++column)
      line += fmt::format("  {:{}}", row[column], widths[column]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}
