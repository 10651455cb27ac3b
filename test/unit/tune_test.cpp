// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-tune without a GPU: its files, the order of its work, and what it makes of the times.

#include "ranking.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace sparsec::tune;

namespace {

std::string candidateRow(const std::string &kernel, const std::string &name) {
  return R"({"kernel":")" + kernel + R"(","chip":"sm_90a","problem":"spmm","schedule":"#sparsec.schedule<>","name":")" +
         name + R"(","predicted":2.5})";
}

/// Candidates of one kernel with these names.
std::vector<Candidate> makeCandidates(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += candidateRow("k", name) + "\n";
  auto all = parseCandidates(text, "candidates.jsonl");
  EXPECT_TRUE(bool(all));
  auto candidates = candidatesOf(std::move(*all), "");
  EXPECT_TRUE(bool(candidates));
  return *candidates;
}

template <typename T> std::string messageOf(llvm::Expected<T> expected) {
  EXPECT_FALSE(expected);
  return expected ? "" : llvm::toString(expected.takeError());
}

/// A folder for one test.
class TuneTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("sparsec-tune", root)); }
  void TearDown() override { EXPECT_FALSE(llvm::sys::fs::remove_directories(root)); }

  WorkFolder folder() const { return WorkFolder(root.str().str()); }
  std::string journalPath() const { return folder().file("measurements.jsonl"); }
  Journal openJournal() const {
    auto journal = Journal::open(journalPath());
    EXPECT_TRUE(bool(journal));
    return journal ? *journal : Journal();
  }
  void write(const std::string &path, const std::string &text) const { std::ofstream(path) << text; }
  void writeCubins(const std::vector<Candidate> &candidates) const {
    for (const Candidate &candidate : candidates)
      write(folder().cubin(candidate), "cubin of " + candidate.name);
  }

  llvm::SmallString<128> root;
};

const Setting setting = {"a GPU", 13000, 512, 15};

/// Gives each candidate a time, and notes what it is asked for.
class FakeMeasurer : public Measurer {
public:
  const sparsec::tune::Setting &setting() const override { return own; }
  llvm::Error begin(const Pattern &pattern, const Candidate &first) override {
    calls.push_back("begin " + pattern.text);
    return llvm::Error::success();
  }
  llvm::Error measure(const Candidate &candidate, Measurement &measurement) override {
    calls.push_back(candidate.name);
    if (candidate.name == failing) {
      measurement.error = "the launch failed";
      return failure("candidate {}: the launch failed", candidate.number);
    }
    measurement.milliseconds = double(candidate.number);
    return llvm::Error::success();
  }

  Setting own = ::setting;
  std::string failing;
  std::vector<std::string> calls;
};

using Calls = std::vector<std::string>;

Measurement measurementOf(const Candidate &candidate, const Pattern &pattern, double milliseconds,
                          const std::string &error = "") {
  Measurement measurement;
  measurement.cubin = hashOf(candidate.name);
  measurement.pattern = pattern.text;
  measurement.patternHash = pattern.hash;
  measurement.setting = setting;
  measurement.problem = candidate.problem;
  measurement.name = candidate.name;
  measurement.milliseconds = milliseconds;
  measurement.error = error;
  return measurement;
}

const Pattern one = {"one.smtx", "1"}, other = {"other.smtx", "2"};

} // namespace

TEST(TuneCandidates, AreNumberedInTheirOrder) {
  auto all = parseCandidates(candidateRow("a", "x") + "\n\n" + candidateRow("b", "y") + "\n" + candidateRow("b", "z"),
                             "c.jsonl");
  ASSERT_TRUE(bool(all));
  EXPECT_EQ(messageOf(candidatesOf(*all, "")), "there are 2 kernels: add --kernel= and one of a, b");
  EXPECT_EQ(messageOf(candidatesOf(*all, "c")), "there is no kernel 'c', but a, b");
  auto candidates = candidatesOf(*all, "b");
  ASSERT_TRUE(bool(candidates));
  ASSERT_EQ(candidates->size(), 2u);
  EXPECT_EQ((*candidates)[1].number, 2u);
  EXPECT_EQ((*candidates)[1].name, "z");
  EXPECT_EQ((*candidates)[1].row, candidateRow("b", "z"));
  EXPECT_EQ((*candidates)[1].predicted, 2.5);
}

TEST(TuneCandidates, ErrorsNameLineAndField) {
  EXPECT_EQ(messageOf(parseCandidates("\n{\"kernel\":\"k\"}\n", "c.jsonl")), "c.jsonl:2: missing value at row.chip");
  EXPECT_EQ(messageOf(parseCandidates("{\"kernel\":3}\n", "c.jsonl")), "c.jsonl:1: expected string at row.kernel");
  EXPECT_EQ(messageOf(parseCandidates("7\n", "c.jsonl")), "c.jsonl:1: expected object when parsing row");
  EXPECT_EQ(messageOf(parseCandidates("{\n", "c.jsonl")).find("c.jsonl:1: ["), 0u);
}

TEST_F(TuneTest, JournalKeepsAllFields) {
  const std::vector<Candidate> candidates = makeCandidates({"x"});
  Measurement measurement = measurementOf(candidates[0], one, 0.5);
  measurement.predicted = 1000.25;
  measurement.rows = 8192;
  measurement.depth = 4096;
  measurement.blocks = 77;
  measurement.density = 0.125;
  measurement.bestMilliseconds = 0.25;
  measurement.teraflops = 600;
  Journal journal = openJournal();
  EXPECT_FALSE(journal.append(measurement));
  Journal again = openJournal();
  ASSERT_EQ(again.all().size(), 1u);
  const Measurement &read = again.all().front();
  EXPECT_EQ(std::tie(read.cubin, read.pattern, read.patternHash, read.problem, read.name, read.predicted, read.rows,
                     read.depth, read.blocks, read.density, read.milliseconds, read.bestMilliseconds, read.teraflops),
            std::tie(measurement.cubin, measurement.pattern, measurement.patternHash, measurement.problem,
                     measurement.name, measurement.predicted, measurement.rows, measurement.depth, measurement.blocks,
                     measurement.density, measurement.milliseconds, measurement.bestMilliseconds,
                     measurement.teraflops));
  EXPECT_EQ(std::tie(read.setting.device, read.setting.driver, read.setting.columns, read.setting.launches),
            std::tie(setting.device, setting.driver, setting.columns, setting.launches));
}

TEST_F(TuneTest, JournalFindsTheSameMeasurementOnly) {
  const std::vector<Candidate> candidates = makeCandidates({"x"});
  Journal journal = openJournal();
  const Measurement measurement = measurementOf(candidates[0], one, 0.5);
  EXPECT_FALSE(journal.append(measurement));
  EXPECT_TRUE(journal.find(measurement.cubin, one, setting));
  EXPECT_FALSE(journal.find("another", one, setting));
  EXPECT_FALSE(journal.find(measurement.cubin, other, setting));
  EXPECT_FALSE(journal.find(measurement.cubin, {one.text, "changed"}, setting));
  for (auto change : {+[](Setting &each) { each.device = "another GPU"; }, +[](Setting &each) { ++each.driver; },
                      +[](Setting &each) { ++each.columns; }}) {
    Setting changed = setting;
    change(changed);
    EXPECT_FALSE(journal.find(measurement.cubin, one, changed));
  }
}

TEST_F(TuneTest, JournalDropsALineThatWasCutOff) {
  const std::vector<Candidate> candidates = makeCandidates({"x", "y"});
  Journal journal = openJournal();
  EXPECT_FALSE(journal.append(measurementOf(candidates[0], one, 0.5)));
  std::ofstream(journalPath(), std::ios::app) << R"({"cubin":"ab)";
  Journal again = openJournal();
  EXPECT_EQ(again.all().size(), 1u);
  EXPECT_FALSE(again.append(measurementOf(candidates[1], one, 0.5)));
  EXPECT_EQ(openJournal().all().size(), 2u);
}

TEST_F(TuneTest, JournalRefusesADamagedLine) {
  write(journalPath(), "{\"cubin\":\"ab\"}\n");
  EXPECT_EQ(messageOf(Journal::open(journalPath())), journalPath() + ":1: missing value at row.pattern");
}

TEST_F(TuneTest, MeasuresEveryCandidateOnEveryPattern) {
  const std::vector<Candidate> candidates = makeCandidates({"x", "y"});
  writeCubins(candidates);
  Journal journal = openJournal();
  FakeMeasurer measurer;
  auto finished = measureAll(folder(), candidates, {one, other}, measurer, std::nullopt, journal);
  ASSERT_TRUE(bool(finished));
  EXPECT_TRUE(*finished);
  EXPECT_EQ(measurer.calls, (Calls{"begin one.smtx", "x", "y", "begin other.smtx", "x", "y"}));
  EXPECT_EQ(openJournal().all().size(), 4u);
}

TEST_F(TuneTest, GoesOnWhereItWas) {
  const std::vector<Candidate> candidates = makeCandidates({"x", "y"});
  writeCubins(candidates);
  Journal journal = openJournal();
  FakeMeasurer first;
  ASSERT_TRUE(bool(measureAll(folder(), candidates, {one}, first, std::nullopt, journal)));
  // Another pattern, and a candidate that was compiled again.
  write(folder().cubin(candidates[1]), "another cubin");
  Journal again = openJournal();
  FakeMeasurer second;
  ASSERT_TRUE(bool(measureAll(folder(), candidates, {one, other}, second, std::nullopt, again)));
  EXPECT_EQ(second.calls, (Calls{"begin one.smtx", "y", "begin other.smtx", "x", "y"}));
  // Another driver.
  FakeMeasurer third;
  ++third.own.driver;
  ASSERT_TRUE(bool(measureAll(folder(), candidates, {one}, third, std::nullopt, again)));
  EXPECT_EQ(third.calls, (Calls{"begin one.smtx", "x", "y"}));
}

TEST_F(TuneTest, StopsAtTheDeadline) {
  const std::vector<Candidate> candidates = makeCandidates({"x"});
  writeCubins(candidates);
  Journal journal = openJournal();
  FakeMeasurer measurer;
  auto finished = measureAll(folder(), candidates, {one}, measurer, Clock::now(), journal);
  ASSERT_TRUE(bool(finished));
  EXPECT_FALSE(*finished);
  EXPECT_EQ(measurer.calls, Calls());
}

TEST_F(TuneTest, NotesAFailedLaunchAndStops) {
  const std::vector<Candidate> candidates = makeCandidates({"x", "y", "z"});
  writeCubins(candidates);
  Journal journal = openJournal();
  FakeMeasurer measurer;
  measurer.failing = "y";
  EXPECT_EQ(messageOf(measureAll(folder(), candidates, {one}, measurer, std::nullopt, journal)),
            "candidate 2: the launch failed");
  FakeMeasurer next;
  next.failing = "y";
  Journal again = openJournal();
  ASSERT_TRUE(bool(measureAll(folder(), candidates, {one}, next, std::nullopt, again)));
  EXPECT_EQ(next.calls, (Calls{"begin one.smtx", "z"}));
}

TEST_F(TuneTest, LeavesOutCandidatesThatDoNotCompile) {
  const std::vector<Candidate> candidates = makeCandidates({"x", "y"});
  Journal journal = openJournal();
  FakeMeasurer measurer;
  EXPECT_EQ(messageOf(measureAll(folder(), candidates, {one}, measurer, std::nullopt, journal)),
            "there is no compiled candidate: expects " + folder().file("0001.cubin") + " and others");
  write(folder().cubin(candidates[1]), "cubin");
  ASSERT_TRUE(bool(measureAll(folder(), candidates, {one}, measurer, std::nullopt, journal)));
  EXPECT_EQ(measurer.calls, (Calls{"begin one.smtx", "y"}));
}

TEST_F(TuneTest, TheBestHasTheLeastMeanRatio) {
  const std::vector<Candidate> candidates = makeCandidates({"x", "y", "z", "wrong"});
  Journal journal = openJournal();
  auto add = [&](size_t index, const Pattern &pattern, double milliseconds, const std::string &error = "") {
    EXPECT_FALSE(journal.append(measurementOf(candidates[index], pattern, milliseconds, error)));
  };
  add(0, one, 1);
  add(1, one, 2);
  add(2, one, 1.5);
  add(3, one, 0.5, "elements are wrong");
  add(0, other, 40);
  add(1, other, 10);
  add(2, other, 15);
  add(3, other, 10);
  Ranking ranking = rank(candidates, {one, other}, setting, journal);
  EXPECT_EQ(ranking.patterns, 2u);
  ASSERT_EQ(ranking.ranks.size(), 3u) << "a wrong result has no time";
  // Ratios: x 1 and 4, y 2 and 1, z 1.5 and 1.5.
  EXPECT_EQ(ranking.ranks[0].candidate->name, "y");
  EXPECT_NEAR(ranking.ranks[0].mean, std::sqrt(2.0), 1e-12);
  EXPECT_EQ(ranking.ranks[0].worst, 2);
  EXPECT_EQ(ranking.ranks[1].candidate->name, "z");
  EXPECT_EQ(ranking.ranks[2].candidate->name, "x");
  EXPECT_NEAR(ranking.ranks[2].mean, 2, 1e-12);

  // A pattern whose measurements were interrupted does not count.
  const Pattern third = {"third.smtx", "3"};
  add(0, third, 1);
  EXPECT_EQ(rank(candidates, {one, other, third}, setting, journal).patterns, 2u);
  // Neither do those of another device.
  Setting elsewhere = setting;
  elsewhere.device = "another GPU";
  EXPECT_TRUE(rank(candidates, {one, other}, elsewhere, journal).ranks.empty());
}

TEST_F(TuneTest, PrintsTheBestFirstAndTheChoiceOfTheModel) {
  const std::vector<Candidate> candidates = makeCandidates({"x", "y", "z"});
  Journal journal = openJournal();
  EXPECT_FALSE(journal.append(measurementOf(candidates[0], one, 1.25)));
  EXPECT_FALSE(journal.append(measurementOf(candidates[1], one, 0, "elements are wrong")));
  EXPECT_FALSE(journal.append(measurementOf(candidates[2], one, 1)));
  std::string text;
  llvm::raw_string_ostream stream(text);
  printRanking(stream, candidates, {one, other}, setting, journal);
  EXPECT_EQ(text, "\none.smtx: 0 x 0, density 0.000, 512 columns, a GPU\n"
                  "        ms   ratio   TFLOP/s  model  schedule\n"
                  "   1.00000   1.000       0.0      3  z\n"
                  "   1.25000   1.250       0.0      1  x\n"
                  "         -       -         -      2  y: elements are wrong\n"
                  "the model's choice takes 1.250 of the time of the best\n");
}

TEST_F(TuneTest, ShowsTenCandidatesAndTheChoiceOfTheModel) {
  const std::vector<Candidate> candidates =
      makeCandidates({"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11"});
  Journal journal = openJournal();
  for (const Candidate &candidate : candidates) // the model's choice is the slowest
    EXPECT_FALSE(journal.append(measurementOf(candidate, one, 20 - double(candidate.number))));
  std::string text;
  llvm::raw_string_ostream stream(text);
  printRanking(stream, candidates, {one}, setting, journal);
  EXPECT_NE(text.find("  c2\n"), std::string::npos);
  EXPECT_EQ(text.find("  c1\n"), std::string::npos);
  EXPECT_NE(text.find("  c0\n12 candidates were measured; the others are slower\n"), std::string::npos) << text;
}

TEST_F(TuneTest, TableKeepsTheRowsOfOtherProblems) {
  const std::vector<Candidate> candidates = makeCandidates({"x", "y"});
  const Ranking ranking = {{{&candidates[1], 1, 1}, {&candidates[0], 1.5, 2}}, 3};
  auto row = [](const std::string &chip, const std::string &problem, const std::string &schedule) {
    return R"({"chip":")" + chip + R"(","problem":")" + problem + R"(","schedule":")" + schedule + "\"}\n";
  };
  const std::string kept = row("sm_89", "spmm", "a") + row("sm_90a", "sddmm", "b") +
                           row("sm_90a", "spmm", "#sparsec.schedule<walk = windows>");
  auto table = updateTable(kept + row("sm_90a", "spmm", "old"), "t.jsonl", ranking, setting);
  ASSERT_TRUE(bool(table));
  EXPECT_EQ(*table,
            kept + R"({"chip":"sm_90a","problem":"spmm","schedule":"#sparsec.schedule<>","name":"y","device":"a GPU",)"
                   R"("driver":13000,"columns":512,"patterns":3,"ratio_to_best":1,"ratio_of_model":1.5})"
                   "\n");
  EXPECT_EQ(messageOf(updateTable("\n{}\n", "t.jsonl", ranking, setting)), "t.jsonl:2: missing value at row.chip");
}
