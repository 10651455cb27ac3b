// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that all checks of a kernel's records use.

#ifndef SPARSEC_RUNTIME_RECORD_CHECK_H
#define SPARSEC_RUNTIME_RECORD_CHECK_H

#include "image/launch_info_reader.h"

#include <cstring>

namespace sparsec::runtime {

/// One kernel of a launch info, whose ranges of records are in bounds.
struct KernelRecords {
  const LaunchInfo &info;
  const sparsec_kernel_info_t &kernel;
  uint32_t index;

  Records<sparsec_argument_info_t> arguments() const { return info.argumentsOf(kernel); }
  const sparsec_operation_info_t &operation() const { return info.operationOf(kernel); }
  Records<sparsec_operand_info_t> operands() const { return info.operandsOf(operation()); }
  bool isResult(uint32_t argument) const { return argument >= kernel.argument_count - kernel.result_count; }

  template <typename... Pieces> Status broken(const Pieces &...pieces) const {
    return invalidImage("launch info: kernel ", index, ": ", pieces...);
  }
  /// A number that this version gives no meaning: a newer compiler's if the file is newer.
  Status unknown(const std::string &what, uint32_t value) const {
    const sparsec_launch_info_t &header = info.header();
    if (header.minor > SPARSEC_LAUNCH_INFO_MINOR)
      return makeStatus(SPARSEC_STATUS_VERSION_MISMATCH, "launch info has version ", header.major, ".", header.minor,
                        " and kernel ", index, " uses ", what, " ", value, ", which this runtime, version ",
                        SPARSEC_LAUNCH_INFO_MAJOR, ".", SPARSEC_LAUNCH_INFO_MINOR, ", does not know");
    return broken("unknown ", what, " ", value);
  }
  /// Refuses records [first, first + count) that are not all in the table of their type.
  template <typename Record> Status checkRange(const std::string &what, uint32_t first, uint32_t count) const {
    uint32_t available = info.all<Record>().size();
    if (first <= available && count <= available - first)
      return {};
    return broken(what, " ", first, " + ", count, " of ", available);
  }
};

template <size_t size> bool isName(const char (&text)[size]) { return text[0] != 0 && std::memchr(text, 0, size); }

/// Operands, attributes and regions (operation_check.cpp).
Status checkOperation(const KernelRecords &records);
/// A workspace but for its extents, and those of a variant whose tiles are cut along K (workspace_check.cpp).
Status checkWorkspace(const KernelRecords &records, const sparsec_workspace_info_t &workspace, const std::string &name);
Status checkCuts(const KernelRecords &records, const sparsec_variant_info_t &variant, const std::string &name);
/// A variant with joint lists, whose stages have been checked (joint_variant_check.cpp).
Status checkJointLists(const KernelRecords &records, const sparsec_variant_info_t &variant, const std::string &name);
/// Variants and auxiliary kernels (variant_check.cpp).
Status checkVariants(const KernelRecords &records);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_RECORD_CHECK_H
