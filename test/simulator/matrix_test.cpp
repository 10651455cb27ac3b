// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix instructions and tensor copies, against the layouts that the PTX ISA describes and products in double.

#include "snippet.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <random>

namespace sparsec::simulator {
namespace {

using Words = std::vector<uint32_t>;
using Bytes = std::vector<uint8_t>;

/// A format whose codes stand for the small numbers that the tests use: eighths from -2 to 2.
struct Element {
  const char *name;
  int bytes;
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest calls
void PrintTo(const Element &element, std::ostream *out) { *out << element.name; }

/// The code of a number that the format has exactly.
uint32_t codeOf(double value, const Element &element) {
  const std::string name = element.name;
  const int exponentBits = name == "bf16" ? 8 : name == "e4m3" ? 4 : 5;
  const int mantissaBits = 8 * element.bytes - 1 - exponentBits;
  if (value == 0)
    return 0;
  const int exponent = std::ilogb(value);
  const auto mantissa = uint32_t(std::ldexp(std::fabs(value), mantissaBits - exponent)) - (1u << mantissaBits);
  const auto biased = uint32_t(exponent + (1 << (exponentBits - 1)) - 1);
  return uint32_t(value < 0) << (8 * element.bytes - 1) | biased << mantissaBits | mantissa;
}

/// A matrix of numbers that all formats have.
struct Matrix {
  int rows, columns;
  std::vector<double> values;

  Matrix(int rows, int columns, uint32_t seed) : rows(rows), columns(columns) {
    std::mt19937 random(seed);
    constexpr double choices[] = {-2, -1.5, -1, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.25, 1.75, 2};
    for (int i = 0; i < rows * columns; ++i)
      values.push_back(choices[random() % std::size(choices)]);
  }
  double at(int row, int column) const { return values[size_t(row * columns + column)]; }
};

double product(const Matrix &a, const Matrix &b, int row, int column) {
  double sum = 0;
  for (int k = 0; k < a.columns; ++k)
    sum += a.at(row, k) * b.at(k, column);
  return sum;
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

class MmaSync : public testing::TestWithParam<Element> {};

TEST_P(MmaSync, MultipliesFragments) {
  const Element element = GetParam();
  const int depth = 32 / element.bytes, perWord = 4 / element.bytes;
  const Matrix a(16, depth, 1), b(depth, 8, 2), c(16, 8, 3);
  // For each lane four words of A, two of B and four of C.
  Words in(32 * 10), out(32 * 4);
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, inGroup = lane % 4;
    uint32_t *words = in.data() + lane * 10;
    for (int i = 0; i < 4 * perWord; ++i) {
      const int word = i / perWord, row = group + 8 * (word % 2);
      const int k = inGroup * perWord + i % perWord + (word < 2 ? 0 : depth / 2);
      words[word] |= codeOf(a.at(row, k), element) << (8 * element.bytes * (i % perWord));
    }
    for (int i = 0; i < 2 * perWord; ++i) {
      const int k = inGroup * perWord + i % perWord + i / perWord * depth / 2;
      words[4 + i / perWord] |= codeOf(b.at(k, group), element) << (8 * element.bytes * (i % perWord));
    }
    for (int i = 0; i < 4; ++i)
      words[6 + i] = std::bit_cast<uint32_t>(float(c.at(group + i / 2 * 8, inGroup * 2 + i % 2)));
  }
  SnippetDevice device;
  device.add(in);
  device.add(out);
  std::string body = "mul.wide.u32 %rd8, %r0, 40; add.u64 %rd8, %rd8, %rd0;\n";
  for (int i = 0; i < 10; ++i)
    body += fmt::format("ld.global.b32 %r{}, [%rd8+{}];\n", 10 + i, 4 * i);
  body +=
      fmt::format("mma.sync.aligned.m16n8k{0}.row.col.f32.{1}.{1}.f32 {{%r20, %r21, %r22, %r23}}, {{%r10, %r11, %r12, "
                  "%r13}}, {{%r14, %r15}}, {{%r16, %r17, %r18, %r19}};\n",
                  depth, element.name);
  body += "shl.b64 %rd9, %rd15, 2; add.u64 %rd9, %rd9, %rd1; st.global.v4.b32 [%rd9], {%r20, %r21, %r22, %r23};";
  device.run(body);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      ASSERT_EQ(double(std::bit_cast<float>(out[size_t(lane * 4 + i)])),
                c.at(row, column) + product(a, b, row, column));
    }
}

INSTANTIATE_TEST_SUITE_P(All, MmaSync,
                         testing::Values(Element{"bf16", 2}, Element{"f16", 2}, Element{"e4m3", 1},
                                         Element{"e5m2", 1}));

//===----------------------------------------------------------------------===//
// ldmatrix and stmatrix
//===----------------------------------------------------------------------===//

/// Four 8 x 8 matrices of 16 bits, element (row, column) of matrix m is 100 m + 10 row + column.
TEST(LdMatrix, LoadsAndStoresWithAndWithoutTranspose) {
  for (bool isTransposed : {false, true})
    for (bool isStore : {false, true}) {
      std::vector<uint16_t> in(256), out(256);
      for (int i = 0; i < 256; ++i)
        in[size_t(i)] = uint16_t(i / 64 * 100 + i / 8 % 8 * 10 + i % 8);
      SnippetDevice device;
      device.add(in);
      device.add(out);
      const std::string kind = isTransposed ? ".trans" : "";
      // Each lane copies one row of 16 bytes, then the matrices go through registers, and back as words or as rows.
      std::string body = R"(
        mov.b32 %r1, smem;
        shl.b32 %r2, %r0, 4;
        add.u32 %r1, %r1, %r2;
        cvt.u64.u32 %rd8, %r2;
        add.u64 %rd9, %rd8, %rd0;
        add.u64 %rd10, %rd8, %rd1;
        ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd9];
        st.shared.v4.b32 [%r1], {%r10, %r11, %r12, %r13};
        bar.warp.sync -1;
      )";
      if (isStore)
        body +=
            "mov.b32 %r10, %r0; mov.b32 %r11, %r0; mov.b32 %r12, 7; mov.b32 %r13, 9;\nstmatrix.sync.aligned.m8n8.x4" +
            kind + ".shared.b16 [%r1], {%r10, %r11, %r12, %r13};\nbar.warp.sync -1;\n" +
            "ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r1];";
      else
        body += "ldmatrix.sync.aligned.m8n8.x4" + kind + ".shared.b16 {%r10, %r11, %r12, %r13}, [%r1];\n";
      body += "st.global.v4.b32 [%rd10], {%r10, %r11, %r12, %r13};";
      SnippetShape shape;
      shape.shared = 512;
      device.run(body, shape);
      for (int lane = 0; lane < 32; ++lane)
        for (int m = 0; m < 4; ++m)
          for (int half = 0; half < 2; ++half) {
            if (!isStore) {
              const int row = lane / 4, column = lane % 4 * 2 + half;
              ASSERT_EQ(out[size_t(lane * 8 + m * 2 + half)],
                        m * 100 + (isTransposed ? column * 10 + row : row * 10 + column));
              continue;
            }
            // Row `lane % 8` of matrix `lane / 8`: word m of the row.
            const int row = lane % 8, column = m * 2 + half;
            const int owner = isTransposed ? column * 4 + row / 2 : row * 4 + column / 2;
            const bool isHigh = (isTransposed ? row : column) % 2;
            const int expected = lane / 8 == 2 ? 7 : lane / 8 == 3 ? 9 : owner;
            ASSERT_EQ(out[size_t(lane * 8 + m * 2 + half)], isHigh ? 0 : expected);
          }
    }
}

//===----------------------------------------------------------------------===//
// WGMMA
//===----------------------------------------------------------------------===//

/// Which 16-byte unit of a line stands at unit `unit` of line `line`, where lines have `span` bytes.
int swizzledUnit(int line, int unit, int span) {
  return span == 128 ? unit ^ line % 8 : span == 64 ? unit ^ line / 2 % 4 : span == 32 ? unit ^ line / 4 % 2 : unit;
}

/// An operand in shared memory. With K contiguous, groups of 8 lines follow one another; else panels of the other
/// dimension do, each with all of K.
struct Placement {
  int span; // bytes of a line: 16 without a swizzle
  bool isKContiguous;
  int slice; // of 32 bytes along a line of K, at which the operand begins
};

struct PlacedOperand {
  Bytes memory = Bytes(8192);
  uint64_t leading = 0, stride = 0, start = 0;

  /// Lines are rows of the matrix (rows x K).
  PlacedOperand(const Matrix &matrix, const Element &element, const Placement &placement) {
    const int span = placement.span;
    auto put = [&](int64_t offset, double value) {
      const uint32_t code = codeOf(value, element);
      std::memcpy(memory.data() + offset, &code, size_t(element.bytes));
    };
    const int along = 16 / element.bytes; // elements of a unit
    if (span == 16) {
      // Core matrices of 8 lines of 16 bytes.
      leading = 128, stride = 256;
      for (int row = 0; row < matrix.rows; ++row)
        for (int k = 0; k < matrix.columns; ++k)
          put(int64_t(row / 8 * 256 + k / along * 128 + row % 8 * 16 + k % along * element.bytes), matrix.at(row, k));
    } else if (placement.isKContiguous) {
      stride = uint64_t(8 * span), start = uint64_t(32 * placement.slice);
      for (int row = 0; row < matrix.rows; ++row)
        for (int k = 0; k < matrix.columns; ++k) {
          const int unit = swizzledUnit(row, 2 * placement.slice + k / along, span);
          put(int64_t(row * span + unit * 16 + k % along * element.bytes), matrix.at(row, k));
        }
    } else {
      stride = uint64_t(8 * span), leading = uint64_t(matrix.columns * span);
      for (int row = 0; row < matrix.rows; ++row)
        for (int k = 0; k < matrix.columns; ++k) {
          const int panel = row * element.bytes / span, byte = row * element.bytes % span;
          put(int64_t(panel) * int64_t(leading) + k * span + swizzledUnit(k, byte / 16, span) * 16 + byte % 16,
              matrix.at(row, k));
        }
    }
  }

  uint64_t descriptor(uint64_t address, int span) const {
    const uint64_t mode = span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0;
    return mode << 62 | (stride >> 4) << 32 | (leading >> 4) << 16 | (address + start) >> 4;
  }
};

struct WgmmaCase {
  Element a, b;
  Placement placeA, placeB;
  bool inRegisters = false;
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest calls
void PrintTo(const WgmmaCase &one, std::ostream *out) {
  *out << fmt::format("{} {}: A {} {}, B {} {}{}", one.a.name, one.b.name, one.placeA.span, one.placeA.isKContiguous,
                      one.placeB.span, one.placeB.isKContiguous, one.inRegisters ? ", registers" : "");
}

class WgmmaProduct : public testing::TestWithParam<WgmmaCase> {};

constexpr int columns = 16;

std::string accumulators() {
  std::string text = "{%r100";
  for (int i = 1; i < columns / 2; ++i)
    text += fmt::format(", %r{}", 100 + i);
  return text + "}";
}

/// Copies 16 KiB of the buffer to shared memory, multiplies twice, and stores the sums of each thread.
std::string bodyOf(const WgmmaCase &one, const PlacedOperand &a, const PlacedOperand &b) {
  constexpr uint64_t firstA = 1024, firstB = firstA + 8192;
  std::string body = "mov.b32 %r1, smem; shl.b32 %r2, %r0, 4; add.u32 %r1, %r1, %r2; cvt.u64.u32 %rd8, %r2;\n"
                     "add.u64 %rd8, %rd8, %rd0;\n";
  for (int i = 0; i < 8; ++i)
    body += fmt::format("ld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%rd8+{0}];\n"
                        "st.shared.v4.b32 [%r1+{0}], {{%r10, %r11, %r12, %r13}};\n",
                        2048 * i);
  body += "fence.proxy.async.shared::cta;\nbar.sync 0;\n";
  for (int i = 0; i < 4 && one.inRegisters; ++i)
    body += fmt::format("mul.wide.u32 %rd9, %r0, 16; add.u64 %rd9, %rd9, %rd2; ld.global.b32 %r{}, [%rd9+{}];\n",
                        20 + i, 4 * i);
  body += fmt::format("mov.b64 %rd10, {}; mov.b64 %rd11, {};\nsetp.ne.u32 %p1, %r0, %r0;\nsetp.eq.u32 %p2, %r0, %r0;\n"
                      "wgmma.fence.sync.aligned;\n",
                      a.descriptor(firstA, one.placeA.span), b.descriptor(firstB, one.placeB.span));
  // The first instruction replaces the sums, the second adds to them.
  for (const char *accumulates : {"%p1", "%p2"}) {
    body += fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.f32.{}.{} {}, {}, %rd11, {}, 1, 1", columns,
                        32 / one.a.bytes, one.a.name, one.b.name, accumulators(),
                        one.inRegisters ? "{%r20, %r21, %r22, %r23}" : "%rd10", accumulates);
    if (one.a.bytes == 2)
      body += fmt::format("{}, {}",
                          one.inRegisters            ? ""
                          : one.placeA.isKContiguous ? ", 0"
                                                     : ", 1",
                          one.placeB.isKContiguous ? 0 : 1);
    body += ";\n";
  }
  body += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
          "mul.wide.u32 %rd9, %r0, 32; add.u64 %rd9, %rd9, %rd1;\n";
  for (int i = 0; i < columns / 2; ++i)
    body += fmt::format("st.global.b32 [%rd9+{}], %r{};\n", 4 * i, 100 + i);
  return body;
}

TEST_P(WgmmaProduct, IsThatOfDoubles) {
  const WgmmaCase &one = GetParam();
  const int depth = 32 / one.a.bytes;
  const Matrix a(64, depth, 1), b(columns, depth, 2); // B by columns
  const PlacedOperand ofA(a, one.a, one.placeA), ofB(b, one.b, one.placeB);
  Bytes in(ofA.memory);
  in.insert(in.end(), ofB.memory.begin(), ofB.memory.end());
  std::vector<float> out(128 * columns / 2);
  Words registers(128 * 4);
  const int perWord = 4 / one.a.bytes;
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < 4 * perWord; ++i) {
      const int word = i / perWord, row = thread / 32 * 16 + thread % 32 / 4 + 8 * (word % 2);
      const int k = thread % 4 * perWord + i % perWord + (word < 2 ? 0 : depth / 2);
      registers[size_t(thread * 4 + word)] |= codeOf(a.at(row, k), one.a) << (8 * one.a.bytes * (i % perWord));
    }
  SnippetDevice device;
  device.add(in);
  device.add(out);
  device.add(registers);
  SnippetShape shape;
  shape.threads = 128;
  shape.shared = 16384;
  device.run(bodyOf(one, ofA, ofB), shape);
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < columns / 2; ++i) {
      const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
      const int column = i / 4 * 8 + thread % 4 * 2 + i % 2;
      double sum = 0;
      for (int k = 0; k < depth; ++k)
        sum += a.at(row, k) * b.at(column, k);
      ASSERT_EQ(double(out[size_t(thread * columns / 2 + i)]), 2 * sum) << "row " << row << ", column " << column;
    }
}

constexpr Element bf16 = {"bf16", 2}, f16 = {"f16", 2}, e4m3 = {"e4m3", 1}, e5m2 = {"e5m2", 1};
INSTANTIATE_TEST_SUITE_P(All, WgmmaProduct,
                         testing::Values(WgmmaCase{bf16, bf16, {16, true, 0}, {16, true, 0}},
                                         WgmmaCase{bf16, bf16, {32, true, 0}, {32, true, 0}},
                                         WgmmaCase{bf16, bf16, {64, true, 1}, {64, true, 0}},
                                         WgmmaCase{f16, f16, {128, true, 3}, {128, true, 2}},
                                         WgmmaCase{bf16, bf16, {128, false, 0}, {128, true, 0}},
                                         WgmmaCase{bf16, bf16, {64, false, 0}, {32, false, 0}},
                                         WgmmaCase{f16, f16, {32, false, 0}, {32, false, 0}},
                                         WgmmaCase{f16, f16, {128, true, 0}, {32, false, 0}, true},
                                         WgmmaCase{e4m3, e5m2, {128, true, 1}, {64, true, 1}},
                                         WgmmaCase{e5m2, e4m3, {32, true, 0}, {128, true, 0}, true}));

//===----------------------------------------------------------------------===//
// Tensor copies
//===----------------------------------------------------------------------===//

constexpr int width = 40, height = 6, boxRows = 4;

/// A matrix of 16-bit numbers, of which a box leaves all four sides.
std::vector<uint16_t> numbers() {
  std::vector<uint16_t> values(width * height);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = uint16_t(i + 1);
  return values;
}

TensorMap mapOf(std::vector<uint16_t> &matrix, int boxColumns, int swizzle) {
  TensorMap map = {};
  map.magic = TensorMap::magicNumber;
  map.rank = 2;
  map.elementBytes = 2;
  map.swizzle = uint8_t(swizzle);
  map.address = reinterpret_cast<uintptr_t>(matrix.data());
  map.strides[0] = 2 * width;
  map.sizes[0] = width, map.sizes[1] = height;
  map.box[0] = uint16_t(boxColumns), map.box[1] = boxRows;
  return map;
}

class TensorLoads : public testing::TestWithParam<int> {};

TEST_P(TensorLoads, SwizzleAndFillWithZeros) {
  const int span = 16 << GetParam(), boxColumns = span / 2;
  for (const auto &[x, y] : {std::pair(0, 0), std::pair(-3, -2), std::pair(width - 5, height - 1), std::pair(7, 2)}) {
    std::vector<uint16_t> in = numbers(), out(size_t(boxColumns) * boxRows);
    SnippetDevice device;
    device.addMap(mapOf(in, boxColumns, GetParam()));
    device.add(in);
    device.add(out);
    // The words of the box, as they lie in shared memory.
    std::string body = fmt::format(R"(
      setp.eq.u32 %p0, %r0, 0;
      mov.b32 %r1, smem;
      add.u32 %r2, %r1, 2048;
      @%p0 mbarrier.init.shared.b64 [%r2], 1;
      @%p0 fence.mbarrier_init.release.cluster;
      bar.sync 0;
      @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {};
      mov.b64 %rd9, 0x12F0000000000000; // evict_first, which changes no value
      @%p0 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint
        [%r1], [%rd0, {{{}, {}}}], [%r2], %rd9;
    AGAIN:
      mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0, 1000;
      @!%p1 bra AGAIN;
      shl.b32 %r3, %r0, 2;
      add.u32 %r3, %r3, %r1;
      add.u64 %rd8, %rd15, %rd2;
    )",
                                   2 * boxColumns * boxRows, x, y);
    for (int first = 0; first < boxColumns * boxRows; first += 64)
      body += fmt::format(
          "setp.lt.u32 %p2, %r0, {1}; @%p2 ld.shared.b32 %r4, [%r3+{0}]; @%p2 st.global.b32 [%rd8+{0}], %r4;\n",
          2 * first, std::min(32, (boxColumns * boxRows - first) / 2));
    SnippetShape shape;
    shape.shared = 4096;
    device.run(body, shape);
    for (int row = 0; row < boxRows; ++row)
      for (int column = 0; column < boxColumns; ++column) {
        const bool isInside = x + column >= 0 && x + column < width && y + row >= 0 && y + row < height;
        // 16-byte units are exchanged inside lines of 128 bytes, by the number of the line.
        const int byte = row * span + column * 2, key = byte / 128 % (1 << GetParam());
        const int place = (byte / 16 ^ key) * 16 + byte % 16;
        ASSERT_EQ(out[size_t(place / 2)], isInside ? in[size_t((y + row) * width + x + column)] : 0)
            << "row " << row << ", column " << column << " at " << x << ", " << y;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Swizzles, TensorLoads, testing::Values(0, 1, 2, 3));

TEST(TensorStores, LeaveOutWhatIsBeyondTheTensor) {
  std::vector<uint16_t> out(width * height, 7);
  SnippetDevice device;
  device.addMap(mapOf(out, 8, 0));
  device.add(out);
  SnippetShape shape;
  shape.shared = 1024;
  device.run(R"(
    mov.b32 %r1, smem;
    shl.b32 %r2, %r0, 2;
    add.u32 %r2, %r2, %r1;
    st.shared.b32 [%r2], 0x00050005;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd0, {-3, 4}], [%r1];
    @%p0 cp.async.bulk.commit_group;
    @%p0 cp.async.bulk.wait_group 0;
  )",
             shape);
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column)
      EXPECT_EQ(out[size_t(row * width + column)], row >= 4 && column < 5 ? 5 : 7);
}

TEST(MulticastLoads, ReachTheCtasOfTheMask) {
  // Each CTA of a cluster loads a box of 4 rows for both: CTA r to place r.
  std::vector<uint16_t> in = numbers(), out(2 * 64);
  SnippetDevice device;
  device.addMap(mapOf(in, 8, 0));
  device.add(in);
  device.add(out);
  SnippetShape shape;
  shape.ctas = shape.cluster = 2;
  shape.shared = 1024;
  device.run(R"(
    setp.eq.u32 %p0, %r0, 0;
    mov.b32 %r1, smem;
    add.u32 %r2, %r1, 512;
    mov.u32 %r3, %cluster_ctarank;
    @%p0 mbarrier.init.shared.b64 [%r2], 1;
    @%p0 fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 128;
    shl.b32 %r4, %r3, 7;
    add.u32 %r4, %r4, %r1;
    shl.b32 %r5, %r3, 1;
    mov.b16 %h1, 3;
    @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
      [%r4], [%rd0, {8, %r5}], [%r2], %h1;
  AGAIN:
    mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0, 1000;
    @!%p1 bra AGAIN;
    bar.sync 0;
    shl.b32 %r6, %r0, 2;
    and.b32 %r7, %r6, 64;
    add.u32 %r7, %r7, %r6;
    add.u32 %r7, %r7, %r1;
    ld.shared.b32 %r8, [%r7];
    mad.lo.u32 %r9, %r3, 128, %r6;
    cvt.u64.u32 %rd8, %r9;
    add.u64 %rd8, %rd8, %rd2;
    st.global.b32 [%rd8], %r8;
    barrier.cluster.arrive;
    barrier.cluster.wait;
  )",
             shape);
  // Both CTAs have both boxes: rows 0 to 3, and rows 2 to 5.
  for (int cta = 0; cta < 2; ++cta)
    for (int i = 0; i < 64; ++i) {
      const int row = i / 32 * 2 + i % 32 / 8;
      EXPECT_EQ(out[size_t(cta * 64 + i)], in[size_t(row * width + 8 + i % 8)]) << cta << " " << i;
    }
}

} // namespace
} // namespace sparsec::simulator
