// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asynchronous copies: cp.async of one thread, and tensor copies by the async proxy. The data move at once. Until a
// copy is known to be complete, everything that touches what it reads or writes is an error.

#include "access.h"
#include "decoder.h"
#include "tensor_map.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace sparsec::simulator {

namespace {

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

/// The list may have the bytes that are read; the others become zeros.
void copyToShared(Warp &warp, const Instruction &i, uint32_t mask) {
  Machine &machine = warp.cta.cluster.machine;
  if (warp.openCopies.empty())
    warp.openCopies.emplace_back();
  AsyncGroup &group = warp.openCopies.back();
  group.line = i.line;
  const auto bytes = uint64_t(i.immediate);
  forLanes(mask, [&](int lane) {
    warp.currentLane = lane;
    const uint64_t to = warp.addressOf(i.addresses[0], lane), from = warp.addressOf(i.addresses[1], lane);
    const uint64_t count = i.list.empty() ? bytes : warp.at(i.list[0])[lane];
    if (to % bytes != 0 || (count != 0 && from % bytes != 0))
      throw SimulationError(
          fmt::format("copies {} bytes from {:#x} to {:#x}, which are not aligned to them", bytes, from, to));
    if (count > bytes)
      throw SimulationError(fmt::format("reads {} bytes for a copy of {}", count, bytes));
    uint8_t *data = writeShared(warp, to, bytes, lane);
    if (count != 0) {
      warp.requireBehindFront(lane);
      checkGlobal(machine, from, count, /*isWrite=*/false);
      std::memcpy(data, reinterpret_cast<const void *>(from), count);
    }
    std::memset(data + count, 0, bytes - count);
    group.writes.push_back({{&warp.cta.shared, uint32_t((to - sharedBase) / granuleBytes)}, warp.threadOf(lane)});
  });
  warp.currentLane = -1;
  // Copies of 4 and 8 bytes share granules: they are marked when the instruction has written all of them.
  const auto first = group.writes.end() - std::popcount(mask);
  for (auto write = first; write != group.writes.end(); ++write)
    warp.cta.shared.markWrite(sharedBase + uint64_t(write->mark.granule) * granuleBytes, i.line, group.marks);
}

void commitCopies(Warp &warp, const Instruction &, uint32_t mask) {
  warp.requireAllLanes(mask);
  if (warp.openCopies.empty())
    warp.openCopies.emplace_back();
  warp.copyGroups.push_back(std::move(warp.openCopies.back()));
  warp.openCopies.clear();
}

void waitForCopies(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireAllLanes(mask);
  while (int64_t(warp.copyGroups.size()) > i.immediate) {
    AsyncGroup &group = warp.copyGroups.front();
    completeWrites(warp.cta, group.writes, group.marks);
    warp.copyGroups.erase(warp.copyGroups.begin());
  }
}

/// The threads arrive at their mbarrier, which expects them, when the copies that are in no group yet are there. Those
/// of groups are not known here.
void arriveWithCopies(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireAllLanes(mask);
  if (!warp.copyGroups.empty() &&
      std::ranges::any_of(warp.copyGroups, [](auto &group) { return !group.marks.empty(); }))
    throw SimulationError("arrives with copies of groups, which is not known here");
  auto barrierOf = [&](int lane) {
    return warp.cta.cluster.resolve(warp.cta, warp.addressOf(i.addresses[0], lane), i.space).second;
  };
  CopyOnTheWay copy = {0, &warp.cta, barrierOf(0), 0, {}, {}, lanesOfWarp, i.line};
  forLanes(mask, [&](int lane) {
    if (barrierOf(lane) != copy.barrier)
      throw SimulationError("the threads of a warp arrive at several mbarriers with their copies");
  });
  if (!warp.openCopies.empty()) {
    copy.marks = std::move(warp.openCopies.back().marks);
    copy.writes = std::move(warp.openCopies.back().writes);
    warp.openCopies.clear();
  }
  warp.cta.cluster.machine.send(std::move(copy));
}

void waitForAllCopies(Warp &warp, const Instruction &i, uint32_t mask) {
  commitCopies(warp, i, mask);
  waitForCopies(warp, i, mask);
}

//===----------------------------------------------------------------------===//
// Tensor copies
//===----------------------------------------------------------------------===//

const TensorMap &mapAt(Warp &warp, uint64_t address) {
  constexpr uint64_t alignment = 64;
  if (address % alignment != 0)
    throw SimulationError(fmt::format("the tensor map at {:#x} is not aligned to 64 bytes", address));
  checkGlobal(warp.cta.cluster.machine, address, sizeof(TensorMap), /*isWrite=*/false);
  return *reinterpret_cast<const TensorMap *>(address);
}

std::vector<int32_t> coordinatesOf(Warp &warp, const Instruction &i, int lane) {
  std::vector<int32_t> coordinates;
  coordinates.reserve(i.count);
  for (int dimension = 0; dimension < i.count; ++dimension)
    coordinates.push_back(warp.at<int32_t>(i.list[size_t(dimension)])[lane]);
  return coordinates;
}

struct TensorLoad {
  const TensorMap &map;
  std::vector<int32_t> coordinates;
  uint64_t destination, barrier; // in the shared memory of a CTA
};

void loadInto(Cta &cta, const TensorLoad &load, int line) {
  Machine &machine = cta.cluster.machine;
  const Mbarrier &barrier = cta.shared.barrier(load.barrier);
  if (!barrier.isVisibleToCopies)
    throw SimulationError(fmt::format("no fence.mbarrier_init or fence.proxy.async follows the initialisation of the "
                                      "mbarrier at {:#x}",
                                      load.barrier));
  CopyOnTheWay copy = {0, &cta, load.barrier, int64_t(boxBytes(load.map)), {}, {}, 0, line};
  forEachPart(load.map, load.coordinates, load.destination, [&](const BoxPart &part) {
    uint8_t *data = cta.shared.get(part.shared, granuleBytes);
    cta.shared.checkAsyncWrite(part.shared, cta.proxyFences);
    std::memset(data, 0, granuleBytes);
    if (part.bytes != 0) {
      checkGlobal(machine, part.global, part.bytes, /*isWrite=*/false);
      std::memcpy(data + part.first, reinterpret_cast<const void *>(part.global), part.bytes);
    }
    cta.shared.granule(part.shared).writer = 0;
    cta.shared.markWrite(part.shared, line, copy.marks);
  });
  machine.send(std::move(copy));
}

/// The last of the list is the mask of CTAs for which a copy is, in `flags`.
void loadTensor(Warp &warp, const Instruction &i, uint32_t mask) {
  Cta &own = warp.cta;
  forLanes(mask, [&](int lane) {
    warp.currentLane = lane;
    warp.requireBehindFront(lane);
    auto [shared, destination] = own.cluster.resolve(own, warp.addressOf(i.addresses[0], lane), i.space);
    auto [owner, barrier] = own.cluster.resolve(own, warp.addressOf(i.addresses[2], lane), i.space);
    if (shared != &own.shared || owner != &own.shared)
      throw SimulationError("copies to another CTA without .multicast, which is not known here");
    const TensorLoad load = {mapAt(warp, warp.addressOf(i.addresses[1], lane)), coordinatesOf(warp, i, lane),
                             destination, barrier};
    if (!i.flags)
      return loadInto(own, load, i.line);
    const uint32_t ctas = warp.at(i.list[i.count])[lane];
    for (uint32_t rank = 0; rank < 16; ++rank)
      if (ctas >> rank & 1) {
        own.cluster.sharedOf(rank);
        loadInto(*own.cluster.ctas[rank], load, i.line);
      }
  });
  warp.currentLane = -1;
}

void storeTensor(Warp &warp, const Instruction &i, uint32_t mask) {
  Cta &cta = warp.cta;
  Machine &machine = cta.cluster.machine;
  forLanes(mask, [&](int lane) {
    warp.currentLane = lane;
    warp.requireBehindFront(lane);
    const TensorMap &map = mapAt(warp, warp.addressOf(i.addresses[0], lane));
    auto group =
        std::find_if(warp.openBulk.begin(), warp.openBulk.end(), [&](auto &each) { return each.lane == lane; });
    if (group == warp.openBulk.end())
      group = warp.openBulk.insert(group, AsyncGroup{lane, {}, {}, i.line});
    forEachPart(map, coordinatesOf(warp, i, lane), warp.addressOf(i.addresses[1], lane), [&](const BoxPart &part) {
      const uint8_t *data = cta.shared.get(part.shared, granuleBytes);
      cta.shared.checkAsyncRead(part.shared, cta.proxyFences);
      if (part.bytes != 0) {
        checkGlobal(machine, part.global, part.bytes, /*isWrite=*/true);
        std::memcpy(reinterpret_cast<void *>(part.global), data + part.first, part.bytes);
      }
      cta.shared.markRead(part.shared, i.line, group->marks);
    });
  });
  warp.currentLane = -1;
}

void commitBulk(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    auto open = std::find_if(warp.openBulk.begin(), warp.openBulk.end(), [&](auto &each) { return each.lane == lane; });
    if (open == warp.openBulk.end()) {
      warp.bulkGroups.push_back(AsyncGroup{lane, {}, {}, i.line});
      return;
    }
    warp.bulkGroups.push_back(std::move(*open));
    warp.openBulk.erase(open);
  });
}

/// The oldest groups of a thread are complete, or have read their shared memory.
void waitForBulk(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    auto isMine = [&](const AsyncGroup &each) { return each.lane == lane; };
    int64_t surplus = std::count_if(warp.bulkGroups.begin(), warp.bulkGroups.end(), isMine) - i.immediate;
    std::erase_if(warp.bulkGroups, [&](AsyncGroup &group) {
      if (!isMine(group) || surplus-- <= 0)
        return false;
      releaseReads(group.marks);
      return true;
    });
  });
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

bool decodeCopyToShared(Decoder &d) {
  if (!d.take("ca"))
    d.require("cg");
  for (const char *modifier : {"L2::128B", "L2::256B"})
    d.take(modifier);
  d.out.space = d.takeSpace();
  d.require("global");
  d.address();
  d.address();
  d.out.immediate = d.immediate();
  if (d.operandsLeft() != 0)
    d.sources(Type::u32);
  return d.finish(copyToShared), true;
}

bool decodeTensorCopy(Decoder &d) {
  for (int rank = 1; rank <= TensorMap::mostDimensions; ++rank)
    if (d.take(fmt::format("{}d", rank)))
      d.out.count = uint8_t(rank);
  d.take("tile");
  if (d.take("bulk_group")) {
    d.require("global");
    d.out.space = d.takeSpace();
    d.address();
    d.address();
    return d.finish(storeTensor), true;
  }
  for (const char *modifier : {"global", "mbarrier::complete_tx::bytes"})
    d.require(modifier);
  d.out.space = d.takeSpace();
  d.out.flags = d.take("multicast::cluster");
  d.address();
  d.address();
  d.address();
  if (d.out.flags)
    d.sources(Type::b16);
  if (d.take("L2::cache_hint"))
    d.source(Type::b64); // there is no L2
  return d.finish(loadTensor), true;
}

bool decodeBulk(Decoder &d) {
  if (d.take("commit_group"))
    return d.finish(commitBulk), true;
  if (d.take("wait_group")) {
    d.take("read");
    d.out.immediate = d.immediate();
    return d.finish(waitForBulk), true;
  }
  d.require("tensor");
  return decodeTensorCopy(d);
}

} // namespace

bool decodeAsync(Decoder &d) {
  if (d.name() != "cp")
    return false;
  d.require("async");
  if (d.take("bulk"))
    return decodeBulk(d);
  if (d.take("commit_group"))
    return d.finish(commitCopies), true;
  if (d.take("mbarrier")) {
    for (const char *modifier : {"arrive", "noinc"})
      d.require(modifier);
    d.out.space = d.takeSpace();
    d.require("b64");
    d.address();
    return d.finish(arriveWithCopies), true;
  }
  if (d.take("wait_group")) {
    d.out.immediate = d.immediate();
    return d.finish(waitForCopies), true;
  }
  if (d.take("wait_all"))
    return d.finish(waitForAllCopies), true;
  return decodeCopyToShared(d);
}

} // namespace sparsec::simulator
