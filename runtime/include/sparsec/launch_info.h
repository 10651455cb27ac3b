/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * launch_info.h: the one header that the compiler and the runtime share.
 *
 * Every image that the compiler writes (a GPU cubin or a host object) holds one
 * constant global with the name SPARSEC_LAUNCH_INFO_SYMBOL. It consists of a
 * sparsec_launch_info_t, a directory of tables, and the tables. A program can read
 * it from the ELF file without a GPU. It holds all facts that a launch needs: the
 * kernels, their arguments, what each computes (its operation), and the variants
 * among which the runtime chooses.
 *
 * All fields are little-endian and naturally aligned. All offsets are in bytes
 * from the start of the launch info. Strings are zero-terminated and
 * zero-padded. A record that refers to records of another table has the number of
 * the first one and their count. Readers refuse another major version. They accept
 * a larger minor version: records only grow at their end, the directory has their
 * size, and readers skip tables that they do not know.
 */
#ifndef SPARSEC_LAUNCH_INFO_H
#define SPARSEC_LAUNCH_INFO_H

#include "plan_sections.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPARSEC_LAUNCH_INFO_SYMBOL "sparsec_launch_info"
#define SPARSEC_LAUNCH_INFO_MAGIC 0x4f464e4943525053ull /* "SPRCINFO" */
#define SPARSEC_LAUNCH_INFO_MAJOR 4
#define SPARSEC_LAUNCH_INFO_MINOR 20

#define SPARSEC_NAME_LENGTH 64    /* argument and target names, with the zero */
#define SPARSEC_SYMBOL_LENGTH 128 /* kernel and symbol names, with the zero */
#define SPARSEC_MAX_RANK 5
#define SPARSEC_X_SCALE_DEPTH 128   /* elements of K that share a factor of SPARSEC_SPMM_X_SCALE */
#define SPARSEC_MAX_PARAMETERS 128  /* of a machine kernel */
#define SPARSEC_MAX_SIZE 2147418111 /* of a dimension; rounded up to a tile of up to 65536 it fits an int32_t */
#define SPARSEC_DYNAMIC (-1)        /* a size that is known only at run time */

/* Element types. The values are part of the file format. */
typedef enum sparsec_dtype_e {
  SPARSEC_DTYPE_NONE = 0,
  SPARSEC_DTYPE_F32 = 1,
  SPARSEC_DTYPE_F16 = 2,
  SPARSEC_DTYPE_BF16 = 3,
  SPARSEC_DTYPE_F8E4M3FN = 4,
  SPARSEC_DTYPE_F8E5M2 = 5,
  SPARSEC_DTYPE_I32 = 6, /* operands of regions, indices of patterns */
  SPARSEC_DTYPE_I64 = 7, /* operands of regions, which take the low 32 bits */
  SPARSEC_DTYPE_I8 = 8,  /* operands of regions, with their sign; also booleans, 0 and 1 */
} sparsec_dtype_t;

/* The kind of value that the caller passes for a kernel argument. */
typedef enum sparsec_argument_kind_e {
  SPARSEC_ARGUMENT_BSR = 1,     /* a block-sparse matrix: sparsec_blocks_t */
  SPARSEC_ARGUMENT_DENSE = 2,   /* a dense tensor of rank 0 to 5: sparsec_dense_t */
  SPARSEC_ARGUMENT_SCALAR = 3,  /* one f32 by value */
  SPARSEC_ARGUMENT_PATTERN = 4, /* the key blocks that each query block visits: sparsec_blocks_t */
} sparsec_argument_kind_t;

/* The function that a kernel computes. The comments of the slots define its operands, regions and attributes. */
typedef enum sparsec_operation_kind_e {
  SPARSEC_OPERATION_SPMM = 1,           /* Y = epilogue(W X): sparsec_spmm_slot_t */
  SPARSEC_OPERATION_ATTENTION = 2,      /* O = softmax(score(scale Q K^T)) V: sparsec_attention_slot_t */
  SPARSEC_OPERATION_SDDMM = 3,          /* S = epilogue(A B^T) at the blocks of a pattern: sparsec_sddmm_slot_t */
  SPARSEC_OPERATION_SPGEMM = 4,         /* C = epilogue(A B) of two block-sparse matrices: sparsec_spgemm_slot_t */
  SPARSEC_OPERATION_SAMPLED_SPGEMM = 5, /* the same at the blocks of a pattern */
  SPARSEC_OPERATION_MERGE = 6,          /* O and LSE of two parts of the keys: sparsec_merge_slot_t */
} sparsec_operation_kind_t;

/* The operands of a block-sparse product. Region: SPARSEC_REGION_EPILOGUE.
 * Attribute: SPARSEC_ATTRIBUTE_ACCUMULATION, with fp8 operands. */
typedef enum sparsec_spmm_slot_e {
  SPARSEC_SPMM_MATRIX = 1,  /* the block-sparse operand W: (M, K) or (K, M) */
  SPARSEC_SPMM_DENSE = 2,   /* the dense operand X: (K, N) or (N, K) */
  SPARSEC_SPMM_RESULT = 3,  /* Y: (M, N) or (N, M) */
  SPARSEC_SPMM_EXTRA = 4,   /* an operand of the epilogue region; see sparsec_broadcast_t */
  SPARSEC_SPMM_SCALES = 5,  /* f32, (blocks): a factor of each block of W, with fp8 operands */
  SPARSEC_SPMM_X_SCALE = 6, /* f32, (N, ceil(K / 128)): a factor of X for each column and 128 of K, the same */
} sparsec_spmm_slot_t;

/*
 * The operands of a dense product sampled by a block-sparse matrix. Region:
 * SPARSEC_REGION_EPILOGUE. S has a value for every element of a stored block, in
 * the order of the blocks. An element beyond M or N has an accumulator of 0, and
 * the last element of a per_row or per_column operand.
 */
typedef enum sparsec_sddmm_slot_e {
  SPARSEC_SDDMM_PATTERN = 1, /* the block-sparse matrix, M x N; its values are not read */
  SPARSEC_SDDMM_LEFT = 2,    /* A: (M, K) or (K, M) */
  SPARSEC_SDDMM_RIGHT = 3,   /* B: (K, N) or (N, K) */
  SPARSEC_SDDMM_RESULT = 4,  /* S: (blocks, block rows, block columns) */
  SPARSEC_SDDMM_EXTRA = 5,   /* an operand of the epilogue region; see sparsec_broadcast_t */
} sparsec_sddmm_slot_t;

/* The operands of a product of two block-sparse matrices, with blocks of r x s and s x t. Region:
 * SPARSEC_REGION_EPILOGUE. The sampled one gives values, as SDDMM does. */
typedef enum sparsec_spgemm_slot_e {
  SPARSEC_SPGEMM_LEFT = 1,    /* A: (M, K) */
  SPARSEC_SPGEMM_RIGHT = 2,   /* B: (K, N) */
  SPARSEC_SPGEMM_PATTERN = 3, /* (M, N), blocks of r x t; its values are not read */
  SPARSEC_SPGEMM_RESULT = 4,  /* C: (M, N) or (N, M); of the sampled product (blocks, r, t) */
  SPARSEC_SPGEMM_EXTRA = 5,   /* an operand of the epilogue region; see sparsec_broadcast_t */
} sparsec_spgemm_slot_t;

/*
 * The operands of attention. Regions: SPARSEC_REGION_SCORE and _MASK. Attributes: all but
 * SPARSEC_ATTRIBUTE_ACCUMULATION. A sequence has Sq queries and Skv keys; QUERY_STARTS,
 * KEY_STARTS and KEY_LENGTHS give each of the B sequences sizes of its own. Query q has
 * the position p = q + Skv - Sq among the keys. Key k is visible to it if all of this holds:
 * - the pattern's list of q's block has k's block, or there is no pattern;
 * - k <= p, if the attention is causal;
 * - p - window_left <= k <= p + window_right, where -1 is no limit;
 * - the mask region gives 1, if k's block is in a partial list or there is no pattern.
 */
typedef enum sparsec_attention_slot_e {
  SPARSEC_ATTENTION_QUERY = 1,   /* Q: (B, H, Sq, D) */
  SPARSEC_ATTENTION_KEY = 2,     /* K: (B, Hkv, Skv, D), H a multiple of Hkv */
  SPARSEC_ATTENTION_VALUE = 3,   /* V: (B, Hkv, Skv, Dv) */
  SPARSEC_ATTENTION_RESULT = 4,  /* O: (B, H, Sq, Dv) */
  SPARSEC_ATTENTION_LSE = 5,     /* second result: log of the sum of exponentials, (B, H, Sq) f32 */
  SPARSEC_ATTENTION_PATTERN = 6, /* the block pattern */
  SPARSEC_ATTENTION_SCALE = 7,   /* f32 by value: the softmax scale; without it 1 / sqrt(D) */
  SPARSEC_ATTENTION_EXTRA = 8,   /* an operand of the regions, which read it element by element */
  SPARSEC_ATTENTION_SINKS = 9,   /* (H) f32: logits that join the sums of exponentials, one for each head */
  /* (B + 1) i32, ascending from 0: sequence b has rows starts[b] up to starts[b + 1] of Q, O and LSE (PACKED) */
  SPARSEC_ATTENTION_QUERY_STARTS = 10,
  SPARSEC_ATTENTION_KEY_STARTS = 11,  /* (B + 1) i32, the same of K and V */
  SPARSEC_ATTENTION_KEY_LENGTHS = 12, /* (B) i32: sequence b has its first lengths[b] keys; the others do not count */
  SPARSEC_ATTENTION_PAGE_TABLE = 13,  /* (B, P) i32: key k of sequence b is in page table[b][k / R] of K and V */
} sparsec_attention_slot_t;

/* The operands of a merge of two partial results of attention: LSE = log(exp(LSE1) + exp(LSE2)),
 * O = exp(LSE1 - LSE) O1 + exp(LSE2 - LSE) O2. A row with an LSE of -inf is empty: the result is that of the other part
 * as it is. Results may be the memory of a part, element for element. */
typedef enum sparsec_merge_slot_e {
  SPARSEC_MERGE_FIRST = 1,      /* O1: (B, H, Sq, D) */
  SPARSEC_MERGE_FIRST_LSE = 2,  /* LSE1: (B, H, Sq) f32 */
  SPARSEC_MERGE_SECOND = 3,     /* O2 */
  SPARSEC_MERGE_SECOND_LSE = 4, /* LSE2 */
  SPARSEC_MERGE_RESULT = 5,     /* O */
  SPARSEC_MERGE_LSE = 6,        /* second result: LSE */
} sparsec_merge_slot_t;

/* Without a region of a slot the operation does nothing there: Y is the accumulator, and all pairs are visible. */
typedef enum sparsec_region_slot_e {
  SPARSEC_REGION_EPILOGUE = 1, /* gives an element of Y */
  SPARSEC_REGION_SCORE = 2,    /* gives the new score of a query and a key */
  SPARSEC_REGION_MASK = 3,     /* gives 0 if the pair of a query and a key is not visible */
} sparsec_region_slot_t;

/* The kind of value that a region gets. */
typedef enum sparsec_input_kind_e {
  SPARSEC_INPUT_ACCUMULATOR = 1, /* f32: the element of W X, or of A B^T */
  SPARSEC_INPUT_OPERAND = 2,     /* the element of operand `operand` for the element of Y or S */
  SPARSEC_INPUT_SCORE = 3,       /* f32: scale * q . k */
  SPARSEC_INPUT_BATCH = 4,       /* i32, like all below */
  SPARSEC_INPUT_HEAD = 5,
  SPARSEC_INPUT_QUERY = 6,
  SPARSEC_INPUT_KEY = 7,
} sparsec_input_kind_t;

/* Numbers that are part of an operation. */
typedef enum sparsec_attribute_key_e {
  SPARSEC_ATTRIBUTE_HEAD_DIMENSION = 1,  /* D */
  SPARSEC_ATTRIBUTE_CAUSAL = 2,          /* 0 or 1 */
  SPARSEC_ATTRIBUTE_WINDOW_LEFT = 3,     /* -1: no limit */
  SPARSEC_ATTRIBUTE_WINDOW_RIGHT = 4,    /* -1: no limit */
  SPARSEC_ATTRIBUTE_ACCUMULATION = 5,    /* sparsec_accumulation_t */
  SPARSEC_ATTRIBUTE_VALUE_DIMENSION = 6, /* Dv; without it D */
} sparsec_attribute_key_t;

/* How a GPU keeps sums of fp8 products, of which its matrix instructions keep about 14 bits. */
typedef enum sparsec_accumulation_e {
  SPARSEC_ACCUMULATION_TWO_LEVEL = 1, /* sums over at most 128 of K are added in f32 */
  SPARSEC_ACCUMULATION_FAST = 2,      /* the instructions keep the whole sum */
} sparsec_accumulation_t;

/* The element of an epilogue operand that the region gets for result element (m, n). */
typedef enum sparsec_broadcast_e {
  SPARSEC_BROADCAST_NONE = 0,       /* not an epilogue operand */
  SPARSEC_BROADCAST_PER_ROW = 1,    /* rank 1, size M: element m */
  SPARSEC_BROADCAST_PER_COLUMN = 2, /* rank 1, size N: element n */
  SPARSEC_BROADCAST_SCALAR = 3,     /* rank 0 tensor or f32 by value */
  SPARSEC_BROADCAST_FULL = 4,       /* shape and layout of the result */
} sparsec_broadcast_t;

/* Order of the dimensions of a rank-2 operand; for attention, how sequences share a tensor. The last is contiguous. */
typedef enum sparsec_layout_e {
  SPARSEC_LAYOUT_NONE = 0,
  SPARSEC_LAYOUT_ROW_MAJOR = 1,  /* X and B as (K, N); Y as (M, N); W and A as (M, K) */
  SPARSEC_LAYOUT_TRANSPOSED = 2, /* X and B as (N, K); Y as (N, M); W and A as (K, M) */
  SPARSEC_LAYOUT_PACKED = 3,     /* Q and O as (1, H, T, D), K and V as (1, Hkv, T, D): T rows of all sequences */
  SPARSEC_LAYOUT_PAGED = 4,      /* K and V as (pages, Hkv, R, D): pages of R rows, of which sequences have some */
} sparsec_layout_t;

typedef enum sparsec_target_kind_e {
  SPARSEC_TARGET_CUDA = 1,
  SPARSEC_TARGET_HOST = 2,
} sparsec_target_kind_t;

/*
 * The source from which the runtime takes a machine-kernel parameter. A GPU kernel
 * gets the parameters in their order (CUDA Driver API parameter array). A host
 * kernel gets a pointer to an array of 8-byte slots in this order.
 */
typedef enum sparsec_source_e {
  SPARSEC_SOURCE_ARGUMENT = 1,     /* `field` of argument `index` of the kernel */
  SPARSEC_SOURCE_TENSOR_MAP = 2,   /* 128 bytes by value: tensor map record `index` */
  SPARSEC_SOURCE_PLAN_SECTION = 3, /* pointer to section `index` of the plan, or null */
  SPARSEC_SOURCE_WORKSPACE = 4,    /* pointer to workspace `index` of the variant, or null */
  SPARSEC_SOURCE_TILE_ROWS = 5,    /* i32: tile rows of the stage's grid */
  SPARSEC_SOURCE_PANELS = 6,       /* i32: panels of the stage's grid */
  SPARSEC_SOURCE_INPUT = 7,        /* pointer `index` that the call of an auxiliary kernel passes, see there */
  SPARSEC_SOURCE_PERIOD = 8,       /* i32: panels of the plan's lists, see SPARSEC_PLAN_TILES; else those of PANELS */
  SPARSEC_SOURCE_PARTS = 9,        /* i32: parts of the keys of a tile, see part_keys */
  SPARSEC_SOURCE_NUMBER = 10,      /* i64: number `index` that the call of an auxiliary kernel passes, see there */
} sparsec_source_t;

/* A field of an argument. The fields of blocks are those of sparsec_blocks_t. */
typedef enum sparsec_field_e {
  SPARSEC_FIELD_DATA = 1,         /* pointer: data of a dense tensor, values of blocks */
  SPARSEC_FIELD_SIZE = 2,         /* i32: of `dimension`; of blocks 0: rows, 1: columns */
  SPARSEC_FIELD_STRIDE = 3,       /* i64: elements, of `dimension` of a dense tensor */
  SPARSEC_FIELD_SCALAR = 4,       /* f32 */
  SPARSEC_FIELD_FULL_STARTS = 5,  /* pointer, like the three below; null: all lists are empty */
  SPARSEC_FIELD_FULL_INDICES = 6, /* row_ptr and col_idx of a BSR operand are these two */
  SPARSEC_FIELD_PARTIAL_STARTS = 7,
  SPARSEC_FIELD_PARTIAL_INDICES = 8,
  SPARSEC_FIELD_ENCODING = 9,  /* i32: sparsec_pattern_encoding_t */
  SPARSEC_FIELD_BATCHES = 10,  /* i32 */
  SPARSEC_FIELD_HEADS = 11,    /* i32 */
  SPARSEC_FIELD_CAPACITY = 12, /* i64 */
  SPARSEC_FIELD_PARTS = 13,    /* of extents alone: the parts of the keys of a tile; `argument` and `dimension` are 0 */
  SPARSEC_FIELD_READ_EARLY = 14, /* i32, of parameters alone; 1: a plan has read the index arrays, see docs/abi.md */
} sparsec_field_t;

/* The order of a pattern's lists in memory. */
typedef enum sparsec_pattern_encoding_e {
  /* starts[rows of all batches and heads + 1]: list i is indices[starts[i]] up to indices[starts[i + 1]]. */
  SPARSEC_PATTERN_INDEX_ARRAYS = 1,
  /* starts[rows of all batches and heads] holds counts: list i is indices[i * capacity] up to
   * indices[i * capacity + starts[i]]. A FlexAttention BlockMask has such lists. */
  SPARSEC_PATTERN_PADDED_LISTS = 2,
} sparsec_pattern_encoding_t;

/* Whether a block of queries visits a block of keys. */
typedef enum sparsec_block_state_e {
  SPARSEC_BLOCK_EMPTY = 0,   /* not visited */
  SPARSEC_BLOCK_FULL = 1,    /* visited, without the mask region */
  SPARSEC_BLOCK_PARTIAL = 2, /* visited; the mask region decides for each pair */
} sparsec_block_state_t;

typedef enum sparsec_swizzle_e {
  SPARSEC_SWIZZLE_NONE = 0,
  SPARSEC_SWIZZLE_32B = 1,
  SPARSEC_SWIZZLE_64B = 2,
  SPARSEC_SWIZZLE_128B = 3,
} sparsec_swizzle_t;

/* The dimensions that a tensor map describes, innermost first. */
typedef enum sparsec_tensor_map_kind_e {
  SPARSEC_TENSOR_MAP_DENSE = 1,      /* the argument's rank: its dimensions, last one first */
  SPARSEC_TENSOR_MAP_BSR_VALUES = 2, /* rank 3: {block columns, block rows, blocks} */
  /* The same memory, for blocks of the last block column that K cuts: {K mod block columns, or block columns if that is
   * 0, block rows, blocks}. Copies write zeros for the elements beyond K. */
  SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES = 3,
  /* The same memory, rank 3: {elements of 128 bytes, lines of 128 bytes in a block, blocks}. Short rows of blocks
   * arrive faster so. Copies bring the elements beyond K too. */
  SPARSEC_TENSOR_MAP_BSR_LINES = 4,
  /* As BSR_EDGE_VALUES, for a matrix of (K, M): {block columns, K mod block rows, or block rows if 0, blocks}. */
  SPARSEC_TENSOR_MAP_BSR_EDGE_ROWS = 5,
  SPARSEC_TENSOR_MAP_DENSE_CLIPPED = 6, /* as DENSE, with no more rows (dimension 1) in a box than the argument has */
} sparsec_tensor_map_kind_t;

/*
 * A region is a list of steps in static single assignment form, so that the
 * reference can evaluate it in double. The first values are the inputs, the value
 * after them is the result of the first step, and so on. The result of the region
 * is the value of the last step. Comparisons and logic give 0 or 1.
 */
typedef enum sparsec_step_op_e {
  SPARSEC_STEP_CONSTANT = 1, /* immediate */
  SPARSEC_STEP_COPY = 2,     /* a (also a widening conversion) */
  SPARSEC_STEP_ROUND_F32 = 3,
  SPARSEC_STEP_ROUND_F16 = 4,
  SPARSEC_STEP_ROUND_BF16 = 5,
  SPARSEC_STEP_ADD = 16,
  SPARSEC_STEP_SUBTRACT = 17,
  SPARSEC_STEP_MULTIPLY = 18,
  SPARSEC_STEP_DIVIDE = 19,
  SPARSEC_STEP_NEGATE = 20,
  SPARSEC_STEP_ABSOLUTE = 21,
  SPARSEC_STEP_MAXIMUM = 22, /* NaN if either is NaN (arith.maximumf) */
  SPARSEC_STEP_MINIMUM = 23,
  SPARSEC_STEP_MAXNUM = 24, /* the other if one is NaN (arith.maxnumf) */
  SPARSEC_STEP_MINNUM = 25,
  SPARSEC_STEP_FMA = 26, /* a * b + c */
  SPARSEC_STEP_SQRT = 32,
  SPARSEC_STEP_RSQRT = 33,
  SPARSEC_STEP_EXP = 34,
  SPARSEC_STEP_EXP2 = 35,
  SPARSEC_STEP_EXPM1 = 36,
  SPARSEC_STEP_LOG = 37,
  SPARSEC_STEP_LOG2 = 38,
  SPARSEC_STEP_LOG1P = 39,
  SPARSEC_STEP_TANH = 40,
  SPARSEC_STEP_ERF = 41,
  SPARSEC_STEP_SIN = 42,
  SPARSEC_STEP_COS = 43,
  SPARSEC_STEP_FLOOR = 44,
  SPARSEC_STEP_CEIL = 45,
  SPARSEC_STEP_SELECT = 64,  /* a ? b : c */
  SPARSEC_STEP_COMPARE = 65, /* c = sparsec_compare_t */
  SPARSEC_STEP_AND = 66,
  SPARSEC_STEP_OR = 67,
  SPARSEC_STEP_XOR = 68,
  /* 32-bit integers with the rules of arith: sums and products wrap. */
  SPARSEC_STEP_I32_ADD = 96,
  SPARSEC_STEP_I32_SUBTRACT = 97,
  SPARSEC_STEP_I32_MULTIPLY = 98,
  SPARSEC_STEP_I32_DIVIDE = 99, /* signed, towards zero */
  SPARSEC_STEP_I32_REMAINDER = 100,
  SPARSEC_STEP_I32_MINIMUM = 101,
  SPARSEC_STEP_I32_MAXIMUM = 102,
  SPARSEC_STEP_I32_AND = 103,
  SPARSEC_STEP_I32_OR = 104,
  SPARSEC_STEP_I32_XOR = 105,
  SPARSEC_STEP_I32_SHIFT_LEFT = 106,
  SPARSEC_STEP_I32_SHIFT_RIGHT = 107, /* signed */
  SPARSEC_STEP_I32_COMPARE = 108,     /* c = predicate number of arith.cmpi */
  SPARSEC_STEP_I32_TO_F32 = 109,      /* arith.sitofp */
  SPARSEC_STEP_F32_TO_I32 = 110,      /* arith.fptosi */
  /* Loads an element of operand a of the operation. Its indices are the values b, b + 1, ..., one a dimension. */
  SPARSEC_STEP_LOAD = 128,
} sparsec_step_op_t;

/* The predicates of arith.cmpf: those with O are false if unordered, those with U are true if unordered. */
typedef enum sparsec_compare_e {
  SPARSEC_COMPARE_FALSE = 0,
  SPARSEC_COMPARE_OEQ = 1,
  SPARSEC_COMPARE_OGT = 2,
  SPARSEC_COMPARE_OGE = 3,
  SPARSEC_COMPARE_OLT = 4,
  SPARSEC_COMPARE_OLE = 5,
  SPARSEC_COMPARE_ONE = 6,
  SPARSEC_COMPARE_ORD = 7,
  SPARSEC_COMPARE_UEQ = 8,
  SPARSEC_COMPARE_UGT = 9,
  SPARSEC_COMPARE_UGE = 10,
  SPARSEC_COMPARE_ULT = 11,
  SPARSEC_COMPARE_ULE = 12,
  SPARSEC_COMPARE_UNE = 13,
  SPARSEC_COMPARE_UNO = 14,
  SPARSEC_COMPARE_TRUE = 15,
} sparsec_compare_t;

typedef struct sparsec_step_info_s {
  uint32_t op;      /* sparsec_step_op_t */
  uint32_t a, b, c; /* value numbers, where the op has them */
  double immediate;
} sparsec_step_info_t;

/* The tables of a launch info. */
typedef enum sparsec_table_id_e {
  SPARSEC_TABLE_KERNELS = 1,
  SPARSEC_TABLE_ARGUMENTS = 2,
  SPARSEC_TABLE_OPERATIONS = 3,
  SPARSEC_TABLE_OPERANDS = 4,
  SPARSEC_TABLE_ATTRIBUTES = 5,
  SPARSEC_TABLE_REGIONS = 6,
  SPARSEC_TABLE_INPUTS = 7,
  SPARSEC_TABLE_STEPS = 8,
  SPARSEC_TABLE_VARIANTS = 9,
  SPARSEC_TABLE_REQUIREMENTS = 10,
  SPARSEC_TABLE_WORKSPACES = 11,
  SPARSEC_TABLE_STAGES = 12,
  SPARSEC_TABLE_PARAMETERS = 13,
  SPARSEC_TABLE_TENSOR_MAPS = 14,
  SPARSEC_TABLE_EXTENTS = 15,
  SPARSEC_TABLE_AUXILIARIES = 16,
  SPARSEC_TABLE_PLAN_COSTS = 17,
} sparsec_table_id_t;

/* An entry of the directory. Tables begin at multiples of 8 bytes. */
typedef struct sparsec_table_info_s {
  uint32_t id; /* sparsec_table_id_t; no id twice */
  uint32_t offset, count, record_size;
} sparsec_table_info_t;

typedef struct sparsec_launch_info_s {
  uint64_t magic;        /* SPARSEC_LAUNCH_INFO_MAGIC */
  uint16_t major, minor; /* SPARSEC_LAUNCH_INFO_MAJOR, _MINOR */
  uint32_t total_size;   /* bytes of the launch info with all tables */
  /* CRC-32 (IEEE 802.3) of the image: the ELF file or the PTX text with its zero. If the launch info is inside the
   * image, both checksums count as zero. */
  uint32_t image_checksum;
  uint32_t checksum;           /* CRC-32 of the total_size bytes with this field zero */
  uint32_t target_kind;        /* sparsec_target_kind_t */
  uint32_t compute_capability; /* CUDA: 10 * major + minor; host: 0 */
  uint32_t arch_specific;      /* CUDA: 1 when the code runs on exactly this capability (sm_90a) */
  uint32_t directory_offset, directory_count, directory_size;
  char target[SPARSEC_NAME_LENGTH];   /* "sm_90a", "sm_89", "host" */
  char compiler[SPARSEC_NAME_LENGTH]; /* "sparsec 0.1.0" */
} sparsec_launch_info_t;

/* One sparsec.kernel. Its arguments are the inputs in order, then the results. */
typedef struct sparsec_kernel_info_s {
  char name[SPARSEC_SYMBOL_LENGTH];
  uint32_t operation; /* the number of its operation */
  uint32_t argument_first, argument_count;
  uint32_t result_count;                 /* of the arguments, at their end */
  uint32_t variant_first, variant_count; /* in order of preference */
  uint32_t auxiliary_first, auxiliary_count;
} sparsec_kernel_info_t;

typedef struct sparsec_argument_info_s {
  char name[SPARSEC_NAME_LENGTH];
  uint32_t kind;  /* sparsec_argument_kind_t */
  uint32_t dtype; /* sparsec_dtype_t */
  uint32_t rank;  /* BSR: 2; pattern: 0 */
  uint32_t reserved;
  int64_t sizes[SPARSEC_MAX_RANK];    /* static size or SPARSEC_DYNAMIC */
  uint32_t block_rows, block_columns; /* BSR; pattern: of queries, of keys */
} sparsec_argument_info_t;

typedef struct sparsec_operation_info_s {
  uint32_t kind; /* sparsec_operation_kind_t */
  uint32_t operand_first, operand_count;
  uint32_t attribute_first, attribute_count;
  uint32_t region_first, region_count;
  uint32_t reserved;
} sparsec_operation_info_t;

/* An operand is a kernel argument in a slot. An argument may be in several slots (Q and K). The slot of extras may have
 * several operands. */
typedef struct sparsec_operand_info_s {
  uint32_t slot;      /* sparsec_spmm_slot_t, sparsec_sddmm_slot_t, ... by the kind of the operation */
  uint32_t argument;  /* of the kernel, 0 = first */
  uint32_t layout;    /* sparsec_layout_t: of X, Y, A, B, and full extras of spmm */
  uint32_t broadcast; /* sparsec_broadcast_t: of extras of an epilogue */
} sparsec_operand_info_t;

typedef struct sparsec_attribute_info_s {
  uint32_t key; /* sparsec_attribute_key_t */
  uint32_t reserved;
  int64_t value;
} sparsec_attribute_info_t;

typedef struct sparsec_region_info_s {
  uint32_t slot; /* sparsec_region_slot_t */
  uint32_t input_first, input_count;
  uint32_t step_first, step_count; /* at least one */
  uint32_t reserved;
} sparsec_region_info_t;

typedef struct sparsec_input_info_s {
  uint32_t kind;    /* sparsec_input_kind_t */
  uint32_t operand; /* SPARSEC_INPUT_OPERAND: number of the operand in its operation, else 0 */
} sparsec_input_info_t;

/* A way to run a kernel. The runtime takes the first variant whose requirements the call meets, whose required sections
 * its plan has, and whose first stage has at most most_panels panels for the call, or few tiles (most_tiles_per_sm).
 * Those that require SPARSEC_PLAN_CUT_TILES or have part_keys need memory for their workspaces, the latter also few
 * tiles; those of attention then come before all others. The last of the others is for every call. It requires no
 * sections, or those of every static pattern (SPARSEC_PLAN_ROW_STARTS and the two after it, or the pairs of blocks),
 * and only that elements are aligned. */
typedef struct sparsec_variant_info_s {
  uint32_t requirement_first, requirement_count;
  uint32_t required_sections; /* bit s: without section s of a plan this variant cannot run. A machine kernel takes only
                                 these sections and the tile lists */
  uint32_t workspace_first, workspace_count;
  uint32_t stage_first, stage_count; /* machine kernels that run one after the other */
  uint32_t plan_cost_first, plan_cost_count;
  uint32_t alignment;                   /* bytes: the largest of its requirements */
  char schedule[SPARSEC_SYMBOL_LENGTH]; /* readable summary, e.g. "wgmma tma 128x256x64 stages 4 cluster 2" */
  uint32_t most_panels;                 /* 0: any number. A variant with a limit has no tile lists in plans */
  uint32_t part_keys; /* not 0: the first stage computes parts of the keys of each tile, or of K, of so many keys or
                         more. A second stage merges those of keys. The variant needs its workspaces */
  /* Not 0, SpMM: the machine kernels read packed values. In every record of the variant the matrix has blocks of this
   * size in place of its own, as the caller stores it. Its index arrays are SPARSEC_PLAN_PACKED_STARTS and
   * SPARSEC_PLAN_PACKED_COLUMNS, and its values those that SPARSEC_AUXILIARY_PACK_BLOCKS wrote. All such variants of a
   * kernel have packed blocks of one size, multiples of the argument's block. */
  uint32_t packed_block_rows, packed_block_columns;
  uint32_t most_tiles_per_sm;   /* not 0, with most_panels: also for calls of at most so many tiles for each SM */
  uint32_t least_narrow_blocks; /* with part_keys: see "Parts of K" in docs/abi.md */
} sparsec_variant_info_t;

/* The alignment that a variant requires of an argument: tensor maps and cp.async move whole 16-byte vectors. */
typedef struct sparsec_requirement_info_s {
  uint32_t argument;        /* of the kernel */
  uint32_t alignment;       /* bytes: its pointer and the strides between its rows are multiples */
  uint32_t width_alignment; /* bytes: the size of its last dimension is a multiple */
  uint32_t reserved;
} sparsec_requirement_info_t;

/* See plan_sections.h. */
typedef struct sparsec_plan_cost_info_s {
  uint32_t key; /* sparsec_plan_cost_key_t */
  uint32_t value;
} sparsec_plan_cost_info_t;

typedef enum sparsec_lifetime_e {
  SPARSEC_LIFETIME_LAUNCH = 1, /* only the launch that runs uses its contents */
  /* The contents are the same after a launch as before it, and the next launch needs them. */
  SPARSEC_LIFETIME_LAUNCHES = 2,
} sparsec_lifetime_t;

/* How a variant uses a workspace. */
typedef enum sparsec_workspace_kind_e {
  SPARSEC_WORKSPACE_SCRATCH = 1, /* scratch memory of a launch */
  /* One u32: the number of tiles that workers have taken. Launches whose plan has no tile lists get it, so that workers
   * take tiles as they become free. Other launches get null. It is zero before and after every launch:
   * SPARSEC_LIFETIME_LAUNCHES, is_zeroed, no extents. */
  SPARSEC_WORKSPACE_TILE_COUNTER = 2,
  SPARSEC_WORKSPACE_TILE_SUMS = 3, /* no extents: the sums of tiles that are cut, element_bytes for each CTA */
  SPARSEC_WORKSPACE_SUM_FLAGS = 4, /* as a counter: element_bytes for each CTA of cut tiles, or tile in parts */
} sparsec_workspace_kind_t;

/* Device memory that a launch may bring: element_bytes times the product of its extents. Most variants run without. */
typedef struct sparsec_workspace_info_s {
  uint32_t extent_first, extent_count;
  uint32_t element_bytes;
  uint32_t lifetime;  /* sparsec_lifetime_t */
  uint32_t is_zeroed; /* 1: its bytes are zero before the first launch */
  uint32_t kind;      /* sparsec_workspace_kind_t */
} sparsec_workspace_info_t;

/* How an extent goes with those beside it. */
typedef enum sparsec_extent_combination_e {
  SPARSEC_EXTENT_FACTOR = 0,  /* its tiles multiply those of the extents before it */
  SPARSEC_EXTENT_SUMMAND = 1, /* they are added to those; panels alone, and not the first one */
  SPARSEC_EXTENT_JOINED = 2,  /* its size multiplies that of the next one; tile rows alone, of blocks and tiles of 1 */
} sparsec_extent_combination_t;

/*
 * A number of tiles of a call: ceil(size / block) * ceil(block / tile). The tiles have `tile` elements and do not cross
 * blocks of `block`. size is a field of an argument that is no operand of regions. `combination` says how several
 * extents make one number.
 */
typedef struct sparsec_extent_info_s {
  uint32_t argument;  /* of the kernel */
  uint32_t field;     /* SPARSEC_FIELD_SIZE, _PARTS; of auxiliary kernels also _BATCHES, _HEADS */
  uint32_t dimension; /* of SPARSEC_FIELD_SIZE */
  uint32_t block, tile;
  uint32_t combination; /* sparsec_extent_combination_t */
} sparsec_extent_info_t;

/*
 * One machine kernel. Its grid has tile_rows x panels tiles. Each of these two
 * numbers is a product of extents.
 *
 * SpMM: tile row t covers rows [(t mod s) * tile_m, ...) of block row t / s,
 * where s = ceil(block_rows / tile_m) (so a tile never crosses a block row). Panel
 * p covers columns [p * cluster * tile_n, (p + 1) * cluster * tile_n): CTA of rank
 * q in the cluster owns columns [(p * cluster + q) * tile_n, ...).
 *
 * SpMM with windows (it takes SPARSEC_PLAN_WINDOW_ROWS): tile row t is window t of the
 * plan. tile_m is a multiple of the block rows, and there are ceil(M / tile_m) windows.
 * Panels are those of SpMM. slots are those of X. With streams (it takes
 * SPARSEC_PLAN_STAGE_OFFSETS too) the CTAs of a cluster share a tile: its panel has
 * tile_n columns, and each CTA has an equal share of its tile_m rows, by rank.
 *
 * SDDMM: tile rows are those of SpMM, but every block row has s of them, also
 * where M cuts it. Panel p of a tile row has stored blocks
 * p * b up to (p + 1) * b of its block row, as far as there are so many, where
 * the extent of the panels has blocks of b * block columns. There are as many
 * panels as a full block row has. With tensor copies the CTAs of a cluster, and
 * the warpgroups that are side by side in a CTA, share out the blocks of a panel
 * evenly. Otherwise warps share out the columns of b blocks.
 *
 * SpGEMM: tile rows are those of SpMM, or with a pattern those of SDDMM. Panel p has
 * block column p, or with a pattern stored block p of the block row, if it is there.
 *
 * Attention: tile row b * H + h is head h of batch b. Its panels are blocks of
 * tile_m queries. A step takes tile_n keys, and tile_k is D. GPU kernels count
 * panels from the last block of queries on. With PACKED queries tile row h is head h,
 * and sequence b has the panels from starts[b] / tile_m + b on. Where the extents of the
 * panels end with PARTS, panel p is part p mod parts of panel p / parts.
 *
 * Merge: tile row t has rows t * tile_m, ... of all B * H * Sq rows, batch after batch. There is one panel.
 *
 * The tile rows of auxiliary kernels are the lists of the pattern, or what sparsec_auxiliary_kind_t says.
 */
typedef struct sparsec_stage_info_s {
  char symbol[SPARSEC_SYMBOL_LENGTH];
  uint32_t parameter_first, parameter_count;
  uint32_t row_first, row_count;     /* extents whose product is tile_rows */
  uint32_t panel_first, panel_count; /* extents whose product is panels */
  uint32_t threads;                  /* CUDA: threads in a CTA */
  uint32_t dynamic_shared_memory;    /* bytes */
  uint32_t cluster;                  /* CTAs in a cluster; compiled in as .reqnctapercluster */
  uint32_t ctas_per_sm;              /* CTAs that should be resident on one SM; 0: as many as the tiles need */
  uint32_t concurrent_tiles;         /* tiles that a CTA computes side by side, each as a worker of its own */
  uint32_t tile_m, tile_n, tile_k;
  uint32_t slots;                /* of its ring */
  uint32_t group_m;              /* tile rows in a group, without a plan and in plans of nearly dense patterns */
  uint32_t flags;                /* of sparsec_stage_flag_t */
  uint32_t registers;            /* per thread as ptxas reports, 0 = unknown */
  uint32_t static_shared_memory; /* bytes as ptxas reports */
  uint32_t spill_bytes;          /* as ptxas reports */
  /* Kernels with streams have these fields (see SPARSEC_PLAN_STAGE_OFFSETS); they are 0 for others. */
  uint32_t consumer_rows;  /* rows of a tile that a consumer has: a divisor of tile_m */
  uint32_t product_rows;   /* rows of a product: a divisor of consumer_rows, a multiple of the block rows */
  uint32_t chunk_products; /* products of a chunk: 1 to 64 */
  uint32_t reserved;
} sparsec_stage_info_t;

typedef enum sparsec_stage_flag_e {
  /* The kernel waits by itself for the one in front of it on the stream (griddepcontrol.wait), so the runtime may
   * launch it early. Runtimes before launch info 4.14 do so with the second stage alone. */
  SPARSEC_STAGE_DEPENDENT_LAUNCH = 1,
  /* Only with streams: a stage has adjacent columns from a multiple of their number on, which are copied at once. */
  SPARSEC_STAGE_ADJACENT_COLUMNS = 2,
} sparsec_stage_flag_t;

typedef struct sparsec_parameter_info_s {
  uint32_t source;    /* sparsec_source_t */
  uint32_t index;     /* argument, tensor map record, plan section or workspace, if the source has one */
  uint32_t field;     /* sparsec_field_t of an argument, else 0 */
  uint32_t dimension; /* of a size or stride, else 0 */
} sparsec_parameter_info_t;

/* A machine kernel beside those of the variants. */
typedef struct sparsec_auxiliary_info_s {
  uint32_t kind;  /* sparsec_auxiliary_kind_t */
  uint32_t stage; /* its machine kernel */
} sparsec_auxiliary_info_t;

typedef struct sparsec_tensor_map_info_s {
  uint32_t kind;     /* sparsec_tensor_map_kind_t */
  uint32_t argument; /* argument of the kernel */
  uint32_t rank;
  uint32_t swizzle;               /* sparsec_swizzle_t */
  uint32_t box[SPARSEC_MAX_RANK]; /* elements, innermost first */
  uint32_t reserved;
} sparsec_tensor_map_info_t;

/*
 * A bundle holds several images: `sparsec --arch=sm_90a,sm_89,host`. It starts
 * with a sparsec_bundle_t. The entries follow. The runtime takes the best image
 * for the device: among those that run on it, the one of the highest capability.
 */
#define SPARSEC_BUNDLE_MAGIC 0x4c444e4243525053ull /* "SPRCBNDL" */
#define SPARSEC_BUNDLE_MAJOR 2
#define SPARSEC_BUNDLE_MINOR 0

typedef enum sparsec_image_format_e {
  SPARSEC_IMAGE_ELF = 1, /* a cubin or a host object; launch info inside */
  SPARSEC_IMAGE_PTX = 2, /* zero-terminated PTX text; launch info beside it */
} sparsec_image_format_t;

typedef struct sparsec_bundle_s {
  uint64_t magic; /* SPARSEC_BUNDLE_MAGIC */
  uint16_t major, minor;
  uint32_t entry_count;
  uint32_t entry_offset, entry_size;
  uint64_t total_size;
  uint32_t checksum; /* CRC-32 of the total_size bytes with this field zero */
  uint32_t reserved;
} sparsec_bundle_t;

typedef struct sparsec_bundle_entry_s {
  char target[SPARSEC_NAME_LENGTH];
  uint32_t format; /* sparsec_image_format_t */
  uint32_t reserved;
  uint64_t image_offset, image_size;             /* from the start of the bundle; offset multiple of 16 */
  uint64_t launch_info_offset, launch_info_size; /* PTX only, else 0 */
} sparsec_bundle_entry_t;

/*
 * Host images are ELF relocatable objects (x86-64). The only relocations in their
 * loaded sections are R_X86_64_64, so that the runtime can load them without a
 * linker. The symbol of every stage has this type. It computes the tiles
 * [tile_begin, tile_end) of tile_rows x panels (see sparsec_stage_info_t), in an
 * order of its own. Several threads may compute different tiles at once.
 */
typedef void (*sparsec_host_kernel_t)(const uint64_t *parameters, int64_t tile_begin, int64_t tile_end);

/*
 * The functions of the process that a host image may call. The compiler writes no
 * object that refers to another name, and the runtime loads none. The macro expands
 * to FUNCTION(name) for each function.
 */
/* clang-format off */
#define SPARSEC_HOST_FUNCTIONS(FUNCTION)                                           \
  FUNCTION(memcpy)  FUNCTION(memmove) FUNCTION(memset)                             \
  FUNCTION(cosf)    FUNCTION(erff)    FUNCTION(exp2f)   FUNCTION(expf)             \
  FUNCTION(expm1f)  FUNCTION(ldexpf)  FUNCTION(log1pf)  FUNCTION(log2f)            \
  FUNCTION(logf)    FUNCTION(sincosf) FUNCTION(sinf)    FUNCTION(tanhf)
/* clang-format on */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SPARSEC_LAUNCH_INFO_H */
