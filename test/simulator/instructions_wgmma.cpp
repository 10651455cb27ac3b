// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// WGMMA. Each warp computes its 16 rows when it issues the instruction. Until the wait that covers it, its registers
// and the shared memory that it reads are in use: everything that touches them is an error.

#include "access.h"
#include "decoder.h"
#include "numbers.h"
#include "tensor_map.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace sparsec::simulator {

namespace {

constexpr int warpRows = 16, mostColumns = 256, mostDepth = 32;

enum Flag : uint32_t { aInRegisters = 1, aIsTransposed = 2, bIsTransposed = 4 };

/// An operand in shared memory (PTX ISA, "Matrix descriptor").
struct Descriptor {
  uint64_t start, leading, stride;
  int swizzle; // bits: 0 to 3, of 16, 32, 64 or 128 bytes

  explicit Descriptor(uint64_t bits) {
    constexpr uint64_t field = 0x3fff;
    start = (bits & field) << 4;
    leading = (bits >> 16 & field) << 4;
    stride = (bits >> 32 & field) << 4;
    constexpr int swizzles[] = {0, 3, 2, 1};
    swizzle = swizzles[bits >> 62];
    if (bits >> 49 & 7)
      throw SimulationError("a matrix descriptor has a base offset, which is not known here");
  }

  uint64_t spanBytes() const { return uint64_t(16) << swizzle; }

  /// The address of 16 bytes: rows are those of the operand's other dimension where K is contiguous, else those of K.
  /// `unit` counts 16 bytes along the contiguous dimension.
  uint64_t address(bool isKContiguous, uint64_t row, uint64_t unit) const {
    const uint64_t span = spanBytes(), panel = 16 * unit / span, inPanel = 16 * unit % span;
    // Without a swizzle and with the other dimension contiguous, the two offsets change their roles.
    const bool areExchanged = swizzle == 0 && !isKContiguous;
    const uint64_t ofPanel = areExchanged ? stride : leading, ofGroup = areExchanged ? leading : stride;
    return swizzledAddress(start + row / 8 * ofGroup + row % 8 * span + panel * ofPanel + inPanel, swizzle);
  }
};

/// Reads `rows` x `depth` elements of an operand, as [k][row], and marks what it reads.
class OperandReader {
public:
  OperandReader(Warp &warp, const Instruction &i, std::vector<Mark> &marks) : warp(warp), line(i.line), marks(marks) {}

  void read(uint64_t descriptor, Type type, bool isTransposed, int firstRow, int rows, int depth, float *out,
            int pitch) {
    const Descriptor matrix(descriptor);
    const int perUnit = int(granuleBytes / bytesOf(type));
    const int lines = isTransposed ? depth : rows, units = (isTransposed ? rows : depth) / perUnit;
    const int firstLine = isTransposed ? 0 : firstRow, firstUnit = isTransposed ? firstRow / perUnit : 0;
    for (int row = 0; row < lines; ++row)
      for (int unit = 0; unit < units; ++unit) {
        const uint8_t *data =
            touch(matrix.address(!isTransposed, uint64_t(firstLine + row), uint64_t(firstUnit + unit)));
        for (int e = 0; e < perUnit; ++e) {
          uint16_t bits = 0;
          std::memcpy(&bits, data + size_t(e) * bytesOf(type), bytesOf(type));
          const int along = unit * perUnit + e;
          out[isTransposed ? row * pitch + along : along * pitch + row] = elementToFloat(bits, type);
        }
      }
  }

private:
  const uint8_t *touch(uint64_t address) {
    SharedMemory &shared = warp.cta.shared;
    const uint8_t *data = shared.get(address, granuleBytes);
    shared.checkAsyncRead(address, warp.cta.proxyFences);
    shared.markRead(address, line, marks);
    return data;
  }

  Warp &warp;
  int line;
  std::vector<Mark> &marks;
};

/// The four warps of a warpgroup execute the same instruction with the same descriptors.
void compareWithOthers(Warp &warp, const Instruction &i, uint64_t a, uint64_t b) {
  Warpgroup &group = warp.cta.warpgroups[warp.index / 4];
  const uint64_t number = group.issued[warp.index % 4]++;
  if (number - group.firstIssue == group.issues.size()) {
    group.issues.push_back({i.line, a, b});
  } else {
    const Warpgroup::Issue &first = group.issues[number - group.firstIssue];
    if (first.line != i.line || first.a != a || first.b != b)
      throw SimulationError(
          fmt::format("the warps of a warpgroup issue different WGMMAs: another has PTX line {} and the "
                      "descriptors {:#x} and {:#x}, this one {:#x} and {:#x}",
                      first.line, first.a, first.b, a, b));
  }
  const uint64_t slowest = *std::min_element(std::begin(group.issued), std::end(group.issued));
  for (; group.firstIssue < slowest; ++group.firstIssue)
    group.issues.pop_front();
}

uint64_t uniform(const uint64_t *lanes, uint32_t mask) {
  const uint64_t first = lanes[std::countr_zero(mask)];
  forLanes(mask, [&](int lane) {
    if (lanes[lane] != first)
      throw SimulationError("the lanes of a warp have different matrix descriptors");
  });
  return first;
}

void use(Warp &warp, Place place, RegisterUse kind) {
  if (warp.accessedAt[size_t(place)] >= warp.fences)
    throw SimulationError("no wgmma.fence follows the instruction that accessed a register of this WGMMA");
  RegisterUse &now = warp.uses[size_t(place)];
  if (now != RegisterUse::none && now != kind)
    throw SimulationError(
        "a register is the accumulator of one WGMMA and an operand of another that is not waited for");
  now = kind;
  warp.openRegisters.push_back({place, kind});
}

/// One WGMMA of one warp. The list has the accumulators, then A where it is in registers.
class Wgmma {
public:
  Wgmma(Warp &warp, const Instruction &i) : warp(warp), i(i), columns(i.count * 8), depth(int(32 / bytesOf(i.type))) {}

  void run(uint32_t mask) {
    warp.requireAllLanes(mask);
    if (mask != allLanes)
      throw SimulationError("a warp that is not full issues a WGMMA");
    const bool hasRegisters = i.flags & aInRegisters;
    const uint64_t a = hasRegisters ? 0 : uniform(warp.at<uint64_t>(i.at[0]), mask);
    const uint64_t b = uniform(warp.at<uint64_t>(i.at[1]), mask);
    compareWithOthers(warp, i, a, b);
    if (warp.fences == 1)
      throw SimulationError("no wgmma.fence precedes the first WGMMA");
    const size_t accumulators = size_t(columns) / 2;
    for (size_t k = 0; k < i.list.size(); ++k)
      use(warp, i.list[k], k < accumulators ? RegisterUse::accumulator : RegisterUse::operand);
    warp.mustCheckRegisters = true;

    OperandReader reader(warp, i, warp.cta.warpgroups[warp.index / 4].openMarks[warp.index % 4]);
    if (hasRegisters)
      readRegisters();
    else
      reader.read(a, i.type, i.flags & aIsTransposed, int(warp.index % 4) * warpRows, warpRows, depth, ofA[0],
                  warpRows);
    reader.read(b, i.source, i.flags & bIsTransposed, 0, columns, depth, ofB[0], mostColumns);
    multiply((warp.predicate(i.at[2]) & mask) != 0);
  }

private:
  /// Fragments of A: as those of mma.m16n8k16 and m16n8k32.
  void readRegisters() {
    const int perRegister = depth / 8, bits = 32 / perRegister;
    const size_t first = size_t(columns) / 2;
    for (int lane = 0; lane < lanesOfWarp; ++lane)
      for (int r = 0; r < 4; ++r)
        for (int part = 0; part < perRegister; ++part) {
          const uint32_t word = warp.at(i.list[first + size_t(r)])[lane];
          ofA[lane % 4 * perRegister + part + depth / 2 * (r / 2)][lane / 4 + 8 * (r % 2)] =
              elementToFloat(uint16_t(word >> (bits * part) & ((1u << bits) - 1)), i.type);
        }
  }

  void multiply(bool accumulates) {
    for (int row = 0; row < warpRows; ++row) {
      float sums[mostColumns] = {};
      for (int k = 0; k < depth; ++k) {
        const float a = ofA[k][row];
        const float *b = ofB[k];
        for (int column = 0; column < columns; ++column)
          sums[column] += a * b[column];
      }
      for (int column = 0; column < columns; ++column) {
        const int place = column / 8 * 4 + row / 8 * 2 + column % 2, lane = row % 8 * 4 + column % 8 / 2;
        float &sum = warp.at<float>(i.list[size_t(place)])[lane];
        sum = accumulates ? sum + sums[column] : sums[column];
      }
    }
  }

  Warp &warp;
  const Instruction &i;
  const int columns, depth;
  float ofA[mostDepth][warpRows], ofB[mostDepth][mostColumns];
};

void multiply(Warp &warp, const Instruction &i, uint32_t mask) { Wgmma(warp, i).run(mask); }

void fence(Warp &warp, const Instruction &, uint32_t mask) {
  warp.requireAllLanes(mask);
  ++warp.fences;
}

void commit(Warp &warp, const Instruction &, uint32_t mask) {
  warp.requireAllLanes(mask);
  Warpgroup &warpgroup = warp.cta.warpgroups[warp.index / 4];
  const unsigned member = warp.index % 4;
  const uint64_t number = ++warpgroup.committed[member];
  warp.wgmmaGroups.push_back({number, std::move(warp.openRegisters)});
  warp.openRegisters.clear();
  warpgroup.groups.push_back({number, std::move(warpgroup.openMarks[member])});
  warpgroup.openMarks[member].clear();
}

/// The groups of a warpgroup are complete together: a warp waits until the others have issued theirs.
void waitForGroups(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.requireAllLanes(mask);
  Warpgroup &warpgroup = warp.cta.warpgroups[warp.index / 4];
  const uint64_t committed = warpgroup.committed[warp.index % 4];
  const uint64_t complete = committed - std::min(committed, uint64_t(i.immediate));
  if (warpgroup.completed() < complete)
    return warp.blockAndRepeat({Wait::Kind::warpgroup, nullptr, 0, complete});
  std::erase_if(warpgroup.groups, [&](Warpgroup::Group &group) {
    if (group.number > complete)
      return false;
    releaseReads(group.marks);
    return true;
  });
  while (!warp.wgmmaGroups.empty() && warp.wgmmaGroups.front().number <= complete) {
    for (const UsedRegister &used : warp.wgmmaGroups.front().registers)
      warp.uses[size_t(used.place)] = RegisterUse::none;
    warp.wgmmaGroups.pop_front();
  }
  // Registers that later groups use stay in use.
  for (const WgmmaGroup &group : warp.wgmmaGroups)
    for (const UsedRegister &used : group.registers)
      warp.uses[size_t(used.place)] = used.use;
  for (const UsedRegister &used : warp.openRegisters)
    warp.uses[size_t(used.place)] = used.use;
  warp.mustCheckRegisters = !warp.wgmmaGroups.empty() || !warp.openRegisters.empty();
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// m64n128k16: sets the columns, in groups of 8, and checks the depth.
void decodeShape(Decoder &d) {
  for (int columns = 8; columns <= mostColumns; columns += 8)
    for (int depth : {16, 32})
      if (d.take(fmt::format("m64n{}k{}", columns, depth))) {
        d.out.count = uint8_t(columns / 8);
        d.out.immediate = depth;
        return;
      }
  d.fail("expects a shape of m64nNk16 or m64nNk32");
}

bool decodeMultiplyAsync(Decoder &d) {
  d.require("sync");
  d.require("aligned");
  decodeShape(d);
  d.require("f32");
  d.out.type = d.takeType();
  d.out.source = d.takeType();
  const bool is16 = d.out.immediate == 16;
  const bool areKnown =
      is16 ? d.out.type == d.out.source && (d.out.type == Type::f16 || d.out.type == Type::bf16)
           : bytesOf(d.out.type) == 1 && isFloat(d.out.type) && bytesOf(d.out.source) == 1 && isFloat(d.out.source);
  if (!areKnown)
    d.fail("does not know these types of operands");
  d.destinations(Type::f32);
  if (d.out.list.size() != size_t(d.out.count) * 4)
    d.fail(fmt::format("expects {} accumulators, but got {}", d.out.count * 4, d.out.list.size()));
  if (d.peek().kind == ParsedOperand::Kind::vector) {
    d.sources(Type::b32);
    d.out.flags |= aInRegisters;
  } else {
    d.out.at[0] = d.source(Type::b64);
  }
  d.out.at[1] = d.source(Type::b64);
  d.out.at[2] = d.source(Type::pred);
  for (int scale = 0; scale < 2; ++scale)
    if (d.immediate() != 1)
      d.fail("does not know negated operands");
  if (is16 && !(d.out.flags & aInRegisters) && d.immediate())
    d.out.flags |= aIsTransposed;
  if (is16 && d.immediate())
    d.out.flags |= bIsTransposed;
  // The instruction itself checks the registers that WGMMA uses.
  d.out.reads.clear();
  d.out.writes.clear();
  d.markWgmma();
  return d.finish(multiply), true;
}

bool decodeGroup(Decoder &d, Handler handler, bool hasCount) {
  d.require("sync");
  d.require("aligned");
  if (hasCount)
    d.out.immediate = d.immediate();
  return d.finish(handler), true;
}

} // namespace

bool decodeWgmma(Decoder &d) {
  if (d.name() != "wgmma")
    return false;
  if (d.take("mma_async"))
    return decodeMultiplyAsync(d);
  if (d.take("fence"))
    return decodeGroup(d, fence, false);
  if (d.take("commit_group"))
    return decodeGroup(d, commit, false);
  d.require("wait_group");
  return decodeGroup(d, waitForGroups, true);
}

} // namespace sparsec::simulator
