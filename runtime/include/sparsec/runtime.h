/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * runtime.h: load, plan and launch what `sparsec` compiled. C ABI.
 *
 * Conventions. A function that can fail returns sparsec_status_t. NULL is OK.
 * Any other status is an object that the caller frees with sparsec_status_free.
 * A function that fails sets its out_ parameters to NULL or 0, writes no result
 * memory, and leaves the CUDA context as it was. The out_ parameters are the
 * last ones. The caller frees a handle with its _destroy function, which accepts
 * NULL. No exception crosses this interface. Sizes and strides are in elements,
 * unless the name says bytes. The library loads libcuda on first use. A program
 * that links this library therefore starts on a machine without a driver.
 *
 * Structs. A struct that may grow begins with `size`. The caller sets this field
 * to sizeof the struct, also if a function fills the struct. Later versions add
 * fields at the end. A function reads and writes at most `size` bytes, and only
 * the fields that it knows. It takes fields that an older caller does not pass as
 * 0. It refuses a size below that of the first version. Reserved fields are 0.
 *
 * Threads. Devices, modules, kernels and plans are immutable after creation. Any
 * number of threads may use them at once. The caller destroys them when no call
 * uses them. Only one thread may use a status at a time.
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
  SPARSEC_STATUS_INVALID_ARGUMENT = 1, /* the caller passed a wrong value; the message names it */
  SPARSEC_STATUS_INVALID_PATTERN = 2,  /* the index arrays of a matrix or pattern break a rule */
  SPARSEC_STATUS_INVALID_IMAGE = 3,    /* the compiled file is truncated, foreign or corrupt */
  SPARSEC_STATUS_VERSION_MISMATCH = 4, /* an incompatible version compiled the file */
  SPARSEC_STATUS_WRONG_DEVICE = 5,     /* no image in the file runs on this device */
  SPARSEC_STATUS_DEVICE_LIMIT = 6,     /* the kernel needs more than the device has */
  SPARSEC_STATUS_UNAVAILABLE = 7,      /* there is no driver or no such device */
  SPARSEC_STATUS_OUT_OF_MEMORY = 8,
  SPARSEC_STATUS_NOT_FOUND = 9,     /* there is no kernel of that name */
  SPARSEC_STATUS_DRIVER_ERROR = 10, /* the CUDA driver refused; the message has the name of its error */
  SPARSEC_STATUS_INTERNAL = 11,
  SPARSEC_STATUS_CANCELLED = 12,    /* a callback of the caller cancelled the work */
  SPARSEC_STATUS_INVALID_PLAN = 13, /* a saved plan is damaged, or of another version, kernel, device or pattern */
} sparsec_status_code_t;

SPARSEC_API sparsec_status_code_t sparsec_status_code(sparsec_status_t status);
/* The text is valid until the status is freed. It is "ok" for NULL. */
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
  SPARSEC_PLACE_UNKNOWN = -2, /* the caller does not say: no call checks the place */
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

/* Gives the number of CUDA devices. Without a driver it is 0, and the status is OK. */
SPARSEC_API sparsec_status_t sparsec_cuda_device_count(int32_t *out_count) SPARSEC_MUST_USE;
/* Retains the device's primary context. The CUDA runtime API and the frameworks
 * use the same context, so that launches accept their pointers and streams. */
SPARSEC_API sparsec_status_t sparsec_device_open_cuda(int32_t ordinal, sparsec_device_t *out_device) SPARSEC_MUST_USE;
/* Opens the processor. With a thread_count of 0 it uses all cores. */
SPARSEC_API sparsec_status_t sparsec_device_open_host(int32_t thread_count,
                                                      sparsec_device_t *out_device) SPARSEC_MUST_USE;

typedef enum sparsec_device_flag_e {
  /* The checking mode, for debugging. A GPU that reads a wrong pointer ends the CUDA context, and the process loses its
   * memory on the device. In this mode launches, plans and updates of patterns first query the driver about every
   * pointer of their arguments. The memory must belong to this device, be managed, or be pinned and mapped. It must
   * reach up to the last element within one allocation. A call refuses any other pointer by name. Launches also check
   * the starts, lengths and page numbers of sequences: they wait for the stream and copy these to the host. Streams may
   * be captured meanwhile, and the launches of a captured stream leave the sequences unchecked. The environment
   * variable SPARSEC_CHECK_MEMORY takes precedence over this flag, also for a device that is opened without options: 1
   * turns the mode on, 0 turns it off. On the host the mode does nothing. */
  SPARSEC_DEVICE_CHECK_MEMORY = 1,
} sparsec_device_flag_t;

typedef struct sparsec_device_options_s {
  size_t size; /* sizeof(sparsec_device_options_t) */
  sparsec_target_kind_t kind;
  int32_t ordinal;      /* CUDA */
  int32_t thread_count; /* host; 0: all cores */
  uint32_t flags;       /* of sparsec_device_flag_t; 0: none */
} sparsec_device_options_t;

/* Opens a device as the two functions above do, with options. */
SPARSEC_API sparsec_status_t sparsec_device_open(const sparsec_device_options_t *options,
                                                 sparsec_device_t *out_device) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_device_destroy(sparsec_device_t device);
SPARSEC_API sparsec_status_t sparsec_device_info(sparsec_device_t device,
                                                 sparsec_device_info_t *out_info) SPARSEC_MUST_USE;

/* Allocates plain device memory; on the host, memory that is aligned to 64 bytes. Zero bytes give NULL. */
SPARSEC_API sparsec_status_t sparsec_memory_allocate(sparsec_device_t device, size_t bytes,
                                                     void **out_data) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_memory_free(sparsec_device_t device, void *data);
/* Copy between host memory and memory of the device, and wait for the copy. */
SPARSEC_API sparsec_status_t sparsec_memory_upload(sparsec_device_t device, void *destination, const void *source,
                                                   size_t bytes) SPARSEC_MUST_USE;
SPARSEC_API sparsec_status_t sparsec_memory_download(sparsec_device_t device, void *destination, const void *source,
                                                     size_t bytes) SPARSEC_MUST_USE;
/* Gives a number of the CUDA graph capture that the stream is in, which no other capture of the process has; 0 if it
 * is in none, and on the host. Launches of one capture on one stream run one after the other when the graph runs: they
 * may share a workspace. Launches of two captures may not, because their graphs may run at the same time. */
SPARSEC_API sparsec_status_t sparsec_stream_capture(sparsec_device_t device, void *stream,
                                                    uint64_t *out_capture) SPARSEC_MUST_USE;
/* Waits for all work that was launched on the stream (NULL: default stream). */
SPARSEC_API sparsec_status_t sparsec_synchronize(sparsec_device_t device, void *stream) SPARSEC_MUST_USE;

/* ---- Views ------------------------------------------------------------- */

typedef enum sparsec_dense_flag_e {
  SPARSEC_DENSE_READ_ONLY = 1, /* launches refuse the tensor as a result */
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
  /* Launches on a GPU check the lists as sparsec_blocks_check does. They wait for the stream, copy the lists to the
   * host (4 bytes per list and entry of the capacity), and only then launch. They cannot do this while a stream is
   * captured. Without this flag a kernel does not visit an index that is out of range, but a count or start that is out
   * of range may make it read beyond the lists. */
  SPARSEC_BLOCKS_CHECK_LISTS = 1,
} sparsec_blocks_flag_t;

/*
 * The blocks of a matrix of rows x columns elements. They are either the blocks of
 * a block-sparse (BSR) operand with their values, or the blocks of keys that each
 * block of queries visits. Block row i covers the rows
 * [i * block_rows, (i + 1) * block_rows). Rows and columns need not be multiples
 * of the block.
 *
 * BSR: `full` has the index arrays. Other libraries often call starts row_ptr and
 * indices col_idx. capacity is the number of blocks, `partial` is empty, batches
 * and heads are 1. The elements of block p are
 * values[p][block_rows][block_columns], row-major and contiguous. Elements of edge
 * blocks beyond the matrix do not count, and may have any value.
 *
 * Attention: rows are queries, columns are keys, dtype is NONE and values is
 * NULL. A block may be in the full or in the partial list of a block row, but not
 * in both. The mask region applies in partial blocks only.
 */
typedef struct sparsec_blocks_s {
  size_t size;                         /* sizeof(sparsec_blocks_t) */
  int32_t device;                      /* where lists and values are: an ordinal or a sparsec_place_t */
  sparsec_dtype_t dtype;               /* of the values; SPARSEC_DTYPE_NONE: there are none */
  sparsec_pattern_encoding_t encoding; /* of both kinds of lists */
  uint32_t flags;                      /* of sparsec_blocks_flag_t; 0: none */
  int32_t block_rows, block_columns;
  int64_t batches, heads; /* how many have lists of their own; 1: all have the same lists */
  int64_t rows, columns;  /* elements */
  int64_t capacity;       /* index arrays: entries of indices; padded lists: entries of one list */
  sparsec_block_lists_t full, partial;
  const void *values;
} sparsec_blocks_t;

/* Checks lists in host memory. Starts must ascend from 0, within the capacity.
 * Counts must be within the capacity. Block columns must be in range. None may be
 * twice in a list, or in both lists of a block row. */
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

/* The functions that make views are inline, so that a view has the size with which
 * the caller was compiled. They leave the place of the memory open. */

/* Makes a contiguous row-major view of `rank` sizes. */
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
/* Views with the sizes (batches, heads, length, dimension) that attention takes.
 * The memory is contiguous, in the order batch-head-sequence (bhsd) or
 * batch-sequence-head (bshd). */
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
/* Makes a BSR matrix. */
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
/* Makes a pattern of queries x keys with index arrays. All lists are empty. */
static inline sparsec_blocks_t sparsec_blocks_pattern(int64_t batches, int64_t heads, int64_t queries, int64_t keys,
                                                      int32_t query_block, int32_t key_block) {
  /* NOLINTNEXTLINE(modernize-use-nullptr): this header is C. */
  sparsec_blocks_t blocks = sparsec_blocks_bsr(queries, keys, query_block, key_block, 0, 0, 0, SPARSEC_DTYPE_NONE, 0);
  blocks.batches = batches;
  blocks.heads = heads;
  return blocks;
}
/* Make arguments. The view must live as long as the argument is used. */
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

/* Make a view of a DLPack tensor without a copy. The first function takes a
 * `DLManagedTensor *`, the second a `DLManagedTensorVersioned *` of DLPack 1.x. The
 * tensor must outlive the view. The view has the device of the tensor. For pinned
 * and managed memory it has SPARSEC_PLACE_UNKNOWN, because all devices may use
 * them. A read-only tensor gives a read-only view. The functions refuse devices,
 * types, ranks and strides that a view cannot have, by name. */
SPARSEC_API sparsec_status_t sparsec_dense_from_dlpack(const void *managed_tensor,
                                                       sparsec_dense_t *out_dense) SPARSEC_MUST_USE;
SPARSEC_API sparsec_status_t sparsec_dense_from_dlpack_versioned(const void *managed_tensor,
                                                                 sparsec_dense_t *out_dense) SPARSEC_MUST_USE;

/* ---- Modules and kernels ------------------------------------------------ */

typedef struct sparsec_module_s *sparsec_module_t;
typedef struct sparsec_kernel_s *sparsec_kernel_t; /* owned by its module */

/* Loads a compiled file for a device: a cubin, a host object or a bundle. The
 * caller may free the bytes afterwards. The call checks the launch info against
 * the device's limits before the driver sees the image. */
SPARSEC_API sparsec_status_t sparsec_module_load(sparsec_device_t device, const void *data, size_t bytes,
                                                 sparsec_module_t *out_module) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_module_destroy(sparsec_module_t module);
SPARSEC_API size_t sparsec_module_kernel_count(sparsec_module_t module);
/* A name of NULL stands for the module's only kernel. */
SPARSEC_API sparsec_status_t sparsec_module_kernel(sparsec_module_t module, const char *name,
                                                   sparsec_kernel_t *out_kernel) SPARSEC_MUST_USE;
SPARSEC_API sparsec_status_t sparsec_module_kernel_at(sparsec_module_t module, size_t index,
                                                      sparsec_kernel_t *out_kernel) SPARSEC_MUST_USE;

/* Return the launch info of the loaded image, and its records. The module owns them. */
SPARSEC_API const sparsec_launch_info_t *sparsec_module_launch_info(sparsec_module_t module);
SPARSEC_API const sparsec_kernel_info_t *sparsec_kernel_info(sparsec_kernel_t kernel);
SPARSEC_API const sparsec_argument_info_t *sparsec_kernel_argument(sparsec_kernel_t kernel, size_t index);
SPARSEC_API const sparsec_operation_info_t *sparsec_kernel_operation(sparsec_kernel_t kernel);
SPARSEC_API const sparsec_operand_info_t *sparsec_kernel_operand(sparsec_kernel_t kernel, size_t index);
SPARSEC_API const sparsec_variant_info_t *sparsec_kernel_variant(sparsec_kernel_t kernel, size_t index);
/* Returns a machine kernel of a variant. */
SPARSEC_API const sparsec_stage_info_t *sparsec_kernel_stage(sparsec_kernel_t kernel, size_t variant, size_t index);

/* Reads and checks a launch info, without a device or driver. image_index selects
 * the entry of a bundle. The caller frees the copy with sparsec_launch_info_free. */
SPARSEC_API sparsec_status_t sparsec_launch_info_read(const void *data, size_t bytes, size_t image_index,
                                                      sparsec_launch_info_t **out_info) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_launch_info_free(sparsec_launch_info_t *info);
SPARSEC_API sparsec_status_t sparsec_image_count(const void *data, size_t bytes, size_t *out_count) SPARSEC_MUST_USE;
/* Says whether an image is machine code or PTX. Only ptxas knows registers, spills
 * and static shared memory, so the launch info of PTX has 0 for them. */
SPARSEC_API sparsec_status_t sparsec_image_format(const void *data, size_t bytes, size_t image_index,
                                                  sparsec_image_format_t *out_format) SPARSEC_MUST_USE;

/* ---- Patterns -------------------------------------------------------------- */

typedef struct sparsec_pattern_buffer_s *sparsec_pattern_buffer_t; /* owns the lists of a pattern */

/*
 * Makes a pattern from the sparsec_block_state_t of every block. The mask is in
 * host memory and has one byte for each block:
 * host_mask[batches][heads][block rows][block columns]. A boolean mask has full
 * blocks where it is true. `shape` is a pattern; the call ignores its lists and its
 * capacity. The new lists are in memory of the device. If device is NULL, they are
 * in memory of the host. The buffer keeps the device.
 */
SPARSEC_API sparsec_status_t sparsec_pattern_from_block_mask(const sparsec_blocks_t *shape, const uint8_t *host_mask,
                                                             sparsec_device_t device,
                                                             sparsec_pattern_buffer_t *out_buffer) SPARSEC_MUST_USE;

/*
 * Makes a pattern from the mask region of a kernel of any target. The call
 * evaluates the region on all cores, for every query and key that causal and window
 * do not exclude. A block is full if all of these pairs are visible, empty if none
 * is, and partial otherwise. The numbers of batches and heads begin with 0 and are
 * below those of the shape. host_arguments are the kernel's arguments in host
 * memory. The call reads only the operands that the mask loads. If the mask loads
 * nothing, host_arguments may be NULL.
 */
SPARSEC_API sparsec_status_t sparsec_pattern_from_predicate(sparsec_kernel_t kernel, const sparsec_blocks_t *shape,
                                                            const sparsec_argument_t *host_arguments,
                                                            size_t argument_count, sparsec_device_t device,
                                                            sparsec_pattern_buffer_t *out_buffer) SPARSEC_MUST_USE;

/*
 * Makes a buffer of padded lists that can be written again and again. It has room
 * for every block: the capacity is the number of block columns, and every block of
 * the shape takes 8 bytes. At first all lists are empty. The view of the buffer
 * stays the same.
 */
SPARSEC_API sparsec_status_t sparsec_pattern_buffer_create(const sparsec_blocks_t *shape, sparsec_device_t device,
                                                           sparsec_pattern_buffer_t *out_buffer) SPARSEC_MUST_USE;

/*
 * Write the lists of such a buffer, in ascending order, from a block mask, from the
 * mask region of a kernel or from scores of the blocks. The first two do what
 * sparsec_pattern_from_block_mask and sparsec_pattern_from_predicate do, but all
 * memory is that of the buffer's device. The blocks of the kernel's pattern must
 * have the size of the buffer's blocks.
 *
 * On a GPU the call enqueues a machine kernel of the compiled file on the stream.
 * It waits for nothing, and may be captured in a CUDA graph. A launch behind it on
 * the stream sees the new lists. The kernel must be loaded on that GPU and have a
 * pattern argument. Elements of the mask that are no sparsec_block_state_t count as
 * empty. If the region reads from beyond a tensor, it gets some element of the
 * tensor.
 *
 * On the host the lists are complete when the call returns. The kernel may be of
 * any target. It may be NULL for a block mask and for scores.
 */
SPARSEC_API sparsec_status_t sparsec_pattern_update_from_block_mask(sparsec_pattern_buffer_t buffer,
                                                                    sparsec_kernel_t kernel, const uint8_t *mask,
                                                                    void *stream) SPARSEC_MUST_USE;
SPARSEC_API sparsec_status_t sparsec_pattern_update_from_predicate(sparsec_pattern_buffer_t buffer,
                                                                   sparsec_kernel_t kernel,
                                                                   const sparsec_argument_t *arguments,
                                                                   size_t argument_count,
                                                                   void *stream) SPARSEC_MUST_USE;
/*
 * Every list gets the k key blocks with the highest scores, from 0 to all of them.
 * Blocks with equal scores rank by their numbers, the lowest first. A block with
 * the score NaN or -infinity is never chosen, nor is one of which the causal limit
 * or the window of the kernel hides every element; a list may therefore be shorter.
 * The limits do not count where sequences have lengths of their own, because the
 * positions of queries then differ from sequence to sequence.
 *
 * `scores` is a contiguous tensor of f32: [batches][heads][block rows][block columns].
 * `counts` has the most blocks of each list, [batches][heads][block rows], for lists
 * that are to differ; k still is the most of all. A negative count is 0. NULL: k for
 * all. It is read when the kernel runs, so that replays of a graph may change it.
 * `mask` has a sparsec_block_state_t for every block: an empty block is never chosen,
 * and a chosen one comes to the list of its state. The mask region of a kernel
 * applies in partial blocks alone. NULL: chosen blocks are full.
 */
SPARSEC_API sparsec_status_t sparsec_pattern_update_from_scores(sparsec_pattern_buffer_t buffer,
                                                                sparsec_kernel_t kernel, const sparsec_dense_t *scores,
                                                                int64_t k, const int32_t *counts, const uint8_t *mask,
                                                                void *stream) SPARSEC_MUST_USE;

/* Gives a view of the lists, which is valid as long as the buffer. */
SPARSEC_API sparsec_status_t sparsec_pattern_buffer_view(sparsec_pattern_buffer_t buffer,
                                                         sparsec_blocks_t *out_view) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_pattern_buffer_destroy(sparsec_pattern_buffer_t buffer);

/* ---- Plans --------------------------------------------------------------- */

typedef struct sparsec_plan_s *sparsec_plan_t;     /* see plans.h */
typedef struct sparsec_packed_s *sparsec_packed_t; /* see plans.h */

/* ---- Launch --------------------------------------------------------------- */

/*
 * Enqueues one execution on the stream. The stream is a CUstream or a cudaStream_t,
 * and NULL is the default stream. The host ignores the stream: there the call
 * returns when the work is done. plan may be NULL. The kernel then takes its tiles
 * in a fixed order, and the call checks only the sizes of the pattern.
 *
 * A launch allocates nothing and synchronises nothing. It may be captured in a CUDA
 * graph, and several threads may launch at once.
 *
 * The call refuses arguments by name if their kind, type, block, shape, strides or
 * alignment do not fit the kernel. It refuses a result that shares memory with an
 * input or another result, as far as pointers, sizes and strides show this. It
 * accepts interleaved tensors, and a result that is a full epilogue operand,
 * element for element.
 *
 * On the host a launch of attention first checks the lists of the pattern, as
 * sparsec_blocks_check does. This needs memory for two bits per key block. On a GPU
 * a launch checks them if the pattern has the flag SPARSEC_BLOCKS_CHECK_LISTS. This
 * takes memory for the lists and waits for the stream. A launch with the plan of a
 * static pattern checks, wherever it would check lists and in every launch on the
 * host, that its lists are those of the plan. A launch on the host also checks the
 * starts, lengths and page numbers of sequences (see sparsec_attention_slot_t); on
 * a GPU it does so only in the checking mode of the device.
 */
SPARSEC_API sparsec_status_t sparsec_launch(sparsec_kernel_t kernel, sparsec_plan_t plan,
                                            const sparsec_argument_t *arguments, size_t argument_count,
                                            void *stream) SPARSEC_MUST_USE;

typedef struct sparsec_launch_options_s {
  size_t size;  /* sizeof(sparsec_launch_options_t) */
  void *stream; /* as in sparsec_launch */
  /* Device memory of sparsec_plan_workspace_bytes or more, aligned to 16 bytes, all of it zero. A launch leaves tile
   * counters zero, so the caller sets the memory to zero once. It may then give the memory to one launch after another,
   * of any kernels, plans and sizes. Launches that may overlap need workspaces of their own. With NULL the launch has
   * no workspace. Attention takes its variant for few tiles only if the workspace has room for the parts of keys. */
  void *workspace;
  size_t workspace_bytes;
  uint32_t flags; /* 0 */
  uint32_t reserved;
  /* Values of the block-sparse argument in packed blocks, from sparsec_plan_pack with this plan or another one of the
   * same kernel and pattern. The launch then may take a variant that reads them in place of the argument's values.
   * NULL: none. */
  sparsec_packed_t packed;
} sparsec_launch_options_t;

/* Launches as sparsec_launch does, with options. */
SPARSEC_API sparsec_status_t sparsec_launch_with_options(sparsec_kernel_t kernel, sparsec_plan_t plan,
                                                         const sparsec_argument_t *arguments, size_t argument_count,
                                                         const sparsec_launch_options_t *options) SPARSEC_MUST_USE;

/* Gives the index of the variant that a launch with this plan, which may be NULL, the workspace that the plan asks for,
 * the packed values that it has, and these arguments takes. A variant that needs sections of a plan (required_sections)
 * is taken only with a plan that has them, and one that splits keys (part_keys) only with a plan and its workspace. */
SPARSEC_API sparsec_status_t sparsec_launch_variant(sparsec_kernel_t kernel, sparsec_plan_t plan,
                                                    const sparsec_argument_t *arguments, size_t argument_count,
                                                    size_t *out_variant) SPARSEC_MUST_USE;

/* ---- Launchers ------------------------------------------------------------ */

typedef struct sparsec_launcher_s *sparsec_launcher_t;

/*
 * Prepares a launch once: it checks the arguments, chooses the variant, and makes
 * the parameters and tensor maps. Runs of the launcher then cost less time on the
 * host. The launcher keeps copies of the views. It refers to their memory, to the
 * plan and to the workspace, which must outlive it. It does not use the stream of
 * the options.
 */
SPARSEC_API sparsec_status_t sparsec_launcher_create(sparsec_kernel_t kernel, sparsec_plan_t plan,
                                                     const sparsec_argument_t *arguments, size_t argument_count,
                                                     const sparsec_launch_options_t *options,
                                                     sparsec_launcher_t *out_launcher) SPARSEC_MUST_USE;
/*
 * Does what sparsec_launch does with the launcher's arguments, with its check of
 * lists. Several threads may run a launcher at once, on several streams, unless it
 * has a workspace. No thread may rebind or destroy it meanwhile.
 */
SPARSEC_API sparsec_status_t sparsec_launcher_run(sparsec_launcher_t launcher, void *stream) SPARSEC_MUST_USE;
/*
 * Gives the next runs other memory and scalars. The arguments must have the sizes,
 * strides and encodings with which the launcher was made, and pointers with the
 * alignment that its variant requires. Runs that have begun keep their arguments.
 * A call that fails does not change the launcher.
 */
SPARSEC_API sparsec_status_t sparsec_launcher_rebind(sparsec_launcher_t launcher, const sparsec_argument_t *arguments,
                                                     size_t argument_count) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_launcher_destroy(sparsec_launcher_t launcher);

/* ---- Quantising ----------------------------------------------------------- */

/* The values that share a scale. */
typedef enum sparsec_scale_group_e {
  SPARSEC_SCALE_TENSOR = 1, /* all: one scale, a tensor of rank 0 */
  SPARSEC_SCALE_ROW = 2,    /* W: each row, (M). X as (N, K): each row, (N) */
  SPARSEC_SCALE_BLOCK = 3,  /* W: each stored block, (blocks): the operand SPARSEC_SPMM_SCALES */
  SPARSEC_SCALE_TOKEN = 4,  /* X as (N, K): each row and 128 of K, (N, ceil(K / 128)): SPARSEC_SPMM_X_SCALE */
} sparsec_scale_group_t;

/*
 * Quantises W or X of a product in fp8: value = quantised value * scale. `argument`
 * is the number of the kernel's argument, `target` its view. The call writes the
 * values of the target and the scales, a contiguous f32 tensor of the group's
 * shape. `source` is a view of the target's shape, of f32, f16 or bf16. For W it
 * has the target's blocks in their order; the call does not read its index arrays.
 *
 * A scale is the largest finite magnitude of its values, divided by the largest
 * number of the fp8 type, and at least 2^-126. It is 1 if no value is finite and
 * not 0. Values are divided by it in f32 and rounded to nearest even. NaN becomes
 * NaN. An infinity stays one in f8E5M2, and becomes NaN in f8E4M3FN. Values of
 * blocks beyond the matrix do not count, and become 0. Every run gives the same
 * bits.
 *
 * On a GPU the call enqueues one machine kernel on the stream, or three if the
 * values of a scale are not within 32 neighbouring vectors of 16 values. It
 * allocates nothing and waits for nothing, and may be captured in a CUDA graph.
 * The host ignores the stream. It refuses other operands and groups by name, and
 * views that share memory.
 */
SPARSEC_API sparsec_status_t sparsec_quantize(sparsec_kernel_t kernel, uint32_t argument,
                                              const sparsec_argument_t *source, const sparsec_argument_t *target,
                                              sparsec_scale_group_t group, const sparsec_dense_t *scales,
                                              void *stream) SPARSEC_MUST_USE;

/* ---- Reference ------------------------------------------------------------ */

/*
 * Computes what a kernel is defined to compute, in double, one element after the
 * other. All pointers are in host memory. The kernel may be of any target.
 *
 * For result rows m in [row_begin, row_end):
 * acc[m, n] = sum over k of w[m, k] * x[k, n], then y = epilogue(acc, extra
 * operands). y is not rounded to the result type. y and magnitude are row-major
 * (row_end - row_begin) x N, whatever the result's layout. magnitude may be NULL. y
 * and magnitude share no memory with the inputs or with each other. The call
 * neither reads nor writes the data of the result arguments.
 *
 * magnitude says how large rounding errors may be: the error of f32 arithmetic is
 * at most 1e-6 * magnitude, before it rounds to the result type. magnitude begins
 * as the sum of |w[m, k] * x[k, n]|. With fp8 operands and a kernel for a GPU it
 * begins as what the matrix instructions may lose of this sum, divided by 1e-6:
 * 2^-9, or 2^-10 for each 32 columns of stored blocks with accumulation(fast). Each
 * step of an epilogue carries the errors of its operands over to its result. A step
 * that rounds adds the size of its result.
 *
 * Attention: row (b * H + h) * Sq + q is the query q of head h of batch b. y and
 * magnitude are (row_end - row_begin) x Dv. s[k] = score(scale * q . k), and
 * y = sum over the visible keys k of exp(s[k] - LSE) * v[k]. y is 0 if no key is
 * visible. A score of -inf makes a key invisible. sparsec_attention_slot_t defines
 * the visible keys. Integers in the regions are exact. The call refuses a region
 * that loads from beyond a tensor, and starts, lengths and page numbers of sequences
 * that are out of range. Where sequences share Q, there is one batch and Sq is all
 * rows; a row behind the last sequence, which kernels do not write, has no keys.
 *
 * The magnitude of attention covers the f32 errors of scores (as above, through the
 * score region), of their exponentials and of the sums. It also covers the loss of
 * a kernel that rounds the probabilities p to the type of V. With u half a unit in
 * the last place of that type at 1, this loss is
 * u * (|y| + 4 * sqrt(sum over k of (p[k] * v[k])^2)): the first term is an error
 * that all probabilities have in common, the second one comes from independent
 * errors.
 *
 * Merge: rows are those of attention, and y is what sparsec_merge_slot_t says. The
 * magnitude covers the f32 errors of both weights; where a part is empty it is 0.
 */
SPARSEC_API sparsec_status_t sparsec_reference_run(sparsec_kernel_t kernel, const sparsec_argument_t *host_arguments,
                                                   size_t argument_count, int64_t row_begin, int64_t row_end, double *y,
                                                   double *magnitude) SPARSEC_MUST_USE;

/* Computes the second result of attention or of a merge for the same rows, also if
 * the kernel does not have it: LSE = log(sum over the visible keys of exp(s[k])),
 * where the sum has exp(sinks[h]) too if the kernel has sinks. LSE is -inf if the
 * sum is 0. The LSE of a merge is what sparsec_merge_slot_t says.
 * lse and magnitude hold row_end - row_begin elements. magnitude may be NULL. */
SPARSEC_API sparsec_status_t sparsec_reference_lse(sparsec_kernel_t kernel, const sparsec_argument_t *host_arguments,
                                                   size_t argument_count, int64_t row_begin, int64_t row_end,
                                                   double *lse, double *magnitude) SPARSEC_MUST_USE;

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "sparsec/plans.h"

#endif /* SPARSEC_RUNTIME_H */
