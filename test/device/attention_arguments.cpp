// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "attention_arguments.h"
#include "row_check.h"

#include <fmt/format.h>
#include <limits>
#include <stdexcept>

namespace sparsec::device_test {

using namespace harness;

namespace {

// Seeds of the random streams.
enum : uint64_t { querySeed = 11, keySeed = 12, valueSeed = 13, biasSeed = 14, sinkSeed = 15, weightSeed = 16 };

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The part of the spread that a key has in a course that goes up.
double courseOf(ScoreCourse course, int64_t key, int64_t keys) {
  if (course == ScoreCourse::Spikes)
    return key % 61 == 60 ? 1 : 0;
  return keys > 1 ? 2.0 * static_cast<double>(key) / static_cast<double>(keys - 1) - 1 : 0;
}

/// The softmax scale of kernels that take one, times sqrt(D): not what they would take without.
constexpr double ownScale = -0.75;

} // namespace

AttentionArguments::AttentionArguments(sparsec_device_t device, sparsec_kernel_t kernel, const AttentionShape &shape,
                                       size_t guardBytes, const BlockStates *blocks,
                                       sparsec_pattern_encoding_t encoding, bool isUnsorted)
    : device(device), kernel(kernel), shape(shape), guardBytes(guardBytes),
      workspace(uploadArray(device, std::vector<uint32_t>(4))) {
  arguments.assign(sparsec_kernel_info(kernel)->argument_count, 0.0);
  hostArguments = arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (sparsec_kernel_argument(kernel, i)->kind != SPARSEC_ARGUMENT_PATTERN)
      placeArgument(i);
    else if (blocks)
      placePattern(i, *blocks, encoding, isUnsorted);
    else
      throw std::runtime_error("the kernel needs a pattern");
  }
}

/// The query is the first operand, and has D as its last size.
double AttentionArguments::dimension() const {
  return double(sparsec_kernel_argument(kernel, sparsec_kernel_operand(kernel, 0)->argument)->sizes[3]);
}

int64_t AttentionArguments::widthOf(size_t number) const { return sparsec_kernel_argument(kernel, number)->sizes[3]; }

void AttentionArguments::placeArgument(size_t number) {
  switch (operandOf(kernel, number).slot) {
  case SPARSEC_ATTENTION_QUERY:
    // With normal keys and the usual scale, the scores then have this standard deviation.
    return placeRows(number, shape.heads, shape.queries, querySeed,
                     shape.course == ScoreCourse::Random ? shape.spread : 1);
  case SPARSEC_ATTENTION_KEY:
    return placeRows(number, shape.keyHeads, shape.keys, keySeed, 1);
  case SPARSEC_ATTENTION_VALUE:
    valueDtype = sparsec_kernel_argument(kernel, number)->dtype;
    return placeRows(number, shape.keyHeads, shape.keys, valueSeed, 1);
  case SPARSEC_ATTENTION_RESULT:
    placeRows(number, shape.heads, shape.queries, 0, 0);
    result = tensors.back().get();
    return result->poisonAll();
  case SPARSEC_ATTENTION_LSE:
    return placeLse(number);
  case SPARSEC_ATTENTION_SINKS:
    return placeSinks(number);
  case SPARSEC_ATTENTION_SCALE:
    arguments[number] = ownScale / std::sqrt(dimension());
    hostArguments[number] = arguments[number];
    return;
  default:
    return placeOperand(number);
  }
}

PlacedTensor &AttentionArguments::place(size_t number, const std::vector<int64_t> &sizes, Placement placement) {
  auto dtype = static_cast<sparsec_dtype_t>(sparsec_kernel_argument(kernel, number)->dtype);
  tensors.push_back(std::make_unique<PlacedTensor>(device, dtype, sizes, placement, guardBytes));
  return *tensors.back();
}

/// The argument is `tensor`, seen with the sizes and strides of `shape`.
void AttentionArguments::setDense(size_t number, PlacedTensor &tensor, const sparsec_dense_t &shape) {
  sparsec_dense_t view = shape;
  view.data = tensor.view().data;
  arguments[number] = view;
  view.data = tensor.hostView().data;
  hostArguments[number] = view;
}

/// Where the row of elements of a position of a head lies.
int64_t AttentionArguments::memoryRow(int64_t batch, int64_t head, int64_t heads, int64_t position,
                                      int64_t length) const {
  return shape.order == SequenceOrder::BatchHeadSequence ? (batch * heads + head) * length + position
                                                         : (batch * length + position) * heads + head;
}

sparsec_dense_t AttentionArguments::rowsView(const PlacedTensor &tensor, int64_t heads, int64_t length) const {
  bool headsFirst = shape.order == SequenceOrder::BatchHeadSequence;
  int64_t rowStride = tensor.view().strides[0];
  sparsec_dense_t view = tensor.view();
  view.rank = 4;
  const int64_t sizes[] = {shape.batches, heads, length, tensor.view().sizes[1]};
  const int64_t strides[] = {heads * length * rowStride, headsFirst ? length * rowStride : rowStride,
                             headsFirst ? rowStride : heads * rowStride, 1};
  std::copy_n(sizes, 4, view.sizes);
  std::copy_n(strides, 4, view.strides);
  return view;
}

/// Q, K, V or the result, filled with normal numbers of this size.
void AttentionArguments::placeRows(size_t number, int64_t heads, int64_t length, uint64_t seed, double size) {
  int64_t rows = shape.batches * heads * length, width = widthOf(number);
  PlacedTensor &tensor = place(number, {rows, width}, shape.placement);
  for (int64_t row = 0; row < rows && size != 0; ++row)
    for (int64_t d = 0; d < width; ++d)
      tensor.set(row, d, size * randomNormal(seed, row * width + d));
  if (shape.course != ScoreCourse::Random && (seed == querySeed || seed == keySeed))
    placeCourse(tensor, heads, length, /*ofKeys=*/seed == keySeed);
  tensor.upload();
  setDense(number, tensor, rowsView(tensor, heads, length));
}

/// Element 0 of queries and keys, on top of which the others make scores of standard deviation 1.
void AttentionArguments::placeCourse(PlacedTensor &tensor, int64_t heads, int64_t length, bool ofKeys) const {
  for (int64_t index = 0; index < shape.batches * heads; ++index)
    for (int64_t position = 0; position < length; ++position) {
      double value = ofKeys ? shape.spread * courseOf(shape.course, position, length)
                            : std::sqrt(dimension()) * (position % 2 == 0 ? 1 : -1);
      tensor.set(memoryRow(index / heads, index % heads, heads, position, length), 0, value);
    }
}

void AttentionArguments::placeLse(size_t number) {
  // Written element by element: any alignment will do.
  lse = &place(number, {shape.batches * shape.heads, shape.queries}, Placement::Misaligned);
  sparsec_dense_t view = lse->view();
  int64_t rowStride = view.strides[0];
  view.rank = 3;
  const int64_t sizes[] = {shape.batches, shape.heads, shape.queries},
                strides[] = {shape.heads * rowStride, rowStride, 1};
  std::copy_n(sizes, 3, view.sizes);
  std::copy_n(strides, 3, view.strides);
  setDense(number, *lse, view);
  lse->poisonAll();
}

/// Among the scores, far above and far below them, and none.
void AttentionArguments::placeSinks(size_t number) {
  PlacedTensor &tensor = place(number, {shape.heads}, Placement::Misaligned);
  const double far = 30 + 4 * shape.spread;
  for (int64_t head = 0; head < shape.heads; ++head) {
    const double choices[] = {shape.spread * randomNormal(sinkSeed, head), far, -far, -infinity};
    tensor.set(0, head, choices[head % 4]);
  }
  tensor.upload();
  setDense(number, tensor, tensor.view());
}

/// An operand of a region of attention_kernels.py, by its name.
void AttentionArguments::placeOperand(size_t number) {
  std::string_view name = sparsec_kernel_argument(kernel, number)->name;
  PlacedTensor *tensor = nullptr;
  if (name == "slopes") {
    tensor = &place(number, {shape.heads}, Placement::Misaligned);
    for (int64_t head = 0; head < shape.heads; ++head)
      tensor->set(0, head, std::ldexp(0.25, -static_cast<int>(head)));
  } else if (name == "documents") {
    int64_t length = std::max(shape.queries, shape.keys);
    tensor = &place(number, {shape.batches, length}, Placement::Misaligned);
    // Three documents that take turns, shifted from batch to batch.
    for (int64_t batch = 0; batch < shape.batches; ++batch)
      for (int64_t position = 0; position < length; ++position)
        tensor->set(batch, position, static_cast<double>((position + 17 * batch) / 37 % 3));
  } else if (name == "weights") {
    int64_t length = std::max(shape.queries, shape.keys);
    tensor = &place(number, {shape.batches, length}, Placement::Misaligned);
    for (int64_t i = 0; i < shape.batches * length; ++i)
      tensor->set(i / length, i % length, randomNormal(weightSeed, i));
  } else if (name == "bias") {
    constexpr int64_t distances = 65; // from -32 to 32
    tensor = &place(number, {shape.heads, distances}, Placement::Misaligned);
    for (int64_t i = 0; i < shape.heads * distances; ++i)
      tensor->set(i / distances, i % distances, randomNormal(biasSeed, i));
  } else {
    throw std::runtime_error(fmt::format("operand '{}' is not from attention_kernels.py", name));
  }
  tensor->upload();
  setDense(number, *tensor, tensor->view());
}

void AttentionArguments::placePattern(size_t number, const BlockStates &blocks, sparsec_pattern_encoding_t encoding,
                                      bool isUnsorted) {
  lists = std::make_unique<PatternLists>(blocks, encoding, isUnsorted);
  hostArguments[number] = lists->hostView(blocks);
  sparsec_blocks_t pattern = lists->header;
  auto upload = [&](sparsec_block_state_t state, const BlockLists &source, ListBuffers &buffers) {
    if (!blocks.has(state))
      return sparsec_block_lists_t{nullptr, nullptr};
    buffers = {uploadArray(device, withGuard(source.starts, guardBytes)),
               uploadArray(device, withGuard(source.indices, guardBytes))};
    return sparsec_block_lists_t{static_cast<const int32_t *>(buffers.starts.data()),
                                 static_cast<const int32_t *>(buffers.indices.data())};
  };
  pattern.partial = upload(SPARSEC_BLOCK_PARTIAL, lists->partial, partialBuffers);
  pattern.full = upload(SPARSEC_BLOCK_FULL, lists->full, fullBuffers);
  arguments[number] = pattern;
}

void AttentionArguments::replaceLists(const BlockStates &blocks, bool isUnsorted) {
  *lists = PatternLists(blocks, lists->header.encoding, isUnsorted);
  for (Argument &argument : hostArguments)
    if (argument.kind == SPARSEC_ARGUMENT_PATTERN)
      argument = lists->hostView(blocks);
  auto upload = [&](const BlockLists &source, ListBuffers &buffers) {
    buffers.starts.upload(withGuard(source.starts, guardBytes).data());
    buffers.indices.upload(withGuard(source.indices, guardBytes).data());
  };
  upload(lists->partial, partialBuffers);
  upload(lists->full, fullBuffers);
}

void AttentionArguments::poisonResults() {
  result->poisonAll();
  if (lse)
    lse->poisonAll();
}

namespace {

size_t findVariant(sparsec_kernel_t kernel, bool (*isWanted)(const sparsec_variant_info_t &)) {
  for (size_t number = 0; number < sparsec_kernel_info(kernel)->variant_count; ++number)
    if (isWanted(*sparsec_kernel_variant(kernel, number)))
      return number;
  throw std::logic_error("the kernel has no such variant");
}

} // namespace

size_t AttentionArguments::partsVariant() const {
  return findVariant(kernel, [](const sparsec_variant_info_t &variant) { return variant.part_keys != 0; });
}

size_t AttentionArguments::chosenVariant(sparsec_plan_t plan) const {
  const ArgumentArray array(arguments);
  size_t variant = 0;
  check(sparsec_launch_variant(kernel, plan, array.data(), array.size(), &variant));
  return variant;
}

size_t AttentionArguments::expectedVariant() const {
  if (shape.placement == Placement::Misaligned)
    return sparsec_kernel_info(kernel)->variant_count - 1;
  return findVariant(kernel, [](const sparsec_variant_info_t &variant) { return variant.required_sections == 0; });
}

harness::Plan AttentionArguments::createPlan(PlanKind kind) const {
  if (kind == PlanKind::None)
    return {};
  std::vector<Argument> known = arguments;
  for (Argument &argument : known)
    if (kind == PlanKind::Sizes && argument.kind == SPARSEC_ARGUMENT_PATTERN)
      argument = {};
  return harness::createPlan(kernel, known, /*stream=*/nullptr,
                             kind == PlanKind::Static ? SPARSEC_PLAN_STATIC_PATTERN : 0);
}

void AttentionArguments::launch(void *stream, sparsec_plan_t plan, const DeviceBuffer *sharedWorkspace) const {
  const ArgumentArray array(arguments);
  const DeviceBuffer &used = sharedWorkspace ? *sharedWorkspace : workspace;
  auto options = sized<sparsec_launch_options_t>();
  options.stream = stream;
  options.workspace = used.data();
  options.workspace_bytes = used.bytes();
  check(sparsec_launch_with_options(kernel, plan, array.data(), array.size(), &options));
}

void AttentionArguments::bringWorkspace(const harness::Plan &plan) {
  const sparsec_plan_info_t info = harness::planInfo(plan, partsVariant());
  const char fill = info.order == SPARSEC_TILE_ORDER_COUNTER ? 0 : char(0xff);
  workspace = uploadArray(device, std::vector<char>(info.workspace_bytes, fill));
}

void AttentionArguments::run(sparsec_plan_t plan, const DeviceBuffer *sharedWorkspace) {
  poisonResults();
  launch(nullptr, plan, sharedWorkspace);
  check(sparsec_synchronize(device, nullptr));
  downloadResults();
}

void AttentionArguments::downloadResults() {
  result->download();
  if (lse)
    lse->download();
}

std::vector<char> AttentionArguments::resultBytes() const {
  std::vector<char> bytes = result->bytes();
  if (lse)
    bytes.insert(bytes.end(), lse->bytes().begin(), lse->bytes().end());
  return bytes;
}

AttentionArguments::Expected AttentionArguments::computeExpected() const {
  int64_t rows = shape.batches * shape.heads * shape.queries, width = result->view().sizes[1];
  constexpr int64_t rowsAtATime = 32;
  const ArgumentArray host(hostArguments);
  Expected expected;
  expected.y.resize(rows * width);
  expected.magnitude.resize(rows * width);
  expected.lse.resize(rows);
  expected.lseMagnitude.resize(rows);
  std::string error = findRowError((rows + rowsAtATime - 1) / rowsAtATime, [&](int64_t piece) -> std::string {
    int64_t begin = piece * rowsAtATime, end = std::min(rows, begin + rowsAtATime);
    try {
      check(sparsec_reference_run(kernel, host.data(), host.size(), begin, end, &expected.y[begin * width],
                                  &expected.magnitude[begin * width]));
      check(sparsec_reference_lse(kernel, host.data(), host.size(), begin, end, &expected.lse[begin],
                                  &expected.lseMagnitude[begin]));
    } catch (const std::exception &failure) {
      return failure.what();
    }
    return {};
  });
  if (!error.empty())
    throw std::runtime_error(error);
  return expected;
}

/// The error that a score may have by its soft cap (SPEC.md). The regions of attention_kernels.py have caps of 20, some
/// of them a tanh with a relative error of 2^-10.987, or an exact one.
double AttentionArguments::scoreError() const {
  std::string_view name = sparsec_kernel_info(kernel)->name;
  if (name.ends_with("fast"))
    return 20 * 0x1.03p-11;
  return name.ends_with("_cap") || name.ends_with("_capdoc") ? 0x1p-10 : 0;
}

/// The error that rounding a small weight adds, for values whose mean magnitude is about 1. In bf16 a sink far above
/// all scores leaves weights below 2^-126, which may count as 0, of values below 8. In f16 weights below 2^-14 are
/// multiples of 2^-24.
double AttentionArguments::smallWeightError() const { return valueDtype == SPARSEC_DTYPE_F16 ? 0x1p-25 : 0x1p-123; }

std::string AttentionArguments::checkRow(const Expected &expected, int64_t row) const {
  int64_t query = row % shape.queries, head = row / shape.queries % shape.heads;
  int64_t batch = row / shape.queries / shape.heads, width = result->view().sizes[1];
  double exactLse = expected.lse[row];
  bool isEmpty = exactLse == -infinity;
  // The kernels round the probabilities to the 16-bit type of V before the second product. The reference's magnitude
  // has that, and the errors of f32 scores and exponentials.
  for (int64_t d = 0; d < width; ++d) {
    double exact = expected.y[row * width + d];
    double allowed = isEmpty ? 0 : allowedError(result->view().dtype, exact, expected.magnitude[row * width + d]);
    // Errors of all scores change a mean of values by as much of the mean magnitude, which is about 1.
    allowed += isEmpty ? 0 : 2 * scoreError() * (1 + std::abs(exact));
    allowed += isEmpty ? 0 : double(shape.keys) * smallWeightError();
    double got = result->get(memoryRow(batch, head, shape.heads, query, shape.queries), d);
    // The negation catches NaN.
    if (!(std::abs(got - exact) <= allowed))
      return fmt::format("o[{}, {}, {}, {}] is {}, but should be {} within {}", batch, head, query, d, got, exact,
                         allowed);
  }
  if (!lse)
    return {};
  double got = lse->get(batch * shape.heads + head, query);
  double allowed = 1e-5 * (1 + std::abs(exactLse)) + 1e-6 * expected.lseMagnitude[row] + scoreError();
  if (isEmpty ? got != -infinity : !(std::abs(got - exactLse) <= allowed))
    return fmt::format("lse[{}, {}, {}] is {}, but should be {} within {}", batch, head, query, got, exactLse, allowed);
  return {};
}

std::string AttentionArguments::findError(const Expected &expected) const {
  std::string error = findRowError(std::ssize(expected.lse), [&](int64_t row) { return checkRow(expected, row); });
  if (error.empty() && !(result->surroundingsIntact() && (!lse || lse->surroundingsIntact())))
    return "bytes beside a result were written";
  return error;
}

} // namespace sparsec::device_test
