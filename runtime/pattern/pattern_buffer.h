// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the lists of a pattern from what every block is, and owns them.

#ifndef SPARSEC_RUNTIME_PATTERN_BUFFER_H
#define SPARSEC_RUNTIME_PATTERN_BUFFER_H

#include "arguments/blocks.h"

struct sparsec_pattern_buffer_s {
  ~sparsec_pattern_buffer_s();

  sparsec_blocks_t pattern = {};
  std::vector<int32_t> hostMemory;                  // all lists, where they are not in memory of a GPU
  std::shared_ptr<sparsec::runtime::Device> device; // null: in host memory
  void *deviceMemory = nullptr;

  bool isUpdatable = false; // of sparsec_pattern_buffer_create: the lists may be written again
};

namespace sparsec::runtime {

/// sparsec_block_state_t of every block: [batch][head][row][column].
using BlockStates = std::vector<uint8_t>;

/// Where lists for a device are; null is the host.
inline int32_t placeOf(sparsec_device_t device) {
  return device ? device->device->info.ordinal : int32_t(SPARSEC_PLACE_HOST);
}

/// Whether all are sparsec_block_state_t. `name` is that of the array in messages.
Status checkBlockStates(const char *name, const uint8_t *states, int64_t count);

/// Checks the arguments that all ways to make a pattern share. The pattern has its sizes, and no lists, values,
/// capacity and flags yet.
Status startPattern(const sparsec_blocks_t *shape, sparsec_pattern_buffer_t *outBuffer, sparsec_blocks_t &outPattern);

/// Lists of a started pattern from (known) states; to the memory of the device where there is one.
Status makePatternBuffer(const sparsec_blocks_t &pattern, const BlockStates &states, sparsec_device_t device,
                         sparsec_pattern_buffer_t &outBuffer);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PATTERN_BUFFER_H
