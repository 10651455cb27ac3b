// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "arguments.h"

#include "element.h"
#include "matrix_market.h"
#include "numpy.h"
#include "pattern.h"
#include "scipy.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <optional>

namespace sparsec::run {

using readers::Limits;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {
/// random:SHAPE[:density=D][:SEED]
struct RandomSpecification {
  std::vector<int64_t> sizes;
  std::optional<double> density;
  uint64_t seed;
};
} // namespace

static llvm::Expected<RandomSpecification> parseRandom(llvm::StringRef text, uint64_t defaultSeed) {
  RandomSpecification random = {{}, std::nullopt, defaultSeed};
  llvm::SmallVector<llvm::StringRef> parts, sizes;
  text.split(parts, ':');
  parts.front().split(sizes, 'x');
  for (llvm::StringRef part : sizes) {
    int64_t size = 0;
    if (part.getAsInteger(10, size) || size < 0 || size > readers::maxSize)
      return failure("expects sizes such as 4096x512 after 'random:', but got '{}'", view(parts.front()));
    random.sizes.push_back(size);
  }
  for (llvm::StringRef part : llvm::drop_begin(parts)) {
    double density = 0.0;
    if (part.consume_front("density=")) {
      if (part.getAsDouble(density) || !(density >= 0.0 && density <= 1.0))
        return failure("expects a density in 0 to 1, but got '{}'", view(part));
      random.density = density;
    } else if (part.getAsInteger(10, random.seed)) {
      return failure("expects a seed or 'density=', but got '{}'", view(part));
    }
  }
  return random;
}

static llvm::Expected<readers::BlockMatrix> randomMatrix(const RandomSpecification &random, readers::BlockFormat format,
                                                         const Limits &limits) {
  if (random.sizes.size() != 2 || !random.density)
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
  readers::BlockFormat format = {argument.info->block_rows, argument.info->block_columns,
                                 sparsec_dtype_t(argument.info->dtype)};
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
  sparsec_argument_t host = argument.hostView();
  return toError(sparsec_bsr_check(&host.bsr));
}

static llvm::Error readDense(HostArgument &argument, llvm::StringRef text, uint64_t seed, const Limits &limits) {
  auto dtype = sparsec_dtype_t(argument.info->dtype);
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
    if (random->density)
      return failure("expects random:SHAPE[:SEED] for a dense tensor, but got a density");
    argument.sizes = std::move(random->sizes);
    if (llvm::Error error = checkRank())
      return error;
    uint64_t count = 1;
    for (int64_t size : argument.sizes)
      count = readers::multiply(count, uint64_t(size)).value_or(UINT64_MAX);
    return setElements(readers::randomElements(count, dtype, random->seed, limits));
  }
  double number = 0.0;
  if (argument.info->rank == 0 && !text.getAsDouble(number)) {
    std::optional<readers::FloatFormat> format = readers::getFloatFormat(dtype);
    if (!format)
      return failure("expects element type f32, f16 or bf16");
    argument.elements.resize(format->bytes);
    readers::storeElement(argument.elements.data(), 0, number, *format);
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
  return setElements(readers::convertElements(*array, dtype, text));
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

static sparsec_argument_t denseView(void *data, sparsec_dtype_t dtype, llvm::ArrayRef<int64_t> sizes) {
  sparsec_dense_t dense = {};
  dense.data = data;
  dense.dtype = dtype;
  dense.rank = int32_t(sizes.size());
  int64_t stride = 1;
  for (size_t index = sizes.size(); index-- > 0;) {
    dense.sizes[index] = sizes[index];
    dense.strides[index] = stride;
    stride *= sizes[index];
  }
  return sparsec_argument_dense(dense);
}

sparsec_argument_t HostArgument::hostView() const {
  auto dtype = sparsec_dtype_t(info->dtype);
  if (info->kind == SPARSEC_ARGUMENT_SCALAR)
    return sparsec_argument_scalar(scalar);
  if (info->kind == SPARSEC_ARGUMENT_DENSE)
    return denseView(const_cast<std::byte *>(elements.data()), dtype, sizes);
  sparsec_bsr_t bsr = {};
  bsr.rows = matrix.rows;
  bsr.columns = matrix.columns;
  bsr.block_count = matrix.blockCount();
  bsr.block_rows = int32_t(matrix.format.blockRows);
  bsr.block_columns = int32_t(matrix.format.blockColumns);
  bsr.dtype = dtype;
  bsr.row_ptr = matrix.rowPtr.data();
  bsr.col_idx = matrix.colIdx.data();
  bsr.values = matrix.values.data();
  return sparsec_argument_bsr(bsr);
}

HostArgument *HostArguments::find(llvm::StringRef name) {
  for (HostArgument &argument : arguments)
    if (nameOf(argument.info->name) == name)
      return &argument;
  return nullptr;
}

std::vector<sparsec_argument_t> HostArguments::hostViews() const {
  std::vector<sparsec_argument_t> views;
  views.reserve(arguments.size());
  for (const HostArgument &argument : arguments)
    views.push_back(argument.hostView());
  return views;
}

/// Sizes of the result follow from those of the operands, whatever their layout.
llvm::Error HostArguments::allocateResult(const Limits &limits) {
  const HostArgument &dense = arguments[denseIndex];
  HostArgument &result = arguments[resultIndex];
  bool denseTransposed = dense.info->layout == SPARSEC_LAYOUT_TRANSPOSED;
  product = {matrix().matrix.rows, matrix().matrix.columns, dense.sizes[denseTransposed ? 0 : 1]};
  result.sizes = {product.m, product.n};
  if (result.info->layout == SPARSEC_LAYOUT_TRANSPOSED)
    std::swap(result.sizes[0], result.sizes[1]);
  uint64_t elementBytes = sparsec_dtype_bytes(sparsec_dtype_t(result.info->dtype));
  uint64_t bytes = uint64_t(product.m) * uint64_t(product.n); // both below 2^31
  if (bytes > limits.bytes / elementBytes)
    return failure("argument '{}': expects at most {} bytes, but got shape ({})", view(nameOf(result.info->name)),
                   limits.bytes, fmt::join(result.sizes, ", "));
  // All bits set is a NaN in every element type.
  result.elements.assign(bytes * elementBytes, std::byte(0xff));
  return llvm::Error::success();
}

llvm::Expected<HostArguments> HostArguments::read(sparsec_kernel_t kernel, llvm::ArrayRef<std::string> assignments,
                                                  const Limits &limits) {
  const sparsec_kernel_info_t *info = sparsec_kernel_info(kernel);
  if (info->family != SPARSEC_FAMILY_SPMM)
    return failure("kernel '{}' is no block-sparse product: sparsec-run only inspects it", view(nameOf(info->name)));
  HostArguments host;
  std::vector<bool> given(info->argument_count, false);
  for (uint32_t index = 0; index < info->argument_count; ++index) {
    host.arguments.emplace_back();
    const sparsec_argument_info_t *argument = host.arguments.back().info = sparsec_kernel_argument(kernel, index);
    if (argument->role == SPARSEC_ROLE_MATRIX)
      host.matrixIndex = index;
    if (argument->role == SPARSEC_ROLE_DENSE)
      host.denseIndex = index;
    if (argument->role == SPARSEC_ROLE_RESULT)
      host.resultIndex = index;
  }
  for (llvm::StringRef assignment : assignments) {
    auto [name, text] = assignment.split('=');
    HostArgument *argument = host.find(name);
    size_t index = argument ? size_t(argument - host.arguments.data()) : 0;
    if (!argument || argument->info->role == SPARSEC_ROLE_RESULT)
      return failure("kernel '{}' has no input '{}'", view(nameOf(info->name)), view(name));
    if (given[index])
      return failure("argument '{}' is given twice", view(name));
    given[index] = true;
    if (llvm::Error error = inArgument(readArgument(*argument, text, index + 1, limits), name))
      return error;
  }
  for (const auto &[argument, isGiven] : llvm::zip(host.arguments, given))
    if (!isGiven && argument.info->role != SPARSEC_ROLE_RESULT)
      return failure("kernel '{0}' needs argument '{1}': add --arg {1}=...", view(nameOf(info->name)),
                     view(nameOf(argument.info->name)));
  if (llvm::Error error = host.allocateResult(limits))
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

llvm::Error DeviceArguments::upload(const HostArguments &host) {
  for (const HostArgument &argument : host.all()) {
    llvm::StringRef name = nameOf(argument.info->name);
    sparsec_argument_t device = argument.hostView();
    if (argument.info->kind == SPARSEC_ARGUMENT_BSR) {
      const readers::BlockMatrix &matrix = argument.matrix;
      auto rowPtr = copy(matrix.rowPtr.data(), matrix.rowPtr.size() * sizeof(int32_t), name);
      if (!rowPtr)
        return rowPtr.takeError();
      auto colIdx = copy(matrix.colIdx.data(), matrix.colIdx.size() * sizeof(int32_t), name);
      if (!colIdx)
        return colIdx.takeError();
      auto values = copy(matrix.values.data(), matrix.values.size(), name);
      if (!values)
        return values.takeError();
      device.bsr.row_ptr = static_cast<int32_t *>(*rowPtr);
      device.bsr.col_idx = static_cast<int32_t *>(*colIdx);
      device.bsr.values = *values;
    } else if (argument.info->kind == SPARSEC_ARGUMENT_DENSE) {
      auto elements = copy(argument.elements.data(), argument.elements.size(), name);
      if (!elements)
        return elements.takeError();
      device.dense.data = *elements;
    }
    arguments.push_back(device);
  }
  return llvm::Error::success();
}

llvm::Error DeviceArguments::downloadResults(HostArguments &host) const {
  for (const auto &[argument, device] : llvm::zip(host.all(), arguments)) {
    if (argument.info->role != SPARSEC_ROLE_RESULT || argument.elements.empty())
      continue;
    HostArgument *result = host.find(nameOf(argument.info->name));
    if (llvm::Error error = toError(
            sparsec_memory_download(this->device, result->elements.data(), device.dense.data, result->elements.size())))
      return error;
  }
  return llvm::Error::success();
}

} // namespace sparsec::run
