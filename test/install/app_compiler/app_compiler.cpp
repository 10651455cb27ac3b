// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An app that compiles a kernel in memory and loads it.

#include <sparsec/compiler.h>
#include <sparsec/runtime.hpp>

#include <cstdio>
#include <cstring>

static const char kernel[] = R"mlir(
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
})mlir";

int main() {
  sparsec_compile_options_t options;
  sparsec_compile_options_init(&options);
  options.emit = SPARSEC_EMIT_HOST;
  options.diagnostic = [](void *, sparsec_severity_t, const char *text) { std::fputs(text, stderr); };
  sparsec_compile_result_t result = nullptr;
  if (sparsec_compile(kernel, std::strlen(kernel), &options, &result) != SPARSEC_COMPILE_OK)
    return 1;
  sparsec::Device device = sparsec::Device::host();
  sparsec::Module module(device, sparsec_compile_result_data(result), sparsec_compile_result_size(result));
  sparsec_compile_result_free(result);
  sparsec::Kernel product = module.kernel();
  std::puts("compiled and loaded");
  return 0;
}
