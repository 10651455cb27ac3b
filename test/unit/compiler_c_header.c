/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The compiler's interface is C: this file only has to compile, with nothing included before it. */
#include "sparsec/compiler.h"

sparsec_compile_code_t sparsec_compile_from_c(const char *source, size_t size, sparsec_compile_result_t *out_result);

sparsec_compile_code_t sparsec_compile_from_c(const char *source, size_t size, sparsec_compile_result_t *out_result) {
  sparsec_compile_options_t options;
  sparsec_compile_options_init(&options);
  return sparsec_compile(source, size, &options, out_result);
}
