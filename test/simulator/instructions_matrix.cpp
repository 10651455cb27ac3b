// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix instructions of one warp: ldmatrix, stmatrix and mma.sync.

#include "access.h"
#include "decoder.h"
#include "numbers.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace sparsec::simulator {

namespace {

constexpr uint64_t matrixRowBytes = 16;

//===----------------------------------------------------------------------===//
// ldmatrix and stmatrix: 8 x 8 elements of 16 bits, lanes 8 m to 8 m + 7 point to the rows of matrix m
//===----------------------------------------------------------------------===//

using Matrix = uint16_t[8][8];

template <bool isTransposed> void loadMatrices(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireAllLanes(mask);
  std::array<uint32_t, 4 * lanesOfWarp> result; // registers may overlap the addresses
  for (size_t m = 0; m < i.list.size(); ++m) {
    Matrix rows;
    for (int row = 0; row < 8; ++row) {
      warp.currentLane = int(8 * m) + row;
      const uint64_t address = warp.addressOf(i.addresses[0], warp.currentLane);
      if (address % matrixRowBytes != 0)
        throw SimulationError(fmt::format("the row at {:#x} is not aligned to 16 bytes", address));
      std::memcpy(rows[row], readShared(warp, address, matrixRowBytes), matrixRowBytes);
    }
    for (int lane = 0; lane < lanesOfWarp; ++lane) {
      const int row = lane / 4, column = lane % 4 * 2;
      const uint16_t low = isTransposed ? rows[column][row] : rows[row][column];
      const uint16_t high = isTransposed ? rows[column + 1][row] : rows[row][column + 1];
      result[m * lanesOfWarp + size_t(lane)] = low | uint32_t(high) << 16;
    }
  }
  warp.currentLane = -1;
  for (size_t m = 0; m < i.list.size(); ++m)
    std::copy_n(result.begin() + int64_t(m * lanesOfWarp), lanesOfWarp, warp.at(i.list[m]));
}

template <bool isTransposed> void storeMatrices(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireAllLanes(mask);
  for (size_t m = 0; m < i.list.size(); ++m) {
    Matrix rows;
    const uint32_t *words = warp.at(i.list[m]);
    for (int lane = 0; lane < lanesOfWarp; ++lane)
      for (int half = 0; half < 2; ++half) {
        const int row = lane / 4, column = lane % 4 * 2 + half;
        (isTransposed ? rows[column][row] : rows[row][column]) = uint16_t(words[lane] >> (16 * half));
      }
    for (int row = 0; row < 8; ++row) {
      warp.currentLane = int(8 * m) + row;
      const uint64_t address = warp.addressOf(i.addresses[0], warp.currentLane);
      if (address % matrixRowBytes != 0)
        throw SimulationError(fmt::format("the row at {:#x} is not aligned to 16 bytes", address));
      std::memcpy(writeShared(warp, address, matrixRowBytes, warp.currentLane), rows[row], matrixRowBytes);
    }
  }
  warp.currentLane = -1;
}

bool decodeLoadStoreMatrix(Decoder &d, bool isLoad) {
  for (const char *modifier : {"sync", "aligned", "m8n8", "b16"})
    d.require(modifier);
  const bool isTransposed = d.take("trans");
  d.out.space = d.takeSpace();
  if (d.out.space != Space::shared)
    d.fail("expects shared memory");
  for (const auto &[modifier, count] : {std::pair("x1", 1), std::pair("x2", 2), std::pair("x4", 4)})
    if (d.take(modifier))
      d.out.count = uint8_t(count);
  if (isLoad) {
    d.destinations(Type::b32);
    d.address();
  } else {
    d.address();
    d.sources(Type::b32);
  }
  if (d.out.list.size() != d.out.count)
    d.fail(fmt::format("expects {} registers, but got {}", d.out.count, d.out.list.size()));
  if (isLoad)
    d.finish(isTransposed ? loadMatrices<true> : loadMatrices<false>);
  else
    d.finish(isTransposed ? storeMatrices<true> : storeMatrices<false>);
  return true;
}

//===----------------------------------------------------------------------===//
// mma.sync: 16 x 8 results, a depth of 32 bytes
//===----------------------------------------------------------------------===//

/// Elements of 8 or 16 bits.
template <int elementBytes> struct Fragments {
  static constexpr int depth = 32 / elementBytes, perRegister = 4 / elementBytes;
  float a[16][depth], b[depth][8];

  Fragments(Warp &warp, const Instruction &i) {
    constexpr uint32_t ones = elementBytes == 1 ? 0xff : 0xffff;
    // The list has four registers of results, four of A, two of B, and four of C.
    for (int lane = 0; lane < lanesOfWarp; ++lane)
      for (int part = 0; part < perRegister; ++part) {
        const int k = lane % 4 * perRegister + part, shift = 8 * elementBytes * part;
        for (int r = 0; r < 4; ++r)
          a[lane / 4 + 8 * (r % 2)][k + depth / 2 * (r / 2)] =
              elementToFloat(uint16_t(warp.at(i.list[size_t(4 + r)])[lane] >> shift & ones), i.type);
        for (int r = 0; r < 2; ++r)
          b[k + depth / 2 * r][lane / 4] =
              elementToFloat(uint16_t(warp.at(i.list[size_t(8 + r)])[lane] >> shift & ones), i.source);
      }
  }
};

/// The sum of an instruction is rounded once, from double.
template <int elementBytes> void multiply(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireAllLanes(mask);
  const Fragments<elementBytes> fragments(warp, i);
  double sums[16][8];
  for (int r = 0; r < 4; ++r)
    for (int lane = 0; lane < lanesOfWarp; ++lane)
      sums[lane / 4 + 8 * (r / 2)][lane % 4 * 2 + r % 2] = warp.at<float>(i.list[size_t(10 + r)])[lane];
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < fragments.depth; ++k)
      for (int column = 0; column < 8; ++column)
        sums[row][column] += double(fragments.a[row][k]) * double(fragments.b[k][column]);
  for (int r = 0; r < 4; ++r)
    for (int lane = 0; lane < lanesOfWarp; ++lane)
      warp.at<float>(i.list[size_t(r)])[lane] = float(sums[lane / 4 + 8 * (r / 2)][lane % 4 * 2 + r % 2]);
}

bool decodeMultiply(Decoder &d) {
  for (const char *modifier : {"sync", "aligned", "row", "col"})
    d.require(modifier);
  const bool is16 = d.take("m16n8k16");
  if (!is16)
    d.require("m16n8k32");
  d.require("f32");
  d.out.type = d.takeType();
  d.out.source = d.takeType();
  d.require("f32");
  const auto isKnown = [&](Type type) {
    return is16 ? type == Type::f16 || type == Type::bf16 : type == Type::e4m3 || type == Type::e5m2;
  };
  if (!isKnown(d.out.type) || !isKnown(d.out.source))
    d.fail("does not know these types of operands");
  d.destinations(Type::b32);
  for (int operand = 0; operand < 3; ++operand)
    d.sources(Type::b32);
  if (d.out.list.size() != 14)
    d.fail("expects fragments of 4, 4, 2 and 4 registers");
  return d.finish(is16 ? multiply<2> : multiply<1>), true;
}

} // namespace

bool decodeMatrix(Decoder &d) {
  if (d.name() == "ldmatrix" || d.name() == "stmatrix")
    return decodeLoadStoreMatrix(d, d.name() == "ldmatrix");
  if (d.name() == "mma")
    return decodeMultiply(d);
  return false;
}

} // namespace sparsec::simulator
