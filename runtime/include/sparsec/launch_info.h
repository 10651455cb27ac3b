/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * launch_info.h: the one header that the compiler and the runtime share.
 *
 * Every image that the compiler writes (a GPU cubin or a host object) holds one
 * constant global named SPARSEC_LAUNCH_INFO_SYMBOL. It starts with
 * sparsec_launch_info_t and is followed by its record tables. It can be read
 * from the ELF file without a GPU, and it says all that a launch needs: the
 * kernels, their arguments, and for each kernel the variants (machine kernels)
 * among which the runtime chooses.
 *
 * All fields are little-endian and naturally aligned, all offsets are in bytes
 * from the start of the launch info. Strings are zero-terminated and
 * zero-padded. Readers refuse another major version and accept a larger minor
 * version (records only grow at their end: use the *_size fields as strides).
 */
#ifndef SPARSEC_LAUNCH_INFO_H
#define SPARSEC_LAUNCH_INFO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPARSEC_LAUNCH_INFO_SYMBOL "sparsec_launch_info"
#define SPARSEC_LAUNCH_INFO_MAGIC 0x4f464e4943525053ull /* "SPRCINFO" */
#define SPARSEC_LAUNCH_INFO_MAJOR 1
#define SPARSEC_LAUNCH_INFO_MINOR 1

#define SPARSEC_NAME_LENGTH 64    /* argument and target names, with the zero */
#define SPARSEC_SYMBOL_LENGTH 128 /* kernel and symbol names, with the zero */
#define SPARSEC_MAX_RANK 5
#define SPARSEC_MAX_PARAMETERS 128  /* of a machine kernel */
#define SPARSEC_MAX_SIZE 2147418111 /* of a dimension: rounded up to a tile of up to 65536 it fits an int32_t */
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
} sparsec_dtype_t;

/* What kind of value the caller passes for a kernel argument. */
typedef enum sparsec_argument_kind_e {
  SPARSEC_ARGUMENT_BSR = 1,     /* a block-sparse matrix: sparsec_blocks_t */
  SPARSEC_ARGUMENT_DENSE = 2,   /* a dense tensor of rank 0 to 5: sparsec_dense_t */
  SPARSEC_ARGUMENT_SCALAR = 3,  /* one f32 by value */
  SPARSEC_ARGUMENT_PATTERN = 4, /* which key blocks each query block visits: sparsec_blocks_t */
} sparsec_argument_kind_t;

/* The part an argument plays in the product. */
typedef enum sparsec_argument_role_e {
  SPARSEC_ROLE_MATRIX = 1,   /* the block-sparse operand W, M x K */
  SPARSEC_ROLE_DENSE = 2,    /* the dense operand X: (K, N) or (N, K) */
  SPARSEC_ROLE_EPILOGUE = 3, /* an extra operand of the epilogue region */
  SPARSEC_ROLE_RESULT = 4,   /* the result Y: (M, N) or (N, M); of attention O: (B, H, Sq, D) */
  SPARSEC_ROLE_QUERY = 5,    /* Q: (B, H, Sq, D) */
  SPARSEC_ROLE_KEY = 6,      /* K: (B, Hkv, Skv, D), H a multiple of Hkv */
  SPARSEC_ROLE_VALUE = 7,    /* V: as K */
  SPARSEC_ROLE_PATTERN = 8,  /* the block pattern */
  SPARSEC_ROLE_REGION = 9,   /* an extra operand of the score and mask regions, read element by element */
  SPARSEC_ROLE_SCALE = 10,   /* f32 by value: the softmax scale; without it 1 / sqrt(D) */
  SPARSEC_ROLE_LSE = 11,     /* second result: log of the sum of exponentials, (B, H, Sq) f32 */
} sparsec_argument_role_t;

/* Which elements of an epilogue operand belong to result element (m, n). */
typedef enum sparsec_broadcast_e {
  SPARSEC_BROADCAST_NONE = 0,       /* not an epilogue operand */
  SPARSEC_BROADCAST_PER_ROW = 1,    /* rank 1, size M: element m */
  SPARSEC_BROADCAST_PER_COLUMN = 2, /* rank 1, size N: element n */
  SPARSEC_BROADCAST_SCALAR = 3,     /* rank 0 tensor or f32 by value */
  SPARSEC_BROADCAST_FULL = 4,       /* rank 2, shape and layout of the result */
} sparsec_broadcast_t;

/* Order of the two dimensions of a rank-2 operand. The last one is contiguous. */
typedef enum sparsec_layout_e {
  SPARSEC_LAYOUT_NONE = 0,
  SPARSEC_LAYOUT_ROW_MAJOR = 1,  /* X as (K, N); Y as (M, N) */
  SPARSEC_LAYOUT_TRANSPOSED = 2, /* X as (N, K); Y as (N, M) */
} sparsec_layout_t;

typedef enum sparsec_kernel_family_e {
  SPARSEC_FAMILY_SPMM = 1,
  SPARSEC_FAMILY_ATTENTION = 2,
} sparsec_kernel_family_t;

typedef enum sparsec_target_kind_e {
  SPARSEC_TARGET_CUDA = 1,
  SPARSEC_TARGET_HOST = 2,
} sparsec_target_kind_t;

/*
 * One machine-kernel parameter: where the runtime takes it from. A GPU kernel
 * receives the parameters in this order (CUDA Driver API parameter array). A
 * host kernel receives a pointer to an array of 8-byte slots in this order.
 */
typedef enum sparsec_parameter_kind_e {
  SPARSEC_PARAMETER_TENSOR_MAP = 1,     /* 128 bytes by value; index = tensor map record */
  SPARSEC_PARAMETER_POINTER = 2,        /* data (dense) or values (BSR) of the argument */
  SPARSEC_PARAMETER_ROW_PTR = 3,        /* row_ptr of a BSR argument */
  SPARSEC_PARAMETER_COL_IDX = 4,        /* col_idx of a BSR argument */
  SPARSEC_PARAMETER_SIZE = 5,           /* i32: size of dimension `index` of the argument */
  SPARSEC_PARAMETER_STRIDE = 6,         /* i64: stride in elements of dimension `index` */
  SPARSEC_PARAMETER_SCALAR = 7,         /* f32: the scalar argument */
  SPARSEC_PARAMETER_PLAN_SECTION = 8,   /* pointer to section `index` of the plan, or null */
  SPARSEC_PARAMETER_TILE_ROWS = 9,      /* i32: tiles along M */
  SPARSEC_PARAMETER_TILE_PANELS = 10,   /* i32: column panels (of all CTAs of a cluster) along N */
  SPARSEC_PARAMETER_PATTERN_FIELD = 11, /* index = sparsec_pattern_field_t of a pattern argument */
} sparsec_parameter_kind_t;

/* How the lists of a pattern lie in memory. */
typedef enum sparsec_pattern_encoding_e {
  /* starts[rows of all batches and heads + 1]: list i is indices[starts[i]] up to indices[starts[i + 1]]. */
  SPARSEC_PATTERN_INDEX_ARRAYS = 1,
  /* starts[rows of all batches and heads] holds counts: list i is indices[i * capacity] up to
   * indices[i * capacity + starts[i]]. What a FlexAttention BlockMask holds. */
  SPARSEC_PATTERN_PADDED_LISTS = 2,
} sparsec_pattern_encoding_t;

/* What a kernel takes of the sparsec_blocks_t of a pattern. */
typedef enum sparsec_pattern_field_e {
  SPARSEC_PATTERN_FIELD_ENCODING = 1,       /* i32: sparsec_pattern_encoding_t */
  SPARSEC_PATTERN_FIELD_BATCHES = 2,        /* i32 */
  SPARSEC_PATTERN_FIELD_HEADS = 3,          /* i32 */
  SPARSEC_PATTERN_FIELD_CAPACITY = 4,       /* i64 */
  SPARSEC_PATTERN_FIELD_PARTIAL_STARTS = 5, /* pointer, null: all lists are empty */
  SPARSEC_PATTERN_FIELD_PARTIAL_INDICES = 6,
  SPARSEC_PATTERN_FIELD_FULL_STARTS = 7, /* pointer, null: all lists are empty */
  SPARSEC_PATTERN_FIELD_FULL_INDICES = 8,
} sparsec_pattern_field_t;

/* Sections of a plan. Later kernel families add sections (word streams, packed
 * values, reordered rows); kernels that do not name them are unaffected. */
typedef enum sparsec_plan_section_e {
  /* uint32[workers + 1]: worker w (a CTA, or a cluster of CTAs) owns the tiles
   * [offsets[w], offsets[w + 1]). */
  SPARSEC_PLAN_TILE_OFFSETS = 0,
  /* {uint32 tile row, uint32 panel}[tiles]; see sparsec_variant_info_t. */
  SPARSEC_PLAN_TILES = 1,
  /* uint32, zero between launches: workers that have done a tile take the next one by it.
   * Then there are no lists. */
  SPARSEC_PLAN_COUNTER = 2,
} sparsec_plan_section_t;

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
  /* The same memory for blocks of the last block column where K cuts them: {K mod block columns, or block columns where
   * that is 0, block rows, blocks}. Copies fill what lies beyond K with zeros. */
  SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES = 3,
} sparsec_tensor_map_kind_t;

/*
 * The epilogue region as a list of steps in static single assignment form, so
 * that the reference can evaluate it in double. Value 0 is the accumulator,
 * values 1..e are the elements of the epilogue operands, value e + 1 + i is the
 * result of step i. The last step's value is the result. No steps: the result
 * is the accumulator. Comparisons and logic give 0 or 1.
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
  /* 32-bit integers, as in arith: sums and products wrap. */
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
  /* An element of kernel argument a; its indices are the values b, b + 1, ... (as many as its rank). */
  SPARSEC_STEP_LOAD = 128,
} sparsec_step_op_t;

/* As arith.cmpf: O = false if unordered, U = true if unordered. */
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

typedef struct sparsec_launch_info_s {
  uint64_t magic;              /* SPARSEC_LAUNCH_INFO_MAGIC */
  uint16_t major, minor;       /* SPARSEC_LAUNCH_INFO_MAJOR, _MINOR */
  uint32_t total_size;         /* bytes of the launch info with all tables */
  uint32_t checksum;           /* CRC-32 (IEEE 802.3) of the total_size bytes with this field zero */
  uint32_t target_kind;        /* sparsec_target_kind_t */
  uint32_t compute_capability; /* CUDA: 10 * major + minor; host: 0 */
  uint32_t arch_specific;      /* CUDA: 1 when the code runs on exactly this capability (sm_90a) */
  uint32_t kernel_offset, kernel_count, kernel_size;
  uint32_t argument_offset, argument_count, argument_size;
  uint32_t variant_offset, variant_count, variant_size;
  uint32_t parameter_offset, parameter_count, parameter_size;
  uint32_t tensor_map_offset, tensor_map_count, tensor_map_size;
  uint32_t step_offset, step_count, step_size;
  uint32_t reserved;
  char target[SPARSEC_NAME_LENGTH];   /* "sm_90a", "sm_89", "host" */
  char compiler[SPARSEC_NAME_LENGTH]; /* "sparsec 0.1.0" */
  uint32_t attention_offset, attention_count, attention_size;
  uint32_t reserved2;
} sparsec_launch_info_t;

/* One sparsec.kernel. Its arguments are the inputs in order, then the results. */
typedef struct sparsec_kernel_info_s {
  char name[SPARSEC_SYMBOL_LENGTH];
  uint32_t family; /* sparsec_kernel_family_t */
  uint32_t argument_first, argument_count;
  uint32_t variant_first, variant_count; /* in order of preference */
  uint32_t step_first, step_count;       /* the epilogue */
  uint32_t detail;                       /* attention: its sparsec_attention_info_t; else 0 */
} sparsec_kernel_info_t;

/*
 * What is special about an attention kernel. Query q stands at position
 * p = q + Skv - Sq among the keys. Key k is visible to it if the pattern's list
 * of q's block holds k's block (no pattern: always), k <= p when causal,
 * p - window_left <= k <= p + window_right (a limit of -1 is none), and, in
 * blocks of the partial lists (no pattern: always), the mask region says so.
 *
 * Regions are steps like the epilogue's. Value 0 is the score (scale * q . k;
 * unused in masks), values 1 to 4 are batch, head, q and k, value 5 + i is the
 * result of step i; the last step's value is the result.
 */
typedef struct sparsec_attention_info_s {
  uint32_t head_dimension; /* D */
  uint32_t causal;
  int32_t window_left, window_right;
  uint32_t score_step_first, score_step_count;
  uint32_t mask_step_first, mask_step_count;
  /* A variant behind those of the kernel, or none: the pattern builder, a machine kernel that writes the padded lists
   * of a pattern from the mask region, in ascending order. Its grid is one CTA for every list. Of the arguments it
   * takes Sq and Skv (dimension 2 of Q and of K), the fields of the pattern and the operands of the region. */
  uint32_t builder_first, builder_count;
} sparsec_attention_info_t;

typedef struct sparsec_argument_info_s {
  char name[SPARSEC_NAME_LENGTH];
  uint32_t kind;                      /* sparsec_argument_kind_t */
  uint32_t role;                      /* sparsec_argument_role_t */
  uint32_t dtype;                     /* sparsec_dtype_t */
  uint32_t broadcast;                 /* sparsec_broadcast_t */
  uint32_t layout;                    /* sparsec_layout_t, for SPARSEC_ROLE_DENSE, _RESULT and full epilogue operands */
  uint32_t rank;                      /* BSR: 2; pattern: 0 */
  int64_t sizes[SPARSEC_MAX_RANK];    /* static size or SPARSEC_DYNAMIC */
  uint32_t block_rows, block_columns; /* BSR; pattern: of queries, of keys */
} sparsec_argument_info_t;

/*
 * One machine kernel. The runtime takes the first variant of the kernel whose
 * `alignment` the call satisfies: every dense argument's data pointer and row
 * stride, and the BSR values pointer, are multiples of `alignment` bytes; and so
 * is the width (last size) of a result that the variant writes through a tensor
 * map and of a dense operand that it reads without one: tensor stores and
 * cp.async move whole 16-byte units, tensor loads do not.
 *
 * Tiles: the result is cut into tile_rows x panels. Tile row t covers rows
 * [(t mod s) * tile_m, ...) of block row t / s, where s = ceil(block_rows /
 * tile_m) (so a tile never crosses a block row). Panel p covers columns
 * [p * cluster * tile_n, (p + 1) * cluster * tile_n): CTA of rank q in the
 * cluster owns columns [(p * cluster + q) * tile_n, ...).
 *
 * Attention: tile (b * H + h) * ceil(Sq / tile_m) + i is block i of tile_m
 * queries of head h of batch b; tile_n keys are taken at a time, tile_k is D. In
 * SPARSEC_PLAN_TILES, tile row b * H + h has panels that count from the last
 * block of queries on.
 */
typedef struct sparsec_variant_info_s {
  char symbol[SPARSEC_SYMBOL_LENGTH];
  uint32_t parameter_first, parameter_count;
  uint32_t alignment;             /* bytes */
  uint32_t threads;               /* CUDA: threads in a CTA */
  uint32_t dynamic_shared_memory; /* bytes */
  uint32_t cluster;               /* CTAs in a cluster; compiled in as .reqnctapercluster */
  uint32_t ctas_per_sm;           /* CTAs that are meant to be resident on one SM */
  uint32_t tile_m, tile_n, tile_k;
  uint32_t stages;
  uint32_t raster;    /* tile rows in a raster group: without a plan, and in plans of nearly dense patterns */
  uint32_t registers; /* per thread as ptxas reports, 0 = unknown */
  uint32_t static_shared_memory;        /* bytes as ptxas reports */
  uint32_t spill_bytes;                 /* as ptxas reports */
  uint32_t tiles_per_cta;               /* tiles that a CTA works on side by side: each is a worker's */
  char schedule[SPARSEC_SYMBOL_LENGTH]; /* readable summary, e.g. "wgmma tma 128x256x64 stages 4 cluster 2" */
} sparsec_variant_info_t;

typedef struct sparsec_parameter_info_s {
  uint32_t kind;     /* sparsec_parameter_kind_t */
  uint32_t argument; /* argument of the kernel (0 = first), where the kind has one */
  uint32_t index;    /* dimension, tensor map record or plan section, where the kind has one */
  uint32_t reserved;
} sparsec_parameter_info_t;

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
 * with sparsec_bundle_t; the entries follow. The runtime takes the best image
 * for the device: an exact cubin, else a PTX image of a lower capability.
 */
#define SPARSEC_BUNDLE_MAGIC 0x4c444e4243525053ull /* "SPRCBNDL" */
#define SPARSEC_BUNDLE_MAJOR 1
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
} sparsec_bundle_t;

typedef struct sparsec_bundle_entry_s {
  char target[SPARSEC_NAME_LENGTH];
  uint32_t format; /* sparsec_image_format_t */
  uint32_t reserved;
  uint64_t image_offset, image_size;             /* from the start of the bundle; offset multiple of 16 */
  uint64_t launch_info_offset, launch_info_size; /* PTX only, else 0 */
} sparsec_bundle_entry_t;

/*
 * Host images are ELF relocatable objects (x86-64) whose only relocations in
 * loaded sections are R_X86_64_64, so that the runtime can load them without a
 * linker. Every variant symbol has this type and computes the tiles
 * [tile_begin, tile_end) of tile_rows x panels, tile = tile row * panels + panel
 * (attention: see sparsec_variant_info_t). Different tiles may run on different
 * threads.
 */
typedef void (*sparsec_host_kernel_t)(const uint64_t *parameters, int64_t tile_begin, int64_t tile_end);

/*
 * The functions of the process that a host image may refer to: the compiler
 * writes no object that refers to another name, and the runtime loads none.
 * FUNCTION(name) stands for each.
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
static_assert(sizeof(sparsec_launch_info_t) == 256, "file format");
static_assert(sizeof(sparsec_kernel_info_t) == 160, "file format");
static_assert(sizeof(sparsec_argument_info_t) == 136, "file format");
static_assert(sizeof(sparsec_attention_info_t) == 40, "file format");
static_assert(sizeof(sparsec_variant_info_t) == 320, "file format");
static_assert(sizeof(sparsec_parameter_info_t) == 16, "file format");
static_assert(sizeof(sparsec_tensor_map_info_t) == 40, "file format");
static_assert(sizeof(sparsec_step_info_t) == 24, "file format");
static_assert(sizeof(sparsec_bundle_t) == 32, "file format");
static_assert(sizeof(sparsec_bundle_entry_t) == 104, "file format");
#endif

#endif /* SPARSEC_LAUNCH_INFO_H */
