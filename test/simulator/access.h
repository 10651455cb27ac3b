// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses of one lane by ordinary instructions, with all checks.

#ifndef SPARSEC_TEST_SIMULATOR_ACCESS_H
#define SPARSEC_TEST_SIMULATOR_ACCESS_H

#include "machine.h"

namespace sparsec::simulator {

/// A space and an address in it, from a generic address too.
struct PlacedAddress {
  Space space;
  uint64_t address;
};
PlacedAddress placeAddress(Warp &warp, Space space, uint64_t address);

/// Bytes that a lane reads or writes. Throws SimulationError on what a kernel must not do.
const uint8_t *readBytes(Warp &warp, Space space, uint64_t address, uint64_t bytes, int lane);
uint8_t *writeBytes(Warp &warp, Space space, uint64_t address, uint64_t bytes, int lane);

/// The same of shared memory.
const uint8_t *readShared(Warp &warp, uint64_t address, uint64_t bytes, Space space = Space::shared);
uint8_t *writeShared(Warp &warp, uint64_t address, uint64_t bytes, int lane, Space space = Space::shared);

/// The check for global memory, without a lane's alignment.
void checkGlobal(Machine &machine, uint64_t address, uint64_t bytes, bool isWrite);

/// PTX line of the instruction that a warp executes.
int currentLine(const Warp &warp);

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_ACCESS_H
