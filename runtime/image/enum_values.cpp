// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image/enum_values.h"
#include "sparsec/launch_info.h"

const char *sparsec::runtime::dtypeName(uint32_t dtype) {
  switch (dtype) {
  case SPARSEC_DTYPE_F32:
    return "f32";
  case SPARSEC_DTYPE_F16:
    return "f16";
  case SPARSEC_DTYPE_BF16:
    return "bf16";
  case SPARSEC_DTYPE_F8E4M3FN:
    return "f8E4M3FN";
  case SPARSEC_DTYPE_F8E5M2:
    return "f8E5M2";
  case SPARSEC_DTYPE_I32:
    return "i32";
  case SPARSEC_DTYPE_I64:
    return "i64";
  case SPARSEC_DTYPE_I8:
    return "i8";
  case SPARSEC_DTYPE_NONE:
    return "none";
  }
  return "unknown";
}
