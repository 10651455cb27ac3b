// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Damaged saved plans: every byte, every length and every rule of the sections.

#include "runtime_saved_plan.h"
#include "runtime_static_plan_fixture.h"
#include "runtime_stream_image.h"
#include "runtime_window_image.h"

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

class DamagedPlan : public StaticPlanOnFake {
protected:
  void SetUp() override {}

  /// Saves a plan of windows: rows {0, 2, 4}, {1, 3, -1} or of streams in their own order.
  void saveWith(const LaunchInfoBuilder &info, uint32_t flags = SPARSEC_PLAN_STATIC_PATTERN, bool isWidthOpen = false) {
    loadWithPattern(info, 0, fewMultiprocessors);
    fake.recording = false; // thousands of loads follow
    ASSERT_OK(createPlanWith(flags, isWidthOpen));
    good = savePlan();
    contents = contentsOf(*plan);
  }

  /// The bytes are refused, and the message says why, or the plan is as before. Two things may differ: who has which
  /// tile, and the columns of streams, as only the lists of the pattern tell where a block is.
  void refusesOrComesBack(const ByteVector &bytes) {
    const Status status = loadPlan(bytes);
    if (status) {
      EXPECT_EQ(status->code, SPARSEC_STATUS_INVALID_PLAN) << status->message;
      EXPECT_EQ(plan, nullptr);
      return;
    }
    PlanContents loaded = contentsOf(*plan), expected = contents;
    for (PlanContents *each : {&loaded, &expected})
      for (size_t variant = 0; variant < plan->variants.size(); ++variant)
        for (uint32_t section : {SPARSEC_PLAN_TILE_OFFSETS, SPARSEC_PLAN_STAGE_COLUMNS})
          each->erase({variant, section});
    EXPECT_TRUE(loaded == expected);
  }

  void refusesAllDamage() {
    for (size_t length = 1; length < good.size(); ++length)
      EXPECT_STATUS(loadPlan(ByteVector(good.begin(), good.begin() + ptrdiff_t(length))), SPARSEC_STATUS_INVALID_PLAN,
                    "saved plan: it ");
    for (size_t at = 0; at < good.size(); ++at)
      for (uint8_t mask : {0x01, 0x10, 0x80, 0xff}) {
        ByteVector bytes = good;
        bytes[at] ^= mask;
        EXPECT_STATUS(loadPlan(bytes), SPARSEC_STATUS_INVALID_PLAN, "saved plan: it ");
        refusesOrComesBack(mended(bytes));
        if (HasFailure())
          FAIL() << "byte " << at << " ^ " << int(mask);
      }
  }

  /// The plan with one word changed is refused with the message.
  void refusesWord(const std::string &message, sparsec_plan_section_t section, int64_t index, uint32_t value,
                   uint32_t variant = 0) {
    ByteVector bytes = good;
    setWord(bytes, variant, section, index, value);
    EXPECT_STATUS(loadPlan(mended(bytes)), SPARSEC_STATUS_INVALID_PLAN, message);
  }

  ByteVector good;
  PlanContents contents;
};

constexpr uint32_t minusOne = UINT32_MAX;

TEST_F(DamagedPlan, OfWindowsNeverLoads) {
  saveWith(linearWithWindows());
  refusesAllDamage();
}

TEST_F(DamagedPlan, OfStreamsNeverLoads) {
  saveWith(linearWithStreams(), SPARSEC_PLAN_STATIC_PATTERN, /*isWidthOpen=*/false);
  refusesAllDamage();
}

TEST_F(DamagedPlan, Presence) {
  saveWith(linearWithWindows());
  auto refusesRecord = [&](const std::string &message, uint32_t section, size_t field, uint64_t value, size_t bytes) {
    ByteVector changed = good;
    std::memcpy(changed.data() + recordOf(good, 0, section) + field, &value, bytes);
    EXPECT_STATUS(loadPlan(mended(changed)), SPARSEC_STATUS_INVALID_PLAN, message);
  };
  constexpr size_t number = offsetof(SavedSection, section), length = offsetof(SavedSection, bytes);
  refusesRecord("section " + std::to_string(planSectionCount) + " of variant 0 is unknown", SPARSEC_PLAN_STEPS, number,
                planSectionCount, 4);
  refusesRecord("section 8 of variant 3 is unknown", SPARSEC_PLAN_STEPS, offsetof(SavedSection, variant), 3, 4);
  refusesRecord("blocks of variant 0 are there twice", SPARSEC_PLAN_STEPS, number, SPARSEC_PLAN_BLOCKS, 4);
  refusesRecord("variant 0 has some sections of a kind, but not all", SPARSEC_PLAN_STEPS, number,
                SPARSEC_PLAN_CHUNK_BLOCKS, 4);
  refusesRecord("steps of variant 0, 18446744073709551615 bytes", SPARSEC_PLAN_STEPS, length, UINT64_MAX, 8);
  refusesRecord("do not lie within its", SPARSEC_PLAN_STEPS, offsetof(SavedSection, offset), 8, 8);
  refusesRecord("do not lie within its", SPARSEC_PLAN_STEPS, offsetof(SavedSection, offset), good.size() - 4, 8);
  refusesRecord("steps of variant 0: 42 bytes are no whole number of elements of 4", SPARSEC_PLAN_STEPS, length, 42, 8);
  refusesRecord("steps of variant 0: expects 11 elements, but got 10", SPARSEC_PLAN_STEPS, length, 40, 8);
  refusesRecord("window rows of variant 0: expects 3 elements for each window, but got 5", SPARSEC_PLAN_WINDOW_ROWS,
                length, 20, 8);
  refusesRecord("window rows of variant 0: expects 3 elements for each window, but got 0", SPARSEC_PLAN_WINDOW_ROWS,
                length, 0, 8);
  refusesRecord("tile offsets of variant 0: there are none", SPARSEC_PLAN_TILE_OFFSETS, length, 0, 8);
  EXPECT_STATUS(loadPlan(withoutList(good)), SPARSEC_STATUS_INVALID_PLAN,
                "variant 0 holds a pattern, but the plan does not know its lists");
}

TEST_F(DamagedPlan, SectionsThatTheVariantDoesNotTake) {
  saveWith(linearWithWindows());
  ByteVector changed = good;
  const uint32_t variant = 1;
  for (uint32_t section = SPARSEC_PLAN_WINDOW_ROWS; section <= SPARSEC_PLAN_STEPS; ++section)
    std::memcpy(changed.data() + recordOf(good, 0, section), &variant, 4);
  EXPECT_STATUS(loadPlan(mended(changed)), SPARSEC_STATUS_INVALID_PLAN, "variant 0 has tile lists, but nothing to");
  for (uint32_t section : {SPARSEC_PLAN_TILE_OFFSETS, SPARSEC_PLAN_TILES}) {
    // Beyond the variants that there are.
    const uint32_t other = 2;
    std::memcpy(changed.data() + recordOf(good, 0, section), &other, 4);
  }
  EXPECT_STATUS(loadPlan(mended(changed)), SPARSEC_STATUS_INVALID_PLAN, "are there twice");
}

TEST_F(DamagedPlan, TileLists) {
  saveWith(linearWithWindows());
  // Two tile rows and two panels, each on a worker of its own.
  refusesWord("tile offsets of variant 0: expects 0 at 0, but got 1", SPARSEC_PLAN_TILE_OFFSETS, 0, 1);
  refusesWord("tile offsets of variant 0: expects at least 5 at 2, but got 2", SPARSEC_PLAN_TILE_OFFSETS, 1, 5);
  refusesWord("tiles of variant 0: expects 9 elements, but got 4", SPARSEC_PLAN_TILE_OFFSETS, -1, 9);
  refusesWord("are beyond 2 x 2 tiles, or there twice", SPARSEC_PLAN_TILES, 0, 2);
  refusesWord("are beyond 2 x 2 tiles, or there twice", SPARSEC_PLAN_TILES, 1, 2);
  refusesWord("are beyond 2 x 2 tiles, or there twice", SPARSEC_PLAN_TILES, 1, 1);
  auto refusesVariant = [&](const std::string &message, size_t field, int64_t value) {
    ByteVector changed = good;
    std::memcpy(changed.data() + recordOfVariant(good, 0) + field, &value, 8);
    EXPECT_STATUS(loadPlan(mended(changed)), SPARSEC_STATUS_INVALID_PLAN, message);
  };
  refusesVariant("variant 0 has a period of 0 panels", offsetof(SavedVariant, period), 0);
  refusesVariant("tiles of variant 0: expects the 2 x 3 tiles of the result, but got 4", offsetof(SavedVariant, period),
                 3);
  refusesVariant("the result has 2 x 4611686018427387904 tiles", offsetof(SavedVariant, period), int64_t(1) << 62);
}

TEST_F(DamagedPlan, WorkersOfTileLists) {
  saveWith(cudaLinear(), 0);
  // One worker is taken away: the list before it gets its tiles.
  ByteVector changed = good;
  const size_t record = recordOf(good, 0, SPARSEC_PLAN_TILE_OFFSETS);
  SavedSection section;
  std::memcpy(&section, good.data() + record, sizeof(section));
  section.bytes = 4;
  std::memcpy(changed.data() + record, &section, sizeof(section));
  EXPECT_STATUS(loadPlan(mended(changed)), SPARSEC_STATUS_INVALID_PLAN,
                "tile offsets of variant 0: expects lists of 1");
}

TEST_F(DamagedPlan, ListsOfAPeriod) {
  saveWith(linearWithWindows(), SPARSEC_PLAN_STATIC_PATTERN, /*isWidthOpen=*/true);
  SavedSection offsets;
  std::memcpy(&offsets, good.data() + recordOf(good, 0, SPARSEC_PLAN_TILE_OFFSETS), sizeof(offsets));
  const int64_t workers = int64_t(offsets.bytes) / 4 - 1;
  ASSERT_GT(workers, 2);
  // The first tiles of the first and the last worker change places: panel 0 would lack one where it is alone.
  const auto *tiles = static_cast<const Tile *>(plan->variants[0].sections[SPARSEC_PLAN_TILES]);
  const auto *begins = static_cast<const uint32_t *>(plan->variants[0].sections[SPARSEC_PLAN_TILE_OFFSETS]);
  const uint32_t last = begins[workers - 1];
  const Tile first = tiles[0], other = tiles[last];
  ASSERT_NE(first.panel, other.panel);
  ByteVector changed = good;
  setWord(changed, 0, SPARSEC_PLAN_TILES, 0, other.row);
  setWord(changed, 0, SPARSEC_PLAN_TILES, 1, other.panel);
  setWord(changed, 0, SPARSEC_PLAN_TILES, 2 * last, first.row);
  setWord(changed, 0, SPARSEC_PLAN_TILES, 2 * last + 1, first.panel);
  EXPECT_STATUS(loadPlan(mended(changed)), SPARSEC_STATUS_INVALID_PLAN, "tiles of variant 0: expects panel ");
}

TEST_F(DamagedPlan, Windows) {
  saveWith(linearWithWindows());
  // Window 0 has rows 0, 2, 4 and columns 0, 1; window 1 has rows 1 and 3 and columns 2, 3.
  refusesWord("block row 5 at 0 is out of range or there twice", SPARSEC_PLAN_WINDOW_ROWS, 0, 5);
  refusesWord("block row 2 at 1", SPARSEC_PLAN_WINDOW_ROWS, 0, 2);
  refusesWord("block row -1 at 0", SPARSEC_PLAN_WINDOW_ROWS, 0, minusOne);
  refusesWord("block row 0 at 5", SPARSEC_PLAN_WINDOW_ROWS, 5, 0);
  refusesWord("expects none behind none, but got block row 4 at 2", SPARSEC_PLAN_WINDOW_ROWS, 1, minusOne);
  refusesWord("a block row is missing", SPARSEC_PLAN_WINDOW_ROWS, 2, minusOne);
  refusesWord("column offsets of variant 0: expects 0 at 0, but got -1", SPARSEC_PLAN_COLUMN_OFFSETS, 0, minusOne);
  refusesWord("columns of variant 0: expects 7 elements, but got 5", SPARSEC_PLAN_COLUMN_OFFSETS, -1, 6);
  refusesWord("columns of variant 0: expects block column 1 to 3 at 1, but got 0", SPARSEC_PLAN_COLUMNS, 1, 0);
  refusesWord("columns of variant 0: expects block column 3 to 3 at 3, but got 4", SPARSEC_PLAN_COLUMNS, 3, 4 * 8);
  refusesWord("columns of variant 0: expects 0 groups without a step at 0, but got 1", SPARSEC_PLAN_COLUMNS, 0, 1);
  refusesWord("columns of variant 0: expects zeros behind the end", SPARSEC_PLAN_COLUMNS, -1, 8);
  refusesWord("blocks of variant 0: expects 11 elements, but got 10", SPARSEC_PLAN_BLOCK_OFFSETS, -1, 10);
  refusesWord("blocks of variant 0: block 9 at 0 is out of range or there twice", SPARSEC_PLAN_BLOCKS, 0, 9);
  refusesWord("blocks of variant 0: block 3 at 1 is out of range or there twice", SPARSEC_PLAN_BLOCKS, 0, 3);
  refusesWord("blocks of variant 0: block -1 at 0", SPARSEC_PLAN_BLOCKS, 0, minusOne);
  refusesWord("blocks of variant 0: expects the column of its step at 0, but got 1", SPARSEC_PLAN_BLOCKS, 1, 1);
  refusesWord("blocks of variant 0: expects zeros behind the end", SPARSEC_PLAN_BLOCKS, -1, 1);
  refusesWord("step offsets of variant 0: expects at least 2 at 2, but got 1", SPARSEC_PLAN_STEP_OFFSETS, 2, 1);
  // Steps 0 and 1 are those of row 0: blocks 0 and 3 of the window.
  refusesWord("steps of variant 0: expects column 0 to 1 at 0, but got 2", SPARSEC_PLAN_STEPS, 0, 2);
  refusesWord("steps of variant 0: expects column 1 to 1 at 1, but got 0", SPARSEC_PLAN_STEPS, 1, 3 * 65536);
  refusesWord("steps of variant 0: block 6 of the window at 1 is out of range", SPARSEC_PLAN_STEPS, 1, 1 + 6 * 65536);
  refusesWord("steps of variant 0: block 0 of the window at 1 is out of range, there twice", SPARSEC_PLAN_STEPS, 1, 1);
  refusesWord("blocks of variant 0: the block at 3 has no step", SPARSEC_PLAN_STEPS, 1, 1 + 65535u * 65536);
  refusesWord("steps of variant 0: expects zeros behind the end", SPARSEC_PLAN_STEPS, -1, 1);
}

/// Blocks of the same column in the order of the wrong groups: the producer would wait for a consumer that waits for
/// it.
TEST_F(DamagedPlan, BlocksOfAWindowInAnotherOrder) {
  saveWith(linearWithWindows());
  ByteVector changed = good;
  setWord(changed, 0, SPARSEC_PLAN_STEPS, 0, 1 * 65536);
  setWord(changed, 0, SPARSEC_PLAN_STEPS, 2, 0 * 65536);
  EXPECT_STATUS(loadPlan(mended(changed)), SPARSEC_STATUS_INVALID_PLAN,
                "has no step, or is not in the order of columns and groups");
}

/// Steps that are too far apart for the ring of X.
TEST_F(DamagedPlan, StepsThatSkipTooMuch) {
  LaunchInfoBuilder info = linearWithWindows();
  info.stages[2].slots = 2;
  loadWithPattern(info, 0);
  setArguments(64, 8 * 64, 512);
  setPattern({{0, 1, 2, 3, 4, 5, 6, 7}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN));
  good = savePlan();
  // Group 0 multiplies eight blocks. The steps of group 1 only wait: they begin at column 0 and then skip one each.
  const auto *offsets = static_cast<const int32_t *>(plan->variants[0].sections[SPARSEC_PLAN_STEP_OFFSETS]);
  const auto *steps = static_cast<const uint32_t *>(plan->variants[0].sections[SPARSEC_PLAN_STEPS]);
  ASSERT_EQ(offsets[1], 8);
  ASSERT_EQ(steps[8], 65535u * 65536);
  const int64_t begin = offsets[1], last = offsets[2] - 1;
  const uint32_t before = steps[last - 1] & 0xffff;
  refusesWord("steps of variant 0: expects column 0 to 0 at 8, but got 1", SPARSEC_PLAN_STEPS, begin,
              1 + 65535u * 65536);
  refusesWord("at 9, but got 3", SPARSEC_PLAN_STEPS, begin + 1, 3 + 65535u * 65536);
  ASSERT_LT(before + 1, 6u) << "the last step may come earlier";
  refusesWord("columns before the end of its window", SPARSEC_PLAN_STEPS, last, before + 1 + 65535u * 65536);
}

TEST_F(DamagedPlan, Streams) {
  saveWith(linearWithStreams(), SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST);
  // Stages: columns 0, 1 and 2, 3 of window 0, then 0, 1 of window 1, each with a word for two consumers.
  refusesWord("block row 1 at 1", SPARSEC_PLAN_WINDOW_ROWS, 0, 1);
  refusesWord("block row 0 at 7", SPARSEC_PLAN_WINDOW_ROWS, 7, 0);
  refusesWord("stage columns of variant 0: expects 10 elements, but got 8", SPARSEC_PLAN_STAGE_OFFSETS, -1, 4);
  refusesWord("stage columns of variant 0: expects block column 0 to 3 at 0, but got 4", SPARSEC_PLAN_STAGE_COLUMNS, 0,
              4);
  refusesWord("expects block column 0 to 3 at 0, but got -1", SPARSEC_PLAN_STAGE_COLUMNS, 0, minusOne);
  refusesWord("expects block column 1 to 3 at 1, but got -1", SPARSEC_PLAN_STAGE_COLUMNS, 1, minusOne);
  refusesWord("expects block column 2 to 3 at 2, but got 1", SPARSEC_PLAN_STAGE_COLUMNS, 2, 1);
  refusesWord("stage columns of variant 0: expects -1 behind the last stage, but got 0", SPARSEC_PLAN_STAGE_COLUMNS, -1,
              0);
  refusesWord("stage products of variant 0: expects only bits of 15 at 0, but got 21", SPARSEC_PLAN_STAGE_PRODUCTS, 0,
              0b10101);
  refusesWord("stage products of variant 0: expects only bits of 3 at 4, but got 5", SPARSEC_PLAN_STAGE_COLUMNS, 5,
              minusOne);
  refusesWord("stage products of variant 0: expects 0 behind the last stage, but got 1", SPARSEC_PLAN_STAGE_PRODUCTS,
              -1, 1);
  refusesWord("chunk offsets of variant 0: expects 1 chunks at 0, but got 0", SPARSEC_PLAN_CHUNK_OFFSETS, 1, 0);
  refusesWord("chunk offsets of variant 0: expects 2 chunks at 0, but got 1", SPARSEC_PLAN_STAGE_PRODUCTS, 0, 0b1111);
  refusesWord("chunk blocks of variant 0: block 9 at 0 is out of range", SPARSEC_PLAN_CHUNK_BLOCKS, 0, 9);
  refusesWord("chunk blocks of variant 0: block 0 at 1 is out of range, there twice", SPARSEC_PLAN_CHUNK_BLOCKS, 1, 0);
  refusesWord("chunk blocks of variant 0: the product at 0 has no block", SPARSEC_PLAN_CHUNK_BLOCKS, 0, minusOne);
  refusesWord("chunk blocks of variant 0: expects -1 behind the products at 3, but got 0", SPARSEC_PLAN_CHUNK_BLOCKS, 3,
              0);
  refusesWord("chunk blocks of variant 0: expects -1 behind the last chunk, but got 0", SPARSEC_PLAN_CHUNK_BLOCKS, -1,
              0);
  // A product of a row that is not there: row 5 would be the second one of window 1.
  refusesWord("chunk blocks of variant 0: block 8 at 8 is out of range, there twice, or of no block row",
              SPARSEC_PLAN_STAGE_PRODUCTS, 4, 0b0110);
}

/// Where a product has several rows, each may lack its block, but none may be lost.
TEST_F(DamagedPlan, StreamsOfBundles) {
  LaunchInfoBuilder info = linearWithStreams();
  info.stages[streamStage].product_rows = 128;
  loadWithPattern(info, 0);
  setPattern({{0, 1}, {0, 3}, {0, 1}, {3, 2}, {1}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  good = savePlan();
  // The first product has column 0 of rows 0 and 1: blocks 0 and 2.
  refusesWord("chunk blocks of variant 0: expects all 9 blocks", SPARSEC_PLAN_CHUNK_BLOCKS, 1, minusOne);
}

/// Kernels copy the columns of a stage at once, from the first one on.
TEST_F(DamagedPlan, StreamsOfAdjacentColumns) {
  LaunchInfoBuilder info = linearWithStreams();
  info.stages[streamStage].flags = SPARSEC_STAGE_ADJACENT_COLUMNS;
  loadWithPattern(info, 0);
  setPattern({{0, 1}, {0, 3}, {0, 1}, {3, 2}, {1}});
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_STATIC_PATTERN | SPARSEC_PLAN_FAST));
  good = savePlan();
  refusesWord("stage columns of variant 0: expects column 1 at 1, but got 2", SPARSEC_PLAN_STAGE_COLUMNS, 1, 2);
  refusesWord("stage columns of variant 0: expects columns from a multiple of 2 on at 0, but got 1",
              SPARSEC_PLAN_STAGE_COLUMNS, 0, 1);
}

/// Streams need a K that is a multiple of the block columns.
TEST_F(DamagedPlan, StreamsOfAnotherDepth) {
  saveWith(linearWithStreams());
  ByteVector changed = good;
  const int64_t depth = 4 * 64 - 1;
  std::memcpy(changed.data() + offsetof(SavedPlanHeader, sizes) + 4 * 8, &depth, 8);
  EXPECT_STATUS(loadPlan(mended(changed)), SPARSEC_STATUS_INVALID_PLAN,
                "variant 0 has streams, but K, 255, is not a multiple of the block columns, 64");
  const int64_t open = SPARSEC_DYNAMIC;
  std::memcpy(changed.data() + offsetof(SavedPlanHeader, sizes) + 4 * 8, &open, 8);
  EXPECT_STATUS(loadPlan(mended(changed)), SPARSEC_STATUS_INVALID_PLAN,
                "variant 0 holds a pattern, but sizes of the matrix are open");
}

} // namespace
