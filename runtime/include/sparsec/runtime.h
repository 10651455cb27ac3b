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
 * Threads. Devices, modules, kernels and plans are immutable after creation and
 * may be used by any number of threads at once (but see
 * sparsec_plan_create_attention); destroy them when no call uses them. A status
 * belongs to one thread at a time.
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

typedef struct sparsec_device_info_s {
  sparsec_target_kind_t kind;
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

/*
 * A block-sparse (BSR) matrix of rows x columns elements in blocks of
 * block_rows x block_columns. Block row i holds the blocks row_ptr[i] up to
 * row_ptr[i + 1]; block p lies in block column col_idx[p]; its elements are
 * values[p][block_rows][block_columns], row-major and contiguous. Column indices
 * may be unsorted within a row but not repeated. rows and columns need not be
 * multiples of the block: elements of edge blocks beyond the matrix must be 0.
 * block_row_count = ceil(rows / block_rows).
 */
typedef struct sparsec_bsr_s {
  int64_t rows, columns;
  int64_t block_count; /* number of stored blocks, row_ptr[block_row_count] */
  int32_t block_rows, block_columns;
  sparsec_dtype_t dtype;
  const int32_t *row_ptr; /* [block_row_count + 1], device memory, 4-byte aligned */
  const int32_t *col_idx; /* [block_count], device memory, 4-byte aligned */
  const void *values;     /* [block_count][block_rows][block_columns], device memory */
} sparsec_bsr_t;

/* A dense tensor. The last dimension must be contiguous (stride 1). The stride of a dimension of at most one element,
 * and every stride of an empty tensor, may be anything. */
typedef struct sparsec_dense_s {
  void *data; /* device memory */
  sparsec_dtype_t dtype;
  int32_t rank;
  int64_t sizes[SPARSEC_MAX_RANK];
  int64_t strides[SPARSEC_MAX_RANK]; /* elements */
} sparsec_dense_t;

/* One list of key blocks for every batch, head and query block, in this order. */
typedef struct sparsec_block_lists_s {
  const int32_t *starts;  /* NULL: all lists are empty */
  const int32_t *indices; /* key blocks, in any order, none twice */
} sparsec_block_lists_t;

typedef enum sparsec_pattern_flag_e {
  /* Launches on a GPU check the lists as sparsec_pattern_check does: they wait for the stream, copy the lists to the
   * host (4 bytes per list and entry of the capacity) and only then launch. Not while a stream is captured. Without
   * it an index that is out of range is not visited; a count or start that is may make the kernel read beyond the
   * lists. */
  SPARSEC_PATTERN_CHECK_LISTS = 1,
} sparsec_pattern_flag_t;

/*
 * Which blocks of keys every block of queries visits. A key block may be in the
 * partial or in the full list of a query block, not in both; the mask region
 * applies in partial blocks only.
 */
typedef struct sparsec_pattern_s {
  sparsec_pattern_encoding_t encoding;
  int32_t query_block, key_block; /* sizes in queries and keys */
  int64_t batches, heads;         /* 1: the same lists for all */
  int64_t rows;                   /* query blocks, ceil(Sq / query_block) */
  int64_t columns;                /* key blocks, ceil(Skv / key_block) */
  int64_t capacity;               /* padded lists: entries of one list; index arrays: entries of `indices` */
  sparsec_block_lists_t partial, full;
  uint32_t flags; /* of sparsec_pattern_flag_t; 0: none */
} sparsec_pattern_t;

/* Checks the lists of a pattern in host memory: starts ascending from 0 and within
 * the capacity, or counts within it; key blocks in range, none twice in a list,
 * none in both lists of a query block. */
SPARSEC_API sparsec_status_t sparsec_pattern_check(const sparsec_pattern_t *host_pattern) SPARSEC_MUST_USE;

/* One kernel argument. Arguments come in the kernel's order: inputs, then results. */
typedef struct sparsec_argument_s {
  sparsec_argument_kind_t kind;
  union {
    sparsec_bsr_t bsr;
    sparsec_dense_t dense;
    float scalar;
    sparsec_pattern_t pattern;
  };
} sparsec_argument_t;

/* A contiguous row-major view. */
SPARSEC_API sparsec_dense_t sparsec_dense_2d(void *data, sparsec_dtype_t dtype, int64_t rows, int64_t columns);
SPARSEC_API sparsec_dense_t sparsec_dense_1d(void *data, sparsec_dtype_t dtype, int64_t size);
SPARSEC_API sparsec_dense_t sparsec_dense_3d(void *data, sparsec_dtype_t dtype, int64_t planes, int64_t rows,
                                             int64_t columns);
/* Views with sizes (batches, heads, length, dimension), as attention takes them,
 * of contiguous memory in the order batch-head-sequence or batch-sequence-head. */
SPARSEC_API sparsec_dense_t sparsec_dense_bhsd(void *data, sparsec_dtype_t dtype, int64_t batches, int64_t heads,
                                               int64_t length, int64_t dimension);
SPARSEC_API sparsec_dense_t sparsec_dense_bshd(void *data, sparsec_dtype_t dtype, int64_t batches, int64_t heads,
                                               int64_t length, int64_t dimension);
SPARSEC_API sparsec_argument_t sparsec_argument_bsr(sparsec_bsr_t bsr);
SPARSEC_API sparsec_argument_t sparsec_argument_dense(sparsec_dense_t dense);
SPARSEC_API sparsec_argument_t sparsec_argument_scalar(float value);
SPARSEC_API sparsec_argument_t sparsec_argument_pattern(sparsec_pattern_t pattern);
SPARSEC_API size_t sparsec_dtype_bytes(sparsec_dtype_t dtype);
SPARSEC_API const char *sparsec_dtype_name(sparsec_dtype_t dtype);

/* A view of a DLPack tensor (`DLManagedTensor *`), without a copy. The tensor
 * must outlive the view. Refuses types, ranks and strides that have no view. */
SPARSEC_API sparsec_status_t sparsec_dense_from_dlpack(const void *managed_tensor,
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
SPARSEC_API const sparsec_variant_info_t *sparsec_kernel_variant(sparsec_kernel_t kernel, size_t index);
/* NULL for kernels of other families. */
SPARSEC_API const sparsec_attention_info_t *sparsec_kernel_attention(sparsec_kernel_t kernel);

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

/* What a block of keys is for a block of queries. */
typedef enum sparsec_block_state_e {
  SPARSEC_BLOCK_EMPTY = 0,   /* not visited */
  SPARSEC_BLOCK_FULL = 1,    /* visited; the mask region is not asked */
  SPARSEC_BLOCK_PARTIAL = 2, /* visited, where the mask region says so */
} sparsec_block_state_t;

typedef struct sparsec_pattern_shape_s {
  int32_t query_block, key_block;
  int64_t batches, heads; /* with lists of their own; 1: the same for all */
  int64_t queries, keys;  /* Sq, Skv */
} sparsec_pattern_shape_t;

/*
 * Makes a pattern from the sparsec_block_state_t of every block, one byte each:
 * host_mask[batches][heads][query blocks][key blocks], in host memory. Booleans
 * are full blocks. The lists are in memory of the device, or of the host where
 * device is NULL. The buffer keeps the device.
 */
SPARSEC_API sparsec_status_t sparsec_pattern_from_block_mask(const sparsec_pattern_shape_t *shape,
                                                             const uint8_t *host_mask,
                                                             sparsec_pattern_encoding_t encoding,
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
SPARSEC_API sparsec_status_t sparsec_pattern_from_predicate(sparsec_kernel_t kernel,
                                                            const sparsec_pattern_shape_t *shape,
                                                            const sparsec_argument_t *host_arguments,
                                                            size_t argument_count, sparsec_pattern_encoding_t encoding,
                                                            sparsec_device_t device,
                                                            sparsec_pattern_buffer_t *out_buffer) SPARSEC_MUST_USE;

/*
 * Makes a buffer of padded lists that can be written again and again: with room
 * for every block (capacity = key blocks, 8 bytes for every block of the shape),
 * all of them empty. Its view stays the same. On a GPU the driver compiles a small
 * kernel here.
 */
SPARSEC_API sparsec_status_t sparsec_pattern_buffer_create(const sparsec_pattern_shape_t *shape,
                                                           sparsec_device_t device,
                                                           sparsec_pattern_buffer_t *out_buffer) SPARSEC_MUST_USE;

/*
 * Write the lists of such a buffer, in ascending order, from a block mask or from
 * the mask region of a kernel: what sparsec_pattern_from_block_mask and
 * sparsec_pattern_from_predicate do, with everything in memory of the buffer's
 * device. On a GPU they enqueue one kernel on the stream, wait for nothing and may
 * be captured in a CUDA graph: a launch behind them on the stream sees the new
 * lists. There the kernel must be loaded on that GPU and have a pattern argument,
 * elements of the mask other than sparsec_block_state_t count as empty, and
 * reads of the region from beyond a tensor take some element that is there. On the
 * host the lists are written when the call returns.
 */
SPARSEC_API sparsec_status_t sparsec_pattern_update_from_block_mask(sparsec_pattern_buffer_t buffer,
                                                                    const uint8_t *mask, void *stream) SPARSEC_MUST_USE;
SPARSEC_API sparsec_status_t sparsec_pattern_update_from_predicate(sparsec_pattern_buffer_t buffer,
                                                                   sparsec_kernel_t kernel,
                                                                   const sparsec_argument_t *arguments,
                                                                   size_t argument_count,
                                                                   void *stream) SPARSEC_MUST_USE;

/* Valid as long as the buffer. */
SPARSEC_API sparsec_pattern_t sparsec_pattern_buffer_view(sparsec_pattern_buffer_t buffer);
SPARSEC_API void sparsec_pattern_buffer_destroy(sparsec_pattern_buffer_t buffer);

/* ---- Plans --------------------------------------------------------------- */

typedef struct sparsec_plan_s *sparsec_plan_t;

typedef struct sparsec_plan_info_s {
  int64_t workers; /* CTAs, clusters of CTAs, or warpgroups with tiles of their own */
  int64_t tiles;
  double balance;      /* mean load / largest load, 1 is perfect */
  double milliseconds; /* host time to make the plan, copies included */
} sparsec_plan_info_t;

/*
 * Makes a plan of a product for one pattern and one width (the N of the launch): checks the
 * pattern (ascending row_ptr from 0, column indices in range and not repeated),
 * orders the tiles so that all rows of a column panel run together, and balances
 * them over the SMs by the rows' block counts. Synchronous. The plan keeps no
 * reference to the pattern's memory; the values may change between launches, the
 * pattern may not. `pattern` is in device memory (values are not read).
 */
SPARSEC_API sparsec_status_t sparsec_plan_create(sparsec_kernel_t kernel, const sparsec_bsr_t *pattern, int64_t width,
                                                 sparsec_plan_t *out_plan) SPARSEC_MUST_USE;

typedef struct sparsec_attention_sizes_s {
  int64_t batches, heads; /* heads of Q */
  int64_t queries, keys;  /* Sq, Skv */
} sparsec_attention_sizes_t;

/*
 * Makes a plan of attention for the sizes of its launches. With a pattern (in device memory; or
 * NULL for a kernel without one) the tiles are balanced over the SMs by the keys that they see:
 * the lists are checked, as sparsec_pattern_check does, and copied to the host. Synchronous. The
 * plan keeps no reference to them; should they change, results stay right and only the balance
 * suffers.
 *
 * pattern NULL, of a kernel that has one: nothing is known of the lists. They may be made on the
 * device and differ from launch to launch: workers take tiles as they become free, by a counter
 * in the plan. Launches with such a plan must not overlap: use one for each stream or graph.
 */
SPARSEC_API sparsec_status_t sparsec_plan_create_attention(sparsec_kernel_t kernel,
                                                           const sparsec_attention_sizes_t *sizes,
                                                           const sparsec_pattern_t *pattern,
                                                           sparsec_plan_t *out_plan) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_plan_destroy(sparsec_plan_t plan);
SPARSEC_API sparsec_status_t sparsec_plan_info(sparsec_plan_t plan, sparsec_plan_info_t *out_info) SPARSEC_MUST_USE;

/* Checks a pattern in host memory alone (the same rules as sparsec_plan_create). */
SPARSEC_API sparsec_status_t sparsec_bsr_check(const sparsec_bsr_t *host_pattern) SPARSEC_MUST_USE;

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
 * lists of the pattern first, as sparsec_pattern_check does, which needs memory
 * for two bits per key block; on a GPU where its flags say so
 * (SPARSEC_PATTERN_CHECK_LISTS), which takes memory for the lists and waits for
 * the stream.
 */
SPARSEC_API sparsec_status_t sparsec_launch(sparsec_kernel_t kernel, sparsec_plan_t plan,
                                            const sparsec_argument_t *arguments, size_t argument_count,
                                            void *stream) SPARSEC_MUST_USE;

/* The index of the variant that a launch with these arguments takes. */
SPARSEC_API sparsec_status_t sparsec_launch_variant(sparsec_kernel_t kernel, const sparsec_argument_t *arguments,
                                                    size_t argument_count, size_t *out_variant) SPARSEC_MUST_USE;

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
 * sparsec_attention_info_t. Integers in the regions are exact. magnitude
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
