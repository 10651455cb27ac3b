// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists that the device writes: the same as those that the host makes, also when a graph is replayed with new data.

#include "attention_arguments.h"
#include "harness/cuda_driver.h"
#include "options.h"
#include "top_k_reference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sparsec::device_test {

using namespace harness;

namespace {

using PatternBuffer = std::unique_ptr<sparsec_pattern_buffer_s, Destroyer<sparsec_pattern_buffer_destroy>>;

/// Every list of a pattern: the partial ones, then the full ones.
using Lists = std::vector<std::vector<int32_t>>;

std::vector<int32_t> readArray(sparsec_device_t device, const int32_t *array, int64_t count) {
  std::vector<int32_t> copy(count);
  check(sparsec_memory_download(device, copy.data(), array, count * sizeof(int32_t)));
  return copy;
}

/// A copy of padded lists in memory of the device.
Lists readLists(sparsec_device_t device, const sparsec_blocks_t &pattern) {
  Lists lists;
  int64_t count = pattern.batches * pattern.heads * ((pattern.rows + pattern.block_rows - 1) / pattern.block_rows);
  for (const sparsec_block_lists_t &kind : {pattern.partial, pattern.full}) {
    size_t begin = lists.size();
    lists.resize(begin + count);
    if (!kind.starts)
      continue;
    std::vector<int32_t> counts = readArray(device, kind.starts, count);
    std::vector<int32_t> indices = readArray(device, kind.indices, count * pattern.capacity);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(counts[i] >= 0 && counts[i] <= pattern.capacity) << "list " << i << " has " << counts[i];
      const int32_t *first = indices.data() + i * pattern.capacity;
      lists[begin + i].assign(first, first + std::clamp<int64_t>(counts[i], 0, pattern.capacity));
    }
  }
  return lists;
}

PatternBuffer createBuffer(sparsec_device_t device, const sparsec_blocks_t &shape) {
  sparsec_pattern_buffer_t buffer = nullptr;
  check(sparsec_pattern_buffer_create(&shape, device, &buffer));
  return PatternBuffer(buffer);
}

sparsec_blocks_t viewOf(const PatternBuffer &buffer) {
  auto view = sized<sparsec_blocks_t>();
  check(sparsec_pattern_buffer_view(buffer.get(), &view));
  return view;
}

/// The lists that the host makes of states, or of the mask region.
Lists hostListsOf(const BlockStates &blocks, sparsec_device_t host) {
  sparsec_blocks_t padded = blocks.shape;
  padded.encoding = SPARSEC_PATTERN_PADDED_LISTS;
  sparsec_pattern_buffer_t buffer = nullptr;
  check(sparsec_pattern_from_block_mask(&padded, blocks.states.data(), nullptr, &buffer));
  PatternBuffer owner(buffer);
  return readLists(host, viewOf(owner));
}
Lists hostListsOf(sparsec_kernel_t kernel, const sparsec_blocks_t &shape, const AttentionArguments &arguments,
                  sparsec_device_t host) {
  const ArgumentArray views(arguments.hostViews());
  sparsec_blocks_t padded = shape;
  padded.encoding = SPARSEC_PATTERN_PADDED_LISTS;
  sparsec_pattern_buffer_t buffer = nullptr;
  check(sparsec_pattern_from_predicate(kernel, &padded, views.data(), views.size(), nullptr, &buffer));
  PatternBuffer owner(buffer);
  return readLists(host, viewOf(owner));
}

/// All kernels with a pattern for the GPU (or the host).
class PatternUpdate : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    device = isForHost() ? session.host.get() : session.cuda.get();
    if (!device)
      GTEST_SKIP() << (isForHost() ? "skipped: the host is not asked for" : "skipped: no GPU");
    if (!isForHost())
      CudaDriver::get()->useDevice(0);
    sparsec_device_t opened = nullptr;
    check(sparsec_device_open_host(1, &opened));
    host.reset(opened);
  }

  bool isForHost() const { return GetParam(); }
  void synchronize() const { check(sparsec_synchronize(device, nullptr)); }

  /// Calls `body` with every such kernel, or with those that have a mask region too and whose sequences have the sizes
  /// of Q and K; skips the test if there is none.
  void forEachKernel(bool needsMask, const std::function<void(const KernelRecord &, sparsec_kernel_t)> &body) const {
    bool found = false;
    for (const KernelFile &file : session.files)
      for (const KernelRecord &record : file.kernels) {
        if (file.isForHost() != isForHost() || !session.runsHere(file) || record.kind != SPARSEC_OPERATION_ATTENTION ||
            record.blockRows == 0 || (needsMask && (!record.hasMask || record.hasSequences())))
          continue;
        found = true;
        SCOPED_TRACE(record.name);
        Module module = loadModule(device, file.bytes);
        sparsec_kernel_t kernel = nullptr;
        check(sparsec_module_kernel(module.get(), record.name.c_str(), &kernel));
        body(record, kernel);
      }
    if (!found)
      GTEST_SKIP() << "skipped: no attention kernels with a pattern for this device";
  }

  /// The lists that the device makes of states are those that the host makes.
  void checkBlockMask(sparsec_kernel_t kernel, const BlockStates &blocks) const {
    DeviceBuffer mask = uploadArray(device, blocks.states);
    PatternBuffer buffer = createBuffer(device, blocks.shape);
    check(sparsec_pattern_update_from_block_mask(buffer.get(), kernel, static_cast<uint8_t *>(mask.data()), nullptr));
    synchronize();
    ASSERT_EQ(readLists(device, viewOf(buffer)), hostListsOf(blocks, host.get()));
  }

  /// The lists that the device makes of scores are those of the reference.
  void checkScores(const KernelRecord &record, sparsec_kernel_t kernel, const ScoreProblem &problem) const {
    DeviceBuffer scores = uploadArray(device, problem.scores), counts = uploadArray(device, problem.counts);
    DeviceBuffer mask = uploadArray(device, problem.blocks.states);
    PatternBuffer buffer = createBuffer(device, problem.blocks.shape);
    updateFromScores(buffer.get(), kernel, problem, scores, counts, mask, nullptr);
    synchronize();
    ASSERT_EQ(readLists(device, viewOf(buffer)), hostListsOf(chosenBlocks(problem, record), host.get()));
  }

  void updateFromScores(sparsec_pattern_buffer_t buffer, sparsec_kernel_t kernel, const ScoreProblem &problem,
                        const DeviceBuffer &scores, const DeviceBuffer &counts, const DeviceBuffer &mask,
                        void *stream) const {
    const sparsec_blocks_t &shape = problem.blocks.shape;
    sparsec_dense_t view = sparsec_dense_bhsd(scores.data(), SPARSEC_DTYPE_F32, shape.batches, shape.heads,
                                              problem.blocks.rows, problem.blocks.columns);
    check(sparsec_pattern_update_from_scores(buffer, kernel, &view, problem.k,
                                             problem.counts.empty() ? nullptr : static_cast<int32_t *>(counts.data()),
                                             problem.hasMask ? static_cast<uint8_t *>(mask.data()) : nullptr, stream));
  }

  const ListCase random = {"random", BlockChoice::Random, true, true, false};
  sparsec_device_t device = nullptr;
  harness::Device host;
};

TEST_P(PatternUpdate, FromThePredicate) {
  forEachKernel(/*needsMask=*/true, [&](const KernelRecord &record, sparsec_kernel_t kernel) {
    for (const AttentionShape &shape : attentionShapes(/*quick=*/true)) {
      SCOPED_TRACE(shape.name);
      BlockStates blocks = chooseBlocks(shape, record.blockRows, record.blockColumns, random, 1);
      AttentionArguments arguments(device, kernel, shape, 256, &blocks);
      PatternBuffer buffer = createBuffer(device, blocks.shape);
      const ArgumentArray views(arguments.deviceViews());
      check(sparsec_pattern_update_from_predicate(buffer.get(), kernel, views.data(), views.size(), nullptr));
      synchronize();
      ASSERT_EQ(readLists(device, viewOf(buffer)), hostListsOf(kernel, blocks.shape, arguments, host.get()));
    }
  });
}

TEST_P(PatternUpdate, FromABlockMask) {
  uint64_t seed = 1;
  forEachKernel(/*needsMask=*/false, [&](const KernelRecord &record, sparsec_kernel_t kernel) {
    for (const AttentionShape &shape : attentionShapes(/*quick=*/true))
      for (const ListCase &lists : listCases(/*quick=*/false)) {
        SCOPED_TRACE(fmt::format("{}, {}", shape.name, lists.name));
        checkBlockMask(kernel, chooseBlocks(shape, record.blockRows, record.blockColumns, lists, ++seed));
      }
  });
}

/// More key blocks than a warp has lanes, and than a builder has warps.
TEST_P(PatternUpdate, LongLists) {
  AttentionShape shape = {"long", 1, 2, 1, 130, 64 * 101 + 5, SequenceOrder::BatchHeadSequence, Placement::Tight, 1};
  forEachKernel(/*needsMask=*/false, [&](const KernelRecord &record, sparsec_kernel_t kernel) {
    checkBlockMask(kernel, chooseBlocks(shape, record.blockRows, record.blockColumns, random, 3));
  });
  forEachKernel(/*needsMask=*/true, [&](const KernelRecord &record, sparsec_kernel_t kernel) {
    BlockStates own = chooseBlocks(shape, record.blockRows, record.blockColumns, random, 1);
    AttentionArguments arguments(device, kernel, shape, 256, &own);
    PatternBuffer made = createBuffer(device, own.shape);
    const ArgumentArray views(arguments.deviceViews());
    check(sparsec_pattern_update_from_predicate(made.get(), kernel, views.data(), views.size(), nullptr));
    synchronize();
    ASSERT_EQ(readLists(device, viewOf(made)), hostListsOf(kernel, own.shape, arguments, host.get()));
  });
}

/// Odd sizes; more queries than keys; more key blocks than a warp keeps in registers.
constexpr AttentionShape scoreShapes[] = {
    {"odd", 2, 3, 1, 333, 64 * 101 + 5, SequenceOrder::BatchHeadSequence, Placement::Tight, 1},
    {"more queries than keys", 2, 2, 2, 700, 70, SequenceOrder::BatchHeadSequence, Placement::Tight, 1},
    {"long", 1, 1, 1, 130, 64 * 301 + 5, SequenceOrder::BatchHeadSequence, Placement::Tight, 1}};

TEST_P(PatternUpdate, FromScores) {
  uint64_t seed = 1;
  forEachKernel(/*needsMask=*/false, [&](const KernelRecord &record, sparsec_kernel_t kernel) {
    for (const AttentionShape &shape : scoreShapes)
      for (const ScoreCase &scores : scoreCases) {
        SCOPED_TRACE(fmt::format("{}, {}", shape.name, scores.name));
        BlockStates blocks = chooseBlocks(shape, record.blockRows, record.blockColumns, random, ++seed);
        checkScores(record, kernel, chooseScores(std::move(blocks), scores, seed));
      }
  });
}

std::string deviceName(const testing::TestParamInfo<bool> &info) { return info.param ? "Host" : "Cuda"; }
INSTANTIATE_TEST_SUITE_P(Devices, PatternUpdate, testing::Bool(), deviceName);

class CudaPatternUpdate : public PatternUpdate {};
INSTANTIATE_TEST_SUITE_P(Devices, CudaPatternUpdate, testing::Values(false), deviceName);

TEST_P(CudaPatternUpdate, ReplaysOfAGraphWriteNewLists) {
  AttentionShape shape = attentionShapes(/*quick=*/true).front();
  forEachKernel(/*needsMask=*/true, [&](const KernelRecord &record, sparsec_kernel_t kernel) {
    BlockStates blocks = chooseBlocks(shape, record.blockRows, record.blockColumns, random, 1);
    AttentionArguments arguments(device, kernel, shape, 256, &blocks);
    DeviceBuffer mask = uploadArray(device, blocks.states);
    PatternBuffer fromMask = createBuffer(device, blocks.shape), fromRegion = createBuffer(device, blocks.shape);
    const ArgumentArray views(arguments.deviceViews());
    CudaStream stream;
    CudaGraph graph(stream, [&] {
      check(sparsec_pattern_update_from_block_mask(fromMask.get(), kernel, static_cast<uint8_t *>(mask.data()),
                                                   stream.handle()));
      check(
          sparsec_pattern_update_from_predicate(fromRegion.get(), kernel, views.data(), views.size(), stream.handle()));
    });
    for (uint64_t seed : {2, 3}) {
      blocks = chooseBlocks(shape, record.blockRows, record.blockColumns, random, seed);
      mask.upload(blocks.states.data());
      graph.launch(stream);
      stream.synchronize();
      ASSERT_EQ(readLists(device, viewOf(fromMask)), hostListsOf(blocks, host.get()));
      ASSERT_EQ(readLists(device, viewOf(fromRegion)), hostListsOf(kernel, blocks.shape, arguments, host.get()));
    }
  });
}

TEST_P(CudaPatternUpdate, ReplaysOfAGraphChooseNewBlocks) {
  forEachKernel(/*needsMask=*/false, [&](const KernelRecord &record, sparsec_kernel_t kernel) {
    const auto choose = [&](uint64_t seed) {
      return chooseScores(chooseBlocks(scoreShapes[0], record.blockRows, record.blockColumns, random, seed),
                          scoreCases[std::size(scoreCases) - 1], seed);
    };
    ScoreProblem problem = choose(1);
    ASSERT_TRUE(problem.hasMask && !problem.counts.empty());
    DeviceBuffer scores = uploadArray(device, problem.scores), counts = uploadArray(device, problem.counts);
    DeviceBuffer mask = uploadArray(device, problem.blocks.states);
    PatternBuffer buffer = createBuffer(device, problem.blocks.shape);
    CudaStream stream;
    CudaGraph graph(stream,
                    [&] { updateFromScores(buffer.get(), kernel, problem, scores, counts, mask, stream.handle()); });
    for (uint64_t seed : {2, 3}) {
      problem = choose(seed);
      scores.upload(problem.scores.data());
      counts.upload(problem.counts.data());
      mask.upload(problem.blocks.states.data());
      graph.launch(stream);
      stream.synchronize();
      ASSERT_EQ(readLists(device, viewOf(buffer)), hostListsOf(chosenBlocks(problem, record), host.get()));
    }
  });
}

} // namespace

} // namespace sparsec::device_test
