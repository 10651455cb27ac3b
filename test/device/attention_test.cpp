// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention kernels: all sizes x lists x encodings against double precision, without a plan, with one for the lists and
// with one for the sizes alone, each twice for identical bits.

#include "attention_arguments.h"
#include "harness/cuda_driver.h"
#include "kernel_test.h"

#include "image/module.h"
#include "operations/kernel_shape.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace sparsec::device_test {

using namespace harness;

namespace {

constexpr uint64_t blockSeed = 1;
constexpr sparsec_pattern_encoding_t encodings[] = {SPARSEC_PATTERN_INDEX_ARRAYS, SPARSEC_PATTERN_PADDED_LISTS};
constexpr PlanKind planKinds[] = {PlanKind::None, PlanKind::Lists, PlanKind::Sizes};

class AttentionTest : public KernelTest {
public:
  using KernelTest::KernelTest;

private:
  std::string expectedName() const override;
  void runCases() override;
  std::vector<ListCase> lists() const;
  void runShape(const AttentionShape &shape, const std::vector<ListCase> &lists);
  void runLists(const AttentionShape &shape, const ListCase &lists);
  void runPlans(AttentionArguments &arguments, const AttentionArguments::Expected &expected);
  void runParts(const AttentionShape &shape);
  void runJointLists();
  void runCutTiles();
};

std::string AttentionTest::expectedName() const {
  std::string limits = std::string(record.isCausal ? "causal" : "") + (record.hasWindow ? "window" : "");
  std::string dimension = std::to_string(record.headDimension);
  if (record.valueDimension != 0)
    dimension += fmt::format("v{}", record.valueDimension);
  return fmt::format("attention_{}_{}_{}_{}_{}_{}_{}_{}_", sparsec_dtype_name(record.dtype), dimension,
                     record.blockRows ? fmt::format("{}x{}", record.blockRows, record.blockColumns) : "dense",
                     limits.empty() ? "all" : limits, record.hasScale ? "scaled" : "root",
                     record.hasSinks ? "sink" : "no", sparsec_dtype_name(record.resultDtype),
                     record.hasLse ? "lse" : "o");
}

std::vector<ListCase> AttentionTest::lists() const {
  std::vector<ListCase> cases = listCases(subset != Subset::All);
  if (subset == Subset::Sanitizer)
    cases.resize(1);
  return cases;
}

void AttentionTest::runCases() {
  std::vector<AttentionShape> shapes = attentionShapes(subset != Subset::All);
  if (subset == Subset::Sanitizer)
    shapes.resize(1);
  for (const AttentionShape &shape : shapes) {
    runShape(shape, lists());
    if (HasFatalFailure())
      return;
  }
  if (!file.isForHost() && subset != Subset::Sanitizer)
    for (const AttentionShape &shape : fewTilesAttention())
      runParts(shape);
  if (!HasFatalFailure())
    runJointLists();
  if (!HasFatalFailure())
    runCutTiles();
  if (subset == Subset::All)
    for (Placement placement : {Placement::Tight, Placement::Misaligned})
      runShape(manyTilesAttention(placement), {lists().front()});
}

void AttentionTest::runShape(const AttentionShape &shape, const std::vector<ListCase> &lists) {
  SCOPED_TRACE(fmt::format("{} (B {}, H {} / {}, {} x {}, {})", shape.name, shape.batches, shape.heads, shape.keyHeads,
                           shape.queries, shape.keys,
                           shape.order == SequenceOrder::BatchHeadSequence ? "BHSD" : "BSHD"));
  if (record.blockRows == 0) {
    AttentionArguments arguments(device(), kernel, shape, guardBytes());
    return runPlans(arguments, arguments.computeExpected());
  }
  for (const ListCase &each : lists) {
    runLists(shape, each);
    if (HasFatalFailure())
      return;
  }
}

void AttentionTest::runLists(const AttentionShape &shape, const ListCase &lists) {
  BlockStates blocks = chooseBlocks(shape, record.blockRows, record.blockColumns, lists, blockSeed);
  AttentionArguments::Expected expected; // by the first encoding; the same for the other
  for (sparsec_pattern_encoding_t encoding : encodings) {
    SCOPED_TRACE(fmt::format("lists: {}, encoding {}", lists.name, static_cast<int>(encoding)));
    AttentionArguments arguments(device(), kernel, shape, guardBytes(), &blocks, encoding, lists.isUnsorted);
    if (expected.lse.empty())
      expected = arguments.computeExpected();
    runPlans(arguments, expected);
    if (HasFatalFailure())
      return;
  }
}

/// The sums of a tile with parts are others than those without, but the same in every run.
void AttentionTest::runParts(const AttentionShape &shape) {
  SCOPED_TRACE(shape.name);
  std::optional<BlockStates> blocks;
  if (record.blockRows != 0)
    blocks = chooseBlocks(shape, record.blockRows, record.blockColumns, lists().front(), blockSeed);
  AttentionArguments arguments(device(), kernel, shape, guardBytes(), blocks ? &*blocks : nullptr);
  Plan plan = arguments.createPlan(PlanKind::Sizes);
  constexpr int64_t withoutParts = 256;
  ASSERT_GT(planInfo(plan, arguments.partsVariant()).workspace_bytes, withoutParts) << "the keys are not split";
  arguments.bringWorkspace(plan);
  arguments.run(plan.get());
  ASSERT_EQ(arguments.findError(arguments.computeExpected()), "");
  const std::vector<char> first = arguments.resultBytes();
  arguments.run(plan.get());
  ASSERT_TRUE(first == arguments.resultBytes()) << "other bits in the second run";
}

/// Lets plans of static patterns join any lists, and divide steps where that makes a list shorter.
void makeJointListsCheap(sparsec_kernel_t kernel, const sparsec_variant_info_t &variant) {
  constexpr uint32_t times[] = {SPARSEC_PLAN_COST_JOINT_ROWS, SPARSEC_PLAN_COST_DIVIDED_STEP,
                                SPARSEC_PLAN_COST_DIVISION};
  for (const sparsec_plan_cost_info_t &cost : kernel->module->info.planCostsOf(variant))
    if (std::find(std::begin(times), std::end(times), cost.key) != std::end(times))
      const_cast<sparsec_plan_cost_info_t &>(cost).value = 1;
}

/// Tiles of two block rows. Their sums are others than those of single rows, but the same in every run.
void AttentionTest::runJointLists() {
  const sparsec_variant_info_t &first = *sparsec_kernel_variant(kernel, 0);
  if (!runtime::takesJointLists(first))
    return;
  makeJointListsCheap(kernel, first);
  bool hasDividedSteps = false;
  const AttentionShape shape = jointListsAttention(multiprocessors());
  for (const ListCase &each : lists()) {
    SCOPED_TRACE(fmt::format("{}, lists: {}", shape.name, each.name));
    const BlockStates blocks = chooseBlocks(shape, record.blockRows, record.blockColumns, each, blockSeed);
    AttentionArguments arguments(device(), kernel, shape, guardBytes(), &blocks,
                                 each.isUnsorted ? SPARSEC_PATTERN_PADDED_LISTS : SPARSEC_PATTERN_INDEX_ARRAYS,
                                 each.isUnsorted);
    const Plan plan = arguments.createPlan(PlanKind::Static);
    ASSERT_EQ(arguments.chosenVariant(plan.get()), 0) << planInfo(plan).reason;
    hasDividedSteps |= std::string(planInfo(plan).reason).find("divided steps") != std::string::npos;
    arguments.run(plan.get());
    ASSERT_EQ(arguments.findError(arguments.computeExpected()), "");
    const std::vector<char> bytes = arguments.resultBytes();
    arguments.run(plan.get());
    ASSERT_TRUE(bytes == arguments.resultBytes()) << "other bits in the second run";
  }
  const bool mayDivide = kernel->planCost(first, SPARSEC_PLAN_COST_DIVIDED_STEP) != 0;
  ASSERT_TRUE(record.hasWindow || hasDividedSteps == mayDivide) << "windows alone leave too few blocks";
}

/// Tiles that are cut along the keys, with one workspace for several launches, give the bits of whole tiles.
void AttentionTest::runCutTiles() {
  const std::optional<size_t> variant = cutVariant();
  if (!variant)
    return;
  const sparsec_stage_info_t &stage = *sparsec_kernel_stage(kernel, *variant, 0);
  const AttentionShape shape = cutTilesAttention(multiprocessors() * stage.concurrent_tiles, stage.tile_m);
  SCOPED_TRACE(shape.name);
  const auto blocksOf = [&](BlockChoice choice) {
    return chooseBlocks(shape, record.blockRows, record.blockColumns, {"", choice, true, true, false}, blockSeed);
  };
  const bool hasLists = record.blockRows != 0;
  std::optional<BlockStates> some;
  if (hasLists)
    some = blocksOf(BlockChoice::Random);
  AttentionArguments arguments(device(), kernel, shape, guardBytes(), some ? &*some : nullptr);
  if (hasLists)
    arguments.replaceLists(blocksOf(BlockChoice::AllFull), /*isUnsorted=*/false);
  const Plan plan = arguments.createPlan(PlanKind::Lists);
  ASSERT_EQ(arguments.chosenVariant(plan.get()), *variant) << planInfo(plan, *variant).reason;
  const DeviceBuffer none;
  arguments.run(plan.get(), &none);
  ASSERT_EQ(arguments.findError(arguments.computeExpected()), "") << "with whole tiles";
  const std::vector<char> whole = arguments.resultBytes();
  const DeviceBuffer workspace = poisonedWorkspace(plan);
  for (int launch = 0; launch < 3; ++launch) {
    arguments.run(plan.get(), &workspace);
    ASSERT_TRUE(whole == arguments.resultBytes()) << "other bits than with whole tiles, in launch " << launch;
  }
  ASSERT_TRUE(areFlagsZero(workspace)) << "a flag is left";
  if (hasLists) {
    arguments.replaceLists(*some, /*isUnsorted=*/false);
    arguments.run(plan.get(), &workspace);
    ASSERT_EQ(arguments.findError(arguments.computeExpected()), "") << "with lists that the plan was not made for";
  }
}

/// A plan only says who computes a tile: not one bit of the results depends on it, nor on the launches before.
void AttentionTest::runPlans(AttentionArguments &arguments, const AttentionArguments::Expected &expected) {
  ASSERT_EQ(arguments.chosenVariant(), arguments.expectedVariant());
  std::vector<char> first;
  for (PlanKind kind : planKinds) {
    if (kind == PlanKind::Lists && record.blockRows == 0)
      continue;
    Plan plan = arguments.createPlan(kind);
    int runs = subset == Subset::Sanitizer ? 1 : 2;
    for (int i = 0; i < runs; ++i) {
      SCOPED_TRACE(fmt::format("plan {}, run {}", static_cast<int>(kind), i));
      arguments.run(plan.get());
      if (first.empty()) {
        ASSERT_EQ(arguments.findError(expected), "");
        first = arguments.resultBytes();
      }
      ASSERT_TRUE(first == arguments.resultBytes()) << "other bits than without a plan and in the first run";
    }
  }
}

/// The first kernel with a pattern that runs on the GPU (or the host).
class AttentionLaunch : public testing::Test {
protected:
  void prepare(bool forHost) {
    sparsec_device_t device = forHost ? session.host.get() : session.cuda.get();
    if (!device)
      GTEST_SKIP() << (forHost ? "skipped: the host is not asked for" : "skipped: no GPU");
    for (const KernelFile &file : session.files)
      for (const KernelRecord &each : file.kernels)
        if (!record && file.isForHost() == forHost && session.runsHere(file) &&
            each.kind == SPARSEC_OPERATION_ATTENTION && each.blockRows != 0 && !each.hasSequences()) {
          record = &each;
          module = loadModule(device, file.bytes);
        }
    if (!record)
      GTEST_SKIP() << "skipped: no attention kernels for this device";
    check(sparsec_module_kernel(module.get(), record->name.c_str(), &kernel));
  }

  BlockStates blocks(const ListCase &lists, uint64_t seed) const {
    return chooseBlocks(shape, record->blockRows, record->blockColumns, lists, seed);
  }

  const KernelRecord *record = nullptr;
  Module module;
  sparsec_kernel_t kernel = nullptr;
  const AttentionShape shape = attentionShapes(/*quick=*/true).front();
  const ListCase random = {"random", BlockChoice::Random, true, true, true};
};

class CudaAttention : public AttentionLaunch {
  void SetUp() override {
    prepare(/*forHost=*/false);
    if (session.cuda)
      CudaDriver::get()->useDevice(0);
  }
};

class HostAttention : public AttentionLaunch {
  void SetUp() override { prepare(/*forHost=*/true); }
};

/// The check itself: the results for some lists are wrong for others.
TEST_F(HostAttention, ResultsForOtherListsAreFound) {
  BlockStates first = blocks(random, blockSeed);
  AttentionArguments arguments(session.host.get(), kernel, shape, 256, &first);
  arguments.run();
  EXPECT_EQ(arguments.findError(arguments.computeExpected()), "");
  arguments.replaceLists(blocks(random, blockSeed + 1), /*isUnsorted=*/false);
  EXPECT_NE(arguments.findError(arguments.computeExpected()), "");
  arguments.run();
  EXPECT_EQ(arguments.findError(arguments.computeExpected()), "");
  arguments.poisonResults();
  arguments.downloadResults();
  EXPECT_NE(arguments.findError(arguments.computeExpected()), "");
}

TEST_F(CudaAttention, ReplaysOfAGraphReadTheListsOfTheirTime) {
  const BlockChoice choices[] = {BlockChoice::Random,   BlockChoice::EmptyRows,  BlockChoice::AllFull,
                                 BlockChoice::NoBlocks, BlockChoice::AllPartial, BlockChoice::Random};
  for (sparsec_pattern_encoding_t encoding : encodings)
    for (PlanKind kind : planKinds) {
      BlockStates first = blocks(random, blockSeed);
      AttentionArguments arguments(session.cuda.get(), kernel, shape, 256, &first, encoding);
      Plan plan = arguments.createPlan(kind); // for the first lists, where it is for lists
      CudaStream stream;
      CudaGraph graph(stream, [&] { arguments.launch(stream.handle(), plan.get()); });
      uint64_t seed = blockSeed;
      for (BlockChoice choice : choices) {
        SCOPED_TRACE(fmt::format("encoding {}, plan {}, choice {}", static_cast<int>(encoding), static_cast<int>(kind),
                                 static_cast<int>(choice)));
        ListCase lists = random;
        lists.choice = choice;
        ++seed;
        arguments.replaceLists(blocks(lists, seed), seed % 2 == 0);
        arguments.poisonResults();
        graph.launch(stream);
        stream.synchronize();
        arguments.downloadResults();
        ASSERT_EQ(arguments.findError(arguments.computeExpected()), "");
      }
    }
}

/// A launch leaves the counter in its workspace at zero: the next one, which nothing waits for, finds it so. More tiles
/// than workers, so that the counter gives some away.
TEST_F(CudaAttention, LaunchesInARowShareAPlanForSizes) {
  const AttentionShape many = manyTilesAttention(Placement::Tight);
  BlockStates first = chooseBlocks(many, record->blockRows, record->blockColumns, random, blockSeed);
  BlockStates second = chooseBlocks(many, record->blockRows, record->blockColumns, random, blockSeed + 1);
  AttentionArguments each[] = {AttentionArguments(session.cuda.get(), kernel, many, 256, &first),
                               AttentionArguments(session.cuda.get(), kernel, many, 256, &second),
                               AttentionArguments(session.cuda.get(), kernel, many, 256, &first)};
  Plan plan = each[0].createPlan(PlanKind::Sizes);
  EXPECT_GT(planInfo(plan).tiles, planInfo(plan).workers);
  const DeviceBuffer workspace = uploadArray(session.cuda.get(), std::vector<uint32_t>(4));
  CudaStream stream;
  for (AttentionArguments &arguments : each)
    arguments.poisonResults();
  for (AttentionArguments &arguments : each)
    arguments.launch(stream.handle(), plan.get(), &workspace);
  stream.synchronize();
  for (AttentionArguments &arguments : each) {
    arguments.downloadResults();
    EXPECT_EQ(arguments.findError(arguments.computeExpected()), "");
  }
}

/// The state of every block, read from the lists as sparsec_pattern_encoding_t describes them.
std::vector<uint8_t> decode(const PatternLists &lists, const BlockStates &blocks) {
  const sparsec_blocks_t &header = lists.header;
  int64_t listCount = blocks.listCount();
  std::vector<uint8_t> states(listCount * blocks.columns, SPARSEC_BLOCK_EMPTY);
  auto mark = [&](const BlockLists &source, sparsec_block_state_t state) {
    for (int64_t list = 0; list < listCount; ++list) {
      bool isPadded = header.encoding == SPARSEC_PATTERN_PADDED_LISTS;
      int64_t begin = isPadded ? list * header.capacity : source.starts[list];
      int64_t end = isPadded ? begin + source.starts[list] : source.starts[list + 1];
      for (int64_t i = begin; i < end; ++i)
        states.at(list * blocks.columns + source.indices.at(i)) = static_cast<uint8_t>(state);
    }
  };
  mark(lists.partial, SPARSEC_BLOCK_PARTIAL);
  mark(lists.full, SPARSEC_BLOCK_FULL);
  return states;
}

TEST(AttentionLists, BothEncodingsNameTheChosenBlocks) {
  AttentionShape shape = attentionShapes(/*quick=*/true).front();
  for (const ListCase &lists : listCases(/*quick=*/false))
    for (sparsec_pattern_encoding_t encoding : encodings) {
      SCOPED_TRACE(fmt::format("lists: {}, encoding {}", lists.name, static_cast<int>(encoding)));
      BlockStates blocks = chooseBlocks(shape, 64, 64, lists, blockSeed);
      PatternLists made(blocks, encoding, lists.isUnsorted);
      EXPECT_EQ(decode(made, blocks), blocks.states);
      sparsec_blocks_t view = made.hostView(blocks);
      EXPECT_NO_THROW(check(sparsec_blocks_check(&view)));
    }
}

TEST(AttentionLists, UnsortedListsAreUnsorted) {
  AttentionShape shape = {"many keys", 1, 1, 1, 64, 64 * 20, SequenceOrder::BatchHeadSequence, Placement::Tight, 1};
  BlockStates blocks = chooseBlocks(shape, 64, 64, {"all full", BlockChoice::AllFull, false, false, true}, blockSeed);
  for (sparsec_pattern_encoding_t encoding : encodings) {
    PatternLists lists(blocks, encoding, /*isUnsorted=*/true);
    EXPECT_FALSE(std::is_sorted(lists.full.indices.begin(), lists.full.indices.begin() + blocks.columns));
  }
}

} // namespace

KernelTest *makeAttentionTest(const KernelFile &file, const KernelRecord &record) {
  return new AttentionTest(file, record);
}

} // namespace sparsec::device_test
