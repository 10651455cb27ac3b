// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, stores and atomics.

#include "access.h"
#include "decoder.h"

#include <cstring>
#include <fmt/format.h>

namespace sparsec::simulator {

//===----------------------------------------------------------------------===//
// Accesses of one lane
//===----------------------------------------------------------------------===//

int currentLine(const Warp &warp) {
  const Launch &launch = warp.cta.cluster.machine.launch;
  return launch.program->code[warp.next - 1].line;
}

PlacedAddress placeAddress(Warp &warp, Space space, uint64_t address) {
  if (space != Space::generic)
    return {space, address};
  if (address >= localWindow)
    return {Space::local, address - localWindow};
  if (address >= sharedWindow)
    return {Space::sharedCluster, address - sharedWindow};
  return {Space::global, address};
}

void checkGlobal(Machine &machine, uint64_t address, uint64_t bytes, bool isWrite) {
  DeviceMemory::Allocation &recent = machine.recent;
  if (address >= recent.begin && address + bytes <= recent.end && !(isWrite && recent.isReadOnly))
    return;
  machine.memory.check(address, bytes, isWrite);
  recent = *machine.memory.find(address);
}

namespace {

void requireAlignment(uint64_t address, uint64_t bytes) {
  if (address % bytes != 0)
    throw SimulationError(fmt::format("accesses {} bytes at {:#x}, which is not aligned to them", bytes, address));
}

} // namespace

const uint8_t *readShared(Warp &warp, uint64_t address, uint64_t bytes, Space space) {
  auto [shared, offset] = warp.cta.cluster.resolve(warp.cta, address, space);
  const uint8_t *data = shared->get(offset, bytes);
  const Granule &granule = shared->granule(offset);
  if (granule.writers)
    throw SimulationError(fmt::format("reads shared memory at {:#x} before the copy of PTX line {} has arrived",
                                      address, granule.pendingLine));
  if (shared->hasBarrier(offset))
    throw SimulationError(fmt::format("reads the mbarrier at {:#x} as if it were data", address));
  return data;
}

uint8_t *writeShared(Warp &warp, uint64_t address, uint64_t bytes, int lane, Space space) {
  auto [shared, offset] = warp.cta.cluster.resolve(warp.cta, address, space);
  uint8_t *data = shared->get(offset, bytes);
  Granule &granule = shared->granule(offset);
  if (granule.writers || granule.readers)
    throw SimulationError(fmt::format("writes shared memory at {:#x} while the operation of PTX line {} still {} it",
                                      address, granule.pendingLine, granule.writers ? "writes" : "reads"));
  if (shared->hasBarrier(offset))
    throw SimulationError(fmt::format("writes the mbarrier at {:#x} as if it were data", address));
  // No proxy fences of other CTAs are known.
  if (shared == &warp.cta.shared) {
    granule.writer = warp.threadOf(lane) + 1;
    granule.writerFences = warp.cta.proxyFences[granule.writer - 1];
    granule.writerLine = currentLine(warp);
  }
  return data;
}

const uint8_t *readBytes(Warp &warp, Space space, uint64_t address, uint64_t bytes, int lane) {
  requireAlignment(address, bytes);
  const PlacedAddress placed = placeAddress(warp, space, address);
  Machine &machine = warp.cta.cluster.machine;
  switch (placed.space) {
  case Space::local:
    return warp.localMemory(lane, placed.address, bytes);
  case Space::param:
    if (placed.address + bytes > machine.launch.parameters.size())
      throw SimulationError("reads beyond the parameters");
    return machine.launch.parameters.data() + placed.address;
  case Space::shared:
  case Space::sharedCluster:
    return readShared(warp, placed.address, bytes, placed.space);
  default:
    checkGlobal(machine, placed.address, bytes, /*isWrite=*/false);
    return reinterpret_cast<const uint8_t *>(placed.address);
  }
}

uint8_t *writeBytes(Warp &warp, Space space, uint64_t address, uint64_t bytes, int lane) {
  requireAlignment(address, bytes);
  const PlacedAddress placed = placeAddress(warp, space, address);
  switch (placed.space) {
  case Space::local:
    return warp.localMemory(lane, placed.address, bytes);
  case Space::shared:
  case Space::sharedCluster:
    return writeShared(warp, placed.address, bytes, lane, placed.space);
  case Space::global:
    warp.requireBehindFront(lane);
    checkGlobal(warp.cta.cluster.machine, placed.address, bytes, /*isWrite=*/true);
    return reinterpret_cast<uint8_t *>(placed.address);
  default:
    throw SimulationError("writes to a space of constants");
  }
}

namespace {

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

template <class T> void loadVector(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint64_t bytes = sizeof(T) * i.list.size();
  forLanes(mask, [&](int lane) {
    warp.currentLane = lane;
    const uint8_t *data = readBytes(warp, i.space, warp.addressOf(i.addresses[0], lane), bytes, lane);
    for (size_t k = 0; k < i.list.size(); ++k) {
      T value;
      std::memcpy(&value, data + k * sizeof(T), sizeof(T));
      // Wider registers get the extended value.
      if (i.wide >> k & 1)
        warp.at<uint64_t>(i.list[k])[lane] = uint64_t(int64_t(value));
      else if constexpr (sizeof(T) == 2)
        warp.at(i.list[k])[lane] = i.flags ? uint32_t(int32_t(value)) : uint16_t(value);
      else
        warp.at(i.list[k])[lane] = uint32_t(int32_t(value));
    }
  });
  warp.currentLane = -1;
}

template <class T> void storeVector(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint64_t bytes = sizeof(T) * i.list.size();
  forLanes(mask, [&](int lane) {
    warp.currentLane = lane;
    uint8_t *data = writeBytes(warp, i.space, warp.addressOf(i.addresses[0], lane), bytes, lane);
    for (size_t k = 0; k < i.list.size(); ++k) {
      const T value = i.wide >> k & 1 ? T(warp.at<uint64_t>(i.list[k])[lane]) : T(warp.at(i.list[k])[lane]);
      std::memcpy(data + k * sizeof(T), &value, sizeof(T));
    }
  });
  warp.currentLane = -1;
}

Handler loadOf(Type type) {
  switch (bytesOf(type)) {
  case 1:
    return isSigned(type) ? loadVector<int8_t> : loadVector<uint8_t>;
  case 2:
    return isSigned(type) ? loadVector<int16_t> : loadVector<uint16_t>;
  case 4:
    return isSigned(type) ? loadVector<int32_t> : loadVector<uint32_t>;
  default:
    return loadVector<uint64_t>;
  }
}

Handler storeOf(Type type) {
  switch (bytesOf(type)) {
  case 1:
    return storeVector<uint8_t>;
  case 2:
    return storeVector<uint16_t>;
  case 4:
    return storeVector<uint32_t>;
  default:
    return storeVector<uint64_t>;
  }
}

/// Modifiers that say how to cache or order, which a machine that executes everything in order does anyway.
void takeMemoryModifiers(Decoder &d) {
  for (const char *modifier : {"volatile",
                               "relaxed",
                               "acquire",
                               "release",
                               "weak",
                               "cta",
                               "cluster",
                               "gpu",
                               "sys",
                               "nc",
                               "ca",
                               "cg",
                               "cs",
                               "wb",
                               "wt",
                               "L1::no_allocate",
                               "L1::evict_last",
                               "L1::evict_first",
                               "L2::128B",
                               "L2::256B"})
    d.take(modifier);
}

/// Whether the next operand, or the elements of its vector, are registers of 64 bits.
bool hasWideRegisters(Decoder &d, Type type) {
  const ParsedOperand &operand = d.peek();
  if (operand.kind == ParsedOperand::Kind::vector)
    return !operand.parts.empty() && (isWide(type) || d.isWideRegister(operand.parts[0]));
  return isWide(type) || d.isWideRegister(operand);
}

void takeCount(Decoder &d) {
  for (const auto &[modifier, count] : {std::pair("v2", 2), std::pair("v4", 4), std::pair("v8", 8)})
    if (d.take(modifier))
      d.out.count = uint8_t(count);
}

bool decodeLoadOrStore(Decoder &d, bool isLoad) {
  takeMemoryModifiers(d);
  takeCount(d);
  d.out.space = d.takeSpace();
  const Type type = d.out.type = d.takeType();
  if (!isLoad)
    d.address();
  const bool isWideData = hasWideRegisters(d, type);
  isLoad ? d.destinations(isWideData ? Type::b64 : Type::b32) : d.sources(isWideData ? Type::b64 : Type::b32);
  if (isLoad)
    d.address();
  if (d.out.list.size() != d.out.count)
    d.fail(fmt::format("expects {} elements, but got {}", d.out.count, d.out.list.size()));
  d.out.wide = isWideData ? 0xff : 0;
  d.finish(isLoad ? loadOf(type) : storeOf(type));
  return true;
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

enum class Atomic : uint32_t { add, min, max, inc, dec, exchange, bitAnd, bitOr, bitXor, compareAndSwap };

template <class T> T update(Atomic operation, T old, T value, T other) {
  switch (operation) {
  case Atomic::add:
    return T(old + value);
  case Atomic::min:
    return std::min(old, value);
  case Atomic::max:
    return std::max(old, value);
  case Atomic::inc:
    return old >= value ? T(0) : T(old + 1);
  case Atomic::dec:
    return old == T(0) || old > value ? value : T(old - 1);
  case Atomic::exchange:
    return value;
  case Atomic::compareAndSwap:
    return old == value ? other : old;
  default:
    break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (operation == Atomic::bitAnd)
      return old & value;
    return operation == Atomic::bitOr ? T(old | value) : T(old ^ value);
  }
  throw SimulationError("does not know this atomic of floats");
}

template <class T> void atomic(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    warp.currentLane = lane;
    uint8_t *data = writeBytes(warp, i.space, warp.addressOf(i.addresses[0], lane), sizeof(T), lane);
    T old;
    std::memcpy(&old, data, sizeof(T));
    const T result = update<T>(Atomic(i.flags), old, warp.at<T>(i.at[1])[lane], warp.at<T>(i.at[2])[lane]);
    std::memcpy(data, &result, sizeof(T));
    warp.at<T>(i.at[0])[lane] = old;
  });
  warp.currentLane = -1;
}

bool decodeAtomic(Decoder &d, bool hasResult) {
  takeMemoryModifiers(d);
  d.take("acq_rel");
  d.out.space = d.takeSpace();
  const Type type = d.takeType();
  constexpr std::pair<std::string_view, Atomic> names[] = {
      {"add", Atomic::add},    {"min", Atomic::min},           {"max", Atomic::max},    {"inc", Atomic::inc},
      {"dec", Atomic::dec},    {"exch", Atomic::exchange},     {"and", Atomic::bitAnd}, {"or", Atomic::bitOr},
      {"xor", Atomic::bitXor}, {"cas", Atomic::compareAndSwap}};
  const std::string name = d.takeNext();
  const auto *found =
      std::find_if(std::begin(names), std::end(names), [&](const auto &each) { return each.first == name; });
  if (found == std::end(names))
    d.fail(fmt::format("does not know the operation .{}", name));
  d.out.flags = uint32_t(found->second);
  // The place of the special registers' sink takes what a reduction does not return.
  d.out.at[0] = hasResult ? d.destination(type) : Place(SpecialRegister::count);
  d.address();
  d.out.at[1] = d.source(type);
  d.out.at[2] = found->second == Atomic::compareAndSwap ? d.source(type) : d.out.at[1];
  if (type == Type::f32)
    d.finish(atomic<float>);
  else if (isWide(type))
    d.finish(isSigned(type) ? atomic<int64_t> : atomic<uint64_t>);
  else
    d.finish(isSigned(type) ? atomic<int32_t> : atomic<uint32_t>);
  return true;
}

} // namespace

bool decodeMemory(Decoder &d) {
  if (d.name() == "ld" || d.name() == "ldu")
    return decodeLoadOrStore(d, /*isLoad=*/true);
  if (d.name() == "st")
    return decodeLoadOrStore(d, /*isLoad=*/false);
  if (d.name() == "atom")
    return decodeAtomic(d, /*hasResult=*/true);
  if (d.name() == "red")
    return decodeAtomic(d, /*hasResult=*/false);
  if (d.name() == "prefetch" || d.name() == "prefetchu") {
    d.out.space = d.takeSpace();
    for (const char *modifier : {"tensormap", "L1", "L2"})
      d.take(modifier);
    d.address();
    return d.finish(nothing), true;
  }
  return false;
}

} // namespace sparsec::simulator
