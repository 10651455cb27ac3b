// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The chip table: what the compiler knows about each GPU. Everything else asks here; nothing compares sm_ numbers.

#ifndef SPARSEC_COMPILER_TARGET_TARGETINFO_H
#define SPARSEC_COMPILER_TARGET_TARGETINFO_H

#include "MatrixInstructions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sparsec {

/// Percentages of packed blocks that stored blocks fill, by the shorter side of the stored ones.
struct PackedFills {
  int64_t ofLess = 50, of32 = 70, ofMore = 100;

  int64_t of(int64_t side) const { return side < 32 ? ofLess : side == 32 ? of32 : ofMore; }
};

/// The numbers of sparsec_plan_cost_key_t (launch_info.h), which the runtime's plans use.
struct PlanCosts {
  /// The time that a tile of a product, and one of attention, takes beyond its own steps, in steps: to fill the
  /// pipeline and to write the result.
  int64_t spmmTileOverhead;
  int64_t attentionTileOverhead;
  /// The time that a tile of attention with two block rows takes for some keys, as a percentage of that of a tile with
  /// one row beside another one.
  int64_t jointRows = 100;
  /// The time of a divided step of two block rows, as a percentage of that of as many keys in tiles of one row, and
  /// the time that a tile takes more if it has any.
  int64_t dividedStep = 100, division = 0;
  /// A product that stores at least this percentage of the blocks is faster in groups of tile rows than in whole
  /// panels. 101: never.
  int64_t groupedDensity;
  /// The percentage of the L2 cache that panels of X may fill that run at the same time. A GPU may keep a line twice,
  /// once for each half of its multiprocessors, and the next panels are read before the last rows of these ones end. 0:
  /// not measured, one panel runs at a time.
  int64_t panelCache = 0;
  /// The time to load a column of X for a window of block rows, as a percentage of the time of a block's product. 0:
  /// the instruction has no such programs.
  int64_t windowColumn = 0;
  /// A product that stores at least this percentage of the blocks is faster without windows. 101: never.
  int64_t windowDensity = 101;
  int64_t windowDensityOfShortProducts = 101; ///< the same where they are short (hasShortProducts)
  /// A product of fp8 with sums of two levels is faster without windows that have fewer blocks for a column than this
  /// percentage.
  int64_t windowSharingOfTwoLevels = 0;
  /// The same two for streams, where the product is that of a small block.
  int64_t streamColumn = 0;
  int64_t streamDensity = 101;
  /// A product with packed values is faster where stored blocks fill at least this percentage of the packed ones: with
  /// stored blocks of less than 32 rows or columns, with larger ones, and with 32 x 64 and 64 x 32 of 16 bits.
  int64_t packedFillOfSmallest = 50;
  int64_t packedFill = 70;
  int64_t packedFillOfLong = 70;
  int64_t packedFillOfTall = 70;
  /// The same with fp8, whose packed blocks are larger, for sums of two levels and of one.
  PackedFills packedFillsOfF8 = {}, packedFillsOfFastF8 = {};
};

/// The percentage of stored blocks from which the vendor's dense library was measured to be faster than a product with
/// bf16 and square blocks of this side (SPARSEC_PLAN_COST_DENSE_DENSITY). 0: it was not, or nothing was measured.
struct DenseDensities {
  int64_t of16 = 0, of32 = 0, of64 = 0;

  int64_t of(int64_t side) const { return side == 16 ? of16 : side == 32 ? of32 : side == 64 ? of64 : 0; }
};

inline constexpr EnumSet<ElementType> elements16 = {ElementType::Bf16, ElementType::F16};
inline constexpr EnumSet<ElementType> elements16And8 = {ElementType::Bf16, ElementType::F16, ElementType::F8E4M3,
                                                        ElementType::F8E5M2};

/// How fast a chip runs one of its matrix instructions, and the plan costs of kernels with this instruction.
struct InstructionRate {
  MatrixInstruction instruction;
  /// The element types that the instruction multiplies on this chip.
  EnumSet<ElementType> elementTypes = elements16;
  /// The chip has the instruction of fp8 only as that of f16 behind conversions.
  bool widensF8 = false;
  /// Dense 16-bit floating-point operations per clock and multiprocessor with f32 accumulators.
  double flopsPerClock;
  /// The share of this rate that a long chain of products reaches.
  double chainShare;
  PlanCosts planCosts;
};

/// The matrix instructions of a chip, the fastest first.
class InstructionList {
public:
  constexpr InstructionList(std::initializer_list<InstructionRate> list) : count(list.size()) {
    std::copy(list.begin(), list.end(), rates.begin());
  }

  constexpr const InstructionRate *begin() const { return rates.data(); }
  constexpr const InstructionRate *end() const { return rates.data() + count; }

private:
  std::array<InstructionRate, 4> rates = {};
  size_t count;
};

/// Data sheets do not give these properties. Times are in clocks. The values here suit the products that were measured
/// on an H200 (test/unit/schedule_recorded.cpp). A row of Targets.def that gives no other values uses them.
struct ChipTimes {
  /// The time from a request to L2 until its data arrives.
  double l2Latency = 800;
  /// L2 moves pieces of so many bytes; rows that are shorter cost a whole one.
  double l2PieceBytes = 64;
  /// A line that is not asked for whole costs more than its pieces: the part that is missing costs the share of
  /// `partialLineBytes` that it is of a line (bench/notes/schedule-sweeps.md).
  double l2LineBytes = 128;
  double partialLineBytes = 12;
  /// CTAs that work on different blocks do not run in lockstep, so their equal requests are not merged: the L2 rate of
  /// a sparse product falls to this share.
  double sparseL2Share = 0.73;
  /// Resources overlap, but not perfectly: this share of what the slower one should hide still shows.
  double exposedShare = 0.1;
  /// Both CTAs of a cluster wait for the slower one, and clusters drift apart where CTAs would stay in step: a factor.
  double clusterOverhead = 1.06;
  /// A barrier of all warps of a CTA.
  double barrier = 50;
  /// The time until the first chain of a tile runs. With two roles, the producer already works on the next tile.
  double fillOfOneRole = 1500;
  double fillOfTwoRoles = 300;
};

/// One row of Targets.def. Sizes are in bytes, rates are per clock of the multiprocessor (SM). A row
/// that does not give a field has the value that stands here.
struct Chip {
  std::string_view name;
  /// 10 * major + minor.
  int64_t computeCapability;
  /// Code for this row runs on exactly this capability ("a" in the name).
  bool archSpecific;
  /// The PTX version that LLVM emits, as an NVPTX feature.
  std::string_view ptxFeature;
  /// The same for modules with products of fp8, where their instructions need a later version. Other modules keep the
  /// earlier one, which older drivers compile.
  std::string_view ptxFeatureOfF8 = ptxFeature;

  int64_t multiprocessors;
  int64_t sharedMemoryPerCta;
  int64_t sharedMemoryPerMultiprocessor;
  /// The hardware reserves this much more shared memory for each resident CTA.
  int64_t reservedSharedMemoryPerCta = 1024;
  int64_t registersPerMultiprocessor;
  /// A warp gets registers in units of so many.
  int64_t registerUnit = 256;
  int64_t maxRegistersPerThread;
  /// The registers of a thread that a chosen schedule may need; a schedule written by hand may go to
  /// maxRegistersPerThread.
  int64_t preferredRegistersPerThread;
  int64_t maxThreadsPerMultiprocessor;
  int64_t maxThreadsPerCta = 1024;
  /// Warps that issue an instruction in the same clock.
  int64_t schedulers = 4;
  /// f32 operations and exponentials that begin in a clock.
  int64_t floatLanes = 128;
  int64_t exponentialLanes = 16;

  bool hasClusters;
  EnumSet<CopyMethod> copies;
  InstructionList instructions;
  DenseDensities denseDensities = {};

  /// Bytes per clock from L2 to all multiprocessors together.
  double l2BytesPerClock;
  double l2BytesPerClockOfOneMultiprocessor = 64;
  double sharedMemoryBytesPerClock = 128;
  ChipTimes times = {};

  /// A kernel may start before the one in front of it has ended, and wait for it (griddepcontrol, PTX ISA 9.7.13.13).
  bool hasDependentLaunch() const { return computeCapability >= 90; }
  /// The rate of an instruction, or null where the chip does not have it.
  const InstructionRate *find(MatrixInstruction instruction) const;
};

/// The name of the target that has no chip: kernels become loops for the processor.
inline constexpr std::string_view hostTarget = "host";

/// The runtime gives the tiles of a host kernel to threads as they become free. Its plans have no lists that these
/// numbers could change.
inline constexpr PlanCosts hostPlanCosts = {.spmmTileOverhead = 0, .attentionTileOverhead = 0, .groupedDensity = 101};

/// All rows of the table.
std::span<const Chip> chips();

/// The row of that name, or null.
const Chip *findChip(std::string_view name);

/// True for the name of a chip and for "host".
bool isKnownTarget(std::string_view name);

/// "sm_80, sm_86, sm_89, sm_90a, sm_120, host", for messages.
std::string knownTargets();

} // namespace sparsec

#endif // SPARSEC_COMPILER_TARGET_TARGETINFO_H
