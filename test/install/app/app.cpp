// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program outside of the project: loads what is no compiled file and expects to be told so.

#include "sparsec/runtime.hpp"

#include <cstdio>

int main() {
  sparsec::Device device = sparsec::Device::host();
  try {
    sparsec::Module module(device, "not a compiled file", 19);
  } catch (const sparsec::Error &error) {
    std::printf("sparsec %s: %s\n", sparsec_version(), error.what());
    return error.code() == SPARSEC_STATUS_INVALID_IMAGE ? 0 : 1;
  }
  return 1;
}
