// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/checked_argument.h"
#include "arguments/blocks.h"
#include "arguments/strides.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

const char *kindName(uint32_t kind) {
  switch (kind) {
  case SPARSEC_ARGUMENT_BSR:
    return "a block-sparse matrix";
  case SPARSEC_ARGUMENT_DENSE:
    return "a dense tensor";
  case SPARSEC_ARGUMENT_SCALAR:
    return "a scalar";
  case SPARSEC_ARGUMENT_PATTERN:
    return "a block pattern";
  }
  return "an unknown kind";
}

} // namespace

std::string placeName(int32_t place) {
  return place == SPARSEC_PLACE_HOST ? "the host" : "device " + std::to_string(place);
}

Status checkPlace(const Subject &subject, int32_t place, int32_t expected) {
  if (place == expected || place == SPARSEC_PLACE_UNKNOWN)
    return {};
  return invalidArgument(subject, ": expects memory of ", placeName(expected), ", but got memory of ",
                         placeName(place));
}

Status Checked::checkView(int32_t place) const {
  if (value.kind != info.kind)
    return refuse("expects ", kindName(info.kind), ", but got ", kindName(value.kind));
  if (value.reserved != 0)
    return refuse("expects reserved to be 0, but got ", value.reserved);
  if (info.kind == SPARSEC_ARGUMENT_SCALAR)
    return {};
  if (!value.view)
    return refuse("view is NULL");
  SPARSEC_RETURN_IF_ERROR(isBlocks(info.kind) ? checkStructSize(blocks(), subject())
                                              : checkStructSize(dense(), subject()));
  if (!isBlocks(info.kind) && (dense().flags & ~uint32_t(SPARSEC_DENSE_READ_ONLY)))
    return refuse("expects flags of 0 or ", int(SPARSEC_DENSE_READ_ONLY), ", but got ", dense().flags);
  return checkPlace(subject(), isBlocks(info.kind) ? blocks().device : dense().device, place);
}

Status Checked::checkType(uint32_t dtype) const {
  if (dtype == info.dtype)
    return {};
  return refuse("expects elements of type ", dtypeName(info.dtype), ", but got ", dtypeName(dtype));
}

Status Checked::checkTensor(const int64_t *sizes, Use use) const {
  const sparsec_dense_t &tensor = dense();
  SPARSEC_RETURN_IF_ERROR(checkType(enumValue(tensor.dtype)));
  if (tensor.rank != int32_t(info.rank))
    return refuse("expects rank ", info.rank, ", but got ", tensor.rank);
  for (uint32_t d = 0; d < info.rank; ++d) {
    if (use == Use::plan && tensor.sizes[d] == SPARSEC_DYNAMIC)
      continue;
    if (tensor.sizes[d] < 0 || tensor.sizes[d] > maxSize)
      return refuse("expects sizes of 0 to ", maxSize, ", but size ", d, " is ", tensor.sizes[d]);
    if (info.sizes[d] != SPARSEC_DYNAMIC && info.sizes[d] != tensor.sizes[d])
      return refuse("expects size ", d, " to be ", info.sizes[d], ", but got ", tensor.sizes[d]);
    if (sizes[d] != SPARSEC_DYNAMIC && sizes[d] != tensor.sizes[d])
      return refuse("expects size ", d, " to be ", sizes[d], " to agree with the other arguments, but got ",
                    tensor.sizes[d]);
  }
  return {};
}

Status Checked::checkLastStride() const {
  if (info.rank == 0)
    return {};
  uint32_t last = info.rank - 1;
  if (usesStride(dense(), int32_t(last)) && dense().strides[last] != 1)
    return refuse("expects stride ", last, " to be 1 (contiguous), but got ", dense().strides[last]);
  return {};
}

Status Checked::checkPointer() const {
  bool isTensor = info.kind == SPARSEC_ARGUMENT_DENSE, isMatrix = info.kind == SPARSEC_ARGUMENT_BSR;
  if (!(isTensor && !isEmpty(dense())) && !(isMatrix && blocks().capacity != 0))
    return {};
  const void *memory = isTensor ? dense().data : blocks().values;
  const char *member = isTensor ? "data" : "values";
  if (!memory)
    return refuse(member, " is NULL");
  if (size_t bytes = dtypeBytes(info.dtype); !isMultiple(uintptr_t(memory), bytes))
    return refuse(member, " is not aligned to the ", bytes, " bytes of its elements");
  return {};
}

Status checkViews(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count, Use use) {
  uint32_t expected = kernel.info->argument_count;
  if (count != expected) {
    std::string names;
    for (uint32_t i = 0; i < expected; ++i)
      names += std::string(i ? ", " : "") + kernel.argument(i).name;
    return invalidArgument("kernel '", kernel.info->name, "' expects ", expected, " arguments (", names, "), but got ",
                           count);
  }
  if (!arguments)
    return invalidArgument("arguments is NULL");
  for (uint32_t i = 0; i < expected; ++i) {
    Checked argument = checkedArgument(kernel, arguments, i);
    if (use == Use::plan && argument.isOpen())
      continue;
    SPARSEC_RETURN_IF_ERROR(argument.checkView(placeFor(kernel, use)));
    if (use == Use::launch && kernel.isResult(i) && (argument.dense().flags & SPARSEC_DENSE_READ_ONLY))
      return argument.refuse("expects memory to write a result to, but the view is read-only");
  }
  return {};
}

const KnownList *findList(std::span<const KnownList> lists, uint32_t argument) {
  const auto found = std::find_if(lists.begin(), lists.end(), [&](auto &list) { return list.argument == argument; });
  return found == lists.end() ? nullptr : &*found;
}

Status checkListsForLaunch(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                           std::span<const KnownList> known, void *stream) {
  const Device &device = *kernel.module->device;
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (!isBlocks(arguments[i].kind))
      continue;
    sparsec_blocks_t blocks = blocksOf(arguments[i]);
    const KnownList *knownList = findList(known, i);
    bool isAlwaysChecked = device.isHost() && (arguments[i].kind == SPARSEC_ARGUMENT_PATTERN || knownList);
    if (!isAlwaysChecked && !(blocks.flags & SPARSEC_BLOCKS_CHECK_LISTS))
      continue;
    ListCopies copies;
    const Checked argument = checkedArgument(kernel, arguments, i);
    SPARSEC_RETURN_IF_ERROR(copies.download(device, argument.subject(), blocks, stream));
    SPARSEC_RETURN_IF_ERROR(checkBlockLists(blocks, argument.subject()));
    if (knownList && listChecksum(blocks) != knownList->checksum)
      return argument.refuse("plan is for other index arrays: it was made with SPARSEC_PLAN_STATIC_PATTERN, so that "
                             "all its launches have the same");
  }
  return {};
}

Status checkHostLists(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i)
    if (isBlocks(arguments[i].kind))
      SPARSEC_RETURN_IF_ERROR(checkBlockLists(blocksOf(arguments[i]), checkedArgument(kernel, arguments, i).subject()));
  return {};
}

} // namespace sparsec::runtime
