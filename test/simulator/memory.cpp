// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory.h"

#include <fmt/format.h>

namespace sparsec::simulator {

const DeviceMemory::Allocation *DeviceMemory::find(uint64_t address) const {
  auto next = all.upper_bound(address);
  return next == all.begin() ? nullptr : &std::prev(next)->second;
}

void DeviceMemory::check(uint64_t address, uint64_t bytes, bool isWrite) const {
  const Allocation *allocation = find(address);
  if (!allocation || address + bytes > allocation->end) {
    const std::string place =
        allocation ? fmt::format("the allocation before it has {} bytes and ends {} bytes before the end of the access",
                                 allocation->end - allocation->begin, address + bytes - allocation->end)
                   : "there is no allocation before it";
    throw SimulationError(fmt::format("{} {} bytes of global memory at {:#x}, out of bounds: {}",
                                      isWrite ? "writes" : "reads", bytes, address, place));
  }
  if (isWrite && allocation->isReadOnly)
    throw SimulationError(fmt::format("writes {} bytes of constant memory at {:#x}", bytes, address));
}

namespace {
/// A NaN in every format of numbers, and an index far beyond everything.
constexpr uint8_t poison = 0xff;
} // namespace

SharedMemory::SharedMemory(uint64_t bytes) : data(bytes, poison), granules((bytes + granuleBytes - 1) / granuleBytes) {}

uint8_t *SharedMemory::get(uint64_t address, uint64_t bytes) {
  uint8_t *found = find(address, bytes);
  if (!found)
    throw SimulationError(fmt::format("touches {} bytes of shared memory at {:#x}, out of bounds: the CTA has {} bytes "
                                      "from {:#x} on",
                                      bytes, address, data.size(), sharedBase));
  return found;
}

Mbarrier &SharedMemory::barrier(uint64_t address) {
  auto found = barriers.find(address);
  if (found == barriers.end())
    throw SimulationError(fmt::format("uses an mbarrier at {:#x} that is not initialised", address));
  return found->second;
}

namespace {

void checkProxy(const Granule &granule, uint64_t address, std::span<const uint32_t> fences, const char *access) {
  if (granule.writer != 0 && fences[granule.writer - 1] <= granule.writerFences)
    throw SimulationError(fmt::format("{} shared memory at {:#x} by the async proxy, but thread {} has not executed "
                                      "fence.proxy.async since it wrote there (PTX line {})",
                                      access, address, granule.writer - 1, granule.writerLine));
}

} // namespace

void SharedMemory::checkAsyncRead(uint64_t address, std::span<const uint32_t> fences) {
  const Granule &now = granule(address);
  if (now.writers)
    throw SimulationError(fmt::format("reads shared memory at {:#x} before the copy of PTX line {} has arrived",
                                      address, now.pendingLine));
  checkProxy(now, address, fences, "reads");
}

void SharedMemory::checkAsyncWrite(uint64_t address, std::span<const uint32_t> fences) {
  const Granule &now = granule(address);
  if (now.writers)
    throw SimulationError(fmt::format("writes shared memory at {:#x} before the copy of PTX line {} has arrived there",
                                      address, now.pendingLine));
  if (now.readers)
    throw SimulationError(fmt::format("writes shared memory at {:#x} while the operation of PTX line {} still reads it",
                                      address, now.pendingLine));
  checkProxy(now, address, fences, "writes");
}

void SharedMemory::markRead(uint64_t address, int line, std::vector<Mark> &marks) {
  const auto index = uint32_t((address - sharedBase) / granuleBytes);
  ++granules[index].readers;
  granules[index].pendingLine = line;
  marks.push_back({this, index});
}

void SharedMemory::markWrite(uint64_t address, int line, std::vector<Mark> &marks) {
  const auto index = uint32_t((address - sharedBase) / granuleBytes);
  ++granules[index].writers;
  granules[index].pendingLine = line;
  marks.push_back({this, index});
}

void releaseReads(std::vector<Mark> &marks) {
  for (const Mark &mark : marks)
    --mark.memory->granuleAt(mark.granule).readers;
  marks.clear();
}

void releaseWrites(std::vector<Mark> &marks) {
  for (const Mark &mark : marks)
    --mark.memory->granuleAt(mark.granule).writers;
  marks.clear();
}

} // namespace sparsec::simulator
