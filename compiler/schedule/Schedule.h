// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inputs and results of the choice of a schedule, as plain structs without MLIR: the problem, the schedule itself,
// and whether it fits a chip. ScheduleAttribute.h converts to and from #sparsec.schedule.

#ifndef SPARSEC_COMPILER_SCHEDULE_SCHEDULE_H
#define SPARSEC_COMPILER_SCHEDULE_SCHEDULE_H

#include "MatrixInstructions.h"

#include <cstdint>
#include <string>

namespace sparsec {

/// Sizes that are not known at compile time count as this many elements.
inline constexpr int64_t assumedSize = 8192;

/// If sums have two levels, a stage has at most this depth: SPEC states the error of sums over so much of K.
inline constexpr int64_t mostDepthOfPart = 128;

/// Slots of the ring of scales of X that a role of its own fills: 2 KB of them. Tiles of few columns have the shortest
/// steps, for which more copies have to be on their way.
constexpr int64_t scaleStages(int64_t tileN) { return tileN <= 256 ? 512 / tileN : 2; }
/// Where slots of operands have scales of X too, tensor copies bring tiles of them: so many parts of K, which are a
/// line of 128 bytes for each column, in so many stages.
constexpr int64_t scaleTileParts = 32, scaleTileStages = 2;

/// A product Y = W X, as far as it is known at compile time.
struct ProblemDescription {
  ElementType elementType = ElementType::Bf16;
  int64_t outputBytes = 2;
  int64_t blockRows = 0;
  int64_t blockColumns = 0;
  /// W is m x k, X is k x n.
  int64_t m = assumedSize;
  int64_t k = assumedSize;
  int64_t n = assumedSize;
  /// No launch has fewer columns of X.
  int64_t leastN = 1;
  /// Expected fraction of blocks that are there.
  double density = 0.25;
  /// W is stored as k x m, X as n x k, and Y as n x m.
  bool wTransposed = false, xTransposed = false, yTransposed = false;
  /// Bytes that the epilogue reads for each result element (extra operands of the shape of Y).
  int64_t epilogueBytes = 0;
  /// The kernel has an epilogue region.
  bool hasEpilogue = false;
  /// Sums over a stage are added to those of the tile in f32, by other instructions (`sparsec.promote`).
  bool hasTwoLevels = false;
  /// Sums of a block are multiplied by scales before they are added: one for the block, or with `hasXScale` one for
  /// each column and 128 of K.
  bool hasScales = false, hasXScale = false;
  /// Every 64 columns of a tile lie together in the result, as tensor stores write them.
  bool storesInBoxes = true;
  /// The columns of every tile, where the problem says so. A product of two block-sparse matrices is described as that
  /// of A and of as many columns as a block of B has: a tile has rows of one block of the result. 0: any columns.
  int64_t tileColumns = 0;
};

/// A dense product A B^T that is sampled at the blocks of a pattern, described as the product of A,
/// whose rows are dense, and of as many columns as are stored in a row of blocks. A tile has blocks of one block row.
/// `wTransposed` and `xTransposed` say that A is K x M and B is N x K. Steps go along K, `blockColumns` at a time.
struct SampledDescription : ProblemDescription {
  /// The columns of a block of the pattern.
  int64_t patternColumns = 0;
};

/// The product as tiles of an instruction cover it: an instruction that a consumer does not repeat has all its rows
/// also where a block has fewer, and a tile has a whole block at least.
ProblemDescription productOf(const SampledDescription &problem, MatrixInstruction instruction);

/// The columns of a buffer for `columns` of B: tensor copies bring whole strips.
int64_t columnsOfStrips(int64_t columns);

/// The columns of a tile from one block to the next, where each block brings `blockColumns` of B. In slots of units of
/// 16 bytes they are a power of two. Tensor copies with K contiguous (`isTransposed`) bring blocks side by side.
/// Otherwise they bring 64 columns at a time, and so they do for blocks that do not fill such 64 columns.
int64_t blockStride(MatrixInstruction instruction, int64_t blockColumns, bool isTransposed);
int64_t blockStride(MatrixInstruction instruction, const SampledDescription &problem);

/// The steps of a tile. The values equal those of the dialect.
enum class TileWalk { Blocks = 1, Windows = 2, Streams = 3, Joint = 4 };

/// The fields of #sparsec.schedule; see dialect/SparsecAttrs.td for what they mean.
struct Schedule {
  MatrixInstruction instruction = MatrixInstruction::MmaSync;
  CopyMethod copy = CopyMethod::Scalar;
  int64_t tileM = 0;
  int64_t tileN = 0;
  int64_t tileK = 0;
  int64_t stages = 0;
  int64_t consumersM = 1;
  int64_t consumersN = 1;
  int64_t cluster = 1;
  int64_t producerRegisters = 0;
  int64_t consumerRegisters = 0;
  int64_t groupM = 16;
  int64_t ctasPerSm = 1;
  int64_t concurrentTiles = 1;
  TileWalk walk = TileWalk::Blocks;
  int64_t blockStages = 0;
  int64_t slices = 1;

  bool operator==(const Schedule &) const = default;
};

/// "wgmma tma 64x512x64 stages 3 consumers 1x2 cluster 2 registers 40/232 group_m 128"; what has its default value is
/// left out. Without a matrix instruction there are no depth and no stages: "vector 16x64 consumers 4x1 ctas_per_sm 8".
std::string toString(const Schedule &schedule);

/// "blocks", "windows", "streams" or "joint", as the dialect spells it.
const char *nameOf(TileWalk walk);

/// The part of it from "consumers" on.
std::string describeRoles(const Schedule &schedule);

/// The bytes to which the runtime must have checked pointers and row strides before it launches this schedule: those of
/// one copy.
int64_t requiredAlignment(const Schedule &schedule, int64_t elementBytes);

/// True where a role of its own copies.
bool hasProducer(const Schedule &schedule);

/// Threads of one CTA: the consumers and, where roles are split, the producer's.
int64_t threads(const Schedule &schedule);
int64_t consumerThreads(const Schedule &schedule);

/// Steps of the block loop for one block when the block is cut into chunks, else 1.
int64_t chunks(const Schedule &schedule, int64_t blockColumns);

/// Blocks in one stage when a stage holds several, else 1.
int64_t blocksPerStep(const Schedule &schedule, int64_t blockColumns);

/// Whether a product copies its blocks as lines of 128 bytes, two or four rows each, which takes fewer requests than
/// rows do. A line cannot leave out what is beyond K. Slices are for few columns, and another schedule takes such calls
/// where K ends in a block. The rows of a tile in a block end where the swizzle of lines does.
bool copiesLines(const Schedule &schedule, const ProblemDescription &problem);

/// Whether a product has X as its A operand. The columns of X are then rows of the accumulators: a tile may have fewer
/// rows than the instruction, and a thread has few scales of X. Every consumer has all rows of the tile. Slices have so
/// few columns that scales do not matter.
bool swapsOperands(const Schedule &schedule, bool hasXScale);

/// The bytes of which pointers and rows of X have to be multiples. With X as K x N and 17 to 64 columns, other rows
/// begin and end inside of what L2 moves (sectors of 32 bytes, two as a rule): the program that copies rows as they are
/// in memory is faster then, but for tensor copies to tiles of 64 rows (bench/notes/small-widths-rows.md).
int64_t unitOfRows(const Schedule &schedule, const ProblemDescription &problem);

/// The columns of a consumer that are multiplied at a time where sums have two levels: the largest divisor whose sums
/// of a stage fit in the registers beside those of the tile.
int64_t promotedColumns(const Schedule &schedule, bool hasXScale);

/// How a tile with walk = streams is divided. The transpose of a block is the B operand of wgmma, whose instructions
/// with fewer columns than 32 take as long as those with 32 (bench/notes/streams.md). It is the A operand of mma.sync.
struct StreamShape {
  static constexpr int64_t columnProducers = 4; ///< with mma.sync; they take turns with the stages
  static constexpr int64_t columnsOfPart = 64;  ///< with mma.sync: those of X that a warp has in registers at once
  int64_t productRows;                          ///< rows of the tile that a product has
  int64_t consumerRows;                         ///< rows of the tile that a consumer has
  int64_t stageColumns;                         ///< block columns of the window in a stage of X
  int64_t chunkProducts;                        ///< products whose blocks come together: those of a column or more
  int64_t slots;                                ///< of a consumer in the ring of blocks: warps have one for all chunks
  int64_t slotProducts;                         ///< products whose blocks have room in a slot

  int64_t productsOfColumn() const { return consumerRows / productRows; }
};
StreamShape streamShape(const Schedule &schedule, int64_t blockColumns);

/// How many CTAs share the rows of a window: with streams those of a cluster, which also share the columns of X.
int64_t ctasOfWindow(const Schedule &schedule);

int64_t productRows(MatrixInstruction instruction);

/// Whether a group multiplies a block of a window in 256 cycles, and not in 512: its rows have 64 bytes, those of fp8
/// or of 32 columns with 16 bits.
constexpr bool hasShortProducts(int64_t rowBytes) { return rowBytes <= 64; }

/// The threads that take turns with the blocks of a window. One needs some 390 cycles for a block
/// (bench/notes/fp8-products.md).
constexpr int64_t blockProducersOfWindow(int64_t rowBytes) { return hasShortProducts(rowBytes) ? 2 : 1; }

/// Whether products of fp8 are those of f16: with streams by mma.sync, whose sums then have all bits of f32 and one
/// level.
bool widensF8(const Schedule &schedule);

/// Whether consumers copy blocks for themselves, while a producer copies X.
bool copiesOwnBlocks(const Schedule &schedule);

/// A launch that splits the K of a product's tiles makes no part with less of K.
inline constexpr int64_t leastPartDepth = 512;

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_SCHEDULE_H
