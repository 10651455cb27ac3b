/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The public header must compile as C11. */
#include "sparsec/runtime.h"

_Static_assert(sizeof(sparsec_launch_info_t) == 256, "the same layout as in C++");

const char *sparsec_test_c_header_version(void) { return sparsec_version(); }
