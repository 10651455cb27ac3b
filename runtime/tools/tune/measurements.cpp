// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "measurements.h"

#include "json_lines.h"
#include "output.h"
#include "progress.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/xxhash.h"

namespace sparsec::tune {

//===----------------------------------------------------------------------===//
// The journal
//===----------------------------------------------------------------------===//

static bool fromJSON(const llvm::json::Value &value, Measurement &measurement, llvm::json::Path path) {
  llvm::json::ObjectMapper row(value, path);
  Setting &setting = measurement.setting;
  return row && row.map("cubin", measurement.cubin) && row.map("pattern", measurement.pattern) &&
         row.map("pattern_hash", measurement.patternHash) && row.map("device", setting.device) &&
         row.map("driver", setting.driver) && row.map("columns", setting.columns) &&
         row.map("launches", setting.launches) && row.map("problem", measurement.problem) &&
         row.map("name", measurement.name) && row.map("predicted", measurement.predicted) &&
         row.map("rows", measurement.rows) && row.map("depth", measurement.depth) &&
         row.map("blocks", measurement.blocks) && row.map("density", measurement.density) &&
         row.map("milliseconds", measurement.milliseconds) &&
         row.map("best_milliseconds", measurement.bestMilliseconds) && row.map("teraflops", measurement.teraflops) &&
         row.map("error", measurement.error);
}

static std::string toLine(const Measurement &measurement) {
  std::string line;
  llvm::raw_string_ostream stream(line);
  llvm::json::OStream row(stream);
  row.object([&] {
    row.attribute("cubin", measurement.cubin);
    row.attribute("pattern", measurement.pattern);
    row.attribute("pattern_hash", measurement.patternHash);
    row.attribute("device", measurement.setting.device);
    row.attribute("driver", measurement.setting.driver);
    row.attribute("columns", measurement.setting.columns);
    row.attribute("launches", measurement.setting.launches);
    row.attribute("problem", measurement.problem);
    row.attribute("name", measurement.name);
    row.attribute("predicted", measurement.predicted);
    row.attribute("rows", measurement.rows);
    row.attribute("depth", measurement.depth);
    row.attribute("blocks", measurement.blocks);
    row.attribute("density", measurement.density);
    row.attribute("milliseconds", measurement.milliseconds);
    row.attribute("best_milliseconds", measurement.bestMilliseconds);
    row.attribute("teraflops", measurement.teraflops);
    row.attribute("error", measurement.error);
  });
  return line + "\n";
}

llvm::Expected<Journal> Journal::open(std::string path) {
  Journal journal;
  journal.path = std::move(path);
  if (!llvm::sys::fs::exists(journal.path))
    return journal;
  auto file = readers::readFile(journal.path);
  if (!file)
    return file.takeError();
  llvm::StringRef text = (*file)->getBuffer(), whole = text.substr(0, text.rfind('\n') + 1);
  llvm::Error error =
      forEachLine(whole, journal.path, [&](llvm::StringRef, const llvm::json::Value &row, llvm::json::Path place) {
        return fromJSON(row, journal.measurements.emplace_back(), place);
      });
  if (!error && whole.size() != text.size())
    error = run::writeFile(journal.path, whole.str());
  if (error)
    return error;
  return journal;
}

const Measurement *Journal::find(const std::string &cubin, const Pattern &pattern, const Setting &setting) const {
  for (const Measurement &each : measurements)
    if (each.cubin == cubin && each.pattern == pattern.text && each.patternHash == pattern.hash &&
        each.setting.device == setting.device && each.setting.driver == setting.driver &&
        each.setting.columns == setting.columns)
      return &each;
  return nullptr;
}

llvm::Error Journal::append(const Measurement &measurement) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error, llvm::sys::fs::OF_Append);
  if (!error) {
    stream << toLine(measurement);
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return llvm::createFileError(path, error);
  measurements.push_back(measurement);
  return llvm::Error::success();
}

std::string hashOf(llvm::StringRef bytes) { return llvm::utohexstr(llvm::xxh3_64bits(bytes), /*LowerCase=*/true, 16); }

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

namespace {
/// A candidate that was compiled.
struct Compiled {
  const Candidate *candidate;
  std::string cubin; // its hash
};
} // namespace

static llvm::Expected<std::vector<Compiled>> findCompiled(const WorkFolder &folder,
                                                          llvm::ArrayRef<Candidate> candidates) {
  std::vector<Compiled> compiled;
  for (const Candidate &candidate : candidates) {
    const std::string path = folder.cubin(candidate);
    if (!llvm::sys::fs::exists(path))
      continue;
    auto file = readers::readFile(path);
    if (!file)
      return file.takeError();
    compiled.push_back({&candidate, hashOf((*file)->getBuffer())});
  }
  return compiled;
}

/// Fills in which kernel, pattern and machine a measurement is for.
static Measurement describe(const Compiled &compiled, const Pattern &pattern, const Setting &setting) {
  Measurement measurement;
  measurement.cubin = compiled.cubin;
  measurement.pattern = pattern.text;
  measurement.patternHash = pattern.hash;
  measurement.setting = setting;
  measurement.problem = compiled.candidate->problem;
  measurement.name = compiled.candidate->name;
  measurement.predicted = compiled.candidate->predicted;
  return measurement;
}

llvm::Expected<bool> measureAll(const WorkFolder &folder, llvm::ArrayRef<Candidate> candidates,
                                llvm::ArrayRef<Pattern> patterns, Measurer &measurer, const Deadline &deadline,
                                Journal &journal) {
  auto compiled = findCompiled(folder, candidates);
  if (!compiled)
    return compiled.takeError();
  if (compiled->empty())
    return failure("there is no compiled candidate: expects {} and others", folder.cubin(candidates.front()));
  run::Progress progress("measuring", "sparsec-tune");
  int64_t done = 0, total = int64_t(compiled->size() * patterns.size());
  for (const Pattern &pattern : patterns) {
    bool hasBegun = false;
    for (const Compiled &each : *compiled) {
      progress.update(done++, total);
      if (journal.find(each.cubin, pattern, measurer.setting()))
        continue;
      if (isOver(deadline))
        return false;
      if (!hasBegun)
        if (llvm::Error error = measurer.begin(pattern, *compiled->front().candidate))
          return error;
      hasBegun = true;
      Measurement measurement = describe(each, pattern, measurer.setting());
      llvm::Error error = measurer.measure(*each.candidate, measurement);
      if (!error || !measurement.error.empty())
        error = llvm::joinErrors(std::move(error), journal.append(measurement));
      if (error)
        return error;
    }
  }
  return true;
}

} // namespace sparsec::tune
