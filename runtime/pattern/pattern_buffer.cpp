// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/pattern_buffer.h"
#include "image/enum_values.h"
#include "image/launch_info_reader.h"

#include <algorithm>

using namespace sparsec::runtime;

sparsec_pattern_buffer_s::~sparsec_pattern_buffer_s() {
  if (device)
    device->free(deviceMemory);
}

namespace sparsec::runtime {

namespace {

/// The partial or the full lists of a pattern, before they are laid out.
struct Lists {
  std::vector<int32_t> counts, blocks; // of all lists, one after the other
};

Lists collect(const sparsec_blocks_t &pattern, const BlockStates &states, sparsec_block_state_t wanted) {
  Lists lists;
  int64_t count = listCount(pattern), columns = blockColumnCount(pattern);
  lists.counts.reserve(count);
  for (int64_t list = 0; list < count; ++list) {
    size_t begin = lists.blocks.size();
    for (int64_t column = 0; column < columns; ++column)
      if (states[list * columns + column] == wanted)
        lists.blocks.push_back(int32_t(column));
    lists.counts.push_back(int32_t(lists.blocks.size() - begin));
  }
  return lists;
}

int64_t capacityFor(const Lists &lists, sparsec_pattern_encoding_t encoding) {
  if (encoding == SPARSEC_PATTERN_INDEX_ARRAYS)
    return int64_t(lists.blocks.size());
  return lists.counts.empty() ? 0 : *std::max_element(lists.counts.begin(), lists.counts.end());
}

/// Appends starts and indices as the pattern's encoding lays them out.
void append(const sparsec_blocks_t &pattern, const Lists &lists, std::vector<int32_t> &memory) {
  if (pattern.encoding == SPARSEC_PATTERN_INDEX_ARRAYS) {
    int32_t start = 0;
    memory.push_back(start);
    for (int32_t count : lists.counts)
      memory.push_back(start += count);
    memory.insert(memory.end(), lists.blocks.begin(), lists.blocks.end());
    memory.resize(memory.size() + pattern.capacity - lists.blocks.size());
    return;
  }
  memory.insert(memory.end(), lists.counts.begin(), lists.counts.end());
  auto block = lists.blocks.begin();
  for (int32_t count : lists.counts) {
    memory.insert(memory.end(), block, block + count);
    memory.resize(memory.size() + pattern.capacity - count);
    block += count;
  }
}

} // namespace

Status checkBlockStates(const char *name, const uint8_t *states, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (states[i] > SPARSEC_BLOCK_PARTIAL)
      return invalidArgument(name, ": expects 0 to ", int(SPARSEC_BLOCK_PARTIAL), ", but element ", i, " is ",
                             states[i]);
  return {};
}

Status startPattern(const sparsec_blocks_t *shape, sparsec_pattern_buffer_t *outBuffer, sparsec_blocks_t &outPattern) {
  if (!outBuffer)
    return invalidArgument("out_buffer is NULL");
  *outBuffer = nullptr;
  if (!shape)
    return invalidArgument("shape is NULL");
  constexpr Subject subject = {"shape"};
  SPARSEC_RETURN_IF_ERROR(checkStructSize(*shape, subject));
  sparsec_blocks_t pattern = *shape;
  pattern.size = sizeof(pattern);
  pattern.dtype = SPARSEC_DTYPE_NONE;
  pattern.flags = 0;
  pattern.capacity = 0;
  pattern.full = pattern.partial = {};
  pattern.values = nullptr;
  SPARSEC_RETURN_IF_ERROR(checkBlocks(pattern, subject));
  // The largest that it can become, in the encoding that needs most.
  sparsec_blocks_t largest = pattern;
  largest.encoding = SPARSEC_PATTERN_PADDED_LISTS;
  largest.capacity = blockColumnCount(pattern);
  SPARSEC_RETURN_IF_ERROR(checkBlocks(largest, subject));
  outPattern = pattern;
  return {};
}

Status makePatternBuffer(const sparsec_blocks_t &pattern, const BlockStates &states, sparsec_device_t device,
                         sparsec_pattern_buffer_t &outBuffer) {
  auto buffer = std::make_unique<sparsec_pattern_buffer_s>();
  buffer->pattern = pattern;
  buffer->pattern.device = placeOf(device);
  Lists partial = collect(pattern, states, SPARSEC_BLOCK_PARTIAL), full = collect(pattern, states, SPARSEC_BLOCK_FULL);
  buffer->pattern.capacity = std::max(capacityFor(partial, pattern.encoding), capacityFor(full, pattern.encoding));
  std::vector<int32_t> &memory = buffer->hostMemory;
  append(buffer->pattern, partial, memory);
  size_t fullBegin = memory.size();
  append(buffer->pattern, full, memory);

  const int32_t *base = memory.data();
  if (device && !device->device->isHost()) {
    buffer->device = device->device;
    SPARSEC_RETURN_IF_ERROR(buffer->device->allocate(memory.size() * sizeof(int32_t), buffer->deviceMemory));
    SPARSEC_RETURN_IF_ERROR(
        buffer->device->upload(buffer->deviceMemory, memory.data(), memory.size() * sizeof(int32_t)));
    base = static_cast<const int32_t *>(buffer->deviceMemory);
    memory = {};
  }
  size_t starts = partial.counts.size() + (pattern.encoding == SPARSEC_PATTERN_INDEX_ARRAYS);
  if (!partial.blocks.empty())
    buffer->pattern.partial = {base, base + starts};
  if (!full.blocks.empty())
    buffer->pattern.full = {base + fullBegin, base + fullBegin + starts};
  outBuffer = buffer.release();
  return {};
}

} // namespace sparsec::runtime

sparsec_status_t sparsec_pattern_from_block_mask(const sparsec_blocks_t *shape, const uint8_t *host_mask,
                                                 sparsec_device_t device, sparsec_pattern_buffer_t *out_buffer) {
  return guarded([&]() -> Status {
    sparsec_blocks_t pattern;
    SPARSEC_RETURN_IF_ERROR(startPattern(shape, out_buffer, pattern));
    int64_t blocks = listCount(pattern) * blockColumnCount(pattern);
    if (blocks != 0 && !host_mask)
      return invalidArgument("host_mask is NULL");
    SPARSEC_RETURN_IF_ERROR(checkBlockStates("host_mask", host_mask, blocks));
    BlockStates states(host_mask, host_mask + blocks);
    return makePatternBuffer(pattern, states, device, *out_buffer);
  });
}

sparsec_status_t sparsec_pattern_buffer_view(sparsec_pattern_buffer_t buffer, sparsec_blocks_t *out_view) {
  return guarded([&]() -> Status {
    SPARSEC_RETURN_IF_ERROR(startOutput(out_view, "out_view"));
    if (!buffer)
      return invalidArgument("buffer is NULL");
    fillOutput(*out_view, buffer->pattern);
    return {};
  });
}

void sparsec_pattern_buffer_destroy(sparsec_pattern_buffer_t buffer) { delete buffer; }
