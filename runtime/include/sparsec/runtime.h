/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * runtime.h: load, plan and launch what `sparsec` compiled. C ABI.
 *
 * Conventions. A function that can fail returns sparsec_status_t; NULL is OK and
 * anything else is an object that the caller frees with sparsec_status_free. On
 * failure out_ parameters are set to NULL or 0, no result memory is written and
 * the CUDA context is as it was. Results come through out_ parameters, last.
 * Handles are freed with their _destroy function, which accepts NULL. No
 * exception crosses this interface. Sizes and strides are in elements unless
 * the name says bytes. libcuda is loaded on first use: a program that links
 * this library starts on a machine without a driver.
 *
 * Structs. A struct that may grow begins with `size`, which the caller sets to
 * sizeof the struct, also in one that a function fills. Later versions add
 * fields at the end. A function reads and writes at most `size` bytes and at
 * most those that it knows; what an older caller does not pass is taken as 0. A
 * size below that of the first version is refused. Reserved fields are 0.
 *
 * Threads. Devices, modules, kernels and plans are immutable after creation and
 * may be used by any number of threads at once; destroy them when no call uses
 * them. A status belongs to one thread at a time.
 */
#ifndef SPARSEC_RUNTIME_H
#define SPARSEC_RUNTIME_H

#include "sparsec/launch_info.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SPARSEC_API __attribute__((visibility("default")))
#define SPARSEC_MUST_USE __attribute__((warn_unused_result))
#else
#define SPARSEC_API
#define SPARSEC_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ------------------------------------------------------------ */

typedef struct sparsec_status_s *sparsec_status_t; /* NULL is OK */

typedef enum sparsec_status_code_e {
  SPARSEC_STATUS_OK = 0,
  SPARSEC_STATUS_INVALID_ARGUMENT = 1, /* a value the caller passed; the message names it */
  SPARSEC_STATUS_INVALID_PATTERN = 2,  /* the index arrays of a matrix or pattern break a rule */
  SPARSEC_STATUS_INVALID_IMAGE = 3,    /* truncated, foreign or corrupt compiled file */
  SPARSEC_STATUS_VERSION_MISMATCH = 4, /* compiled by an incompatible version */
  SPARSEC_STATUS_WRONG_DEVICE = 5,     /* no image in the file runs on this device */
  SPARSEC_STATUS_DEVICE_LIMIT = 6,     /* needs more than the device has */
  SPARSEC_STATUS_UNAVAILABLE = 7,      /* no driver or no such device */
  SPARSEC_STATUS_OUT_OF_MEMORY = 8,
  SPARSEC_STATUS_NOT_FOUND = 9,     /* no kernel of that name */
  SPARSEC_STATUS_DRIVER_ERROR = 10, /* the CUDA driver refused; its error name is in the message */
  SPARSEC_STATUS_INTERNAL = 11,
} sparsec_status_code_t;

SPARSEC_API sparsec_status_code_t sparsec_status_code(sparsec_status_t status);
/* Valid until the status is freed. "ok" for NULL. */
SPARSEC_API const char *sparsec_status_message(sparsec_status_t status);
/* "invalid argument", ... */
SPARSEC_API const char *sparsec_status_code_name(sparsec_status_code_t code);
SPARSEC_API void sparsec_status_free(sparsec_status_t status);

/* "0.1.0" */
SPARSEC_API const char *sparsec_version(void);

/* ---- Devices and memory ------------------------------------------------ */

typedef struct sparsec_device_s *sparsec_device_t;

/* Where memory is: the ordinal of a CUDA device, or one of these. */
typedef enum sparsec_place_e {
  SPARSEC_PLACE_HOST = -1,    /* memory of the host */
  SPARSEC_PLACE_UNKNOWN = -2, /* not said: nothing is checked */
} sparsec_place_t;

typedef struct sparsec_device_info_s {
  size_t size; /* sizeof(sparsec_device_info_t) */
  sparsec_target_kind_t kind;
  int32_t ordinal; /* CUDA: of the device; host: SPARSEC_PLACE_HOST */
  char name[256];
  int32_t compute_capability;      /* 10 * major + minor; host: 0 */
  int32_t multiprocessors;         /* SMs; host: worker threads */
  int64_t shared_memory_per_block; /* bytes, opt-in maximum; host: 0 */
  int64_t memory_bytes;
} sparsec_device_info_t;

/* Number of CUDA devices; 0 (and OK) when there is no driver. */
SPARSEC_API sparsec_status_t sparsec_cuda_device_count(int32_t *out_count) SPARSEC_MUST_USE;
/* Retains the device's primary context, the one that the CUDA runtime API and
 * the frameworks use: their pointers and streams can be passed to launches. */
SPARSEC_API sparsec_status_t sparsec_device_open_cuda(int32_t ordinal, sparsec_device_t *out_device) SPARSEC_MUST_USE;
/* The processor. thread_count 0 = all cores. */
SPARSEC_API sparsec_status_t sparsec_device_open_host(int32_t thread_count,
                                                      sparsec_device_t *out_device) SPARSEC_MUST_USE;

typedef enum sparsec_device_flag_e {
  /* The checking mode, for debugging. A GPU that reads a wrong pointer ends the CUDA context, and with it the memory of
   * the process on the device. In this mode launches, plans and updates of patterns ask the driver for every pointer of
   * their arguments first: the memory must be that of this device, managed, or pinned and mapped, and reach up to the
   * last element within one allocation. What is not so is refused by name. Streams may be captured meanwhile. The
   * environment variable SPARSEC_CHECK_MEMORY goes before this flag, also where a device is opened without options: 1
   * turns the mode on, 0 off. On the host the mode does nothing. */
  SPARSEC_DEVICE_CHECK_MEMORY = 1,
} sparsec_device_flag_t;

typedef struct sparsec_device_options_s {
  size_t size; /* sizeof(sparsec_device_options_t) */
  sparsec_target_kind_t kind;
  int32_t ordinal;      /* CUDA */
  int32_t thread_count; /* host; 0: all cores */
  uint32_t flags;       /* of sparsec_device_flag_t; 0: none */
} sparsec_device_options_t;

/* What the two functions above do, with options. */
SPARSEC_API sparsec_status_t sparsec_device_open(const sparsec_device_options_t *options,
                                                 sparsec_device_t *out_device) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_device_destroy(sparsec_device_t device);
SPARSEC_API sparsec_status_t sparsec_device_info(sparsec_device_t device,
                                                 sparsec_device_info_t *out_info) SPARSEC_MUST_USE;

/* Plain device memory (host: 64-byte aligned host memory). Zero bytes give NULL. */
SPARSEC_API sparsec_status_t sparsec_memory_allocate(sparsec_device_t device, size_t bytes,
                                                     void **out_data) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_memory_free(sparsec_device_t device, void *data);
/* Synchronous copies between host memory and memory of the device. */
SPARSEC_API sparsec_status_t sparsec_memory_upload(sparsec_device_t device, void *destination, const void *source,
                                                   size_t bytes) SPARSEC_MUST_USE;
SPARSEC_API sparsec_status_t sparsec_memory_download(sparsec_device_t device, void *destination, const void *source,
                                                     size_t bytes) SPARSEC_MUST_USE;
/* Waits for everything that was launched on the stream (NULL: default stream). */
SPARSEC_API sparsec_status_t sparsec_synchronize(sparsec_device_t device, void *stream) SPARSEC_MUST_USE;

/* ---- Views ------------------------------------------------------------- */

typedef enum sparsec_dense_flag_e {
  SPARSEC_DENSE_READ_ONLY = 1, /* launches refuse it as a result */
} sparsec_dense_flag_t;

/* A dense tensor. The last dimension must be contiguous (stride 1). The stride of a dimension of at most one element,
 * and every stride of an empty tensor, may be anything. */
typedef struct sparsec_dense_s {
  size_t size;    /* sizeof(sparsec_dense_t) */
  int32_t device; /* where the memory is: the ordinal of a CUDA device or a sparsec_place_t */
  sparsec_dtype_t dtype;
  int32_t rank;
  uint32_t flags; /* of sparsec_dense_flag_t; 0: none */
  void *data;
  int64_t sizes[SPARSEC_MAX_RANK];   /* in the arguments of a plan SPARSEC_DYNAMIC leaves a size open */
  int64_t strides[SPARSEC_MAX_RANK]; /* elements */
} sparsec_dense_t;

/* One list of block columns for every batch, head and block row, in this order. */
typedef struct sparsec_block_lists_s {
  const int32_t *starts;  /* see sparsec_pattern_encoding_t; NULL: all lists are empty; 4-byte aligned */
  const int32_t *indices; /* block columns, in any order, none twice in a list; 4-byte aligned */
} sparsec_block_lists_t;

typedef enum sparsec_blocks_flag_e {
  /* Launches on a GPU check the lists as sparsec_blocks_check does: they wait for the stream, copy the lists to the
   * host (4 bytes per list and entry of the capacity) and only then launch. Not while a stream is captured. Without
   * this flag an index that is out of range is not visited, but a count or start that is out of range may make the
   * kernel read beyond the lists. */
  SPARSEC_BLOCKS_CHECK_LISTS = 1,
} sparsec_blocks_flag_t;

/*
 * Blocks of a matrix of rows x columns elements: those of a block-sparse (BSR)
 * operand with their values, or those of the keys that each block of queries
 * visits. Block row i covers the rows [i * block_rows, (i + 1) * block_rows);
 * rows and columns need not be multiples of the block.
 *
 * BSR: index arrays in `full`, where starts is often called row_ptr and indices
 * col_idx; capacity is the number of blocks; `partial` is empty, batches and
 * heads are 1. The elements of block p are values[p][block_rows][block_columns],
 * row-major and contiguous. Elements of edge blocks beyond the matrix do not
 * count, and may be anything.
 *
 * Attention: rows are queries, columns are keys, dtype is NONE and values is
 * NULL. A block may be in the full or in the partial list of a block row, not in
 * both; the mask region applies in partial blocks only.
 */
typedef struct sparsec_blocks_s {
  size_t size;                         /* sizeof(sparsec_blocks_t) */
  int32_t device;                      /* where lists and values are: an ordinal or a sparsec_place_t */
  sparsec_dtype_t dtype;               /* of the values; SPARSEC_DTYPE_NONE: there are none */
  sparsec_pattern_encoding_t encoding; /* of both kinds of lists */
  uint32_t flags;                      /* of sparsec_blocks_flag_t; 0: none */
  int32_t block_rows, block_columns;
  int64_t batches, heads; /* with lists of their own; 1: the same lists for all */
  int64_t rows, columns;  /* elements */
  int64_t capacity;       /* index arrays: entries of indices; padded lists: entries of one list */
  sparsec_block_lists_t full, partial;
  const void *values;
} sparsec_blocks_t;

/* Checks lists in host memory: starts ascending from 0 and within the capacity,
 * or counts within it; block columns in range, none twice in a list, none in both
 * lists of a block row. */
SPARSEC_API sparsec_status_t sparsec_blocks_check(const sparsec_blocks_t *host_blocks) SPARSEC_MUST_USE;

/* One kernel argument: 16 bytes in every version. Arguments come in the kernel's
 * order: inputs, then results. */
typedef struct sparsec_argument_s {
  uint32_t kind; /* sparsec_argument_kind_t; in the arguments of a plan 0 leaves the argument open */
  uint32_t reserved;
  union {
    const void *view; /* of a sparsec_blocks_t or a sparsec_dense_t; read during the call only */
    double scalar;
  };
} sparsec_argument_t;

/* The functions that make views are inline: a view has the size that the caller
 * was compiled with. They leave open where the memory is. */

/* A contiguous row-major view of `rank` sizes. */
static inline sparsec_dense_t sparsec_dense(void *data, sparsec_dtype_t dtype, int32_t rank, const int64_t *sizes) {
  sparsec_dense_t dense = {sizeof(sparsec_dense_t), SPARSEC_PLACE_UNKNOWN, dtype, rank, 0, data, {0}, {0}};
  uint64_t stride = 1;
  int32_t d;
  for (d = rank - 1; d >= 0; --d) {
    dense.sizes[d] = sizes[d];
    dense.strides[d] = (int64_t)stride;
    stride *= (uint64_t)sizes[d];
  }
  return dense;
}
static inline sparsec_dense_t sparsec_dense_1d(void *data, sparsec_dtype_t dtype, int64_t size) {
  return sparsec_dense(data, dtype, 1, &size);
}
static inline sparsec_dense_t sparsec_dense_2d(void *data, sparsec_dtype_t dtype, int64_t rows, int64_t columns) {
  int64_t sizes[2] = {rows, columns};
  return sparsec_dense(data, dtype, 2, sizes);
}
static inline sparsec_dense_t sparsec_dense_3d(void *data, sparsec_dtype_t dtype, int64_t planes, int64_t rows,
                                               int64_t columns) {
  int64_t sizes[3] = {planes, rows, columns};
  return sparsec_dense(data, dtype, 3, sizes);
}
/* Views with sizes (batches, heads, length, dimension), as attention takes them,
 * of contiguous memory in the order batch-head-sequence or batch-sequence-head. */
static inline sparsec_dense_t sparsec_dense_bhsd(void *data, sparsec_dtype_t dtype, int64_t batches, int64_t heads,
                                                 int64_t length, int64_t dimension) {
  int64_t sizes[4] = {batches, heads, length, dimension};
  return sparsec_dense(data, dtype, 4, sizes);
}
static inline sparsec_dense_t sparsec_dense_bshd(void *data, sparsec_dtype_t dtype, int64_t batches, int64_t heads,
                                                 int64_t length, int64_t dimension) {
  sparsec_dense_t dense = sparsec_dense_bhsd(data, dtype, batches, heads, length, dimension);
  dense.strides[1] = dimension;
  dense.strides[2] = heads * dimension;
  return dense;
}
/* A BSR matrix. */
static inline sparsec_blocks_t sparsec_blocks_bsr(int64_t rows, int64_t columns, int32_t block_rows,
                                                  int32_t block_columns, int64_t block_count, const int32_t *row_ptr,
                                                  const int32_t *col_idx, sparsec_dtype_t dtype, const void *values) {
  sparsec_blocks_t blocks = {sizeof(sparsec_blocks_t),
                             SPARSEC_PLACE_UNKNOWN,
                             dtype,
                             SPARSEC_PATTERN_INDEX_ARRAYS,
                             0,
                             block_rows,
                             block_columns,
                             1,
                             1,
                             rows,
                             columns,
                             block_count,
                             {row_ptr, col_idx},
                             /* NOLINTNEXTLINE(modernize-use-nullptr): this header is C. */
                             {0, 0},
                             values};
  return blocks;
}
/* A pattern of queries x keys with index arrays, all of them empty. */
static inline sparsec_blocks_t sparsec_blocks_pattern(int64_t batches, int64_t heads, int64_t queries, int64_t keys,
                                                      int32_t query_block, int32_t key_block) {
  /* NOLINTNEXTLINE(modernize-use-nullptr): this header is C. */
  sparsec_blocks_t blocks = sparsec_blocks_bsr(queries, keys, query_block, key_block, 0, 0, 0, SPARSEC_DTYPE_NONE, 0);
  blocks.batches = batches;
  blocks.heads = heads;
  return blocks;
}
/* Arguments; the view must live as long as the argument is used. */
static inline sparsec_argument_t sparsec_argument_dense(const sparsec_dense_t *dense) {
  sparsec_argument_t argument = {SPARSEC_ARGUMENT_DENSE, 0, {dense}};
  return argument;
}
static inline sparsec_argument_t sparsec_argument_blocks(const sparsec_blocks_t *blocks) {
  sparsec_argument_t argument = {SPARSEC_ARGUMENT_BSR, 0, {blocks}};
  if (blocks->dtype == SPARSEC_DTYPE_NONE)
    argument.kind = SPARSEC_ARGUMENT_PATTERN;
  return argument;
}
static inline sparsec_argument_t sparsec_argument_scalar(double value) {
  /* NOLINTNEXTLINE(modernize-use-nullptr): this header is C. */
  sparsec_argument_t argument = {SPARSEC_ARGUMENT_SCALAR, 0, {0}};
  argument.scalar = value;
  return argument;
}

SPARSEC_API size_t sparsec_dtype_bytes(sparsec_dtype_t dtype);
SPARSEC_API const char *sparsec_dtype_name(sparsec_dtype_t dtype);

/* A view of a DLPack tensor, without a copy: of a `DLManagedTensor *`, or of a
 * `DLManagedTensorVersioned *` of DLPack 1.x. The tensor must outlive the view. The
 * view's device is that of the tensor; pinned and managed memory are anybody's
 * (SPARSEC_PLACE_UNKNOWN). A read-only tensor gives a read-only view. Refuses
 * devices, types, ranks and strides that have no view, by name. */
SPARSEC_API sparsec_status_t sparsec_dense_from_dlpack(const void *managed_tensor,
                                                       sparsec_dense_t *out_dense) SPARSEC_MUST_USE;
SPARSEC_API sparsec_status_t sparsec_dense_from_dlpack_versioned(const void *managed_tensor,
                                                                 sparsec_dense_t *out_dense) SPARSEC_MUST_USE;

/* ---- Modules and kernels ------------------------------------------------ */

typedef struct sparsec_module_s *sparsec_module_t;
typedef struct sparsec_kernel_s *sparsec_kernel_t; /* owned by its module */

/* Loads a compiled file for a device: a cubin, a host object or a bundle. The
 * bytes may be freed afterwards. Checks the launch info against the device's
 * limits before the driver sees the image. */
SPARSEC_API sparsec_status_t sparsec_module_load(sparsec_device_t device, const void *data, size_t bytes,
                                                 sparsec_module_t *out_module) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_module_destroy(sparsec_module_t module);
SPARSEC_API size_t sparsec_module_kernel_count(sparsec_module_t module);
/* name NULL: the module's only kernel. */
SPARSEC_API sparsec_status_t sparsec_module_kernel(sparsec_module_t module, const char *name,
                                                   sparsec_kernel_t *out_kernel) SPARSEC_MUST_USE;
SPARSEC_API sparsec_status_t sparsec_module_kernel_at(sparsec_module_t module, size_t index,
                                                      sparsec_kernel_t *out_kernel) SPARSEC_MUST_USE;

/* The launch info of the image that was loaded, and its records; owned by the module. */
SPARSEC_API const sparsec_launch_info_t *sparsec_module_launch_info(sparsec_module_t module);
SPARSEC_API const sparsec_kernel_info_t *sparsec_kernel_info(sparsec_kernel_t kernel);
SPARSEC_API const sparsec_argument_info_t *sparsec_kernel_argument(sparsec_kernel_t kernel, size_t index);
SPARSEC_API const sparsec_operation_info_t *sparsec_kernel_operation(sparsec_kernel_t kernel);
SPARSEC_API const sparsec_operand_info_t *sparsec_kernel_operand(sparsec_kernel_t kernel, size_t index);
SPARSEC_API const sparsec_variant_info_t *sparsec_kernel_variant(sparsec_kernel_t kernel, size_t index);
/* A machine kernel of a variant. */
SPARSEC_API const sparsec_stage_info_t *sparsec_kernel_stage(sparsec_kernel_t kernel, size_t variant, size_t index);

/* Reads a launch info without a device or driver. For a bundle, image_index
 * selects the entry. The copy is verified; free it with sparsec_launch_info_free. */
SPARSEC_API sparsec_status_t sparsec_launch_info_read(const void *data, size_t bytes, size_t image_index,
                                                      sparsec_launch_info_t **out_info) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_launch_info_free(sparsec_launch_info_t *info);
SPARSEC_API sparsec_status_t sparsec_image_count(const void *data, size_t bytes, size_t *out_count) SPARSEC_MUST_USE;
/* Whether an image is machine code or PTX. Only ptxas knows registers, spills and
 * static shared memory: the launch info of PTX has 0 for them. */
SPARSEC_API sparsec_status_t sparsec_image_format(const void *data, size_t bytes, size_t image_index,
                                                  sparsec_image_format_t *out_format) SPARSEC_MUST_USE;

/* ---- Patterns -------------------------------------------------------------- */

typedef struct sparsec_pattern_buffer_s *sparsec_pattern_buffer_t; /* owns the lists of a pattern */

/*
 * Makes a pattern from the sparsec_block_state_t of every block, one byte each:
 * host_mask[batches][heads][block rows][block columns], in host memory. Booleans
 * are full blocks. `shape` is a pattern whose lists and capacity are ignored. The
 * lists are in memory of the device, or of the host where device is NULL. The
 * buffer keeps the device.
 */
SPARSEC_API sparsec_status_t sparsec_pattern_from_block_mask(const sparsec_blocks_t *shape, const uint8_t *host_mask,
                                                             sparsec_device_t device,
                                                             sparsec_pattern_buffer_t *out_buffer) SPARSEC_MUST_USE;

/*
 * Makes a pattern from the mask region of a kernel (of any target), evaluated on
 * all cores for every query and key that causal and window leave: a block is full
 * if all of them are visible, empty if none is, else partial. Batches and heads
 * are numbered from 0 up to those of the shape. host_arguments are the kernel's
 * arguments in host memory, of which only the operands that the mask loads are
 * read; it may be NULL where it loads nothing.
 */
SPARSEC_API sparsec_status_t sparsec_pattern_from_predicate(sparsec_kernel_t kernel, const sparsec_blocks_t *shape,
                                                            const sparsec_argument_t *host_arguments,
                                                            size_t argument_count, sparsec_device_t device,
                                                            sparsec_pattern_buffer_t *out_buffer) SPARSEC_MUST_USE;

/*
 * Makes a buffer of padded lists that can be written again and again: with room
 * for every block (capacity = block columns, 8 bytes for every block of the
 * shape), all of them empty. Its view stays the same.
 */
SPARSEC_API sparsec_status_t sparsec_pattern_buffer_create(const sparsec_blocks_t *shape, sparsec_device_t device,
                                                           sparsec_pattern_buffer_t *out_buffer) SPARSEC_MUST_USE;

/*
 * Write the lists of such a buffer, in ascending order, from a block mask or from
 * the mask region of a kernel: what sparsec_pattern_from_block_mask and
 * sparsec_pattern_from_predicate do, with everything in memory of the buffer's
 * device. The blocks of the kernel's pattern have the size of the buffer's. On a
 * GPU a machine kernel that the compiled file brings is enqueued on the stream;
 * nothing waits, and the call may be captured in a CUDA graph: a launch behind it
 * on the stream sees the new lists. There the kernel must be loaded on that GPU and
 * have a pattern argument, elements of the mask other than sparsec_block_state_t
 * count as empty, and reads of the region from beyond a tensor take some element
 * that is there. On the host the lists are written when the call returns, the
 * kernel may be of any target, and a block mask needs none (NULL).
 */
SPARSEC_API sparsec_status_t sparsec_pattern_update_from_block_mask(sparsec_pattern_buffer_t buffer,
                                                                    sparsec_kernel_t kernel, const uint8_t *mask,
                                                                    void *stream) SPARSEC_MUST_USE;
SPARSEC_API sparsec_status_t sparsec_pattern_update_from_predicate(sparsec_pattern_buffer_t buffer,
                                                                   sparsec_kernel_t kernel,
                                                                   const sparsec_argument_t *arguments,
                                                                   size_t argument_count,
                                                                   void *stream) SPARSEC_MUST_USE;

/* A view of the lists, valid as long as the buffer. */
SPARSEC_API sparsec_status_t sparsec_pattern_buffer_view(sparsec_pattern_buffer_t buffer,
                                                         sparsec_blocks_t *out_view) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_pattern_buffer_destroy(sparsec_pattern_buffer_t buffer);

/* ---- Plans --------------------------------------------------------------- */

typedef struct sparsec_plan_s *sparsec_plan_t;

#define SPARSEC_ALLOCATION_ALIGNMENT 256 /* bytes */

/* Where a plan gets its device memory from. */
typedef struct sparsec_allocator_s {
  size_t size;     /* sizeof(sparsec_allocator_t) */
  void *user_data; /* the first argument of both functions */
  /* Memory of the plan's device, aligned to SPARSEC_ALLOCATION_ALIGNMENT, for work that is enqueued on the stream from
   * now on. NULL: there is not so much. */
  void *(*allocate)(void *user_data, size_t bytes, void *stream);
  /* Called once for each allocation, with the same bytes and stream. */
  void (*free)(void *user_data, void *memory, size_t bytes, void *stream);
} sparsec_allocator_t;

typedef struct sparsec_plan_options_s {
  size_t size; /* sizeof(sparsec_plan_options_t) */
  /* Those of the launches, in the kernel's order. Each may be left open (kind 0), and so may sizes of dense tensors
   * (SPARSEC_DYNAMIC). Data and strides of dense tensors, values and scalars are not looked at. NULL, with a count of
   * 0: all are open. */
  const sparsec_argument_t *arguments;
  size_t argument_count;
  void *stream;                         /* as for launches */
  const sparsec_allocator_t *allocator; /* NULL: sparsec_memory_allocate and sparsec_memory_free */
  uint32_t flags;                       /* 0 */
  uint32_t reserved;
} sparsec_plan_options_t;

/* How the workers of a launch share out its tiles. */
typedef enum sparsec_tile_order_e {
  SPARSEC_TILE_ORDER_FIXED = 0,   /* in turn, as without a plan */
  SPARSEC_TILE_ORDER_LISTS = 1,   /* by lists, balanced by what the tiles cost */
  SPARSEC_TILE_ORDER_COUNTER = 2, /* as workers become free, by a counter in the launch's workspace */
} sparsec_tile_order_t;

/* What a plan holds for one variant of its kernel. */
typedef struct sparsec_plan_info_s {
  size_t size;                /* sizeof(sparsec_plan_info_t) */
  sparsec_tile_order_t order; /* COUNTER: FIXED in launches without a workspace */
  uint32_t reserved;
  int64_t workers, tiles;         /* workers: CTAs, clusters of CTAs, or warpgroups with tiles of their own;
                                     SPARSEC_DYNAMIC where sizes are open, but for the workers of lists */
  int64_t bytes, workspace_bytes; /* device memory of the plan, and of the workspace of a launch; SPARSEC_DYNAMIC where
                                     a size is open that the workspace needs */
  double balance;                 /* mean load / largest load of the tiles in the lists, 1 is perfect */
  double milliseconds;            /* host time to make the plan for all variants, copies included */
} sparsec_plan_info_t;

/*
 * Makes a plan: which worker computes which tiles of the result, in which order.
 * A plan makes launches faster whose tiles differ in cost; it never changes a
 * result.
 *
 * Sizes that the arguments tell are part of the plan, and launches with other
 * sizes are refused; a size that is left open may differ from launch to launch.
 * Lists of blocks are checked as sparsec_blocks_check does. The plan keeps no
 * reference to them, nor to the options: the values of a block-sparse operand may
 * change between launches, and so may the lists of a pattern, from which only the
 * balance suffers. Where all sizes and the lists are known, the tiles are balanced
 * over the SMs by what they cost. So they are for a block-sparse operand whose
 * product has an open width: one plan serves all widths. It has lists unless the
 * matrix is nearly dense. Where something else is open, workers of attention take
 * tiles as they become free, if the launch brings a workspace; other kernels have
 * a fixed order.
 *
 * Lists in device memory are read in the order of the stream, behind what is on
 * it, and the plan's memory is written in its order. The call waits for the
 * stream: when it returns, launches with the plan may go to any stream. Not while
 * the stream is captured.
 *
 * A plan may be used by launches on several streams at once. Destroy it when they
 * are done; the stream that it was made on must then still be there, if it has an
 * allocator.
 */
SPARSEC_API sparsec_status_t sparsec_plan_create(sparsec_kernel_t kernel, const sparsec_plan_options_t *options,
                                                 sparsec_plan_t *out_plan) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_plan_destroy(sparsec_plan_t plan);
SPARSEC_API sparsec_status_t sparsec_plan_info(sparsec_plan_t plan, size_t variant,
                                               sparsec_plan_info_t *out_info) SPARSEC_MUST_USE;
/*
 * Enough for a launch with the plan, whichever variant it takes; 0: it needs no
 * workspace. Where the plan leaves a size open that a workspace needs, the
 * arguments tell it: those of the launch, of which as much may be open as in those
 * of a plan. With a count of 0 the plan tells all. Refuses a size that neither
 * tells.
 */
SPARSEC_API sparsec_status_t sparsec_plan_workspace_bytes(sparsec_plan_t plan, const sparsec_argument_t *arguments,
                                                          size_t argument_count, size_t *out_bytes) SPARSEC_MUST_USE;

/* ---- Launch --------------------------------------------------------------- */

/*
 * Enqueues one execution on the stream (a CUstream or cudaStream_t; NULL is the
 * default stream; ignored on the host, where the call returns when the work is
 * done). plan may be NULL: the kernel then takes its tiles in a fixed order and
 * the pattern is not checked beyond its sizes. Allocates nothing, synchronises
 * nothing, may be captured in a CUDA graph, and may run in several threads at
 * once. Refuses arguments whose kind, type, block, shape, strides or alignment
 * do not fit the kernel, by name, and a result that shares memory with an input
 * or another result, as far as pointers, sizes and strides show it: interleaved
 * tensors are accepted, and so is a result that is a full epilogue operand,
 * element for element. On the host launches of attention check the
 * lists of the pattern first, as sparsec_blocks_check does, which needs memory
 * for two bits per key block; on a GPU where its flags say so
 * (SPARSEC_BLOCKS_CHECK_LISTS), which takes memory for the lists and waits for
 * the stream.
 */
SPARSEC_API sparsec_status_t sparsec_launch(sparsec_kernel_t kernel, sparsec_plan_t plan,
                                            const sparsec_argument_t *arguments, size_t argument_count,
                                            void *stream) SPARSEC_MUST_USE;

typedef struct sparsec_launch_options_s {
  size_t size;  /* sizeof(sparsec_launch_options_t) */
  void *stream; /* as in sparsec_launch */
  /* Device memory of sparsec_plan_workspace_bytes or more, aligned to 16 bytes, all of it zero. A launch leaves tile
   * counters zero: set it once, and give it to one launch after another, of the same plan and sizes, or of any kernel
   * and plan that have no workspaces but counters (see sparsec_workspace_kind_t). Launches that may overlap need
   * workspaces of their own. NULL: the launch does without. */
  void *workspace;
  size_t workspace_bytes;
  uint32_t flags; /* 0 */
  uint32_t reserved;
} sparsec_launch_options_t;

/* sparsec_launch with more to say. */
SPARSEC_API sparsec_status_t sparsec_launch_with_options(sparsec_kernel_t kernel, sparsec_plan_t plan,
                                                         const sparsec_argument_t *arguments, size_t argument_count,
                                                         const sparsec_launch_options_t *options) SPARSEC_MUST_USE;

/* The index of the variant that a launch with these arguments takes. */
SPARSEC_API sparsec_status_t sparsec_launch_variant(sparsec_kernel_t kernel, const sparsec_argument_t *arguments,
                                                    size_t argument_count, size_t *out_variant) SPARSEC_MUST_USE;

/* ---- Launchers ------------------------------------------------------------ */

typedef struct sparsec_launcher_s *sparsec_launcher_t;

/*
 * A launch whose arguments are checked, whose variant is chosen, and whose
 * parameters and tensor maps are made once, to be run again and again at less
 * cost on the host. It keeps copies of the views, and refers to their memory, to
 * the plan and to the workspace, which must outlive it. The stream of the options
 * is not used.
 */
SPARSEC_API sparsec_status_t sparsec_launcher_create(sparsec_kernel_t kernel, sparsec_plan_t plan,
                                                     const sparsec_argument_t *arguments, size_t argument_count,
                                                     const sparsec_launch_options_t *options,
                                                     sparsec_launcher_t *out_launcher) SPARSEC_MUST_USE;
/*
 * Does what sparsec_launch does with the launcher's arguments, lists that are
 * checked included. May run in several threads and on several streams at once,
 * unless it has a workspace; not while the launcher is rebound or destroyed.
 */
SPARSEC_API sparsec_status_t sparsec_launcher_run(sparsec_launcher_t launcher, void *stream) SPARSEC_MUST_USE;
/*
 * Gives the next runs other memory and scalars. The arguments must have the sizes,
 * strides and encodings that the launcher was made with, and pointers that are
 * aligned as its variant asks. Runs that are under way keep theirs. On failure the
 * launcher is as it was.
 */
SPARSEC_API sparsec_status_t sparsec_launcher_rebind(sparsec_launcher_t launcher, const sparsec_argument_t *arguments,
                                                     size_t argument_count) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_launcher_destroy(sparsec_launcher_t launcher);

/* ---- Reference ------------------------------------------------------------ */

/*
 * The plain definition of what a kernel computes, in double, one element after
 * the other. All pointers are in host memory. For result rows m in
 * [row_begin, row_end): acc[m, n] = sum over k of w[m, k] * x[k, n], then
 * y = epilogue(acc, extra operands), not rounded to the result type. y and
 * magnitude (may be NULL) are row-major (row_end - row_begin) x N whatever the
 * result's layout. magnitude tells how large rounding errors may be: 1e-6 *
 * magnitude is what f32 arithmetic may be off by before it rounds to the result
 * type. It is the sum of |w[m, k] * x[k, n]|, and each step of an epilogue that
 * rounds adds the size of its own result to what it makes of its operands' errors.
 * The result arguments' data is neither read nor written; y and magnitude share
 * no memory with the inputs or with each other. The kernel may be of any target.
 *
 * Attention: row (b * H + h) * Sq + q is the query q of head h of batch b, and y and
 * magnitude are (row_end - row_begin) x D. s[k] = score(scale * q . k) and
 * y = sum over the visible keys k of exp(s[k] - LSE) * v[k], 0 if there are none
 * (a score of -inf makes a key invisible); what is visible stands at
 * sparsec_attention_slot_t. Integers in the regions are exact. magnitude
 * covers the f32 errors of scores (as above, through the score region), of their
 * exponentials and of the sums, and what a kernel that rounds the probabilities p
 * to the type of V loses: with u half a unit in the last place of that type at 1,
 * u * (|y| + 4 * sqrt(sum over k of (p[k] * v[k])^2)), that is a common error of
 * all of them and independent ones. A region that loads from beyond a tensor is
 * refused.
 */
SPARSEC_API sparsec_status_t sparsec_reference_run(sparsec_kernel_t kernel, const sparsec_argument_t *host_arguments,
                                                   size_t argument_count, int64_t row_begin, int64_t row_end, double *y,
                                                   double *magnitude) SPARSEC_MUST_USE;

/* The second result of attention for the same rows, whether or not the kernel has
 * it: LSE = log(sum over the visible keys of exp(s[k])), -inf if there are none.
 * lse and magnitude (may be NULL) hold row_end - row_begin elements. */
SPARSEC_API sparsec_status_t sparsec_reference_lse(sparsec_kernel_t kernel, const sparsec_argument_t *host_arguments,
                                                   size_t argument_count, int64_t row_begin, int64_t row_end,
                                                   double *lse, double *magnitude) SPARSEC_MUST_USE;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SPARSEC_RUNTIME_H */
