// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the reports of sparsec-bench on sizes and masks, as JSON and as text.

#include "report.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <llvm/Support/JSON.h>

namespace sparsec::bench {
namespace {

Row makeRow(const std::string &mask, double density, double teraflops, const std::string &error = "") {
  Row row = {};
  row.size = {64, 128, 256};
  row.mask = mask;
  row.label = "kernel";
  row.target = "sm_90a";
  row.type = "bf16";
  row.layouts = "kn_mn";
  row.blockRows = row.blockColumns = 16;
  row.density = density;
  Measurement measurement = {};
  measurement.timing = {2, 1, 1.5, 3};
  measurement.teraflops = teraflops;
  measurement.denseMilliseconds = 8;
  measurement.error = error;
  row.planned = measurement;
  return row;
}

TEST(BenchReport, JsonHasSizeMaskAndSpread) {
  Report report = {};
  report.device = "GPU";
  report.size = {1, 2, 3};
  report.launches = 15;
  report.dense = {{{64, 128, 256}, "bf16", "kn_mn", {1, 1, 1, 1}, {2, 1, 1, 1}}};
  report.rows = {makeRow("band", 0.5, 10)};
  std::string path = testing::TempDir() + "bench_report.json";
  report.writeJson(path);
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::remove(path.c_str());

  auto json = llvm::json::parse(text);
  ASSERT_TRUE(static_cast<bool>(json)) << llvm::toString(json.takeError());
  const llvm::json::Object &root = *json->getAsObject();
  EXPECT_EQ(*root.getArray("size"), (llvm::json::Array{1, 2, 3}));
  EXPECT_EQ(root.getInteger("launches"), 15);
  EXPECT_EQ(root.getString("mode"), "flushed");
  EXPECT_EQ(root.getString("l2"), "flushed before every launch, without dirty lines");
  EXPECT_EQ(*(*root.getArray("dense"))[0].getAsObject()->getArray("size"), (llvm::json::Array{64, 128, 256}));
  const llvm::json::Object &row = *(*root.getArray("rows"))[0].getAsObject();
  EXPECT_EQ(*row.getArray("size"), (llvm::json::Array{64, 128, 256}));
  EXPECT_EQ(row.getString("mask"), "band");
  const llvm::json::Object &planned = *row.getObject("planned");
  EXPECT_EQ(planned.getNumber("median_ms"), 2);
  EXPECT_EQ(planned.getNumber("dense_ms"), 8);
  EXPECT_EQ(*planned.getArray("quartiles_ms"), (llvm::json::Array{1.5, 3.0}));
}

/// The time of moving the bytes, but at least 6 us.
TEST(BenchReport, BoundsOfBytes) {
  const DeviceRates rates = {4e12, 3e-3};
  EXPECT_DOUBLE_EQ(rates.boundMilliseconds(40e6), 10e-3);
  EXPECT_DOUBLE_EQ(rates.boundMilliseconds(4e6), 6e-3);

  Report report = {};
  report.rates = rates;
  report.rows = {makeRow("random", 0.5, 10)};
  report.rows[0].bytes = 4e9;
  report.rows[0].boundMilliseconds = rates.boundMilliseconds(4e9);
  testing::internal::CaptureStdout();
  printRow(report.rows[0]);
  report.printSummary();
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("4000.00 MB: at least 1000.0 us; 2.00 times with a plan\n"), std::string::npos) << text;
  EXPECT_NE(text.find("a copy moves 4.00 TB/s; an empty kernel takes 3.00 us\n"), std::string::npos) << text;

  const std::string path = testing::TempDir() + "bench_bound.json";
  report.writeJson(path);
  std::ifstream file(path);
  auto json = llvm::json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  std::remove(path.c_str());
  ASSERT_TRUE(static_cast<bool>(json)) << llvm::toString(json.takeError());
  const llvm::json::Object &root = *json->getAsObject();
  EXPECT_EQ(root.getObject("rates")->getNumber("copy_bytes_per_second"), 4e12);
  EXPECT_EQ(root.getObject("rates")->getNumber("empty_ms"), 3e-3);
  const llvm::json::Object &row = *(*root.getArray("rows"))[0].getAsObject();
  EXPECT_EQ(row.getNumber("bytes"), 4e9);
  EXPECT_EQ(row.getNumber("bound_ms"), 1);
  EXPECT_EQ(row.getObject("planned")->getNumber("bound_ratio"), 2);
}

TEST(BenchReport, ComparesMasksWithRandomOnesOfTheSameDensity) {
  std::vector<Row> rows = {makeRow("random", 0.5, 100), makeRow("random", 0.1, 50), makeRow("band", 0.1, 40),
                           makeRow("arrow", 0.25, 70), makeRow("arrow", 0.5, 70, "wrong")};
  rows.push_back(makeRow("arrow", 0.1, 30));
  rows.back().size.columns = 1;
  auto skews = skewsOf(rows);
  ASSERT_EQ(skews.size(), 1U); // the others have no random mask of their density and size, or are wrong
  EXPECT_EQ(skews[0].row, &rows[2]);
  EXPECT_DOUBLE_EQ(skews[0].ratio(), 0.8);

  Report report = {};
  report.rows = rows;
  testing::internal::CaptureStdout();
  report.printSkew();
  std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("64x128x256"), std::string::npos) << text;
  EXPECT_NE(text.find("band"), std::string::npos) << text;
  EXPECT_NE(text.find("40.0 /    50.0 = 0.800"), std::string::npos) << text;
}

TEST(BenchReport, SummaryHasATableForEverySizeAndMask) {
  Report report = {};
  report.device = "GPU";
  report.rows = {makeRow("random", 0.5, 100), makeRow("band", 0.5, 10), makeRow("random", 0.5, 30)};
  report.rows.back().size.columns = 1;
  testing::internal::CaptureStdout();
  report.printSummary();
  std::string text = testing::internal::GetCapturedStdout();
  for (const char *title : {"64x128x256, sm_90a, bf16, kn_mn, random masks, with plans, TFLOP/s",
                            "64x128x256, sm_90a, bf16, kn_mn, band masks, with plans, TFLOP/s",
                            "64x128x1, sm_90a, bf16, kn_mn, random masks, with plans, TFLOP/s"})
    EXPECT_NE(text.find(title), std::string::npos) << text;
}

} // namespace
} // namespace sparsec::bench
