// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPARSEC_BENCH_REPORT_H
#define SPARSEC_BENCH_REPORT_H

#include "dense_library.h"
#include "timer.h"

#include <optional>
#include <string>
#include <vector>

namespace sparsec::bench {

/// The measurements of one kernel on one pattern, with one plan or without.
struct Measurement {
  Timing timing;
  double teraflops;         // useful: those of the blocks that are there
  double denseMilliseconds; // of the dense product beside it; 0: it is timed once for the case
  double denseRatio;        // to the dense product's rate in the same case; 0 without a dense library
  double hostMicroseconds;
  std::string error; // not empty: the result was wrong, and nothing was timed
};

/// One kernel on one pattern.
struct Row {
  ProductSize size;
  std::string mask;
  std::string label;  // file of the kernel
  std::string target; // chip it was compiled for
  std::string schedule;
  uint32_t registers, sharedMemory, spillBytes;
  int64_t blockRows, blockColumns;
  std::string type;    // that of the candidate
  std::string layouts; // "kn_mn": X is K x N, Y is M x N
  double density;      // asked for; of a file, its own
  int64_t blockCount;
  double bytes;                                  // of the blocks, the indices, X and Y
  double boundMilliseconds;                      // the least time to move them; 0 where it was not asked for
  double planMilliseconds, openPlanMilliseconds; // host time to make each plan, 0 without it
  int64_t planColumns;                           // of the windows of the first plan; 0: it has none
  double packMilliseconds;                       // to pack the values again; 0: they are not packed
  double refillMilliseconds;                     // to make the sections of the plan again; 0: they are not refilled
  std::optional<Measurement> planned, openPlanned, packed, refilled, unplanned;

  double bestTeraflops() const;
  bool isWrong() const;
};

/// The dense product of one type and layout at the start and at the end of the run.
struct DenseRow {
  ProductSize size;
  std::string type, layouts;
  Timing before, after;
};

/// The numbers from which the bound by bytes of a case is computed.
struct DeviceRates {
  double copyBytesPerSecond; // read and written
  double emptyMilliseconds;  // of a kernel that does nothing, timed as the others

  /// At least 6 us: launching and finishing take some of them.
  double boundMilliseconds(double bytes) const;
};

struct Report {
  std::string device;
  ProductSize size; // the first one
  int launches;
  TimingMode mode;
  std::optional<DeviceRates> rates;
  std::vector<DenseRow> dense;
  std::vector<Row> rows;

  /// The dense rates, and for every size, mask, target, type and layout the ratios over blocks and densities with their
  /// geometric mean.
  void printSummary() const;
  /// The speed of every mask in proportion to that of the random mask of the same density, where both were timed.
  void printSkew() const;
  /// The fastest kernel of every case.
  void printBest() const;
  /// Throws when the file cannot be written.
  void writeJson(const std::string &path) const;
};

/// The speed of a row in proportion to that of the random mask of the same density.
struct Skew {
  const Row *row;
  const char *plans; // "with a plan"
  double teraflops, randomTeraflops;

  double ratio() const { return teraflops / randomTeraflops; }
};
std::vector<Skew> skewsOf(const std::vector<Row> &rows);

/// "8192x8192x8192"
std::string sizeText(const ProductSize &size);

/// TFLOP/s of `flops` operations in the median time.
double rateOf(double flops, const Timing &timing);

void printRowHeader();
void printRow(const Row &row);

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_REPORT_H
