// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPARSEC_TOOLS_RUN_WORKSPACE_H
#define SPARSEC_TOOLS_RUN_WORKSPACE_H

#include "status_error.h"

#include "sparsec/argument.hpp"

#include <vector>

namespace sparsec::run {

/// The memory that launches with a plan may use, all of it zero.
class Workspace {
public:
  explicit Workspace(sparsec_device_t device) : device(device) {}
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;
  ~Workspace() { sparsec_memory_free(device, data); }

  llvm::Error allocate(sparsec_plan_t plan, const ArgumentArray &arguments) {
    if (!plan)
      return llvm::Error::success();
    if (llvm::Error error = toError(sparsec_plan_workspace_bytes(plan, arguments.data(), arguments.size(), &bytes)))
      return error;
    if (bytes == 0)
      return llvm::Error::success();
    if (llvm::Error error = toError(sparsec_memory_allocate(device, bytes, &data)))
      return error;
    return toError(sparsec_memory_upload(device, data, std::vector<char>(bytes).data(), bytes));
  }

  sparsec_launch_options_t options() const {
    auto options = sized<sparsec_launch_options_t>();
    options.workspace = data;
    options.workspace_bytes = bytes;
    return options;
  }

private:
  sparsec_device_t device;
  void *data = nullptr;
  size_t bytes = 0;
};

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_WORKSPACE_H
