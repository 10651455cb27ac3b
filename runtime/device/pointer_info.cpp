// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/pointer_info.h"

#include <iterator>

namespace sparsec::runtime {

Status queryPointer(const Device &device, uintptr_t address, PointerInfo &outInfo) {
  // Every value fits 8 bytes; smaller ones leave the rest zero. The driver succeeds on pointers that it does not know.
  struct {
    uint64_t context, memoryType, devicePointer, isManaged, ordinal, begin, bytes;
  } values = {};
  CUpointer_attribute attributes[] = {
      CU_POINTER_ATTRIBUTE_CONTEXT,    CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
      CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE,
  };
  void *places[] = {&values.context, &values.memoryType, &values.devicePointer, &values.isManaged,
                    &values.ordinal, &values.begin,      &values.bytes};
  static_assert(std::size(places) == std::size(attributes));
  SPARSEC_RETURN_IF_ERROR(cudaStatus(
      *device.cuda, device.cuda->cuPointerGetAttributes(unsigned(std::size(attributes)), attributes, places, address),
      "asking what a pointer points to"));

  outInfo = {};
  if (values.memoryType == 0)
    return {};
  outInfo.kind = values.isManaged                          ? PointerInfo::Kind::managed
                 : values.memoryType == CU_MEMORYTYPE_HOST ? PointerInfo::Kind::pinned
                                                           : PointerInfo::Kind::device;
  outInfo.ordinal = int32_t(values.ordinal);
  outInfo.isReachable = outInfo.kind == PointerInfo::Kind::managed || values.devicePointer == address;
  // Memory that is mapped into reserved addresses belongs to no context.
  outInfo.isContiguous = values.context != 0;
  outInfo.begin = uintptr_t(values.begin);
  outInfo.bytes = values.bytes;
  return {};
}

} // namespace sparsec::runtime
