// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists that are written again and again: on a GPU by kernels, so that nothing waits for them, on the host at once.

#include "arguments/memory_check.h"
#include "launch/launch.h"
#include "pattern/block_scores.h"
#include "pattern/pattern_predicate.h"

using namespace sparsec::runtime;

namespace sparsec::runtime {

namespace {

/// Gives the buffer memory for padded lists that hold every block, and makes them empty.
Status allocateLists(sparsec_pattern_buffer_s &buffer) {
  sparsec_blocks_t &pattern = buffer.pattern;
  pattern.capacity = blockColumnCount(pattern);
  const int64_t lists = listCount(pattern), entries = lists * pattern.capacity;
  if (lists == 0)
    return {};
  const size_t count = 2 * size_t(lists + entries);
  int32_t *memory = nullptr;
  if (buffer.device) {
    const Device &device = *buffer.device;
    SPARSEC_RETURN_IF_ERROR(device.allocate(count * sizeof(int32_t), buffer.deviceMemory));
    memory = static_cast<int32_t *>(buffer.deviceMemory);
    const std::vector<int32_t> zeros(lists);
    for (int64_t begin : {int64_t(0), lists + entries})
      SPARSEC_RETURN_IF_ERROR(device.upload(memory + begin, zeros.data(), lists * sizeof(int32_t)));
  } else {
    buffer.hostMemory.resize(count);
    memory = buffer.hostMemory.data();
  }
  pattern.partial = {memory, memory + lists};
  pattern.full = {memory + lists + entries, memory + 2 * lists + entries};
  return {};
}

/// The lists of a buffer in host memory, from (known) states.
void writeLists(sparsec_pattern_buffer_s &buffer, const uint8_t *states) {
  const sparsec_blocks_t &pattern = buffer.pattern;
  for (auto [lists, wanted] :
       {std::pair(pattern.partial, SPARSEC_BLOCK_PARTIAL), std::pair(pattern.full, SPARSEC_BLOCK_FULL)})
    for (int64_t list = 0; list < listCount(pattern); ++list) {
      const uint8_t *ofList = states + list * pattern.capacity;
      auto *indices = const_cast<int32_t *>(lists.indices) + list * pattern.capacity;
      int32_t count = 0;
      for (int64_t column = 0; column < pattern.capacity; ++column)
        if (ofList[column] == wanted)
          indices[count++] = int32_t(column);
      const_cast<int32_t *>(lists.starts)[list] = count;
    }
}

Status checkUpdatable(sparsec_pattern_buffer_t buffer) {
  if (!buffer)
    return invalidArgument("buffer is NULL");
  if (!buffer->isUpdatable)
    return invalidArgument(
        "buffer: expects one of sparsec_pattern_buffer_create, whose lists have room for all blocks");
  return {};
}

/// On a GPU a machine kernel of the kernel writes the lists.
Status checkLoadedThere(const sparsec_pattern_buffer_s &buffer, const sparsec_kernel_s &kernel) {
  if (kernel.module->device->isHost() || kernel.module->device->context != buffer.device->context)
    return invalidArgument("kernel '", kernel.info->name, "' is loaded for ",
                           placeName(kernel.module->device->info.ordinal), ", but the lists are in memory of ",
                           placeName(buffer.device->info.ordinal));
  return {};
}

/// An auxiliary kernel gets these besides the arguments.
struct OwnInputs {
  std::span<const void *const> pointers = {};
  std::span<const int64_t> numbers = {};
};

/// Enqueues an auxiliary kernel that writes the lists. Of the arguments (or null) it gets what its operands are; Sq,
/// Skv and the pattern are those of the buffer.
Status updateOnGpu(const sparsec_pattern_buffer_s &buffer, const sparsec_kernel_s &kernel, const Stage &auxiliary,
                   const sparsec_argument_t *arguments, const OwnInputs &inputs, void *stream) {
  std::vector<sparsec_argument_t> own(kernel.info->argument_count);
  if (arguments)
    std::copy_n(arguments, own.size(), own.begin());
  const sparsec_dense_t query = sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_NONE, 0, 0, buffer.pattern.rows, 0);
  const sparsec_dense_t key = sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_NONE, 0, 0, buffer.pattern.columns, 0);
  own[kernel.of(SPARSEC_ATTENTION_QUERY)] = sparsec_argument_dense(&query);
  own[kernel.of(SPARSEC_ATTENTION_KEY)] = sparsec_argument_dense(&key);
  own[kernel.of(SPARSEC_ATTENTION_PATTERN)] = sparsec_argument_blocks(&buffer.pattern);
  StageLaunch launch = {kernel, auxiliary, /*variant=*/nullptr, own.data()};
  launch.numbers = inputs.numbers;
  return launchAuxiliary(launch, inputs.pointers, listCount(buffer.pattern), stream);
}

Status updateFromRegion(sparsec_pattern_buffer_s &buffer, const sparsec_kernel_s &kernel,
                        const sparsec_argument_t *arguments, size_t count, void *stream) {
  SPARSEC_RETURN_IF_ERROR(checkPredicate(kernel, buffer.pattern, "buffer", buffer.device.get(), arguments, count));
  if (listCount(buffer.pattern) == 0)
    return {};
  if (buffer.device) {
    SPARSEC_RETURN_IF_ERROR(checkLoadedThere(buffer, kernel));
    const Stage *builder = kernel.auxiliary(SPARSEC_AUXILIARY_PATTERN_BUILDER);
    if (!builder)
      return invalidArgument("kernel '", kernel.info->name,
                             "' has no pattern builder: expects a pattern argument besides the mask region");
    return updateOnGpu(buffer, kernel, *builder, arguments, {}, stream);
  }
  BlockStates states;
  SPARSEC_RETURN_IF_ERROR(evaluatePredicate(kernel, arguments, buffer.pattern, states));
  writeLists(buffer, states.data());
  return {};
}

/// The kernel has a pattern with blocks of the buffer's size; on the host it may be null.
Status checkPatternKernel(const sparsec_pattern_buffer_s &buffer, sparsec_kernel_t kernel) {
  if (!kernel)
    return buffer.device ? invalidArgument("kernel is NULL") : Status();
  if (kernel->of(SPARSEC_ATTENTION_PATTERN) == noArgument)
    return invalidArgument("kernel '", kernel->info->name, "' has no pattern argument");
  SPARSEC_RETURN_IF_ERROR(checkPatternBlocks(*kernel, buffer.pattern, "buffer"));
  return buffer.device ? checkLoadedThere(buffer, *kernel) : Status();
}

Status updateFromMask(sparsec_pattern_buffer_s &buffer, sparsec_kernel_t kernel, const uint8_t *mask, void *stream) {
  SPARSEC_RETURN_IF_ERROR(checkPatternKernel(buffer, kernel));
  const int64_t lists = listCount(buffer.pattern), blocks = lists * buffer.pattern.capacity;
  if (blocks != 0 && !mask)
    return invalidArgument("mask is NULL");
  if (lists == 0)
    return {};
  if (buffer.device) {
    const Stage *reader = kernel->auxiliary(SPARSEC_AUXILIARY_BLOCK_MASK_READER);
    if (!reader)
      return invalidArgument("kernel '", kernel->info->name, "' has no block mask reader");
    SPARSEC_RETURN_IF_ERROR(checkMemory(*buffer.device, "mask", footprintOf(mask, uint64_t(blocks))));
    const void *const inputs[] = {mask};
    return updateOnGpu(buffer, *kernel, *reader, /*arguments=*/nullptr, {.pointers = inputs}, stream);
  }
  SPARSEC_RETURN_IF_ERROR(checkBlockStates("mask", mask, blocks));
  writeLists(buffer, mask);
  return {};
}

Status updateFromScoresOnGpu(const sparsec_pattern_buffer_s &buffer, const sparsec_kernel_s &kernel,
                             const BlockScores &scores, void *stream) {
  const Stage *chooser = kernel.auxiliary(SPARSEC_AUXILIARY_TOP_K_BLOCKS);
  if (!chooser)
    return invalidArgument("kernel '", kernel.info->name, "' has no chooser of the top-k blocks");
  SPARSEC_RETURN_IF_ERROR(checkScoreMemory(*buffer.device, scores, buffer.pattern));
  const void *const inputs[] = {scores.scores, scores.counts, scores.mask};
  const int64_t numbers[] = {scores.k};
  return updateOnGpu(buffer, kernel, *chooser, /*arguments=*/nullptr, {inputs, numbers}, stream);
}

Status updateFromScores(sparsec_pattern_buffer_s &buffer, sparsec_kernel_t kernel, const sparsec_dense_t *view,
                        BlockScores scores, void *stream) {
  SPARSEC_RETURN_IF_ERROR(checkPatternKernel(buffer, kernel));
  SPARSEC_RETURN_IF_ERROR(checkScores(view, buffer.pattern, scores));
  if (listCount(buffer.pattern) == 0)
    return {};
  if (buffer.device)
    return updateFromScoresOnGpu(buffer, *kernel, scores, stream);
  BlockStates states;
  SPARSEC_RETURN_IF_ERROR(chooseBlocks(scores, buffer.pattern, kernel, states));
  writeLists(buffer, states.data());
  return {};
}

} // namespace

} // namespace sparsec::runtime

sparsec_status_t sparsec_pattern_buffer_create(const sparsec_blocks_t *shape, sparsec_device_t device,
                                               sparsec_pattern_buffer_t *out_buffer) {
  return guarded([&]() -> Status {
    auto buffer = std::make_unique<sparsec_pattern_buffer_s>();
    SPARSEC_RETURN_IF_ERROR(startPattern(shape, out_buffer, buffer->pattern));
    buffer->pattern.encoding = SPARSEC_PATTERN_PADDED_LISTS;
    buffer->pattern.device = placeOf(device);
    buffer->isUpdatable = true;
    if (device && !device->device->isHost())
      buffer->device = device->device;
    SPARSEC_RETURN_IF_ERROR(allocateLists(*buffer));
    *out_buffer = buffer.release();
    return {};
  });
}

sparsec_status_t sparsec_pattern_update_from_block_mask(sparsec_pattern_buffer_t buffer, sparsec_kernel_t kernel,
                                                        const uint8_t *mask, void *stream) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(checkUpdatable(buffer));
    return updateFromMask(*buffer, kernel, mask, stream);
  });
}

sparsec_status_t sparsec_pattern_update_from_predicate(sparsec_pattern_buffer_t buffer, sparsec_kernel_t kernel,
                                                       const sparsec_argument_t *arguments, size_t argument_count,
                                                       void *stream) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(checkUpdatable(buffer));
    if (!kernel)
      return invalidArgument("kernel is NULL");
    return updateFromRegion(*buffer, *kernel, arguments, argument_count, stream);
  });
}

sparsec_status_t sparsec_pattern_update_from_scores(sparsec_pattern_buffer_t buffer, sparsec_kernel_t kernel,
                                                    const sparsec_dense_t *scores, int64_t k, const int32_t *counts,
                                                    const uint8_t *mask, void *stream) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(checkUpdatable(buffer));
    return updateFromScores(*buffer, kernel, scores, {.k = k, .counts = counts, .mask = mask}, stream);
  });
}
