// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Errors of sparsec-run: those of the readers and of the runtime, with the exit code of each.

#ifndef SPARSEC_TOOLS_RUN_STATUS_ERROR_H
#define SPARSEC_TOOLS_RUN_STATUS_ERROR_H

#include "reader.h"
#include "sparsec/runtime.h"

#include <memory>
#include <type_traits>

namespace sparsec::run {

using readers::failure;
using readers::view;

enum ExitCode { exitGood = 0, exitBadInput = 1, exitUsage = 2, exitInternal = 3 };

/// A status of the runtime as an error.
class StatusError : public llvm::ErrorInfo<StatusError> {
public:
  static char ID;
  StatusError(sparsec_status_code_t code, std::string message) : code(code), message(std::move(message)) {}

  void log(llvm::raw_ostream &stream) const override { stream << message; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  const sparsec_status_code_t code;
  const std::string message;
};

/// Takes the status over. `context` goes in front of its message.
llvm::Error toError(sparsec_status_t status, llvm::StringRef context = "");

/// Prints an error and gives the exit code that belongs to it.
ExitCode reportError(llvm::Error error, llvm::StringRef program = "sparsec-run");

/// Owns a runtime handle.
template <auto destroy> struct Destroyer {
  template <typename Handle> void operator()(Handle handle) const { destroy(handle); }
};
template <typename Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<destroy>>;

using OwnedDevice = Owned<sparsec_device_t, sparsec_device_destroy>;
using OwnedModule = Owned<sparsec_module_t, sparsec_module_destroy>;
using OwnedPlan = Owned<sparsec_plan_t, sparsec_plan_destroy>;
using OwnedPacked = Owned<sparsec_packed_t, sparsec_packed_destroy>;
using OwnedPatternBuffer = Owned<sparsec_pattern_buffer_t, sparsec_pattern_buffer_destroy>;
using OwnedLaunchInfo = Owned<sparsec_launch_info_t *, sparsec_launch_info_free>;

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_STATUS_ERROR_H
