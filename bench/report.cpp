// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

namespace sparsec::bench {

namespace {

/// The measurements of a row, and what they are called.
struct Choice {
  std::optional<Measurement> Row::*measurement;
  const char *title, *tableTitle;
};
constexpr Choice choices[] = {{&Row::planned, "with a plan", "with plans"},
                              {&Row::openPlanned, "with a plan for any width", "with plans for any width"},
                              {&Row::packed, "with packed values", "with packed values"},
                              {&Row::refilled, "with a plan of the device", "with plans of the device"},
                              {&Row::unplanned, "without a plan", "without plans"}};

struct ModeText {
  const char *name, *l2;
};
ModeText textOf(TimingMode mode) {
  switch (mode) {
  case TimingMode::Flushed:
    return {"flushed", "flushed before every launch, without dirty lines"};
  case TimingMode::Steady:
    return {"steady", "as the launch before left it"};
  case TimingMode::BackToBack:
    break;
  }
  return {"back-to-back", "as the launch before left it, which had other values of W"};
}

double denseFlops(const ProductSize &size) {
  return 2.0 * static_cast<double>(size.rows) * static_cast<double>(size.depth) * static_cast<double>(size.columns);
}

/// A JSON string. Names and messages are plain text: only quotes and backslashes need care.
std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + '"';
}

std::string jsonOf(const ProductSize &size) { return fmt::format("[{}, {}, {}]", size.rows, size.depth, size.columns); }

/// The time in proportion to the bound; 0 without one.
double boundRatio(const Measurement &measurement, double boundMilliseconds) {
  return boundMilliseconds > 0 ? measurement.timing.medianMilliseconds / boundMilliseconds : 0;
}

std::string jsonOf(const std::optional<DeviceRates> &rates) {
  if (!rates)
    return "null";
  return fmt::format(R"({{"copy_bytes_per_second": {:.4g}, "empty_ms": {:.5f}}})", rates->copyBytesPerSecond,
                     rates->emptyMilliseconds);
}

std::string jsonOf(const std::optional<Measurement> &measurement, double boundMilliseconds) {
  if (!measurement)
    return "null";
  return fmt::format(
      R"({{"median_ms": {:.5f}, "best_ms": {:.5f}, "quartiles_ms": [{:.5f}, {:.5f}], "tflops": {:.2f}, )"
      R"("dense_ms": {:.5f}, "dense_ratio": {:.4f}, "bound_ratio": {:.3f}, "host_us": {:.3f}, "error": {}}})",
      measurement->timing.medianMilliseconds, measurement->timing.bestMilliseconds, measurement->timing.lowerQuartile,
      measurement->timing.upperQuartile, measurement->teraflops, measurement->denseMilliseconds,
      measurement->denseRatio, boundRatio(*measurement, boundMilliseconds), measurement->hostMicroseconds,
      quoted(measurement->error));
}

std::string jsonOf(const Row &row) {
  return fmt::format(
      R"({{"label": {}, "target": {}, "schedule": {}, "registers": {}, "shared_memory": {}, "spill_bytes": {}, )"
      R"("type": {}, "block": [{}, {}], "layouts": {}, "size": {}, "mask": {}, "density": {}, "block_count": {}, )"
      R"("bytes": {:.0f}, "bound_ms": {:.5f}, "plan_ms": {:.4f}, )"
      R"("open_plan_ms": {:.4f}, "plan_columns": {}, "pack_ms": {:.4f}, "refill_ms": {:.4f}, )"
      R"("planned": {}, "open_planned": {}, "packed": {}, "refilled": {}, "unplanned": {}}})",
      quoted(row.label), quoted(row.target), quoted(row.schedule), row.registers, row.sharedMemory, row.spillBytes,
      quoted(row.type), row.blockRows, row.blockColumns, quoted(row.layouts), jsonOf(row.size), quoted(row.mask),
      row.density, row.blockCount, row.bytes, row.boundMilliseconds, row.planMilliseconds, row.openPlanMilliseconds,
      row.planColumns, row.packMilliseconds, row.refillMilliseconds, jsonOf(row.planned, row.boundMilliseconds),
      jsonOf(row.openPlanned, row.boundMilliseconds), jsonOf(row.packed, row.boundMilliseconds),
      jsonOf(row.refilled, row.boundMilliseconds), jsonOf(row.unplanned, row.boundMilliseconds));
}

std::string jsonOf(const DenseRow &row) {
  double flops = denseFlops(row.size);
  return fmt::format(
      R"({{"size": {}, "type": {}, "layouts": {}, "before_ms": {:.5f}, "after_ms": {:.5f}, "before_tflops": {:.2f}, )"
      R"("after_tflops": {:.2f}}})",
      jsonOf(row.size), quoted(row.type), quoted(row.layouts), row.before.medianMilliseconds,
      row.after.medianMilliseconds, rateOf(flops, row.before), rateOf(flops, row.after));
}

/// Elements of a JSON array, one a line.
template <typename Rows, typename ToJson> std::string jsonArray(const Rows &rows, const ToJson &toJson) {
  std::string text;
  for (const auto &row : rows)
    text += (text.empty() ? "    " : ",\n    ") + toJson(row);
  return "[\n" + text + "\n  ]";
}

/// "  1.3921   1.3890   790.1  0.982", or dashes.
std::string measurementText(const std::optional<Measurement> &measurement) {
  if (!measurement || !measurement->error.empty())
    return fmt::format("{:>8} {:>8} {:>7} {:>6} {:>5}", "-", "-", "-", "-", "-");
  return fmt::format("{:>8.4f} {:>8.4f} {:>7.1f} {:>6.3f} {:>5.2f}", measurement->timing.medianMilliseconds,
                     measurement->timing.bestMilliseconds, measurement->teraflops, measurement->denseRatio,
                     measurement->hostMicroseconds);
}

std::string blockText(const Row &row) { return fmt::format("{}x{}", row.blockRows, row.blockColumns); }

bool isRight(const std::optional<Measurement> &measurement) { return measurement && measurement->error.empty(); }

/// Blocks down, densities across; the fastest kernel where several are for the same case.
class RatioTable {
public:
  void add(const Row &row, const Measurement &measurement) {
    double &ratio = ratios[{-row.blockRows, -row.blockColumns}][-row.density];
    ratio = std::max(ratio, measurement.denseRatio > 0 ? measurement.denseRatio : measurement.teraflops);
    densities.insert(-row.density);
  }

  void print(const std::string &title) const {
    double logarithms = 0;
    int count = 0;
    fmt::print("{}\n{:>9}", title, "block");
    for (double density : densities)
      fmt::print(" {:>7}", fmt::format("d={:g}", -density));
    fmt::print("\n");
    for (const auto &[block, byDensity] : ratios) {
      fmt::print("{:>9}", fmt::format("{}x{}", -block.first, -block.second));
      for (double density : densities) {
        auto found = byDensity.find(density);
        fmt::print(" {:>7}", found == byDensity.end() ? "-" : fmt::format("{:.3f}", found->second));
      }
      for (const auto &[density, ratio] : byDensity) {
        logarithms += std::log(ratio);
        ++count;
      }
      fmt::print("\n");
    }
    fmt::print("geometric mean {:.3f} over {} cases\n", std::exp(logarithms / count), count);
  }

private:
  // Negative keys put the large blocks and the high densities first.
  std::map<std::pair<int64_t, int64_t>, std::map<double, double>> ratios;
  std::set<double> densities;
};

} // namespace

double rateOf(double flops, const Timing &timing) { return flops / timing.medianMilliseconds * 1e-9; }

double Row::bestTeraflops() const {
  double best = 0;
  for (const Choice &choice : choices)
    if (const auto &measurement = this->*choice.measurement; isRight(measurement))
      best = std::max(best, measurement->teraflops);
  return best;
}

bool Row::isWrong() const {
  return std::any_of(std::begin(choices), std::end(choices), [&](const Choice &choice) {
    const auto &measurement = this->*choice.measurement;
    return measurement && !measurement->error.empty();
  });
}

void printRowHeader() {
  std::string titles, columns;
  for (const Choice &choice : choices) {
    titles += fmt::format(" | {:^38}", choice.title);
    columns += fmt::format(" | {:>8} {:>8} {:>7} {:>6} {:>5}", "ms", "best", "TFLOP/s", "ratio", "us");
  }
  fmt::print("{:>65}{} |\n", "", titles);
  fmt::print("{:>9} {:<13} {:<6} {:>5} {:<13} {:>14}{} | regs\n", "block", "type", "layout", "d", "target", "plans ms",
             columns);
}

/// "  29.57 MB: at least 7.2 us; 1.48 times with a plan, 1.50 without a plan"
static void printBound(const Row &row) {
  std::vector<std::string> ratios;
  for (const Choice &choice : choices)
    if (const auto &measurement = row.*choice.measurement; isRight(measurement))
      ratios.push_back(fmt::format("{:.2f} times {}", boundRatio(*measurement, row.boundMilliseconds), choice.title));
  fmt::print("  {:.2f} MB: at least {:.1f} us; {}\n", row.bytes * 1e-6, row.boundMilliseconds * 1e3,
             fmt::join(ratios, ", "));
}

void printRow(const Row &row) {
  std::string measurements;
  for (const Choice &choice : choices)
    measurements += " | " + measurementText(row.*choice.measurement);
  fmt::print("{:>9} {:<13} {:<6} {:>5} {:<13} {:>7.2f}{:>7.2f}{} | {:>4}  {} {}\n", blockText(row), row.type,
             row.layouts, row.density, row.target, row.planMilliseconds, row.openPlanMilliseconds, measurements,
             row.registers, row.label, row.schedule);
  if (row.mask != "random")
    fmt::print("  mask {}, {} blocks\n", row.mask, row.blockCount);
  if (row.packMilliseconds > 0)
    fmt::print("  packed in {:.4f} ms\n", row.packMilliseconds);
  if (row.refillMilliseconds > 0)
    fmt::print("  plan refilled in {:.4f} ms, for {} blocks\n", row.refillMilliseconds, row.blockCount);
  if (row.boundMilliseconds > 0)
    printBound(row);
  for (const Choice &choice : choices)
    if (const auto &measurement = row.*choice.measurement; measurement && !measurement->error.empty())
      fmt::print("  WRONG {}: {}\n", choice.title, measurement->error);
  std::fflush(stdout);
}

double DeviceRates::boundMilliseconds(double bytes) const {
  constexpr double leastMilliseconds = 6e-3;
  return std::max(bytes / copyBytesPerSecond * 1e3, leastMilliseconds);
}

void Report::printSummary() const {
  fmt::print("\n{}\n", device);
  if (rates)
    fmt::print("a copy moves {:.2f} TB/s; an empty kernel takes {:.2f} us\n", rates->copyBytesPerSecond * 1e-12,
               rates->emptyMilliseconds * 1e3);
  for (const DenseRow &row : dense)
    fmt::print("cuBLAS dense {} {} {} (M x K x N): {:.1f} TFLOP/s at the start, {:.1f} at the end\n",
               sizeText(row.size), row.type, row.layouts, rateOf(denseFlops(row.size), row.before),
               rateOf(denseFlops(row.size), row.after));
  std::map<std::string, RatioTable> tables;
  for (const Row &row : rows)
    for (const Choice &choice : choices)
      if (const auto &measurement = row.*choice.measurement; isRight(measurement))
        tables[fmt::format("{}, {}, {}, {}, {} masks, {}, {}", sizeText(row.size), row.target, row.type, row.layouts,
                           row.mask, choice.tableTitle, dense.empty() ? "TFLOP/s" : "x cuBLAS dense")]
            .add(row, *measurement);
  for (const auto &[title, table] : tables)
    table.print(title);
}

void Report::printBest() const {
  std::map<std::tuple<std::string, std::string, std::string, std::string, int64_t, int64_t, double>, const Row *> best;
  for (const Row &row : rows) {
    const Row *&slot =
        best[{sizeText(row.size), row.mask, row.type, row.layouts, -row.blockRows, -row.blockColumns, -row.density}];
    if (!slot || row.bestTeraflops() > slot->bestTeraflops())
      slot = &row;
  }
  fmt::print("\nfastest kernel of every case\n");
  printRowHeader();
  for (const auto &[key, row] : best)
    printRow(*row);
}

std::vector<Skew> skewsOf(const std::vector<Row> &rows) {
  auto isRandomOf = [](const Row &row, const Row &other) {
    return other.mask == "random" && sizeText(other.size) == sizeText(row.size) && other.label == row.label &&
           other.target == row.target && std::abs(other.density - row.density) < 1e-9;
  };
  std::vector<Skew> skews;
  for (const Row &row : rows) {
    auto random = std::ranges::find_if(rows, [&](const Row &other) { return isRandomOf(row, other); });
    if (row.mask == "random" || random == rows.end())
      continue;
    for (const Choice &choice : choices) {
      const auto &own = row.*choice.measurement, &others = (*random).*choice.measurement;
      if (isRight(own) && isRight(others))
        skews.push_back({&row, choice.title, own->teraflops, others->teraflops});
    }
  }
  return skews;
}

void Report::printSkew() const {
  const std::vector<Skew> skews = skewsOf(rows);
  if (skews.empty())
    return;
  fmt::print("\nuseful TFLOP/s of masks in proportion to those of the random mask of the same density\n");
  for (const Skew &skew : skews)
    fmt::print("{:>9} {:<13} {:<6} {:>18} {:>8.4g} {:<15} {:<25} {:>7.1f} / {:>7.1f} = {:.3f}\n", blockText(*skew.row),
               skew.row->type, skew.row->layouts, sizeText(skew.row->size), skew.row->density, skew.row->mask,
               skew.plans, skew.teraflops, skew.randomTeraflops, skew.ratio());
}

std::string sizeText(const ProductSize &size) { return fmt::format("{}x{}x{}", size.rows, size.depth, size.columns); }

void Report::writeJson(const std::string &path) const {
  std::ofstream file(path);
  const ModeText text = textOf(mode);
  fmt::print(file, "{{\n  \"device\": {},\n  \"size\": {},\n  \"launches\": {},\n", quoted(device), jsonOf(size),
             launches);
  fmt::print(file, "  \"mode\": {},\n  \"l2\": {},\n", quoted(text.name), quoted(text.l2));
  fmt::print(file, "  \"rates\": {},\n", jsonOf(rates));
  fmt::print(file, "  \"dense\": {},\n", jsonArray(dense, [](const DenseRow &row) { return jsonOf(row); }));
  fmt::print(file, "  \"rows\": {}\n}}\n", jsonArray(rows, [](const Row &row) { return jsonOf(row); }));
  if (!file.flush())
    throw std::runtime_error("cannot write '" + path + "'");
}

} // namespace sparsec::bench
