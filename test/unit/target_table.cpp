// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The chip table.

#include "TargetInfo.h"

#include <gtest/gtest.h>
#include <limits>
#include <tuple>

using namespace sparsec;

static bool hasCopyFor(const Chip &chip, const MatrixInstructionInfo &instruction) {
  return std::ranges::any_of(copies(), [&](const CopyInfo &copy) {
    return chip.copies.contains(copy.copy) && copy.slotLayout == instruction.slotLayout;
  });
}

/// A row without plan costs has zeros: groups at any density.
static void expectPlanCosts(const PlanCosts &costs) {
  EXPECT_TRUE(costs.spmmTileOverhead > 0 && costs.spmmTileOverhead < 100);
  EXPECT_TRUE(costs.attentionTileOverhead > 0 && costs.attentionTileOverhead < 100);
  EXPECT_TRUE(costs.groupedDensity > 0 && costs.groupedDensity <= 101);
  EXPECT_TRUE(costs.panelCache >= 0 && costs.panelCache <= 100);
  EXPECT_TRUE(costs.jointRows > 0 && costs.jointRows <= 100);
  EXPECT_TRUE(costs.dividedStep >= costs.jointRows && costs.dividedStep < 2 * costs.jointRows);
  EXPECT_TRUE(costs.division >= 0 && costs.division < 1000);
}

TEST(TargetTable, FindsChipsByName) {
  ASSERT_NE(findChip("sm_90a"), nullptr);
  EXPECT_EQ(findChip("sm_90a")->name, "sm_90a");
  EXPECT_EQ(findChip("sm_90a")->computeCapability, 90);
  EXPECT_EQ(findChip("sm_89")->computeCapability, 89);
  EXPECT_EQ(findChip("sm_90"), nullptr);
  EXPECT_EQ(findChip(""), nullptr);
}

TEST(TargetTable, HostIsATargetButNoChip) {
  EXPECT_EQ(findChip(hostTarget), nullptr);
  EXPECT_TRUE(isKnownTarget("host"));
  EXPECT_TRUE(isKnownTarget("sm_89"));
  EXPECT_FALSE(isKnownTarget("sm_100a"));
}

TEST(TargetTable, ListsAllTargets) { EXPECT_EQ(knownTargets(), "sm_80, sm_86, sm_89, sm_90a, sm_120, host"); }

// The documented limits of dynamic shared memory for each compute capability.
TEST(TargetTable, SharedMemoryLimits) {
  EXPECT_EQ(findChip("sm_90a")->sharedMemoryPerCta, 227 * 1024);
  EXPECT_EQ(findChip("sm_89")->sharedMemoryPerCta, 99 * 1024);
  EXPECT_EQ(findChip("sm_80")->sharedMemoryPerCta, 163 * 1024);
  EXPECT_EQ(findChip("sm_86")->sharedMemoryPerCta, 99 * 1024);
  EXPECT_EQ(findChip("sm_120")->sharedMemoryPerCta, 99 * 1024);
}

TEST(TargetTable, RowsAreConsistent) {
  for (const Chip &chip : chips()) {
    SCOPED_TRACE(chip.name);
    EXPECT_EQ(chip.archSpecific, chip.name.ends_with('a'));
    EXPECT_EQ(chip.name, "sm_" + std::to_string(chip.computeCapability) + (chip.archSpecific ? "a" : ""));
    double slowest = std::numeric_limits<double>::infinity();
    for (const InstructionRate &rate : chip.instructions) {
      EXPECT_GT(rate.flopsPerClock, 0);
      EXPECT_LT(rate.flopsPerClock, slowest) << "the fastest first";
      slowest = rate.flopsPerClock;
      EXPECT_TRUE(rate.chainShare > 0 && rate.chainShare <= 1);
      expectPlanCosts(rate.planCosts);
      EXPECT_TRUE(hasCopyFor(chip, infoOf(rate.instruction))) << infoOf(rate.instruction).name;
    }
    EXPECT_TRUE(chip.copies.contains(CopyMethod::Scalar)) << "operands that nothing else can copy";
    EXPECT_NE(chip.find(MatrixInstruction::MmaSync), nullptr) << "blocks that are too small for anything else";
    EXPECT_TRUE(chip.ptxFeature.starts_with("ptx"));
    EXPECT_EQ(chip.sharedMemoryPerCta + chip.reservedSharedMemoryPerCta, chip.sharedMemoryPerMultiprocessor);
    EXPECT_LE(chip.preferredRegistersPerThread, chip.maxRegistersPerThread);
  }
}

// The PTX ISA: wgmma and mma.sync of fp8 need sm_89 or later, and mma.sync the version 8.4.
TEST(TargetTable, ElementTypes) {
  for (const Chip &chip : chips())
    for (const InstructionRate &rate : chip.instructions) {
      SCOPED_TRACE(testing::Message() << chip.name << " " << infoOf(rate.instruction).name);
      for (ElementType type : {ElementType::Bf16, ElementType::F16})
        EXPECT_TRUE(rate.elementTypes.contains(type));
      for (ElementType type : {ElementType::F8E4M3, ElementType::F8E5M2})
        EXPECT_EQ(rate.elementTypes.contains(type), chip.computeCapability >= 89);
      EXPECT_TRUE(chip.computeCapability < 89 || chip.ptxFeatureOfF8 >= "ptx84");
    }
  EXPECT_EQ(findChip("sm_90a")->ptxFeatureOfF8, findChip("sm_90a")->ptxFeature);
}

// infoOf takes the row by the value of the enum.
TEST(TargetTable, RowsAreInTheOrderOfTheDialect) {
  for (const MatrixInstructionInfo &info : matrixInstructions())
    EXPECT_EQ(&infoOf(info.instruction), &info) << info.name;
  for (const CopyInfo &info : copies())
    EXPECT_EQ(&infoOf(info.copy), &info) << info.name;
}

// No chip has to have what every processor has: kernels without products are no row of a table.
TEST(TargetTable, KernelsWithoutProducts) {
  EXPECT_STREQ(infoOf(MatrixInstruction::None).name, "none");
  EXPECT_EQ(infoOf(MatrixInstruction::None).threads, 32);
  EXPECT_STREQ(infoOf(CopyMethod::Vector).name, "vector");
  EXPECT_EQ(infoOf(CopyMethod::Vector).alignment, 16);
  EXPECT_EQ(infoOf(CopyMethod::Vector).producerThreads, 0);
  for (const Chip &chip : chips()) {
    EXPECT_EQ(chip.find(MatrixInstruction::None), nullptr) << chip.name;
    EXPECT_FALSE(chip.copies.contains(CopyMethod::Vector)) << chip.name;
  }
}

// The shapes of the PTX ISA: wgmma.mma_async.m64nNk16 and mma.sync.m16n8k16.
TEST(TargetTable, InstructionShapes) {
  const MatrixInstructionInfo &wgmma = infoOf(MatrixInstruction::Wgmma), &mma = infoOf(MatrixInstruction::MmaSync);
  EXPECT_EQ(std::tuple(wgmma.m, wgmma.mostN, wgmma.depthBytes, wgmma.threads), std::tuple(64, 256, 32, 128));
  EXPECT_EQ(std::tuple(mma.m, mma.mostN, mma.depthBytes, mma.threads), std::tuple(16, 8, 32, 32));
  EXPECT_TRUE(wgmma.a.contains(Place::Registers) && wgmma.a.contains(Place::SharedMemory));
  EXPECT_FALSE(wgmma.b.contains(Place::Registers));
  EXPECT_FALSE(mma.a.contains(Place::SharedMemory) || mma.b.contains(Place::SharedMemory));
}
