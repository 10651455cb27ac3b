// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quantises an operand of a kernel: checks the views, describes them as lines of values, and runs the conversion.
#include "convert/quantize.h"
#include "arguments/memory_check.h"
#include "arguments/overlap.h"
#include "arguments/strides.h"
#include "convert/conversion.h"
#include "launch/launch.h"
#include "operations/operation.h"

namespace sparsec::runtime {

const sparsec_operand_info_t *findQuantizedOperand(const sparsec_kernel_s &kernel, uint32_t argument) {
  const QuantizedSlots slots = operationOf(kernel).quantizedSlots;
  for (uint32_t slot : {slots.matrix, slots.dense})
    if (const sparsec_operand_info_t *operand = kernel.operand(slot); operand && operand->argument == argument)
      return isF8(kernel.argument(argument).dtype) ? operand : nullptr;
  return nullptr;
}

namespace {

using Request = QuantizeRequest;

constexpr int64_t vectorValues = SPARSEC_CONVERSION_VECTOR, accessBytes = 16, warpLanes = 32;
constexpr Subject sourceSubject = {"source"}, scalesSubject = {"scales"};

/// The target as an argument of a launch.
Status checkTarget(const Request &request) {
  const sparsec_kernel_s &kernel = request.kernel;
  std::vector<sparsec_argument_t> arguments(kernel.info->argument_count);
  arguments[request.argument] = request.target;
  const Checked target = checkedArgument(kernel, arguments.data(), request.argument);
  if (target.isOpen())
    return target.refuse("is open, but its values are written");
  Problem problem;
  SPARSEC_RETURN_IF_ERROR(checkArguments(kernel, arguments.data(), arguments.size(), Use::plan, problem));
  SPARSEC_RETURN_IF_ERROR(target.checkPointer());
  if (target.info.kind == SPARSEC_ARGUMENT_BSR)
    return checkListsForLaunch(kernel, arguments.data(), /*known=*/{}, request.stream);
  const sparsec_dense_t &tensor = target.dense();
  if (std::any_of(tensor.sizes, tensor.sizes + tensor.rank, [](int64_t size) { return size == SPARSEC_DYNAMIC; }))
    return target.refuse("has an open size, but its values are written");
  if (tensor.flags & SPARSEC_DENSE_READ_ONLY)
    return target.refuse("expects memory to write values to, but the view is read-only");
  SPARSEC_RETURN_IF_ERROR(target.checkLastStride());
  return checkRowStride(checkedOperand(kernel, arguments.data(), *findQuantizedOperand(kernel, request.argument)));
}

/// `memory` is that of its values, if there are any.
template <typename View>
Status checkSourceView(const Request &request, const View &source, const void *memory, bool isEmpty) {
  SPARSEC_RETURN_IF_ERROR(checkStructSize(source, sourceSubject));
  SPARSEC_RETURN_IF_ERROR(checkPlace(sourceSubject, source.device, placeFor(request.kernel, Use::launch)));
  if (source.dtype != SPARSEC_DTYPE_F32 && source.dtype != SPARSEC_DTYPE_F16 && source.dtype != SPARSEC_DTYPE_BF16)
    return invalidArgument(sourceSubject, ": expects elements of type f32, f16 or bf16, but got ",
                           dtypeName(uint32_t(source.dtype)));
  if (isEmpty)
    return {};
  if (!memory)
    return invalidArgument(sourceSubject, ": its memory is NULL");
  if (!isMultiple(uintptr_t(memory), dtypeBytes(source.dtype)))
    return invalidArgument(sourceSubject, ": its memory is not aligned to the ", dtypeBytes(source.dtype),
                           " bytes of its elements");
  return {};
}

Status checkSameSize(const char *what, int64_t source, int64_t target) {
  if (source == target)
    return {};
  return invalidArgument(sourceSubject, ": expects ", what, " of ", target, ", as the target has, but got ", source);
}

Status checkSource(const Request &request, const sparsec_blocks_t &source, const sparsec_blocks_t &target) {
  SPARSEC_RETURN_IF_ERROR(checkSourceView(request, source, source.values, target.capacity == 0));
  SPARSEC_RETURN_IF_ERROR(checkSameSize("rows", source.rows, target.rows));
  SPARSEC_RETURN_IF_ERROR(checkSameSize("columns", source.columns, target.columns));
  SPARSEC_RETURN_IF_ERROR(checkSameSize("block rows", source.block_rows, target.block_rows));
  SPARSEC_RETURN_IF_ERROR(checkSameSize("block columns", source.block_columns, target.block_columns));
  return checkSameSize("a capacity", source.capacity, target.capacity);
}

Status checkSource(const Request &request, const sparsec_dense_t &source, const sparsec_dense_t &target) {
  SPARSEC_RETURN_IF_ERROR(checkSourceView(request, source, source.data, isEmpty(target)));
  SPARSEC_RETURN_IF_ERROR(checkSameSize("a rank", source.rank, target.rank));
  SPARSEC_RETURN_IF_ERROR(checkSameSize("a size 0", source.sizes[0], target.sizes[0]));
  SPARSEC_RETURN_IF_ERROR(checkSameSize("a size 1", source.sizes[1], target.sizes[1]));
  if (usesStride(source, 1) && source.strides[1] != 1)
    return invalidArgument(sourceSubject, ": expects stride 1 to be 1 (contiguous), but got ", source.strides[1]);
  if (usesStride(source, 0) && (source.strides[0] < 0 || source.strides[0] > INT32_MAX))
    return invalidArgument(sourceSubject, ": expects stride 0 to be from 0 to ", INT32_MAX, ", but got ",
                           source.strides[0]);
  return {};
}

/// Makes a conversion without its numbers for scales.
Conversion describe(const sparsec_blocks_t &source, const sparsec_blocks_t &target) {
  Conversion result;
  const int64_t vectors = target.block_columns / vectorValues;
  const bool isCut = target.rows % target.block_rows != 0 || target.columns % target.block_columns != 0;
  result.source = source.values;
  result.target = const_cast<void *>(target.values);
  if (isCut) {
    result.starts = target.full.starts;
    result.indices = target.full.indices;
  }
  result[SPARSEC_CONVERSION_SOURCE_TYPE] = source.dtype;
  result[SPARSEC_CONVERSION_VECTORS_OF_LINE] = vectors;
  result[SPARSEC_CONVERSION_VECTORS] = target.capacity * target.block_rows * vectors;
  result[SPARSEC_CONVERSION_COLUMNS] = target.block_columns;
  result[SPARSEC_CONVERSION_SOURCE_STRIDE] = result[SPARSEC_CONVERSION_TARGET_STRIDE] = target.block_columns;
  result[SPARSEC_CONVERSION_BLOCK_ROWS] = target.block_rows;
  result[SPARSEC_CONVERSION_BLOCK_ROW_COUNT] = blockRowCount(target);
  result[SPARSEC_CONVERSION_MATRIX_ROWS] = target.rows;
  result[SPARSEC_CONVERSION_MATRIX_COLUMNS] = target.columns;
  return result;
}

/// Lines have whole groups of the vectors that share a scale for 128 of K.
Conversion describe(const sparsec_dense_t &source, const sparsec_dense_t &target) {
  constexpr int64_t groupVectors = SPARSEC_X_SCALE_DEPTH / vectorValues;
  Conversion result;
  result.source = source.data;
  result.target = target.data;
  const int64_t groups = std::max<int64_t>(ceilDivide(target.sizes[1], int64_t(SPARSEC_X_SCALE_DEPTH)), 1);
  result[SPARSEC_CONVERSION_SOURCE_TYPE] = source.dtype;
  result[SPARSEC_CONVERSION_VECTORS_OF_LINE] = groups * groupVectors;
  result[SPARSEC_CONVERSION_VECTORS] = isEmpty(target) ? 0 : target.sizes[0] * groups * groupVectors;
  result[SPARSEC_CONVERSION_COLUMNS] = target.sizes[1];
  result[SPARSEC_CONVERSION_SOURCE_STRIDE] = usesStride(source, 0) ? source.strides[0] : 0;
  result[SPARSEC_CONVERSION_TARGET_STRIDE] = usesStride(target, 0) ? target.strides[0] : 0;
  return result;
}

/// The scales of a group: their shape, and which vectors share one.
struct ScaleShape {
  int32_t rank;
  int64_t sizes[2];
  const char *text; // of the shape
};

/// All vectors that share a scale are next to each other, or are in other lines, too.
void setLanes(Conversion &conversion, int64_t adjacentVectors, bool hasOthers) {
  int64_t lanes = 1;
  while (lanes < warpLanes && adjacentVectors % (2 * lanes) == 0)
    lanes *= 2;
  conversion[SPARSEC_CONVERSION_LANES_OF_SCALE] = lanes;
  conversion[SPARSEC_CONVERSION_IS_WHOLE] = !hasOthers && lanes == adjacentVectors;
}

ScaleShape setTensorScale(Conversion &conversion) {
  conversion[SPARSEC_CONVERSION_LINES_OF_SCALE] = conversion[SPARSEC_CONVERSION_VECTORS_OF_SCALE] = INT32_MAX;
  setLanes(conversion, warpLanes, /*hasOthers=*/true);
  return {0, {}, "()"};
}

Status setMatrixScales(Conversion &conversion, const Request &request, bool isTransposed, ScaleShape &outShape) {
  const sparsec_blocks_t &target = blocksOf(request.target);
  const int64_t vectors = conversion[SPARSEC_CONVERSION_VECTORS_OF_LINE];
  conversion[SPARSEC_CONVERSION_SCALES_OF_LINE] = 1;
  conversion[SPARSEC_CONVERSION_VECTORS_OF_SCALE] = INT32_MAX;
  conversion[SPARSEC_CONVERSION_LINES_OF_SCALE] = target.block_rows;
  if (request.group == SPARSEC_SCALE_BLOCK) {
    setLanes(conversion, target.block_rows * vectors, /*hasOthers=*/false);
    outShape = {1, {target.capacity}, "(blocks)"};
    return {};
  }
  if (request.group != SPARSEC_SCALE_ROW || isTransposed)
    return invalidArgument("group: a matrix", isTransposed ? " that is stored as (K, M)" : "", " has scales of its ",
                           isTransposed ? "" : "rows, its ", "blocks or the tensor, but got ", int(request.group));
  conversion.starts = target.full.starts;
  conversion.indices = target.full.indices;
  conversion[SPARSEC_CONVERSION_IS_BY_ROW] = 1;
  setLanes(conversion, vectors, /*hasOthers=*/true);
  outShape = {1, {target.rows}, "(M)"};
  return {};
}

Status setDenseScales(Conversion &conversion, const Request &request, bool isTransposed, ScaleShape &outShape) {
  const sparsec_dense_t &target = denseOf(request.target);
  const int64_t vectors = conversion[SPARSEC_CONVERSION_VECTORS_OF_LINE];
  if (!isTransposed || (request.group != SPARSEC_SCALE_ROW && request.group != SPARSEC_SCALE_TOKEN))
    return invalidArgument("group: X as ",
                           isTransposed ? "(N, K) has scales of rows, of tokens or" : "(K, N) has a scale",
                           " of the tensor, but got ", int(request.group));
  conversion[SPARSEC_CONVERSION_LINES_OF_SCALE] = 1;
  if (request.group == SPARSEC_SCALE_ROW) {
    conversion[SPARSEC_CONVERSION_SCALES_OF_LINE] = 1;
    conversion[SPARSEC_CONVERSION_VECTORS_OF_SCALE] = INT32_MAX;
    setLanes(conversion, vectors, /*hasOthers=*/false);
    outShape = {1, {target.sizes[0]}, "(N)"};
    return {};
  }
  constexpr int64_t groupVectors = SPARSEC_X_SCALE_DEPTH / vectorValues;
  const int64_t groups = ceilDivide(target.sizes[1], int64_t(SPARSEC_X_SCALE_DEPTH));
  conversion[SPARSEC_CONVERSION_SCALES_OF_LINE] = groups;
  conversion[SPARSEC_CONVERSION_VECTORS_OF_SCALE] = groupVectors;
  setLanes(conversion, groupVectors, /*hasOthers=*/false);
  outShape = {2, {target.sizes[0], groups}, "(N, ceil(K / 128))"};
  return {};
}

Status checkScales(const Request &request, const ScaleShape &shape, int64_t &outCount) {
  const sparsec_dense_t &scales = request.scales;
  SPARSEC_RETURN_IF_ERROR(checkStructSize(scales, scalesSubject));
  SPARSEC_RETURN_IF_ERROR(checkPlace(scalesSubject, scales.device, placeFor(request.kernel, Use::launch)));
  if (scales.dtype != SPARSEC_DTYPE_F32)
    return invalidArgument(scalesSubject, ": expects elements of type f32, but got ",
                           dtypeName(uint32_t(scales.dtype)));
  if (scales.flags & SPARSEC_DENSE_READ_ONLY)
    return invalidArgument(scalesSubject, ": expects memory to write to, but the view is read-only");
  if (scales.rank != shape.rank)
    return invalidArgument(scalesSubject, ": expects rank ", shape.rank, ", ", shape.text, ", but got ", scales.rank);
  outCount = 1;
  for (int32_t d = shape.rank - 1; d >= 0; --d) {
    if (scales.sizes[d] != shape.sizes[d])
      return invalidArgument(scalesSubject, ": expects size ", d, " of ", shape.text, " to be ", shape.sizes[d],
                             ", but got ", scales.sizes[d]);
    if (usesStride(scales, d) && scales.strides[d] != outCount)
      return invalidArgument(scalesSubject, ": expects stride ", d, " to be ", outCount, " (contiguous), but got ",
                             scales.strides[d]);
    outCount *= scales.sizes[d];
  }
  if (outCount != 0 && (!scales.data || !isMultiple(uintptr_t(scales.data), sizeof(float))))
    return invalidArgument(scalesSubject, ": expects data at a multiple of 4 bytes");
  return {};
}

/// Memory that is read or written, as far as it is there.
Footprint valuesOf(const sparsec_argument_t &argument) {
  if (argument.kind == SPARSEC_ARGUMENT_DENSE)
    return footprintOf(denseOf(argument));
  const sparsec_blocks_t &blocks = blocksOf(argument);
  return footprintOf(blocks.values, uint64_t(blocks.capacity) * uint64_t(blocks.block_rows) *
                                        uint64_t(blocks.block_columns) * dtypeBytes(blocks.dtype));
}

/// Values are read while others are written.
Status checkOverlaps(const Request &request) {
  const Footprint source = valuesOf(request.source), target = valuesOf(request.target),
                  scales = footprintOf(request.scales);
  if (overlap(source, target) || overlap(source, scales) || overlap(target, scales))
    return invalidArgument("source, target and scales share memory");
  return {};
}

Status checkMemoryOf(const Request &request) {
  const Device &device = *request.kernel.module->device;
  SPARSEC_RETURN_IF_ERROR(checkMemory(device, "source", valuesOf(request.source)));
  SPARSEC_RETURN_IF_ERROR(checkMemory(device, "scales", footprintOf(request.scales)));
  return checkMemory(device, Subject{request.kernel.argument(request.argument).name, request.argument}, request.target);
}

/// Whether threads may access whole vectors by 16 bytes.
bool isAligned(const Conversion &conversion) {
  const auto rowBytes = uint64_t(conversion[SPARSEC_CONVERSION_SOURCE_STRIDE]) *
                        dtypeBytes(uint32_t(conversion[SPARSEC_CONVERSION_SOURCE_TYPE]));
  return isMultiple(uintptr_t(conversion.source) | uintptr_t(conversion.target) | rowBytes |
                        uint64_t(conversion[SPARSEC_CONVERSION_TARGET_STRIDE]),
                    accessBytes);
}

Status makeConversion(const Request &request, Conversion &out) {
  const sparsec_operand_info_t &operand = *findQuantizedOperand(request.kernel, request.argument);
  const bool isTransposed = operand.layout == SPARSEC_LAYOUT_TRANSPOSED,
             isMatrix = request.target.kind == SPARSEC_ARGUMENT_BSR;
  out = isMatrix ? describe(blocksOf(request.source), blocksOf(request.target))
                 : describe(denseOf(request.source), denseOf(request.target));
  ScaleShape shape;
  if (request.group == SPARSEC_SCALE_TENSOR)
    shape = setTensorScale(out);
  else
    SPARSEC_RETURN_IF_ERROR(isMatrix ? setMatrixScales(out, request, isTransposed, shape)
                                     : setDenseScales(out, request, isTransposed, shape));
  SPARSEC_RETURN_IF_ERROR(checkScales(request, shape, out[SPARSEC_CONVERSION_SCALES]));
  out.scales = static_cast<float *>(request.scales.data);
  out[SPARSEC_CONVERSION_TARGET_TYPE] = request.kernel.argument(request.argument).dtype;
  out[SPARSEC_CONVERSION_IS_ALIGNED] = isAligned(out);
  return {};
}

Status convertOnGpu(const sparsec_kernel_s &kernel, Conversion &conversion, void *stream) {
  if (!kernel.auxiliary(SPARSEC_AUXILIARY_CONVERT_VALUES))
    return invalidArgument("kernel '", kernel.info->name, "' has no converter of values: compile it again");
  const Stage &converter = *kernel.auxiliary(SPARSEC_AUXILIARY_CONVERT_VALUES);
  const int64_t threads = std::max(conversion[SPARSEC_CONVERSION_VECTORS], conversion[SPARSEC_CONVERSION_SCALES]);
  const int64_t ofCta = converter.info->threads, most = INT32_MAX - ofCta;
  if (threads > most)
    return invalidArgument("target: expects at most ", most, " vectors of ", vectorValues, " values, but got ",
                           threads);
  const void *inputs[] = {conversion.source, conversion.target, conversion.scales, conversion.starts,
                          conversion.indices};
  const bool isWhole = conversion[SPARSEC_CONVERSION_IS_WHOLE] != 0;
  for (const sparsec_conversion_phase_t phase :
       {SPARSEC_CONVERSION_CLEAR, SPARSEC_CONVERSION_MEASURE, SPARSEC_CONVERSION_CONVERT}) {
    if (threads == 0 || (isWhole && phase != SPARSEC_CONVERSION_CONVERT))
      continue;
    conversion[SPARSEC_CONVERSION_PHASE] = phase;
    StageLaunch launch = {kernel, converter, /*variant=*/nullptr, /*arguments=*/nullptr};
    launch.numbers = conversion.numbers;
    SPARSEC_RETURN_IF_ERROR(launchAuxiliary(launch, inputs, ceilDivide(threads, ofCta), stream));
  }
  return {};
}

/// Checks everything but the memory behind pointers.
Status prepare(const Request &request, Conversion &out) {
  const sparsec_kernel_s &kernel = request.kernel;
  if (request.argument >= kernel.info->argument_count)
    return invalidArgument("argument: expects a number below ", kernel.info->argument_count, ", but got ",
                           request.argument);
  if (!findQuantizedOperand(kernel, request.argument))
    return invalidArgument(Subject{kernel.argument(request.argument).name, request.argument},
                           ": expects an operand W or X of f8E4M3FN or f8E5M2 of a product");
  SPARSEC_RETURN_IF_ERROR(checkTarget(request));
  if (request.source.kind != request.target.kind || !request.source.view)
    return invalidArgument(sourceSubject, ": expects a view of the target's kind");
  SPARSEC_RETURN_IF_ERROR(request.target.kind == SPARSEC_ARGUMENT_BSR
                              ? checkSource(request, blocksOf(request.source), blocksOf(request.target))
                              : checkSource(request, denseOf(request.source), denseOf(request.target)));
  SPARSEC_RETURN_IF_ERROR(makeConversion(request, out));
  return checkOverlaps(request);
}

Status quantize(const Request &request) {
  const sparsec_kernel_s &kernel = request.kernel;
  Conversion conversion;
  SPARSEC_RETURN_IF_ERROR(prepare(request, conversion));
  SPARSEC_RETURN_IF_ERROR(checkMemoryOf(request));
  if (!kernel.module->device->isHost())
    return convertOnGpu(kernel, conversion, request.stream);
  convertOnHost(conversion, *kernel.module->device->threads);
  return {};
}

} // namespace

Status quantizeOnHost(const QuantizeRequest &request, ThreadPool &threads) {
  Conversion conversion;
  SPARSEC_RETURN_IF_ERROR(prepare(request, conversion));
  convertOnHost(conversion, threads);
  return {};
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_quantize(sparsec_kernel_t kernel, uint32_t argument, const sparsec_argument_t *source,
                                  const sparsec_argument_t *target, sparsec_scale_group_t group,
                                  const sparsec_dense_t *scales, void *stream) {
  return guarded([&]() -> Status {
    if (!kernel || !source || !target || !scales)
      return invalidArgument(!kernel ? "kernel" : !source ? "source" : !target ? "target" : "scales", " is NULL");
    return quantize({*kernel, argument, *source, *target, group, *scales, stream});
  });
}
