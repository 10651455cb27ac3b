/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * plans.h: how plans are made, saved and loaded. A part of runtime.h, which
 * includes it and says what holds for all functions.
 */
#ifndef SPARSEC_PLANS_H
#define SPARSEC_PLANS_H

#include "sparsec/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Making plans ----------------------------------------------------------- */

#define SPARSEC_ALLOCATION_ALIGNMENT 256 /* bytes */

/* The functions from which a plan gets its device memory. */
typedef struct sparsec_allocator_s {
  size_t size;     /* sizeof(sparsec_allocator_t) */
  void *user_data; /* the first argument of both functions */
  /* Returns memory of the plan's device, aligned to SPARSEC_ALLOCATION_ALIGNMENT, for work that is enqueued on the
   * stream from now on. Returns NULL if there is not enough memory. */
  void *(*allocate)(void *user_data, size_t bytes, void *stream);
  /* The library calls it once for each allocation, with the same bytes and stream. */
  void (*free)(void *user_data, void *memory, size_t bytes, void *stream);
} sparsec_allocator_t;

typedef enum sparsec_plan_flag_e {
  /* The pattern of the launches is that of the plan: its index arrays have the same contents in every launch, wherever
   * they are. The plan may then hold the pattern in another order, in windows of block rows that share what they load
   * (see SPARSEC_PLAN_WINDOW_ROWS and SPARSEC_PLAN_STAGE_OFFSETS), or in joint lists of two block rows of attention
   * (SPARSEC_PLAN_JOINT_RANGES), for the variants that can use it. Launches that check their lists, and launches on the
   * host, refuse other contents. Other launches with other contents give wrong results. Values may change. Nobody
   * writes the index arrays that the plan has read while launches with it are on a stream: kernels may read them before
   * the work in front of them on the stream has ended. Index arrays elsewhere are read in the order of the stream. */
  SPARSEC_PLAN_STATIC_PATTERN = 1,
  /* Makes the plan in less time: block rows share windows in their own order, and the lists of tiles of products are
   * made in rounds, which level the loads a little less. */
  SPARSEC_PLAN_FAST = 2,
  /* With SPARSEC_PLAN_STATIC_PATTERN: launches may bring packed values (sparsec_plan_pack). If stored blocks fill
   * enough of the packed ones, the plan holds what the variants need that read them (see SPARSEC_PLAN_PACKED_STARTS). A
   * kernel without such variants ignores the flag. */
  SPARSEC_PLAN_PACK = 4,
  /* The plan does not read the index arrays. sparsec_plan_refill makes its sections from them whenever they have
   * changed, without a step on the host. See there. */
  SPARSEC_PLAN_REFILL = 8,
} sparsec_plan_flag_t;

/* Says how far a call is: `done` of `total`. Returns 0 to go on, and any other value to cancel the call, which then
 * returns SPARSEC_STATUS_CANCELLED. */
typedef int32_t (*sparsec_progress_t)(void *user_data, int64_t done, int64_t total);

typedef struct sparsec_plan_options_s {
  size_t size; /* sizeof(sparsec_plan_options_t) */
  /* The arguments of the launches, in the kernel's order. Each may be open (kind 0), and so may sizes of dense tensors
   * (SPARSEC_DYNAMIC). The plan ignores data and strides of dense tensors, values and scalars. NULL with a count of 0
   * means that all are open. */
  const sparsec_argument_t *arguments;
  size_t argument_count;
  void *stream;                         /* as for launches */
  const sparsec_allocator_t *allocator; /* NULL: sparsec_memory_allocate and sparsec_memory_free */
  uint32_t flags;                       /* of sparsec_plan_flag_t; 0: none */
  uint32_t reserved;
  /* Called on the calling thread while the plan is made: first with 0 done, then with more and more, and with all done
   * before the plan's memory is written. Most calls come while block rows are put in order, which takes most of the
   * time. NULL: none. It does not change the plan. */
  sparsec_progress_t progress;
  void *progress_data; /* the first argument of progress */
} sparsec_plan_options_t;

/* How the workers of a launch share out its tiles. */
typedef enum sparsec_tile_order_e {
  SPARSEC_TILE_ORDER_FIXED = 0,   /* workers take tiles in turn, as without a plan */
  SPARSEC_TILE_ORDER_LISTS = 1,   /* each worker has a list; the costs of the tiles balance the lists */
  SPARSEC_TILE_ORDER_COUNTER = 2, /* a worker that is free takes the next tile from a counter in the workspace */
} sparsec_tile_order_t;

#define SPARSEC_PLAN_REASON_LENGTH 160 /* bytes, with the zero at the end */

/* The part of a plan for one variant of its kernel. */
typedef struct sparsec_plan_info_s {
  size_t size;                /* sizeof(sparsec_plan_info_t) */
  sparsec_tile_order_t order; /* a launch of COUNTER without a workspace has FIXED */
  uint32_t reserved;
  int64_t workers, tiles;         /* workers: CTAs, clusters of CTAs, or warpgroups with tiles of their own.
                                     SPARSEC_DYNAMIC if sizes are open; the workers of lists are always known */
  int64_t bytes, workspace_bytes; /* device memory of the plan, and of the workspace of a launch. SPARSEC_DYNAMIC if
                                     a size is open that the workspace needs */
  double balance;                 /* mean load / largest load of the tiles in the lists, 1 is perfect */
  double milliseconds;            /* host time to make or load the plan for all variants, with copies */
  /* The windows of a static pattern, and the sum of their columns; 0: there are none. A tile loads every column of its
   * window once, for all rows of the window. The blocks of the matrix divided by `columns` is therefore the number of
   * products for each column that is loaded: 1 if no rows share a column. */
  int64_t windows, columns;
  /* Why the variant has windows or streams or none, and why it has this order, for people: "windows: 2.13 blocks per
   * column; lists: the costs of all tiles are known". */
  char reason[SPARSEC_PLAN_REASON_LENGTH];
  int64_t packed_bytes; /* device memory of packed values, which the variant reads; 0: it reads the stored ones */
} sparsec_plan_info_t;

/*
 * Makes a plan. A plan says which worker computes which tiles of the result, in
 * which order. It makes launches faster whose tiles differ in cost. It does not
 * change the result of a variant. A plan of a static pattern
 * (SPARSEC_PLAN_STATIC_PATTERN) may let launches take another variant, which may
 * add in another order. A kernel that takes the transpose of a block-sparse matrix
 * (SPARSEC_LAYOUT_TRANSPOSED) needs such a plan, made with the matrix.
 *
 * The sizes of the arguments are part of the plan. A launch with other sizes is
 * refused. An open size may differ from launch to launch. The sizes of tensors whose
 * sequences have lengths of their own are always open. The call checks lists of
 * blocks as sparsec_blocks_check does. The plan keeps no reference to them, nor to
 * the options. The values of a block-sparse operand may therefore change between
 * launches. Unless the pattern is static, its lists may change too, but the
 * balance is then worse.
 *
 * If all sizes and the lists are known, the plan balances the tiles over the SMs by
 * their costs. It also does so for a product whose matrix is known and whose width
 * is open: one plan serves all widths. It has lists unless the matrix is nearly
 * dense (see SPARSEC_PLAN_COST_GROUPED_DENSITY). If anything else is open, workers
 * of attention take tiles as they become free, provided that the launch brings a
 * workspace. Other kernels have a fixed order.
 *
 * The call reads lists in device memory in the order of the stream, behind the work
 * that is already on it, and writes the plan's memory in the same order. It waits
 * for the stream. When it returns, launches with the plan may use any stream. The
 * stream must not be captured meanwhile.
 *
 * Launches on several streams may use a plan at once. The caller destroys the plan
 * when they are done. A plan with an allocator needs the stream on which it was
 * made until then.
 */
SPARSEC_API sparsec_status_t sparsec_plan_create(sparsec_kernel_t kernel, const sparsec_plan_options_t *options,
                                                 sparsec_plan_t *out_plan) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_plan_destroy(sparsec_plan_t plan);
SPARSEC_API sparsec_status_t sparsec_plan_info(sparsec_plan_t plan, size_t variant,
                                               sparsec_plan_info_t *out_info) SPARSEC_MUST_USE;
/*
 * Gives the bytes that are enough for a launch with the plan, whichever variant the
 * launch takes. 0 means that it needs no workspace. If a workspace needs a size
 * that is open in the plan, the call takes it from the arguments of the launch,
 * which may be open as those of a plan. With a count of 0 it takes all sizes from
 * the plan. It refuses a size that is open in both.
 */
SPARSEC_API sparsec_status_t sparsec_plan_workspace_bytes(sparsec_plan_t plan, const sparsec_argument_t *arguments,
                                                          size_t argument_count, size_t *out_bytes) SPARSEC_MUST_USE;

/* ---- Refilling plans --------------------------------------------------------- */

/*
 * Makes the sections of a plan again, from the index arrays that the block-sparse
 * arguments have when the call's work runs on the stream. It is for patterns that are
 * made on the device: on a GPU it enqueues up to five machine kernels, allocates
 * nothing, waits for nothing, and a CUDA graph may hold it. On the host it makes
 * the sections at once.
 *
 * The plan was made with SPARSEC_PLAN_REFILL, from matrices whose sizes and
 * capacities are those of all launches. The capacity is the greatest number of
 * blocks; row_ptr says how many there are. Such a plan begins as that of matrices
 * without blocks. It has the windows or streams of a plan with
 * SPARSEC_PLAN_STATIC_PATTERN and SPARSEC_PLAN_FAST, bit for bit, the index of a
 * transposed operand, and the pairs of two block-sparse matrices, with room for
 * those of any blocks. If the width of a product is known, it has the lists of tiles
 * of such a plan too, for the variant with windows or streams, or the first one of
 * any width. Other lists of tiles stay as they are: they take all tiles to cost the
 * same. Launches read the plan: they must follow the call on its stream, or wait for
 * it, and it must not overlap launches.
 *
 * `arguments` are those of a launch; all but the matrices may be open. The call
 * refuses matrices of other sizes. It checks the lists as a launch does: in the order
 * of the stream with SPARSEC_BLOCKS_CHECK_LISTS, and always on the host. A plan of
 * this kind can be neither saved nor packed.
 */
SPARSEC_API sparsec_status_t sparsec_plan_refill(sparsec_plan_t plan, const sparsec_argument_t *arguments,
                                                 size_t argument_count, void *stream) SPARSEC_MUST_USE;

/* ---- Packed values ---------------------------------------------------------- */

typedef struct sparsec_pack_options_s {
  size_t size;                          /* sizeof(sparsec_pack_options_t) */
  void *stream;                         /* as for launches */
  const sparsec_allocator_t *allocator; /* NULL: sparsec_memory_allocate and sparsec_memory_free */
  uint32_t flags;                       /* 0 */
  uint32_t reserved;
} sparsec_pack_options_t;

/*
 * Copies the values of a block-sparse matrix to larger blocks, in new memory of the
 * plan's device. Launches with the plan and these values (sparsec_launch_options_t)
 * multiply the larger blocks, which is faster if small blocks are close together:
 * blocks of 16 x 16 of a dense matrix run at the speed of blocks of 64 x 64. Places
 * of a packed block without a stored block hold zeros. They are factors like all
 * others: if X is infinite or NaN where only such a place meets it, the result is
 * NaN.
 *
 * `matrix` is the block-sparse argument of the launches, with its values, which must
 * be at a multiple of 16 bytes. out_packed is NULL, and the status OK, if the plan
 * has no packed values: it was made without SPARSEC_PLAN_PACK, the kernel has no
 * variant for them, or stored blocks fill too little of the packed ones. Launches
 * accept NULL.
 *
 * The call enqueues one machine kernel on the stream and does not wait for it. The
 * plan must outlive the packed values. A launch with another plan of the same kernel
 * and the same pattern may use them, too.
 */
SPARSEC_API sparsec_status_t sparsec_plan_pack(sparsec_plan_t plan, const sparsec_blocks_t *matrix,
                                               const sparsec_pack_options_t *options,
                                               sparsec_packed_t *out_packed) SPARSEC_MUST_USE;
/*
 * Packs the present values of the matrix again, in the same memory, in the order of
 * the stream. A caller does so whenever the values have changed. The call allocates
 * no device memory and waits for nothing; a CUDA graph may hold it. It refuses a matrix of
 * other sizes.
 */
SPARSEC_API sparsec_status_t sparsec_packed_refill(sparsec_packed_t packed, const sparsec_blocks_t *matrix,
                                                   void *stream) SPARSEC_MUST_USE;
SPARSEC_API void sparsec_packed_destroy(sparsec_packed_t packed);

/* ---- Saving and loading plans ---------------------------------------------- */

/*
 * Writes a plan to host memory, so that another process need not make it again. A
 * buffer of NULL asks for the size alone. The call refuses a buffer that is shorter
 * than the plan. out_bytes is the size of the saved plan in bytes. The same plan
 * gives the same bytes. The call copies the plan's memory from the device, on the
 * default stream, and waits for it. docs/abi.md describes the format.
 */
SPARSEC_API sparsec_status_t sparsec_plan_save(sparsec_plan_t plan, void *buffer, size_t buffer_bytes,
                                               size_t *out_bytes) SPARSEC_MUST_USE;
/*
 * Makes a plan from its saved bytes, which the caller may free afterwards. Launches
 * with it compute the same bits as with the plan that was saved. The call checks
 * all sections, so that no bytes make a kernel read out of bounds or wait for ever.
 * It reads no memory of the device, and writes that of the plan in the order of the
 * stream, for which it waits.
 *
 * SPARSEC_STATUS_INVALID_PLAN means that the plan must be made again: the bytes are
 * truncated, corrupt, no saved plan or of another version, or the plan is for
 * another kernel, another compile of the kernel, a GPU on which another number of
 * workers run at once, or for other arguments. The message says which. A plan for
 * the host may be loaded with any number of threads.
 *
 * The options may be NULL. Their arguments may be open. The call compares sizes that
 * are not open with those of the plan. If the plan is of a static pattern and the
 * arguments have the matrix or the pattern, it reads and compares the lists too, in
 * the order of the stream. Without them the caller promises, as with a plan that is
 * not loaded, that launches have the lists of the plan. flags are 0: the plan has
 * those with which it was made. The progress callback is not called.
 */
SPARSEC_API sparsec_status_t sparsec_plan_load(sparsec_kernel_t kernel, const void *data, size_t bytes,
                                               const sparsec_plan_options_t *options,
                                               sparsec_plan_t *out_plan) SPARSEC_MUST_USE;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SPARSEC_PLANS_H */
