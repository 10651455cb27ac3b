/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The public header must compile as C11. Bindings copy its structs by hand: no field may move. */
#include "sparsec/runtime.h"

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type " has " #field " elsewhere")

_Static_assert(sizeof(sparsec_launch_info_t) == 176, "the same layout as in C++");

_Static_assert(sizeof(sparsec_argument_t) == 16, "for ever");
AT(sparsec_argument_t, kind, 0);
AT(sparsec_argument_t, reserved, 4);
AT(sparsec_argument_t, view, 8);
AT(sparsec_argument_t, scalar, 8);

_Static_assert(sizeof(sparsec_dense_t) == 112, "the first version");
AT(sparsec_dense_t, size, 0);
AT(sparsec_dense_t, device, 8);
AT(sparsec_dense_t, dtype, 12);
AT(sparsec_dense_t, rank, 16);
AT(sparsec_dense_t, flags, 20);
AT(sparsec_dense_t, data, 24);
AT(sparsec_dense_t, sizes, 32);
AT(sparsec_dense_t, strides, 72);

_Static_assert(sizeof(sparsec_block_lists_t) == 16, "the first version");
AT(sparsec_block_lists_t, starts, 0);
AT(sparsec_block_lists_t, indices, 8);

_Static_assert(sizeof(sparsec_blocks_t) == 112, "the first version");
AT(sparsec_blocks_t, size, 0);
AT(sparsec_blocks_t, device, 8);
AT(sparsec_blocks_t, dtype, 12);
AT(sparsec_blocks_t, encoding, 16);
AT(sparsec_blocks_t, flags, 20);
AT(sparsec_blocks_t, block_rows, 24);
AT(sparsec_blocks_t, block_columns, 28);
AT(sparsec_blocks_t, batches, 32);
AT(sparsec_blocks_t, heads, 40);
AT(sparsec_blocks_t, rows, 48);
AT(sparsec_blocks_t, columns, 56);
AT(sparsec_blocks_t, capacity, 64);
AT(sparsec_blocks_t, full, 72);
AT(sparsec_blocks_t, partial, 88);
AT(sparsec_blocks_t, values, 104);

_Static_assert(sizeof(sparsec_device_info_t) == 296, "the first version");
AT(sparsec_device_info_t, size, 0);
AT(sparsec_device_info_t, kind, 8);
AT(sparsec_device_info_t, ordinal, 12);
AT(sparsec_device_info_t, name, 16);
AT(sparsec_device_info_t, compute_capability, 272);
AT(sparsec_device_info_t, multiprocessors, 276);
AT(sparsec_device_info_t, shared_memory_per_block, 280);
AT(sparsec_device_info_t, memory_bytes, 288);

_Static_assert(sizeof(sparsec_device_options_t) == 24, "the first version");
AT(sparsec_device_options_t, size, 0);
AT(sparsec_device_options_t, kind, 8);
AT(sparsec_device_options_t, ordinal, 12);
AT(sparsec_device_options_t, thread_count, 16);
AT(sparsec_device_options_t, flags, 20);

_Static_assert(sizeof(sparsec_allocator_t) == 32, "the first version");
AT(sparsec_allocator_t, size, 0);
AT(sparsec_allocator_t, user_data, 8);
AT(sparsec_allocator_t, allocate, 16);
AT(sparsec_allocator_t, free, 24);

_Static_assert(sizeof(sparsec_plan_options_t) == 64, "the first version had 48");
AT(sparsec_plan_options_t, size, 0);
AT(sparsec_plan_options_t, arguments, 8);
AT(sparsec_plan_options_t, argument_count, 16);
AT(sparsec_plan_options_t, stream, 24);
AT(sparsec_plan_options_t, allocator, 32);
AT(sparsec_plan_options_t, flags, 40);
AT(sparsec_plan_options_t, reserved, 44);
AT(sparsec_plan_options_t, progress, 48);
AT(sparsec_plan_options_t, progress_data, 56);

_Static_assert(sizeof(sparsec_plan_info_t) == 248, "the first version had 64");
AT(sparsec_plan_info_t, size, 0);
AT(sparsec_plan_info_t, order, 8);
AT(sparsec_plan_info_t, reserved, 12);
AT(sparsec_plan_info_t, workers, 16);
AT(sparsec_plan_info_t, tiles, 24);
AT(sparsec_plan_info_t, bytes, 32);
AT(sparsec_plan_info_t, workspace_bytes, 40);
AT(sparsec_plan_info_t, balance, 48);
AT(sparsec_plan_info_t, milliseconds, 56);
AT(sparsec_plan_info_t, windows, 64);
AT(sparsec_plan_info_t, columns, 72);
AT(sparsec_plan_info_t, reason, 80);
AT(sparsec_plan_info_t, packed_bytes, 240);

_Static_assert(sizeof(sparsec_launch_options_t) == 48, "the first version and packed");
AT(sparsec_launch_options_t, size, 0);
AT(sparsec_launch_options_t, stream, 8);
AT(sparsec_launch_options_t, workspace, 16);
AT(sparsec_launch_options_t, workspace_bytes, 24);
AT(sparsec_launch_options_t, flags, 32);
AT(sparsec_launch_options_t, reserved, 36);
AT(sparsec_launch_options_t, packed, 40);

_Static_assert(sizeof(sparsec_pack_options_t) == 32, "the first version");
AT(sparsec_pack_options_t, size, 0);
AT(sparsec_pack_options_t, stream, 8);
AT(sparsec_pack_options_t, allocator, 16);
AT(sparsec_pack_options_t, flags, 24);
AT(sparsec_pack_options_t, reserved, 28);

const char *sparsec_test_c_header_version(void) { return sparsec_version(); }
