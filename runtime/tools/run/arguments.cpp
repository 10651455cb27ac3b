// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "arguments.h"

#include "arguments/blocks.h"
#include "convert/quantize.h"
#include "matrix_market.h"
#include "numpy.h"
#include "pattern.h"
#include "quantize.h"
#include "random.h"
#include "reference/float_format.h"
#include "scipy.h"

#include <cstring>

namespace sparsec::run {

using readers::Limits;

static constexpr llvm::StringRef scalesPrefix = "scales:";

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static llvm::Expected<readers::BlockMatrix> randomMatrix(const RandomSpecification &random, readers::BlockFormat format,
                                                         const Limits &limits) {
  if (random.sizes.size() != 2 || !random.density || random.below)
    return failure("expects random:ROWSxCOLUMNS:density=D[:SEED] for a block-sparse matrix");
  return readers::randomBlockMatrix(random.sizes[0], random.sizes[1], *random.density, format, random.seed, limits);
}

static llvm::Expected<readers::BlockMatrix> readMatrixFile(llvm::StringRef path, readers::BlockFormat format,
                                                           uint64_t seed, const Limits &limits) {
  bool isPattern = path.ends_with(".smtx"), isMatrixMarket = path.ends_with(".mtx");
  if (!isPattern && !isMatrixMarket && !path.ends_with(".npz"))
    return failure("expects a file .smtx, .mtx or .npz, or random:ROWSxCOLUMNS:density=D, but got '{}'", view(path));
  auto file = readers::readFile(path);
  if (!file)
    return file.takeError();
  llvm::StringRef bytes = (*file)->getBuffer();
  if (isPattern) {
    auto pattern = readers::readPattern(bytes, path);
    if (!pattern)
      return pattern.takeError();
    return readers::expandPattern(std::move(*pattern), format, seed, limits);
  }
  if (isMatrixMarket) {
    auto matrix = readers::readMatrixMarket(bytes, path);
    if (!matrix)
      return matrix.takeError();
    return readers::blockCoordinates(std::move(*matrix), format, limits);
  }
  return readers::readSciPyBsr(bytes, path, format, limits);
}

static llvm::Error readMatrix(HostArgument &argument, llvm::StringRef text, uint64_t seed, const Limits &limits) {
  readers::BlockFormat format = {argument.info->block_rows, argument.info->block_columns, argument.dtype()};
  auto matrix = [&]() -> llvm::Expected<readers::BlockMatrix> {
    if (!text.consume_front("random:"))
      return readMatrixFile(text, format, seed, limits);
    auto random = parseRandom(text, seed);
    if (!random)
      return random.takeError();
    return randomMatrix(*random, format, limits);
  }();
  if (!matrix)
    return matrix.takeError();
  argument.matrix = std::move(*matrix);
  // The reader guarantees what memory safety needs; the runtime has the last word on patterns.
  const Argument view = argument.hostView();
  return toError(sparsec_blocks_check(&view.blocks));
}

static bool isInteger(sparsec_dtype_t dtype) {
  return dtype == SPARSEC_DTYPE_I64 || dtype == SPARSEC_DTYPE_I32 || dtype == SPARSEC_DTYPE_I8;
}

/// The integers as elements of an integer type; fails where one does not fit.
static llvm::Expected<std::vector<std::byte>> bytesOf(const std::vector<int32_t> &integers, sparsec_dtype_t dtype) {
  const size_t size = sparsec_dtype_bytes(dtype);
  std::vector<std::byte> bytes(integers.size() * size);
  for (auto [index, integer] : llvm::enumerate(integers)) {
    if (dtype == SPARSEC_DTYPE_I8 && integer != int8_t(integer))
      return failure("expects elements of -128 to 127, but got {} at position {}", integer, index);
    // Little-endian: the low bytes come first.
    const int64_t wide = integer;
    std::memcpy(bytes.data() + index * size, &wide, size);
  }
  return bytes;
}

static llvm::Expected<std::vector<std::byte>> randomTensor(const RandomSpecification &random, sparsec_dtype_t dtype,
                                                           const Limits &limits) {
  if (random.density)
    return failure("expects random:SHAPE[:SEED] for a dense tensor, but got a density");
  if (isInteger(dtype) != random.below.has_value())
    return failure("expects random:SHAPE{}[:SEED] for elements of type {}", isInteger(dtype) ? ":below=N" : "",
                   sparsec_dtype_name(dtype));
  uint64_t count = 1;
  for (int64_t size : random.sizes)
    count = readers::multiply(count, uint64_t(size)).value_or(UINT64_MAX);
  if (!isInteger(dtype))
    return readers::randomElements(count, dtype, random.seed, limits);
  auto integers = readers::randomIntegers(count, *random.below, random.seed, limits);
  if (!integers)
    return integers.takeError();
  return bytesOf(*integers, dtype);
}

static llvm::Expected<std::vector<std::byte>> convertTensor(const readers::NumpyArray &array, sparsec_dtype_t dtype,
                                                            llvm::StringRef name) {
  if (!isInteger(dtype))
    return readers::convertElements(array, dtype, name);
  auto integers = readers::convertIntegers(array, name);
  if (!integers)
    return integers.takeError();
  return bytesOf(*integers, dtype);
}

static llvm::Error readDense(HostArgument &argument, llvm::StringRef text, uint64_t seed, const Limits &limits) {
  const sparsec_dtype_t dtype = argument.dtype();
  auto setElements = [&](llvm::Expected<std::vector<std::byte>> elements) -> llvm::Error {
    if (!elements)
      return elements.takeError();
    argument.elements = std::move(*elements);
    return llvm::Error::success();
  };
  auto checkRank = [&]() -> llvm::Error {
    if (argument.sizes.size() != argument.info->rank)
      return failure("expects {} dimensions, but got shape ({})", argument.info->rank, fmt::join(argument.sizes, ", "));
    return llvm::Error::success();
  };
  if (text.consume_front("random:")) {
    auto random = parseRandom(text, seed);
    if (!random)
      return random.takeError();
    argument.sizes = random->sizes;
    if (llvm::Error error = checkRank())
      return error;
    return setElements(randomTensor(*random, dtype, limits));
  }
  double number = 0.0;
  if (argument.info->rank == 0 && !text.getAsDouble(number)) {
    std::optional<runtime::FloatFormat> format = runtime::getFloatFormat(dtype);
    if (!format)
      return failure("expects a floating-point element type");
    argument.elements.resize(format->bytes);
    runtime::storeElement(argument.elements.data(), 0, number, *format);
    return llvm::Error::success();
  }
  if (!text.ends_with(".npy"))
    return failure("expects a file .npy or random:SHAPE[:SEED], but got '{}'", view(text));
  auto file = readers::readFile(text);
  if (!file)
    return file.takeError();
  auto array = readers::readNumpy((*file)->getBuffer(), text);
  if (!array)
    return array.takeError();
  argument.sizes = array->shape;
  if (llvm::Error error = checkRank())
    return error;
  return setElements(convertTensor(*array, dtype, text));
}

/// Reads one argument. The seed of random values is the argument's position unless the text names one.
static llvm::Error readArgument(HostArgument &argument, llvm::StringRef text, uint64_t position, const Limits &limits) {
  if (argument.info->kind == SPARSEC_ARGUMENT_BSR)
    return readMatrix(argument, text, position, limits);
  if (argument.info->kind == SPARSEC_ARGUMENT_DENSE)
    return readDense(argument, text, position, limits);
  double value = 0.0;
  if (text.getAsDouble(value))
    return failure("expects a number, but got '{}'", view(text));
  argument.scalar = float(value);
  return llvm::Error::success();
}

/// Puts the argument in front of an error's message.
static llvm::Error inArgument(llvm::Error error, llvm::StringRef name) {
  if (!error)
    return error;
  if (error.isA<StatusError>())
    return llvm::handleErrors(std::move(error), [&](const StatusError &status) -> llvm::Error {
      return llvm::make_error<StatusError>(status.code, fmt::format("argument '{}': {}", view(name), status.message));
    });
  return failure("argument '{}': {}", view(name), llvm::toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// Host arguments
//===----------------------------------------------------------------------===//

static sparsec_blocks_t patternView(sparsec_pattern_buffer_t buffer) {
  auto view = sized<sparsec_blocks_t>();
  // An argument that is not read yet has no buffer: its view stays empty.
  sparsec_status_free(sparsec_pattern_buffer_view(buffer, &view));
  return view;
}

Argument HostArgument::hostView() const {
  if (info->kind == SPARSEC_ARGUMENT_SCALAR)
    return scalar;
  if (info->kind == SPARSEC_ARGUMENT_DENSE)
    return sparsec_dense(const_cast<std::byte *>(elements.data()), dtype(), int32_t(sizes.size()), sizes.data());
  if (info->kind == SPARSEC_ARGUMENT_PATTERN)
    return patternView(pattern.get());
  return sparsec_blocks_bsr(matrix.rows, matrix.columns, int32_t(matrix.format.blockRows),
                            int32_t(matrix.format.blockColumns), matrix.blockCount(), matrix.rowPtr.data(),
                            matrix.colIdx.data(), dtype(), matrix.values.data());
}

HostArgument *HostArguments::find(llvm::StringRef name) {
  for (HostArgument &argument : arguments)
    if (nameOf(argument.info->name) == name)
      return &argument;
  return nullptr;
}

std::vector<Argument> HostArguments::hostViews() const {
  std::vector<Argument> views;
  views.reserve(arguments.size());
  for (const HostArgument &argument : arguments)
    views.push_back(argument.hostView());
  return views;
}

const HostArgument *HostArguments::of(uint32_t slot) const {
  for (const HostArgument &argument : arguments)
    if (argument.operand->slot == slot)
      return &argument;
  return nullptr;
}

llvm::Error HostArguments::allocate(HostArgument &result, std::vector<int64_t> sizes, const Limits &limits) {
  result.sizes = std::move(sizes);
  uint64_t bytes = sparsec_dtype_bytes(sparsec_dtype_t(result.info->dtype));
  for (int64_t size : result.sizes)
    bytes = readers::multiply(bytes, uint64_t(size)).value_or(UINT64_MAX);
  if (bytes > limits.bytes)
    return failure("argument '{}': expects at most {} bytes, but got shape ({})", view(nameOf(result.info->name)),
                   limits.bytes, fmt::join(result.sizes, ", "));
  // All bits set is a NaN in every element type.
  result.elements.assign(bytes, std::byte(0xff));
  return llvm::Error::success();
}

/// Sizes of the results follow from those of the operands, whatever their layout.
llvm::Error HostArguments::allocateResults(sparsec_kernel_t kernel, const Limits &limits) {
  const std::vector<Argument> views = hostViews();
  sizes = runtime::problemOf(*kernel, ArgumentArray(views).data());
  for (HostArgument &argument : arguments) {
    if (!argument.isResult)
      continue;
    runtime::Dimensions dimensions = runtime::operationOf(*kernel).dimensions(*argument.operand);
    std::vector<int64_t> own;
    for (runtime::ProblemSize size : llvm::ArrayRef(dimensions).take_front(argument.info->rank))
      own.push_back(sizes.*size);
    if (llvm::Error error = allocate(argument, std::move(own), limits))
      return error;
  }
  return llvm::Error::success();
}

/// Notes which arguments are the scales of others: `scales:NAME`.
llvm::Error HostArguments::findScales(sparsec_kernel_t kernel, llvm::ArrayRef<std::string> assignments) {
  for (llvm::StringRef assignment : assignments) {
    auto [name, text] = assignment.split('=');
    HostArgument *scales = find(name);
    if (!scales || !text.consume_front(scalesPrefix))
      continue;
    HostArgument *source = find(text);
    if (!source || !runtime::findQuantizedOperand(*kernel, uint32_t(source - arguments.data())))
      return failure("argument '{}': expects scales: and the name of W or X of fp8, but got '{}'", view(name),
                     view(text));
    if (source->isSource)
      return failure("argument '{}' is quantised twice", view(text));
    source->isSource = true;
    scales->scalesOf = source;
  }
  return llvm::Error::success();
}

/// Reads all inputs but the pattern, which depends on the others, and the scales, which are made.
llvm::Error HostArguments::assign(sparsec_kernel_t kernel, llvm::ArrayRef<std::string> assignments,
                                  llvm::StringRef &patternText, const Limits &limits) {
  const sparsec_kernel_info_t *info = sparsec_kernel_info(kernel);
  std::vector<bool> given(info->argument_count, false);
  for (llvm::StringRef assignment : assignments) {
    auto [name, text] = assignment.split('=');
    HostArgument *argument = find(name);
    size_t index = argument ? size_t(argument - arguments.data()) : 0;
    if (!argument || argument->isResult)
      return failure("kernel '{}' has no input '{}'", view(nameOf(info->name)), view(name));
    if (given[index])
      return failure("argument '{}' is given twice", view(name));
    given[index] = true;
    if (argument->info->kind == SPARSEC_ARGUMENT_PATTERN)
      patternText = text;
    else if (argument->scalesOf)
      continue;
    else if (llvm::Error error = inArgument(readArgument(*argument, text, index + 1, limits), name))
      return error;
  }
  for (const auto &[argument, isGiven] : llvm::zip(arguments, given))
    if (!isGiven && !argument.isResult)
      return failure("kernel '{0}' needs argument '{1}': add --arg {1}=...", view(nameOf(info->name)),
                     view(nameOf(argument.info->name)));
  return llvm::Error::success();
}

HostArguments::HostArguments(sparsec_kernel_t kernel) {
  for (uint32_t index = 0; index < sparsec_kernel_info(kernel)->argument_count; ++index) {
    HostArgument &argument = arguments.emplace_back();
    argument.info = sparsec_kernel_argument(kernel, index);
    argument.isResult = kernel->isResult(index);
    for (const sparsec_operand_info_t &operand : kernel->operands())
      if (operand.argument == index && !argument.operand)
        argument.operand = &operand;
  }
}

llvm::Expected<HostArguments> HostArguments::read(sparsec_kernel_t kernel, llvm::ArrayRef<std::string> assignments,
                                                  const Limits &limits) {
  HostArguments host(kernel);
  llvm::StringRef patternText;
  if (llvm::Error error = host.findScales(kernel, assignments))
    return error;
  if (llvm::Error error = host.assign(kernel, assignments, patternText, limits))
    return error;
  for (HostArgument &scales : host.arguments) {
    if (!scales.scalesOf)
      continue;
    const auto number = uint32_t(scales.scalesOf - host.arguments.data());
    llvm::Error error = quantize(kernel, number, host.arguments[number], scales);
    if (error)
      return inArgument(std::move(error), nameOf(scales.info->name));
  }
  if (llvm::Error error = host.allocateResults(kernel, limits))
    return error;
  for (HostArgument &pattern : host.arguments) {
    if (pattern.info->kind != SPARSEC_ARGUMENT_PATTERN)
      continue;
    std::vector<Argument> views = host.hostViews();
    uint64_t position = uint64_t(&pattern - host.arguments.data()) + 1;
    auto made = makePattern({kernel, *pattern.info, host.problem(), views, position}, patternText, limits);
    if (!made)
      return inArgument(made.takeError(), nameOf(pattern.info->name));
    pattern.pattern = std::move(*made);
  }
  return host;
}

llvm::Error HostArguments::readMatrices(llvm::StringRef text, const Limits &limits) {
  for (auto [index, argument] : llvm::enumerate(arguments))
    if (argument.info->kind == SPARSEC_ARGUMENT_BSR)
      if (llvm::Error error = inArgument(readMatrix(argument, text, index + 1, limits), nameOf(argument.info->name)))
        return error;
  return llvm::Error::success();
}

/// The sizes of the others follow from those of the matrix and from N.
llvm::Error HostArguments::makeInputs(sparsec_kernel_t kernel, int64_t columns, const Limits &limits) {
  std::vector<Argument> views(arguments.size());
  for (auto [view, argument] : llvm::zip(views, arguments))
    if (argument.info->kind == SPARSEC_ARGUMENT_BSR)
      view = argument.hostView();
  const runtime::Operation &operation = runtime::operationOf(*kernel);
  runtime::Problem problem = runtime::problemOf(*kernel, ArgumentArray(views).data());
  if (!runtime::isKnown(problem.columns))
    problem.columns = columns;
  if (operation.deriveSizes)
    operation.deriveSizes(*kernel, problem);
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    if (argument.isResult || argument.info->kind == SPARSEC_ARGUMENT_BSR)
      continue;
    argument.scalar = 0.5f;
    if (argument.info->kind != SPARSEC_ARGUMENT_DENSE)
      continue;
    runtime::Dimensions dimensions = operation.dimensions(*argument.operand);
    RandomSpecification random = {{}, std::nullopt, std::nullopt, index + 1};
    for (runtime::ProblemSize size : llvm::ArrayRef(dimensions).take_front(argument.info->rank))
      random.sizes.push_back(problem.*size);
    argument.sizes = random.sizes;
    if (isInteger(argument.dtype()))
      random.below = 2;
    auto elements = randomTensor(random, argument.dtype(), limits);
    if (!elements)
      return inArgument(elements.takeError(), nameOf(argument.info->name));
    argument.elements = std::move(*elements);
  }
  return llvm::Error::success();
}

llvm::Expected<HostArguments> HostArguments::makeForMatrix(sparsec_kernel_t kernel, llvm::StringRef matrix,
                                                           int64_t columns, const Limits &limits) {
  if (sparsec_kernel_operation(kernel)->kind != SPARSEC_OPERATION_SPMM)
    return failure("kernel '{}' is no product of a block-sparse and a dense matrix",
                   view(nameOf(sparsec_kernel_info(kernel)->name)));
  HostArguments host(kernel);
  if (llvm::Error error = host.readMatrices(matrix, limits))
    return error;
  if (llvm::Error error = host.makeInputs(kernel, columns, limits))
    return error;
  if (llvm::Error error = host.allocateResults(kernel, limits))
    return error;
  return host;
}

//===----------------------------------------------------------------------===//
// Device arguments
//===----------------------------------------------------------------------===//

DeviceArguments::~DeviceArguments() {
  for (void *allocation : allocations)
    sparsec_memory_free(device, allocation);
}

llvm::Expected<void *> DeviceArguments::copy(const void *data, size_t bytes, llvm::StringRef name) {
  void *allocation = nullptr;
  if (llvm::Error error = inArgument(toError(sparsec_memory_allocate(device, bytes, &allocation)), name))
    return error;
  allocations.push_back(allocation);
  if (bytes != 0)
    if (llvm::Error error = inArgument(toError(sparsec_memory_upload(device, allocation, data, bytes)), name))
      return error;
  return allocation;
}

llvm::Error DeviceArguments::uploadMatrix(const readers::BlockMatrix &matrix, sparsec_blocks_t &device,
                                          llvm::StringRef name) {
  auto rowPtr = copy(matrix.rowPtr.data(), matrix.rowPtr.size() * sizeof(int32_t), name);
  if (!rowPtr)
    return rowPtr.takeError();
  auto colIdx = copy(matrix.colIdx.data(), matrix.colIdx.size() * sizeof(int32_t), name);
  if (!colIdx)
    return colIdx.takeError();
  auto values = copy(matrix.values.data(), matrix.values.size(), name);
  if (!values)
    return values.takeError();
  device.full.starts = static_cast<int32_t *>(*rowPtr);
  device.full.indices = static_cast<int32_t *>(*colIdx);
  device.values = *values;
  return llvm::Error::success();
}

llvm::Error DeviceArguments::uploadPattern(sparsec_blocks_t &pattern, llvm::StringRef name) {
  pattern.device = SPARSEC_PLACE_UNKNOWN;
  size_t starts = runtime::startCount(pattern), entries = runtime::indexCount(pattern);
  for (sparsec_block_lists_t *each : {&pattern.partial, &pattern.full}) {
    if (!each->starts)
      continue;
    auto devicePtr = copy(each->starts, starts * sizeof(int32_t), name);
    if (!devicePtr)
      return devicePtr.takeError();
    auto deviceIdx = copy(each->indices, entries * sizeof(int32_t), name);
    if (!deviceIdx)
      return deviceIdx.takeError();
    *each = {static_cast<int32_t *>(*devicePtr), static_cast<int32_t *>(*deviceIdx)};
  }
  return llvm::Error::success();
}

llvm::Error DeviceArguments::upload(const HostArgument &argument) {
  llvm::StringRef name = nameOf(argument.info->name);
  arguments.push_back(argument.hostView());
  Argument &device = arguments.back();
  switch (device.kind) {
  case SPARSEC_ARGUMENT_BSR:
    return uploadMatrix(argument.matrix, device.blocks, name);
  case SPARSEC_ARGUMENT_PATTERN:
    return uploadPattern(device.blocks, name);
  case SPARSEC_ARGUMENT_DENSE: {
    auto elements = copy(argument.elements.data(), argument.elements.size(), name);
    if (!elements)
      return elements.takeError();
    device.dense.data = *elements;
    return llvm::Error::success();
  }
  case SPARSEC_ARGUMENT_SCALAR:
    break;
  }
  return llvm::Error::success();
}

llvm::Error DeviceArguments::upload(const HostArguments &host) {
  for (const HostArgument &argument : host.all())
    if (llvm::Error error = upload(argument))
      return error;
  return llvm::Error::success();
}

llvm::Error DeviceArguments::downloadResults(HostArguments &host) const {
  for (const auto &[argument, device] : llvm::zip(host.all(), arguments)) {
    if (!argument.isResult || argument.elements.empty())
      continue;
    HostArgument *result = host.find(nameOf(argument.info->name));
    if (llvm::Error error = toError(
            sparsec_memory_download(this->device, result->elements.data(), device.dense.data, result->elements.size())))
      return error;
  }
  return llvm::Error::success();
}

} // namespace sparsec::run
