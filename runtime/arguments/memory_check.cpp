// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/memory_check.h"
#include "device/pointer_info.h"

namespace sparsec::runtime {

namespace {

const char *kindName(PointerInfo::Kind kind) {
  switch (kind) {
  case PointerInfo::Kind::device:
    return "device memory";
  case PointerInfo::Kind::pinned:
    return "pinned memory of the host";
  case PointerInfo::Kind::managed:
    return "managed memory";
  case PointerInfo::Kind::unknown:
    break;
  }
  return "unknown memory";
}

/// Says why the device cannot use this memory at all; empty if it can.
std::string faultOf(const Device &device, const PointerInfo &info) {
  if (info.kind == PointerInfo::Kind::unknown)
    return "the driver does not know this memory, as it is with ordinary memory of the host";
  if (info.kind == PointerInfo::Kind::device && info.ordinal != device.info.ordinal)
    return "it is memory of device " + std::to_string(info.ordinal);
  if (!info.isReachable)
    return std::string("it is ") + kindName(info.kind) + " that is not mapped for this device";
  return "";
}

Status findFault(const Device &device, const Footprint &footprint, std::string &outFault) {
  PointerInfo first;
  SPARSEC_RETURN_IF_ERROR(queryPointer(device, footprint.begin, first));
  outFault = faultOf(device, first);
  if (!outFault.empty())
    return {};
  const uint64_t bytes = footprint.extent(), there = first.bytes - (footprint.begin - first.begin);
  if (bytes > there) {
    outFault = std::string("its allocation of ") + kindName(first.kind) + " has " + std::to_string(there) +
               " bytes from there on";
    return {};
  }
  if (first.isContiguous)
    return {};
  PointerInfo last;
  SPARSEC_RETURN_IF_ERROR(queryPointer(device, footprint.begin + bytes - 1, last));
  if (last.kind == PointerInfo::Kind::unknown)
    outFault = "no memory is mapped where it ends";
  return {};
}

template <typename... Name> Status check(const Device &device, const Footprint &footprint, const Name &...name) {
  ContextScope current(device);
  SPARSEC_RETURN_IF_ERROR(current.status());
  std::string fault;
  SPARSEC_RETURN_IF_ERROR(findFault(device, footprint, fault));
  if (fault.empty())
    return {};
  return invalidArgument(name..., " needs ", footprint.extent(), " bytes of memory of device ", device.info.ordinal,
                         ", but ", fault);
}

} // namespace

Status checkMemory(const Device &device, const char *name, const Footprint &footprint) {
  if (!device.checksMemory || footprint.run == 0)
    return {};
  return check(device, footprint, name);
}

Status checkMemory(const Device &device, const Subject &subject, const sparsec_argument_t &argument) {
  if (!device.checksMemory)
    return {};
  for (const auto &[member, footprint] : ArgumentMemory(argument))
    SPARSEC_RETURN_IF_ERROR(check(device, footprint, subject, ": ", member));
  return {};
}

Status checkMemory(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments) {
  const Device &device = *kernel.module->device;
  if (!device.checksMemory)
    return {};
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i)
    SPARSEC_RETURN_IF_ERROR(checkMemory(device, checkedArgument(kernel, arguments, i).subject(), arguments[i]));
  return {};
}

Status checkListMemory(const Device &device, const Subject &subject, const sparsec_blocks_t &blocks) {
  sparsec_blocks_t lists = blocks;
  lists.dtype = SPARSEC_DTYPE_NONE;
  return checkMemory(device, subject, sparsec_argument_blocks(&lists));
}

} // namespace sparsec::runtime
