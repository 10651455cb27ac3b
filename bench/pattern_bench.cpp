// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-pattern-bench: the time in which a GPU writes the lists of a pattern, from a block mask and from scores of
// the blocks. The lists are then compared with those of the host.

#include "harness/cuda_driver.h"
#include "harness/handles.h"
#include "timer.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <random>

namespace sparsec::bench {

using namespace harness;

namespace {

constexpr const char *usage =
    "usage: sparsec-pattern-bench FILE [LISTS [COLUMNS [K]]]\n"
    "FILE is compiled attention with a pattern. Without the numbers: 100000 lists of 128 key\n"
    "blocks, k = 16. Queries are as many as keys, so that the heads follow from the lists.\n";

struct Sizes {
  int64_t lists = 100000, columns = 128, k = 16;
};

using PatternBuffer = std::unique_ptr<sparsec_pattern_buffer_s, Destroyer<sparsec_pattern_buffer_destroy>>;

PatternBuffer createBuffer(const sparsec_blocks_t &shape, sparsec_device_t device) {
  sparsec_pattern_buffer_t buffer = nullptr;
  check(sparsec_pattern_buffer_create(&shape, device, &buffer));
  return PatternBuffer(buffer);
}

const sparsec_argument_info_t &patternOf(sparsec_kernel_t kernel) {
  for (size_t i = 0; const sparsec_argument_info_t *argument = sparsec_kernel_argument(kernel, i); ++i)
    if (argument->kind == SPARSEC_ARGUMENT_PATTERN)
      return *argument;
  throw std::runtime_error("the kernel has no pattern");
}

/// The counts of the lists, and then their entries, partial ones first.
std::vector<int32_t> readLists(const PatternBuffer &buffer, sparsec_device_t device) {
  auto view = sized<sparsec_blocks_t>();
  check(sparsec_pattern_buffer_view(buffer.get(), &view));
  const int64_t count = view.batches * view.heads * ((view.rows + view.block_rows - 1) / view.block_rows);
  std::vector<int32_t> result, counts(count), indices(count * view.capacity);
  for (const sparsec_block_lists_t &lists : {view.partial, view.full}) {
    check(sparsec_memory_download(device, counts.data(), lists.starts, counts.size() * sizeof(int32_t)));
    check(sparsec_memory_download(device, indices.data(), lists.indices, indices.size() * sizeof(int32_t)));
    result.insert(result.end(), counts.begin(), counts.end());
    for (int64_t list = 0; list < count; ++list)
      result.insert(result.end(), indices.begin() + list * view.capacity,
                    indices.begin() + list * view.capacity + counts[list]);
  }
  return result;
}

/// Scores and states of the blocks, and counts of the lists, in memory of the host.
struct Inputs {
  std::vector<float> scores;
  std::vector<uint8_t> mask;
  std::vector<int32_t> counts;
};

Inputs chooseInputs(int64_t lists, int64_t columns) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Inputs inputs = {std::vector<float>(lists * columns), std::vector<uint8_t>(lists * columns),
                   std::vector<int32_t>(lists)};
  for (float &score : inputs.scores)
    score = normal(random);
  for (uint8_t &state : inputs.mask)
    state = uint8_t(random() % 3);
  for (int32_t &count : inputs.counts)
    count = int32_t(random() % uint32_t(columns + 1));
  return inputs;
}

/// One way to write the lists.
struct Case {
  const char *name;
  bool fromScores, hasCounts, hasMask;
};
constexpr Case cases[] = {{"block mask", false, false, true},
                          {"top k", true, false, false},
                          {"top k, counts", true, true, false},
                          {"top k, mask", true, false, true}};

class Bench {
public:
  Bench(sparsec_device_t device, sparsec_kernel_t kernel, const Sizes &sizes);

  /// Whether the lists are those of the host.
  bool time(const Case &each) const;

private:
  sparsec_device_t device;
  sparsec_kernel_t kernel;
  int64_t k;
  sparsec_blocks_t shape;
  Inputs host;
  DeviceBuffer scores, mask, counts;
  CudaStream stream;
  FlushedTimer timer;

  void update(const Case &each, const PatternBuffer &buffer, const float *scoresThere, const uint8_t *maskThere,
              const int32_t *countsThere) const;
};

Bench::Bench(sparsec_device_t device, sparsec_kernel_t kernel, const Sizes &sizes)
    : device(device), kernel(kernel), k(sizes.k), timer(device, stream, /*launches=*/25) {
  const sparsec_argument_info_t &pattern = patternOf(kernel);
  const int64_t columns = sizes.columns, keys = columns * int64_t(pattern.block_columns);
  const int64_t rows = (keys + int64_t(pattern.block_rows) - 1) / int64_t(pattern.block_rows);
  const int64_t heads = (sizes.lists + rows - 1) / rows;
  shape = sparsec_blocks_pattern(1, heads, keys, keys, int32_t(pattern.block_rows), int32_t(pattern.block_columns));
  host = chooseInputs(heads * rows, columns);
  scores = uploadArray(device, host.scores);
  mask = uploadArray(device, host.mask);
  counts = uploadArray(device, host.counts);
  fmt::print("{} lists of {} key blocks, k = {}\n", heads * rows, columns, k);
}

void Bench::update(const Case &each, const PatternBuffer &buffer, const float *scoresThere, const uint8_t *maskThere,
                   const int32_t *countsThere) const {
  if (!each.fromScores)
    return check(sparsec_pattern_update_from_block_mask(buffer.get(), kernel, maskThere, stream.handle()));
  const int64_t columns = shape.columns / shape.block_columns;
  sparsec_dense_t view = sparsec_dense_bhsd(const_cast<float *>(scoresThere), SPARSEC_DTYPE_F32, 1, shape.heads,
                                            int64_t(host.counts.size()) / shape.heads, columns);
  check(sparsec_pattern_update_from_scores(buffer.get(), kernel, &view, k, each.hasCounts ? countsThere : nullptr,
                                           each.hasMask ? maskThere : nullptr, stream.handle()));
}

bool Bench::time(const Case &each) const {
  const PatternBuffer onDevice = createBuffer(shape, device), onHost = createBuffer(shape, nullptr);
  const Timing timing = timer.measure([&] {
    update(each, onDevice, static_cast<const float *>(scores.data()), static_cast<const uint8_t *>(mask.data()),
           static_cast<const int32_t *>(counts.data()));
  });
  update(each, onHost, host.scores.data(), host.mask.data(), host.counts.data());
  sparsec_device_t opened = nullptr;
  check(sparsec_device_open_host(1, &opened));
  const Device hostDevice(opened);
  const bool isRight = readLists(onDevice, device) == readLists(onHost, hostDevice.get());
  fmt::print("{:<16} median {:7.1f} us, best {:7.1f} us  {}\n", each.name, 1e3 * timing.medianMilliseconds,
             1e3 * timing.bestMilliseconds, isRight ? "right" : "other lists than the host's");
  return isRight;
}

std::vector<char> readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error(fmt::format("cannot read {}", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

int run(const char *path, const Sizes &sizes) {
  if (!CudaDriver::get()) {
    fmt::print("skipped: no GPU\n");
    return 0;
  }
  CudaDriver::get()->useDevice(0);
  sparsec_device_t opened = nullptr;
  check(sparsec_device_open_cuda(0, &opened));
  const Device device(opened);
  const Module module = loadModule(device.get(), readFile(path));
  sparsec_kernel_t kernel = nullptr;
  check(sparsec_module_kernel(module.get(), nullptr, &kernel));
  const Bench bench(device.get(), kernel, sizes);
  bool isRight = true;
  for (const Case &each : cases)
    isRight &= bench.time(each);
  return isRight ? 0 : 1;
}

} // namespace
} // namespace sparsec::bench

int main(int argc, char **argv) {
  sparsec::bench::Sizes sizes;
  int64_t *const numbers[] = {&sizes.lists, &sizes.columns, &sizes.k};
  bool isGood = argc >= 2 && argc <= 5;
  for (int i = 2; isGood && i < argc; ++i) {
    char *end = nullptr;
    *numbers[i - 2] = std::strtoll(argv[i], &end, 10);
    isGood = *end == '\0' && *numbers[i - 2] > 0;
  }
  if (!isGood) {
    fmt::print(stderr, "{}", sparsec::bench::usage);
    return 2;
  }
  try {
    return sparsec::bench::run(argv[1], sizes);
  } catch (const std::exception &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
