// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers of CTAs and clusters, mbarriers, and fences.

#include "access.h"
#include "decoder.h"

#include <fmt/format.h>

namespace sparsec::simulator {

namespace {

//===----------------------------------------------------------------------===//
// Barriers of threads
//===----------------------------------------------------------------------===//

template <bool waits> void barrier(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireAllLanes(mask);
  const int lane = std::countr_zero(mask);
  const uint32_t number = warp.at(i.at[0])[lane], threads = i.flags ? warp.at(i.at[1])[lane] : 0;
  forLanes(mask, [&](int other) {
    if (warp.at(i.at[0])[other] != number)
      throw SimulationError("the lanes of a warp use different barriers");
  });
  warp.cta.arrive(warp, number, threads, waits);
}

void arriveAtCluster(Warp &warp, const Instruction &, uint32_t mask) {
  warp.requireAllLanes(mask);
  warp.cta.cluster.arrive(warp, mask);
}

void waitForCluster(Warp &warp, const Instruction &, uint32_t mask) {
  warp.requireAllLanes(mask);
  if (!warp.hasArrivedAtCluster)
    throw SimulationError("waits at the barrier of the cluster without an arrival");
  if (warp.cta.cluster.generation == warp.clusterGeneration)
    return warp.blockAndRepeat({Wait::Kind::clusterBarrier, nullptr, 0, warp.clusterGeneration});
  warp.hasArrivedAtCluster = false;
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

std::pair<SharedMemory *, uint64_t> barrierAt(Warp &warp, const Instruction &i, int lane) {
  const uint64_t address = warp.addressOf(i.addresses[0], lane);
  auto place = warp.cta.cluster.resolve(warp.cta, address >= sharedWindow ? address - sharedWindow : address, i.space);
  if (place.second % 8 != 0)
    throw SimulationError(fmt::format("the mbarrier at {:#x} is not aligned to 8 bytes", address));
  place.first->get(place.second, 8);
  return place;
}

void initialise(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    auto [shared, address] = barrierAt(warp, i, lane);
    const uint32_t count = warp.at(i.at[0])[lane];
    if (count == 0 || count >= 1u << 20)
      throw SimulationError(fmt::format("initialises an mbarrier for {} arrivals", count));
    if (!shared->barriers.try_emplace(address, Mbarrier{count, count, 0, 0, false}).second)
      throw SimulationError(fmt::format("initialises the mbarrier at {:#x} again", address));
  });
}

void invalidate(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    auto [shared, address] = barrierAt(warp, i, lane);
    shared->barrier(address);
    shared->barriers.erase(address);
  });
}

/// With flags the second operand is a number of bytes, else a number of arrivals.
enum Arrival : uint32_t { plain, counted, expectingBytes };

void arrive(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    warp.currentLane = lane;
    auto [shared, address] = barrierAt(warp, i, lane);
    if (i.flags == expectingBytes)
      shared->barrier(address).bytes += warp.at(i.at[1])[lane];
    warp.cta.cluster.machine.arriveAt(*shared, address, i.flags == counted ? warp.at(i.at[1])[lane] : 1);
  });
  warp.currentLane = -1;
}

void expectBytes(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    auto [shared, address] = barrierAt(warp, i, lane);
    shared->barrier(address).bytes += warp.at(i.at[1])[lane];
  });
}

/// A phase that is not complete: now and then the wait ends without it, as the hardware's may. `flags` is set where it
/// may not suspend the warp.
void waitForPhase(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t complete = 0;
  std::pair<SharedMemory *, uint64_t> missing = {};
  uint32_t parity = 0;
  forLanes(mask, [&](int lane) {
    auto place = barrierAt(warp, i, lane);
    const uint32_t wanted = warp.at(i.at[1])[lane] & 1;
    if ((place.first->barrier(place.second).phase & 1) != wanted) {
      complete |= 1u << lane;
    } else {
      missing = place;
      parity = wanted;
    }
  });
  constexpr uint32_t earlyEnds = 4;
  const bool suspends = i.flags == 0 && complete != mask && warp.cta.cluster.machine.pick(earlyEnds) != 0;
  if (suspends)
    return warp.blockAndRepeat({Wait::Kind::mbarrier, missing.first, missing.second, parity});
  warp.setPredicate(i.at[0], mask, complete);
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

void fenceOfProxies(Warp &warp, const Instruction &, uint32_t mask) {
  forLanes(mask, [&](int lane) { ++warp.cta.proxyFences[warp.threadOf(lane)]; });
}

void fenceOfBarriers(Warp &warp, const Instruction &, uint32_t) {
  for (auto &[address, barrier] : warp.cta.shared.barriers)
    barrier.isVisibleToCopies = true;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

bool decodeThreadBarrier(Decoder &d) {
  if (d.take("cluster")) {
    d.take("aligned");
    if (d.take("wait")) {
      d.take("acquire");
      return d.finish(waitForCluster), true;
    }
    d.require("arrive");
    for (const char *modifier : {"release", "relaxed"})
      d.take(modifier);
    return d.finish(arriveAtCluster), true;
  }
  d.take("cta");
  const bool waits = d.take("sync");
  if (!waits)
    d.require("arrive");
  d.take("aligned");
  d.out.at[0] = d.source(Type::u32);
  d.out.flags = d.operandsLeft() != 0;
  if (d.out.flags)
    d.out.at[1] = d.source(Type::u32);
  return d.finish(waits ? barrier<true> : barrier<false>), true;
}

bool decodeArrive(Decoder &d) {
  const bool expects = d.take("expect_tx");
  for (const char *modifier : {"release", "relaxed", "cta", "cluster"})
    d.take(modifier);
  d.out.space = d.takeSpace();
  d.require("b64");
  d.destination(Type::b64);
  d.address();
  d.out.flags = expects ? expectingBytes : plain;
  if (d.operandsLeft() != 0) {
    d.out.at[1] = d.source(Type::u32);
    if (!expects)
      d.out.flags = counted;
  }
  return d.finish(arrive), true;
}

bool decodeMbarrier(Decoder &d) {
  if (d.take("arrive"))
    return decodeArrive(d);
  for (const char *modifier : {"acquire", "relaxed", "cta", "cluster"})
    d.take(modifier);
  d.out.space = d.takeSpace();
  d.require("b64");
  if (d.take("init")) {
    d.address();
    d.out.at[0] = d.source(Type::u32);
    return d.finish(initialise), true;
  }
  if (d.take("inval")) {
    d.address();
    return d.finish(invalidate), true;
  }
  if (d.take("expect_tx")) {
    d.address();
    d.out.at[1] = d.source(Type::u32);
    return d.finish(expectBytes), true;
  }
  const bool isTest = d.take("test_wait");
  if (!isTest)
    d.require("try_wait");
  d.require("parity");
  d.out.flags = isTest;
  d.out.at[0] = d.destination(Type::pred);
  d.address();
  d.out.at[1] = d.source(Type::u32);
  if (d.operandsLeft() != 0)
    d.source(Type::u32); // the longest time to suspend the thread
  return d.finish(waitForPhase), true;
}

bool decodeFence(Decoder &d) {
  if (d.take("proxy")) {
    if (d.take("async")) {
      d.takeSpace();
      return d.finish(fenceOfProxies), true;
    }
    d.require("tensormap::generic");
  }
  const bool isOfBarriers = d.take("mbarrier_init");
  for (const char *modifier : {"release", "acquire", "acq_rel", "sc", "cta", "cluster", "gpu", "sys"})
    d.take(modifier);
  return d.finish(isOfBarriers ? fenceOfBarriers : nothing), true;
}

} // namespace

bool decodeBarrier(Decoder &d) {
  if (d.name() == "bar" || d.name() == "barrier")
    return decodeThreadBarrier(d);
  if (d.name() == "mbarrier")
    return decodeMbarrier(d);
  if (d.name() == "fence")
    return decodeFence(d);
  if (d.name() == "membar") {
    if (!d.take("cta") && !d.take("gl"))
      d.require("sys");
    return d.finish(nothing), true;
  }
  return false;
}

} // namespace sparsec::simulator
