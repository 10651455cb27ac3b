// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "options.h"
#include "mask_file.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <getopt.h>
#include <set>
#include <sstream>

namespace sparsec::bench {

namespace {

constexpr const char *usage = R"(usage: sparsec-bench --kernels DIR [options]
  --kernels DIR       folder of compiled kernels (bf16 or f8E4M3FN, no epilogue); may be given more than once
  --schedule-dir DIR  more kernels that differ in their schedules: also prints the fastest of every case
  --size LIST         of MxKxN (default: 8192x8192x8192)
  --density LIST      (default: 1,0.5,0.25,0.1,0.05)
  --mask LIST         which blocks are stored: kinds of masks, or .smtx files, where each nonzero is a block. A file
                      has a density of its own, and only sizes and blocks that give its shape are timed. With random
                      masks beside others, a table compares them at the same density (default: random). The kinds:
{masks}  --case KEY=VALUE,.. only these cases; keys: block, density, layout, mask, size, target, type (bf16,
                      "f8E4M3FN fast"), label (part of the file's name); may be given more than once: any of them
  --plan LIST         with a plan for the case, with one for any width (open), with one and packed values (packed),
                      with one that the device fills (refilled), without (default: with,without)
  --pattern KIND      what plans are told of the pattern: static (it stays as it is, so that they may hold it in another
                      order) or dynamic (default: static)
  --bound KIND        also judges every case by a bound: bytes (the time of reading the blocks, the indices and X and of
                      writing Y once, at the rate of a copy of 1 GiB, but at least 6 us)
  --launches COUNT    timed launches of every case (default: 15, at least 11)
  --steady            times launches back to back in windows of 50 ms that alternate with those of the dense product,
                      after two seconds of both: the card is then at its power limit
  --back-to-back      times windows of launches that follow one another in a CUDA graph, as a server runs them. No
                      launch finds its values of W in L2: each has others, from a buffer of four times L2. The indices,
                      the plan, X, Y and scales may be there. --launches is the number of windows
  --cublas FILE       the library to compare with (default: libcublas.so.13, .12, ...)
  --cublaslt FILE     the same for fp8 (default: libcublasLt.so.13, .12, ...)
  --json FILE         also write the results there
Ratios are to the row-major dense product, timed before and after every case; for fp8 to that of cublasLt with its
default accumulation, for X as N x K. L2 is flushed before every launch, but not with --steady and --back-to-back: it
otherwise holds other data, none of which has to be written back.
)";

std::string usageText() {
  std::string masks;
  for (const MaskKind &kind : maskKinds())
    masks += fmt::format("{:22}{:<15} {}\n", "", kind.name, kind.meaning);
  return fmt::format(usage, fmt::arg("masks", masks));
}

[[noreturn]] void exitWithUsage(const std::string &message) {
  fmt::print(stderr, "error: {}\n{}", message, usageText());
  std::exit(2);
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}

std::map<std::string, std::string> parseCase(const std::string &text) {
  static const std::set<std::string> keys = {"block", "density", "label", "layout", "mask", "size", "target", "type"};
  std::map<std::string, std::string> result;
  for (const std::string &part : split(text, ',')) {
    size_t equals = part.find('=');
    if (equals == std::string::npos || !keys.contains(part.substr(0, equals)))
      exitWithUsage(
          fmt::format("--case expects KEY=VALUE with a key of {}, but got '{}'", fmt::join(keys, ", "), part));
    result[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return result;
}

std::vector<ProductSize> parseSizes(const std::string &text) {
  std::vector<ProductSize> sizes;
  for (const std::string &part : split(text, ',')) {
    auto size = readSize(part);
    if (!size)
      exitWithUsage(fmt::format("--size expects MxKxN, but got '{}'", part));
    sizes.push_back(*size);
  }
  return sizes;
}

std::vector<Mask> parseMasks(const std::string &text) {
  std::vector<Mask> masks;
  for (const std::string &part : split(text, ','))
    if (const MaskKind *kind = findMaskKind(part))
      masks.push_back({kind->name, kind, {}});
    else if (part.ends_with(".smtx"))
      masks.push_back(readMask(part));
    else
      exitWithUsage(fmt::format("--mask expects {} or a file .smtx, but got '{}'", maskKindNames(), part));
  return masks;
}

std::vector<double> parseDensities(const std::string &text) {
  std::vector<double> densities;
  for (const std::string &part : split(text, ',')) {
    double density = std::atof(part.c_str());
    if (!(density > 0 && density <= 1))
      exitWithUsage(fmt::format("--density expects numbers above 0 and up to 1, but got '{}'", part));
    densities.push_back(density);
  }
  return densities;
}

void parsePlan(const std::string &text, Options &options) {
  options.withPlan = options.withOpenPlan = options.withPacked = options.withRefilled = options.withoutPlan = false;
  for (const std::string &part : split(text, ',')) {
    if (part != "with" && part != "open" && part != "packed" && part != "refilled" && part != "without")
      exitWithUsage(fmt::format(
          "--plan expects with, open, packed, refilled or without, or several of them, but got '{}'", text));
    options.withPlan |= part == "with";
    options.withOpenPlan |= part == "open";
    options.withPacked |= part == "packed";
    options.withRefilled |= part == "refilled";
    options.withoutPlan |= part == "without";
  }
}

bool parsePattern(const std::string &text) {
  if (text != "static" && text != "dynamic")
    exitWithUsage(fmt::format("--pattern expects static or dynamic, but got '{}'", text));
  return text == "static";
}

void setMode(TimingMode mode, Options &options) {
  if (options.mode != TimingMode::Flushed && options.mode != mode)
    exitWithUsage("expects --steady or --back-to-back, but got both");
  options.mode = mode;
}

bool parseBound(const std::string &text) {
  if (text != "bytes")
    exitWithUsage(fmt::format("--bound expects bytes, but got '{}'", text));
  return true;
}

} // namespace

std::optional<ProductSize> readSize(const std::string &text) {
  ProductSize size;
  char end;
  if (std::sscanf(text.c_str(), "%ldx%ldx%ld%c", &size.rows, &size.depth, &size.columns, &end) != 3 || size.rows <= 0 ||
      size.depth <= 0 || size.columns <= 0)
    return std::nullopt;
  return size;
}

Options parseCommandLine(int argc, char **argv) {
  static const option longOptions[] = {{"kernels", required_argument, nullptr, 'k'},
                                       {"schedule-dir", required_argument, nullptr, 'd'},
                                       {"size", required_argument, nullptr, 's'},
                                       {"density", required_argument, nullptr, 'D'},
                                       {"case", required_argument, nullptr, 'c'},
                                       {"plan", required_argument, nullptr, 'p'},
                                       {"pattern", required_argument, nullptr, 'P'},
                                       {"bound", required_argument, nullptr, 'B'},
                                       {"launches", required_argument, nullptr, 'l'},
                                       {"cublas", required_argument, nullptr, 'b'},
                                       {"cublaslt", required_argument, nullptr, 'L'},
                                       {"steady", no_argument, nullptr, 'S'},
                                       {"json", required_argument, nullptr, 'j'},
                                       {"mask", required_argument, nullptr, 'm'},
                                       {"back-to-back", no_argument, nullptr, 'w'},
                                       {"help", no_argument, nullptr, 'h'},
                                       {}};
  Options options;
  for (int key; (key = getopt_long(argc, argv, "", longOptions, nullptr)) != -1;) {
    switch (key) {
    case 'k':
      options.kernels.push_back(optarg);
      break;
    case 'd':
      options.scheduleDirs.push_back(optarg);
      break;
    case 's':
      options.sizes = parseSizes(optarg);
      break;
    case 'D':
      options.densities = parseDensities(optarg);
      break;
    case 'm':
      options.masks = parseMasks(optarg);
      break;
    case 'c':
      options.cases.push_back(parseCase(optarg));
      break;
    case 'p':
      parsePlan(optarg, options);
      break;
    case 'P':
      options.isPatternStatic = parsePattern(optarg);
      break;
    case 'B':
      options.withBytesBound = parseBound(optarg);
      break;
    case 'l':
      options.launches = std::atoi(optarg);
      break;
    case 'b':
      options.cublas = optarg;
      break;
    case 'L':
      options.cublasLt = optarg;
      break;
    case 'S':
      setMode(TimingMode::Steady, options);
      break;
    case 'w':
      setMode(TimingMode::BackToBack, options);
      break;
    case 'j':
      options.json = optarg;
      break;
    case 'h':
      fmt::print("{}", usageText());
      std::exit(0);
    default:
      exitWithUsage("unknown option");
    }
  }
  if (options.masks.empty())
    options.masks = parseMasks("random");
  if (options.kernels.empty() && options.scheduleDirs.empty())
    exitWithUsage("--kernels is missing");
  if (options.launches < 11)
    exitWithUsage(fmt::format("--launches expects at least 11, but got {}", options.launches));
  if (options.mode == TimingMode::BackToBack && options.withPacked)
    exitWithUsage("--back-to-back expects --plan without packed: each launch has other values, which are not packed");
  return options;
}

} // namespace sparsec::bench
