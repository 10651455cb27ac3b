// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "candidates.h"

#include "json_lines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

#include <fmt/ranges.h>

namespace sparsec::tune {

static bool fromJSON(const llvm::json::Value &value, Candidate &candidate, llvm::json::Path path) {
  llvm::json::ObjectMapper row(value, path);
  return row && row.map("kernel", candidate.kernel) && row.map("chip", candidate.chip) &&
         row.map("problem", candidate.problem) && row.map("schedule", candidate.schedule) &&
         row.map("name", candidate.name) && row.map("predicted", candidate.predicted);
}

llvm::Expected<std::vector<Candidate>> parseCandidates(llvm::StringRef text, llvm::StringRef path) {
  std::vector<Candidate> candidates;
  llvm::Error error =
      forEachLine(text, path, [&](llvm::StringRef line, const llvm::json::Value &value, llvm::json::Path place) {
        Candidate candidate;
        candidate.row = line.str();
        bool isGood = fromJSON(value, candidate, place);
        candidates.push_back(std::move(candidate));
        return isGood;
      });
  if (error)
    return error;
  return candidates;
}

llvm::Expected<std::vector<Candidate>> candidatesOf(std::vector<Candidate> all, llvm::StringRef name) {
  std::vector<std::string> kernels;
  for (const Candidate &candidate : all)
    if (!llvm::is_contained(kernels, candidate.kernel))
      kernels.push_back(candidate.kernel);
  if (name.empty() && kernels.size() != 1)
    return failure("there are {} kernels: add --kernel= and one of {}", kernels.size(), fmt::join(kernels, ", "));
  if (!name.empty() && !llvm::is_contained(kernels, name))
    return failure("there is no kernel '{}', but {}", view(name), fmt::join(kernels, ", "));
  llvm::erase_if(all, [&](const Candidate &candidate) { return !name.empty() && candidate.kernel != name; });
  for (auto [index, candidate] : llvm::enumerate(all))
    candidate.number = index + 1;
  return all;
}

std::string WorkFolder::file(llvm::StringRef name) const {
  llvm::SmallString<128> file(path);
  llvm::sys::path::append(file, name);
  return file.str().str();
}

std::string WorkFolder::cubin(const Candidate &candidate) const {
  return file(fmt::format("{:04}.cubin", candidate.number));
}

} // namespace sparsec::tune
