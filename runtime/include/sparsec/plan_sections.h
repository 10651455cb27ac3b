/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * plan_sections.h: the sections of plans, which machine kernels read, the numbers
 * with which plans are made, and the auxiliary kernels. A part of launch_info.h,
 * whose stages say how they use the sections (sparsec_stage_info_t).
 */
#ifndef SPARSEC_PLAN_SECTIONS_H
#define SPARSEC_PLAN_SECTIONS_H

#include <stdint.h>

/* Sections of a plan. New operations add sections. They do not affect kernels that
 * do not name them. */
typedef enum sparsec_plan_section_e {
  /* uint32[workers + 1]: worker w (a CTA, a cluster of CTAs, or a concurrent tile of a CTA) owns the tiles
   * [offsets[w], offsets[w + 1]). */
  SPARSEC_PLAN_TILE_OFFSETS = 0,
  /* {uint32 tile row, uint32 panel}[tiles]; see sparsec_stage_info_t. If the stage takes SPARSEC_SOURCE_PERIOD, lists
   * may hold the tiles of a period of panels only. Workers then run their lists for the panels from 0, from the period,
   * from twice the period on, and so on up to the result's end. In such lists panels ascend, so that the first tile
   * beyond the result is the end of a round. */
  SPARSEC_PLAN_TILES = 1,
  /*
   * The sections of windows. A window has g block rows, one for each consumer of a CTA, which share the columns
   * of X that they load; g = tile_m / block rows. The window's columns are the block columns in which any of its rows
   * has a block, in ascending order. They are counted from 0 in every window, and so are its blocks.
   */
  /* int32[windows * g]: the block row of each group, every block row once; -1: none, behind the rows of a window that
   * has fewer. A plan for a known width may have more windows than full ones would be, so that the last tiles of all
   * workers end together. */
  SPARSEC_PLAN_WINDOW_ROWS = 2,
  /* int32[windows + 1]: window w has the columns [offsets[w], offsets[w + 1]) of SPARSEC_PLAN_COLUMNS. */
  SPARSEC_PLAN_COLUMN_OFFSETS = 3,
  /* uint32[columns + 1]: 8 * block column + the number of groups that have no step for this column. A reader may load
   * one entry more than there are. */
  SPARSEC_PLAN_COLUMNS = 4,
  /* int32[windows + 1]: window w has the blocks [offsets[w], offsets[w + 1]) of SPARSEC_PLAN_BLOCKS. */
  SPARSEC_PLAN_BLOCK_OFFSETS = 5,
  /* {int32 block, int32 block column}[blocks + 1]: the number of each block in the matrix, by column, then by group. */
  SPARSEC_PLAN_BLOCKS = 6,
  /* int32[windows * g + 1]: group i of window w has the steps [offsets[g * w + i], offsets[g * w + i + 1]). */
  SPARSEC_PLAN_STEP_OFFSETS = 7,
  /* uint32[steps + 1]: the number of the column in the window + 65536 * the number of the block in the window. 65535 as
   * the block: a step that multiplies nothing, only waits for the column. Plans have such steps so that a group never
   * skips `slots` columns or more, from window to window too: at most slots / 2 at a window's end, and at most
   * slots - slots / 2 - 1 at its begin. Every group has a step in every window that has columns. */
  SPARSEC_PLAN_STEPS = 8,
  /*
   * The sections of streams, for small blocks. A variant with streams takes SPARSEC_PLAN_WINDOW_ROWS too, and windows
   * of g = tile_m / block rows block rows. Consumer 0 has the first consumer_rows / block rows of them, consumer 1
   * the next ones, and so on, first those of the first CTA of the cluster. The block rows of a consumer form p =
   * consumer_rows / product_rows bundles of product_rows / block rows neighbours. A product multiplies the blocks
   * that a bundle has in one column by that column of X. It exists if the bundle has a block there. Its row is the
   * number of the bundle, from 0 in each consumer.
   * The columns of a window come in stages of c = tile_k / block columns. Each consumer reads a stream: the blocks of
   * its products by stage, then by column, then by row (with SPARSEC_STAGE_ADJACENT_COLUMNS by stage, then by row, then
   * by column), in chunks of chunk_products products. Every window begins a new chunk in each stream. A plan has
   * streams only if K is a multiple of the block columns.
   */
  /* int32[windows + 1]: window w has the stages [offsets[w], offsets[w + 1]). */
  SPARSEC_PLAN_STAGE_OFFSETS = 9,
  /* int32[c * stages + c]: the block columns of each stage. They ascend over a window. -1: no column; a copy from there
   * brings zeros. Only the end of a window's last stage has none. A reader may load one stage more than there are. With
   * SPARSEC_STAGE_ADJACENT_COLUMNS a stage has the columns [c * i, c * i + c) that are there. */
  SPARSEC_PLAN_STAGE_COLUMNS = 10,
  /* uint32[consumers * stages + consumers]: the word consumers * s + i is that of consumer i in stage s. Its bit
   * j * p + r says whether there is a product of column j of the stage and row r, where p is the number of rows; with
   * SPARSEC_STAGE_ADJACENT_COLUMNS its bit r * c + j. A reader may load one stage more than there are. */
  SPARSEC_PLAN_STAGE_PRODUCTS = 11,
  /* int32[windows * consumers + 1]: consumer i has the chunks [offsets[consumers * w + i],
   * offsets[consumers * w + i + 1]) of window w. */
  SPARSEC_PLAN_CHUNK_OFFSETS = 12,
  /* int32[(chunks + 1) * chunk_products * product_rows / block rows]: the number of each block in the matrix, those of
   * a product by row. -1: no block; a copy from there brings zeros. Such entries are in products where some row of the
   * bundle has no block, and behind the last product of a window. A reader may load one chunk more than there are. */
  SPARSEC_PLAN_CHUNK_BLOCKS = 13,
  /*
   * The sections of a transposed operand, W as (K, M): its blocks by the block rows of the M x K matrix, that is by the
   * block columns of the argument. A plan has them if the pattern is static. In the other sections, too, rows and
   * columns are those of the M x K matrix, and the number of a block is its place among the values.
   */
  /* int32[block rows + 1]: row i has the positions [starts[i], starts[i + 1]) of the two sections below. */
  SPARSEC_PLAN_ROW_STARTS = 14,
  /* int32[blocks]: the block column of each block. They ascend in a row. */
  SPARSEC_PLAN_ROW_COLUMNS = 15,
  /* int32[blocks]: the number of each block. */
  SPARSEC_PLAN_ROW_BLOCKS = 16,
  /*
   * The sections of a product of two block-sparse matrices (sparsec_spgemm_slot_t). A pair is a stored block (i, k) of
   * A and a stored block (k, j) of B; it belongs to block (i, j) of the result. With a pattern, blocks of the result
   * are its stored blocks. Without one they are all blocks, in the order of a row-major matrix of
   * ceil(N / block columns) columns. A plan has these sections if the patterns are static. The pairs of a block go in
   * the order of A's block row.
   */
  /* int32[result blocks + 1]: block b has the pairs [starts[b], starts[b + 1]). */
  SPARSEC_PLAN_PAIR_STARTS = 17,
  /* {int32 block of A, int32 block of B, int32 k}[pairs + 1]: the numbers among the stored blocks, and that of their
   * block column or block row. A reader may load one pair more than there are. */
  SPARSEC_PLAN_PAIRS = 18,
  /*
   * The sections of packed values: those blocks of R x C elements in which the matrix has a stored block of r x c,
   * where r divides R and c divides C. Rows and columns are those of the matrix as the caller stores it. A plan has
   * them if it is made with SPARSEC_PLAN_PACK and stored blocks fill enough of the packed ones. The other sections of a
   * variant with packed values number packed blocks.
   */
  /* int32[packed block rows + 1]: row i has the packed blocks [starts[i], starts[i + 1]). */
  SPARSEC_PLAN_PACKED_STARTS = 19,
  /* int32[packed blocks]: the packed block column of each. They ascend in a row. */
  SPARSEC_PLAN_PACKED_COLUMNS = 20,
  /* int32[packed blocks][R / r][C / c]: the number of the stored block that is there; -1: none, its elements are 0. */
  SPARSEC_PLAN_PACKED_SOURCES = 21,
  /*
   * Scratch memory of the kernels that refill a plan (sparsec_plan_refill). Only such plans have it.
   */
  /* int32[slices][block columns]: how many blocks each block column of the argument has in a slice, that is in
   * SPARSEC_SLICE_ROWS block rows of the argument. */
  SPARSEC_PLAN_COLUMN_COUNTS = 22,
  /* int32[windows][1 + n]: how many columns a window has (with streams: stages), and how many steps each of its n = g
   * groups (with streams: chunks, of its n consumers). */
  SPARSEC_PLAN_WINDOW_COUNTS = 23,
  /* int32[block rows of A]: how many pairs the blocks of a row of the result have. */
  SPARSEC_PLAN_PAIR_COUNTS = 24,
  /* int32[windows][2]: how many columns a window has, and how many blocks (with streams: products). */
  SPARSEC_PLAN_WINDOW_SIZES = 25,
  /*
   * The sections of tiles that are cut along K, or in attention along the keys. A plan has them if all workers then end
   * together, which they do not with whole tiles; that of a product only if the pattern is static and nearly dense. A
   * tile is in one list, or its first blocks are in the list of a worker and the other ones in that of the next worker.
   * A worker has at most one tile of either kind. In attention the list of a worker begins with its first part.
   */
  /* uint32[workers + 1]: worker w has the tiles [offsets[w], offsets[w + 1]). It is cluster w, or with n tiles side by
   * side in a CTA tile w % n of CTA w / n. */
  SPARSEC_PLAN_CUT_OFFSETS = 26,
  SPARSEC_PLAN_CUT_TILES = 27, /* sparsec_cut_tile_t[tiles] */
  /*
   * The joint lists of attention: a tile has two neighbouring block rows of the pattern, and walks the key blocks that
   * one of them sees. A plan has them if the pattern is static and if they are faster than the lists of single rows,
   * whose tiles load a block once for each row. Causal and window have been considered: a block is in a row only if
   * some query of the row may see some key of it.
   */
  /* {uint32 begin, uint32 end}[batches * heads * n] of Q, with n = ceil(block rows / 2): tile j of a head, which has
   * the block rows 2 j and 2 j + 1, walks the entries [begin, end) of SPARSEC_PLAN_JOINT_BLOCKS. Its number is
   * (batch * heads + head) * n + j. The tiles of heads that share lists have the same entries. */
  SPARSEC_PLAN_JOINT_RANGES = 28,
  /* uint32[entries + 1]: the number of a key block, and bits of both rows (SPARSEC_JOINT_PARTIAL,
   * SPARSEC_JOINT_ABSENT). A list has whole steps of tile_n / block columns entries, or of one. An entry
   * that fills up the last of the shared steps is in neither row and has the number 0. In a shared step both rows walk
   * all entries. Behind the shared steps, of which a list that is not empty has one at least, a list may have divided
   * ones of two entries (SPARSEC_JOINT_DIVIDED): the first row sees and walks the first entry alone, the second row the
   * second one. The last entry is zero. */
  SPARSEC_PLAN_JOINT_BLOCKS = 29,
} sparsec_plan_section_t;

/* A worker does one of these with the sum of a tile of SPARSEC_PLAN_CUT_TILES. */
typedef enum sparsec_cut_kind_e {
  SPARSEC_CUT_WHOLE = 0, /* stores it */
  SPARSEC_CUT_FIRST = 1, /* writes it for the next worker */
  SPARSEC_CUT_REST = 2,  /* adds that of the worker before, or in attention goes on with it, and stores it */
} sparsec_cut_kind_t;

#define SPARSEC_CUT_KIND_SHIFT 30 /* of the kind in its word */

/* Blocks of a tile: `count` of them from `first` on, counted from the first block of its row, or in attention of its
 * list: the partial blocks, then the full ones; all keys in steps of tile_n where there is no pattern. There whole
 * tiles and rests end behind 2^30 - 1 blocks, which means the end of the list. */
typedef struct sparsec_cut_tile_s {
  uint32_t tile_row, panel;
  uint32_t first;
  uint32_t count_and_kind;
} sparsec_cut_tile_t;

/* The parts of an entry of SPARSEC_PLAN_JOINT_BLOCKS. The bits are those of the first row; those of the second row are
 * one place higher. */
#define SPARSEC_JOINT_BLOCK_MASK 0xffffffu
#define SPARSEC_JOINT_PARTIAL 0x4000000u /* the row sees the block, and the mask region applies */
#define SPARSEC_JOINT_ABSENT 0x10000000u /* the row does not see the block */
/* The step is divided. This bit is of the entry, not of a row. */
#define SPARSEC_JOINT_DIVIDED 0x80000000u

#define SPARSEC_SLICE_ROWS 32 /* block rows; see SPARSEC_PLAN_COLUMN_COUNTS */

/*
 * Numbers that the plans of a variant use. The compiler takes them from its table of chips, because they depend on the
 * chip and on the matrix instruction. A variant has each number of its operation once; one without windows and streams
 * needs none that is for them. Host plans have no tile lists and use none of them.
 */
typedef enum sparsec_plan_cost_key_e {
  /* The time that a tile takes beyond its own steps, in steps: to fill the pipeline and to write the result. */
  SPARSEC_PLAN_COST_TILE_OVERHEAD = 1,
  /* SpMM: if at least this percentage of the blocks is stored, a plan takes the tiles in groups of group_m tile rows
   * instead of whole panels. 101: never. */
  SPARSEC_PLAN_COST_GROUPED_DENSITY = 2,
  /* SpMM with windows: the time to load a column of X, as a percentage of the time of a block's product. With streams:
   * the time that a column of X adds to that of the products. */
  SPARSEC_PLAN_COST_COLUMN = 3,
  /* SpMM with windows or streams: if at least this percentage of the blocks is stored, a plan makes none, and another
   * variant runs. 101: never. */
  SPARSEC_PLAN_COST_WINDOW_DENSITY = 4,
  /* SpMM with packed values: if stored blocks fill less than this percentage of the packed blocks, a plan packs
   * none, and another variant runs. */
  SPARSEC_PLAN_COST_PACKED_FILL = 5,
  /* SpMM with windows, optional: if windows have fewer blocks for a column of X than this percentage, where 100 is one
   * block, a plan makes none, and another variant runs. Windows that are refilled are made all the same. */
  SPARSEC_PLAN_COST_WINDOW_SHARING = 6,
  /* SpMM, optional: if at least this percentage of the blocks is stored, the product of dense matrices by the vendor's
   * library was measured to be faster. Plans say so, and do nothing else. */
  SPARSEC_PLAN_COST_DENSE_DENSITY = 7,
  /* SpMM, optional: the percentage of the L2 cache that panels of X may fill that run at the same time. A plan runs as
   * many as read the fewest bytes of X and of blocks together. Without the number it runs one at a time. */
  SPARSEC_PLAN_COST_PANEL_CACHE = 8,
  /* Attention with joint lists: the time that such a tile takes for some keys, as a percentage of the time that a tile
   * of the variant for single block rows takes for as many. */
  SPARSEC_PLAN_COST_JOINT_ROWS = 9,
  /* Attention with joint lists, optional: the time of a divided step, as a percentage of the time that a tile of the
   * variant for single block rows takes for as many keys as one row has in it. Joint lists have divided steps only for
   * variants with this number. */
  SPARSEC_PLAN_COST_DIVIDED_STEP = 10,
  /* Attention with joint lists, optional: the time that a tile takes more if it has divided steps, in the unit of
   * SPARSEC_PLAN_COST_DIVIDED_STEP. */
  SPARSEC_PLAN_COST_DIVISION = 11,
} sparsec_plan_cost_key_t;

/*
 * The numbers that SPARSEC_AUXILIARY_CONVERT_VALUES gets. Values are in lines of `columns` contiguous values: the rows
 * of a dense tensor, or those of stored blocks, one block after the other. A thread converts a vector of
 * SPARSEC_CONVERSION_VECTOR values of a line. Scale s of vector v of line l has the number
 * (l / LINES_OF_SCALE) * SCALES_OF_LINE + v / VECTORS_OF_SCALE. With IS_BY_ROW the row of the matrix is in place of
 * l / LINES_OF_SCALE.
 */
typedef enum sparsec_conversion_number_e {
  SPARSEC_CONVERSION_PHASE = 0,           /* sparsec_conversion_phase_t */
  SPARSEC_CONVERSION_SOURCE_TYPE = 1,     /* sparsec_dtype_t: f32, f16 or bf16 */
  SPARSEC_CONVERSION_TARGET_TYPE = 2,     /* sparsec_dtype_t: f8E4M3FN or f8E5M2 */
  SPARSEC_CONVERSION_VECTORS = 3,         /* of all lines */
  SPARSEC_CONVERSION_VECTORS_OF_LINE = 4, /* ceil(columns / SPARSEC_CONVERSION_VECTOR) or more */
  SPARSEC_CONVERSION_COLUMNS = 5,
  SPARSEC_CONVERSION_SOURCE_STRIDE = 6, /* elements from line to line */
  SPARSEC_CONVERSION_TARGET_STRIDE = 7,
  SPARSEC_CONVERSION_IS_ALIGNED = 8, /* 1: whole vectors of both may be accessed by 16 bytes */
  SPARSEC_CONVERSION_LINES_OF_SCALE = 9,
  SPARSEC_CONVERSION_SCALES_OF_LINE = 10,
  SPARSEC_CONVERSION_VECTORS_OF_SCALE = 11,
  SPARSEC_CONVERSION_LANES_OF_SCALE = 12, /* 1, 2, ..., 32: so many vectors from a multiple on share a scale */
  SPARSEC_CONVERSION_IS_WHOLE = 13,       /* 1: no other vector has their scale; CONVERT measures and writes it */
  SPARSEC_CONVERSION_SCALES = 14,         /* how many there are */
  /* The kernel reads the following numbers if input 3, the starts of the blocks, is not null. */
  SPARSEC_CONVERSION_BLOCK_ROWS = 15,
  SPARSEC_CONVERSION_BLOCK_ROW_COUNT = 16, /* of the matrix */
  SPARSEC_CONVERSION_MATRIX_ROWS = 17,
  SPARSEC_CONVERSION_MATRIX_COLUMNS = 18,
  SPARSEC_CONVERSION_IS_BY_ROW = 19, /* 0 or 1 */
} sparsec_conversion_number_t;

#define SPARSEC_CONVERSION_VECTOR 16
#define SPARSEC_CONVERSION_NUMBERS 20

/* The phases run in this order; without the first two if IS_WHOLE is 1. */
typedef enum sparsec_conversion_phase_e {
  SPARSEC_CONVERSION_CLEAR = 1,   /* makes all scales 0 */
  SPARSEC_CONVERSION_MEASURE = 2, /* makes a scale the maximum of itself and that of a vector */
  SPARSEC_CONVERSION_CONVERT = 3, /* writes the values, and makes scales of 0 those of 1 */
} sparsec_conversion_phase_t;

/* The numbers that SPARSEC_AUXILIARY_WRITE_LISTS gets. */
typedef enum sparsec_list_number_e {
  SPARSEC_LIST_TILE_ROWS = 0,
  SPARSEC_LIST_PANELS = 1,
  SPARSEC_LIST_WORKERS = 2,
  SPARSEC_LIST_TILE_OVERHEAD = 3, /* SPARSEC_PLAN_COST_TILE_OVERHEAD of the variant */
  SPARSEC_LIST_COLUMN_COST = 4,   /* SPARSEC_PLAN_COST_COLUMN; 0 for a variant without windows and streams */
  /* So many panels run at once, at most: the largest p with p * p * BLOCKS_OF_ONE_PANEL stored blocks or less, or 1. */
  SPARSEC_LIST_MOST_PANELS_AT_ONCE = 5,
  SPARSEC_LIST_BLOCKS_OF_ONE_PANEL = 6,
} sparsec_list_number_t;

#define SPARSEC_LIST_NUMBERS 7

/* The machine kernels beside those of the variants. They write patterns, packed or converted values, and sections of
 * plans. */
typedef enum sparsec_auxiliary_kind_e {
  /* Writes the padded lists of a pattern from the mask region, in ascending order. It takes Sq and Skv (dimension 2 of
   * Q and of K), the fields of the pattern and the operands of the region from the arguments. */
  SPARSEC_AUXILIARY_PATTERN_BUILDER = 1,
  /* Writes them from a block mask, input 0. The mask has one byte, a sparsec_block_state_t, for every block of keys of
   * every list, in the order of the lists. The kernel takes Skv (dimension 2 of K) and the fields of the pattern from
   * the arguments. */
  SPARSEC_AUXILIARY_BLOCK_MASK_READER = 2,
  /* SpMM: writes the packed blocks, input 0, from the stored values of the matrix and SPARSEC_PLAN_PACKED_SOURCES. Tile
   * row t is packed block t. */
  SPARSEC_AUXILIARY_PACK_BLOCKS = 3,
  /* SpMM with W as (K, M): writes SPARSEC_PLAN_COLUMN_COUNTS. Tile row t is slice t. The argument has tile_n block
   * columns at most. */
  SPARSEC_AUXILIARY_COUNT_COLUMNS = 4,
  /* The same: writes the three sections of the index from these counts. */
  SPARSEC_AUXILIARY_WRITE_INDEX = 5,
  /* SpMM: writes SPARSEC_PLAN_WINDOW_COUNTS and SPARSEC_PLAN_WINDOW_SIZES for the first variant with windows or streams
   * of stored blocks. Tile row t is window t. Matrices may have tile_n block columns at most. */
  SPARSEC_AUXILIARY_COUNT_WINDOWS = 6,
  /* The same: writes the sections of the windows or streams from these counts. */
  SPARSEC_AUXILIARY_WRITE_WINDOWS = 7,
  /* SpGEMM: writes SPARSEC_PLAN_PAIR_COUNTS. Tile row t is block row t of A. B has tile_n block columns at most. */
  SPARSEC_AUXILIARY_COUNT_PAIRS = 8,
  SPARSEC_AUXILIARY_WRITE_PAIRS = 9, /* the same: writes the two sections of pairs from these counts */
  /* SpMM with fp8 operands: quantises values, input 0, to input 1 with the scales, input 2. Inputs 3 and 4 are the
   * starts and indices of stored blocks, or null. The numbers are sparsec_conversion_number_t. Tile row t has the
   * vectors, or the scales, from t * threads on. */
  SPARSEC_AUXILIARY_CONVERT_VALUES = 10,
  /* Writes the padded lists of a pattern: of each list the key blocks with the highest scores, in ascending order.
   * Input 0 has an f32 for every block of keys of every list, in the order of the lists. Input 1, which may be null,
   * has an int32 for every list, which is the most blocks that the list takes; a negative one is 0. Input 2, which may
   * be null, is a block mask as that of the block mask reader. Number 0 is k, the most blocks of any list. The
   * kernel takes Skv (dimension 2 of K) and the fields of the pattern from the arguments; with causal or a window Sq
   * (dimension 2 of Q) too. */
  SPARSEC_AUXILIARY_TOP_K_BLOCKS = 11,
  /* SpMM: writes SPARSEC_PLAN_TILES for the variant whose windows or streams are refilled, or in a kernel without them
   * for the first variant of any width, whose tile rows lie in block rows. It reads SPARSEC_PLAN_TILE_OFFSETS, which
   * stay as they are. The numbers are sparsec_list_number_t. It is one tile, for lists of at most tile_m workers and
   * tile_n tile rows. */
  SPARSEC_AUXILIARY_WRITE_LISTS = 12,
} sparsec_auxiliary_kind_t;

#endif /* SPARSEC_PLAN_SECTIONS_H */
