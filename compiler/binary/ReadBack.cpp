// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReadBack.h"

#include "sparsec/runtime.h"

using namespace mlir;

/// Takes the status.
static llvm::Error toError(sparsec_status_t status) {
  if (!status)
    return llvm::Error::success();
  llvm::Error error = llvm::createStringError(llvm::Twine("the runtime would refuse the compiled file: ") +
                                              sparsec_status_message(status));
  sparsec_status_free(status);
  return error;
}

llvm::Error sparsec::readBack(StringRef file) {
  size_t count = 0;
  if (llvm::Error error = toError(sparsec_image_count(file.data(), file.size(), &count)))
    return error;
  for (size_t index = 0; index < count; ++index) {
    sparsec_launch_info_t *info = nullptr;
    if (llvm::Error error = toError(sparsec_launch_info_read(file.data(), file.size(), index, &info)))
      return error;
    sparsec_launch_info_free(info);
  }
  return llvm::Error::success();
}
