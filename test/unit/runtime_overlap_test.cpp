// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bytes arguments have, whether two footprints share one, and the launches that are refused for it.

#include "arguments/overlap.h"
#include "runtime_attention_fixture.h"
#include "runtime_linear_fixture.h"

#include <random>
#include <span>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

sparsec_dense_t tensorAt(uintptr_t address, sparsec_dtype_t dtype, const std::vector<int64_t> &sizes,
                         const std::vector<int64_t> &strides) {
  sparsec_dense_t tensor = sparsec_dense(reinterpret_cast<void *>(address), dtype, int32_t(sizes.size()), sizes.data());
  std::copy(strides.begin(), strides.end(), tensor.strides);
  return tensor;
}

/// The definition: every byte of every element.
std::set<uintptr_t> bytesOf(const sparsec_dense_t &tensor, int32_t dimension = 0, int64_t offset = 0) {
  std::set<uintptr_t> bytes;
  int64_t elementBytes = int64_t(sparsec_dtype_bytes(tensor.dtype));
  if (dimension == tensor.rank) {
    for (int64_t i = 0; i < elementBytes; ++i)
      bytes.insert(reinterpret_cast<uintptr_t>(tensor.data) + uintptr_t(offset * elementBytes + i));
    return bytes;
  }
  for (int64_t i = 0; i < tensor.sizes[dimension]; ++i)
    bytes.merge(bytesOf(tensor, dimension + 1, offset + i * tensor.strides[dimension]));
  return bytes;
}

TEST(Footprint, MergesStepsWithoutGaps) {
  auto footprint = footprintOf(tensorAt(0x1000, SPARSEC_DTYPE_F16, {2, 8, 100, 64}, {60000, 64, 512, 1}));
  EXPECT_EQ(footprint.begin, 0x1000u);
  EXPECT_EQ(footprint.run, 100u * 512 * 2) << "heads and rows are interleaved without gaps";
  ASSERT_EQ(footprint.stepCount, 1u);
  EXPECT_EQ(footprint.steps[0].count, 2);
  EXPECT_EQ(footprint.steps[0].bytes, 120000);
  EXPECT_EQ(footprint.extent(), 120000u + 102400);
  footprint = footprintOf(tensorAt(0x1000, SPARSEC_DTYPE_F32, {3, 5}, {0, 1}));
  EXPECT_EQ(footprint.run, 20u) << "the same row three times";
  EXPECT_EQ(footprint.stepCount, 0u);
  footprint = footprintOf(tensorAt(0x1000, SPARSEC_DTYPE_F32, {}, {}));
  EXPECT_EQ(footprint.run, 4u) << "a single element";
  EXPECT_EQ(footprintOf(tensorAt(0x1000, SPARSEC_DTYPE_F32, {3, 0}, {-1, -1})).run, 0u);
}

TEST(Footprint, ExtentsBeyond64BitsAreTheLargestNumber) {
  auto huge = tensorAt(0x1000, SPARSEC_DTYPE_F32, {2147418111, 2147418111, 4}, {int64_t(1) << 38, int64_t(1) << 37, 1});
  EXPECT_EQ(footprintOf(huge).extent(), UINT64_MAX);
}

TEST(Overlap, AgreesWithTheDefinition) {
  // Sizes and strides of up to 4 dimensions that give all kinds of nesting, interleaving and self-overlap.
  std::mt19937 random(1);
  auto below = [&](int64_t limit) { return int64_t(random() % uint64_t(limit)); };
  const sparsec_dtype_t types[] = {SPARSEC_DTYPE_F8E5M2, SPARSEC_DTYPE_F16, SPARSEC_DTYPE_F32};
  auto randomTensor = [&] {
    std::vector<int64_t> sizes, strides;
    for (int64_t rank = below(5); rank > 0; --rank) {
      sizes.push_back(1 + below(4));
      strides.push_back(below(5) == 0 ? 1 : below(24));
    }
    return tensorAt(uintptr_t(1000 + below(120)), types[below(3)], sizes, strides);
  };
  int overlapping = 0;
  constexpr int trials = 5000;
  for (int trial = 0; trial < trials; ++trial) {
    sparsec_dense_t a = randomTensor(), b = randomTensor();
    std::set<uintptr_t> ofA = bytesOf(a), ofB = bytesOf(b);
    bool expected = std::any_of(ofA.begin(), ofA.end(), [&](uintptr_t byte) { return ofB.count(byte) != 0; });
    overlapping += expected;
    ASSERT_EQ(overlap(footprintOf(a), footprintOf(b)), expected) << "trial " << trial;
    ASSERT_EQ(overlap(footprintOf(b), footprintOf(a)), expected) << "trial " << trial;
    ASSERT_EQ(footprintOf(a).extent(), *ofA.rbegin() + 1 - *ofA.begin());
  }
  EXPECT_THAT(overlapping, ::testing::AllOf(::testing::Gt(trials / 5), ::testing::Lt(trials * 4 / 5)));
}

TEST(Overlap, InterleavedLayoutsAreApart) {
  // One buffer of rows (q | k | v | o) of 64 elements by head, batch-sequence-head.
  auto part = [](int64_t number, int64_t width = 64) {
    return footprintOf(tensorAt(uintptr_t(0x10000 + number * 64 * 2), SPARSEC_DTYPE_BF16, {4, 16, 100000, width},
                                {int64_t(100000) * 16 * 256, 256, 16 * 256, 1}));
  };
  for (int64_t number : {0, 1, 2}) {
    EXPECT_FALSE(overlap(part(3), part(number)));
    EXPECT_TRUE(overlap(part(3), part(number, 64 * (3 - number) + 1))) << "one element into the last part";
  }
  // Odd and even rows, and two halves of the columns, of a large matrix.
  auto half = [](int64_t row, int64_t column, int64_t rowStep) {
    return footprintOf(tensorAt(uintptr_t(0x10000 + (row * 8192 + column) * 2), SPARSEC_DTYPE_BF16, {1000000, 4096},
                                {rowStep * 8192, 1}));
  };
  EXPECT_FALSE(overlap(half(0, 0, 2), half(1, 0, 2)));
  EXPECT_FALSE(overlap(half(0, 0, 1), half(0, 4096, 1)));
  EXPECT_TRUE(overlap(half(0, 0, 1), half(0, 4095, 1)));
  EXPECT_TRUE(overlap(half(0, 0, 2), half(4, 0, 3))) << "different strides meet";
  EXPECT_FALSE(overlap(half(0, 0, 4), half(1, 0, 2))) << "or do not";
}

TEST(Overlap, SearchOfHugeTensorsEnds) {
  // Strides without a common structure: the answer may be wrong, but it comes.
  std::vector<int64_t> sizes(4, 2147418111);
  auto a = footprintOf(tensorAt(0x1001, SPARSEC_DTYPE_F8E5M2, sizes, {999999938, 1000000006, 1000000086, 1000000092}));
  auto b = footprintOf(tensorAt(0x7777777, SPARSEC_DTYPE_F8E5M2, sizes, {999999928, 999999944, 999999956, 999999982}));
  overlap(a, b);
  auto all = footprintOf(reinterpret_cast<void *>(0x1000), UINT64_MAX - 0x2000);
  EXPECT_TRUE(overlap(a, all));
  EXPECT_FALSE(overlap(footprintOf(nullptr, 0), all));
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

class LinearOverlap : public LinearOnFake {
protected:
  void SetUp() override {
    load(cudaLinear());
    prepare();
  }

  void prepare() {
    setArguments(128, 192, 256);
    setPattern({{0, 2}, {1}});
    fake.calls.clear();
  }

  void refusesResultAt(const void *address, const std::string &message) {
    refuses("argument 4 'y': its memory overlaps " + message,
            [&](auto &a) { a[y].dense.data = const_cast<void *>(address); });
  }
};

TEST_F(LinearOverlap, ResultOnInputs) {
  refusesResultAt(at(0x200000), "data of argument 1 'x'");
  refusesResultAt(at(0x200000 + 192 * 256 * 2 - 2), "data of argument 1 'x'");
  refusesResultAt(at(0x200000 - 128 * 256 * 2 + 2), "data of argument 1 'x'");
  refusesResultAt(at(0x100000 + 3 * 64 * 64 * 2 - 2), "values of argument 0 'w'");
  refusesResultAt(at(0x300000 + 128 * 4 - 2), "data of argument 2 'bias'");
  std::vector<int32_t> indices(128 * 256);
  arguments[w].blocks.full.starts = indices.data();
  refusesResultAt(indices.data() + 2, "full.starts of argument 0 'w'");
  arguments[w].blocks.full.starts = rowPtr.data();
  arguments[w].blocks.full.indices = indices.data();
  refusesResultAt(indices.data() + 2, "full.indices of argument 0 'w'");
}

TEST_F(LinearOverlap, NeighboursAreAccepted) {
  for (uintptr_t address : {0x200000 + 192 * 256 * 2, 0x200000 - 128 * 256 * 2, 0x100000 + 3 * 64 * 64 * 2}) {
    arguments[y].dense.data = at(address);
    EXPECT_OK(launch());
  }
  // X and Y are the left and the right half of one matrix.
  arguments[x].dense.strides[0] = arguments[y].dense.strides[0] = 512;
  arguments[y].dense.data = at(0x200000 + 512);
  EXPECT_OK(launch());
  fake.calls.clear();
  refusesResultAt(at(0x200000 + 510), "data of argument 1 'x'");
}

TEST_F(LinearOverlap, WhatHasNoElementsOverlapsNothing) {
  setArguments(128, 0, 256);
  arguments[y].dense.data = arguments[x].dense.data;
  EXPECT_OK(launch());
  arguments[w].blocks.values = arguments[y].dense.data;
  arguments[w].blocks.full.indices = static_cast<int32_t *>(arguments[y].dense.data);
  EXPECT_OK(launch());
  setArguments(0, 192, 256);
  arguments[y].dense.data = arguments[x].dense.data;
  EXPECT_OK(launch());
}

class FullOperandOverlap : public LinearOverlap {
protected:
  void SetUp() override { loadWith(SPARSEC_DTYPE_BF16, SPARSEC_LAYOUT_ROW_MAJOR); }

  /// 'bias' becomes an operand of the result's shape, in the result's memory.
  void loadWith(sparsec_dtype_t dtype, sparsec_layout_t layout) {
    LaunchInfoBuilder info = cudaLinear();
    info.operandOf(bias).broadcast = SPARSEC_BROADCAST_FULL;
    info.operandOf(bias).layout = layout;
    info.arguments[bias].rank = 2;
    info.arguments[bias].dtype = dtype;
    info.arguments[bias].sizes[1] = SPARSEC_DYNAMIC;
    load(info);
    prepare();
    setArguments(128, 192, 128);
    arguments[bias].dense = arguments[y].dense;
    arguments[bias].dense.dtype = dtype;
    fake.calls.clear();
  }
};

TEST_F(FullOperandOverlap, ElementForElementIsAccepted) {
  EXPECT_OK(launch());
  loadWith(SPARSEC_DTYPE_F16, SPARSEC_LAYOUT_ROW_MAJOR);
  EXPECT_OK(launch()) << "another type of the same width";
}

TEST_F(FullOperandOverlap, EverythingElseIsRefused) {
  const std::string message = "argument 4 'y': its memory overlaps data of argument 2 'bias', but not element for "
                              "element";
  refuses(message, [](auto &a) { a[bias].dense.data = at(0x400002); });
  refuses(message, [](auto &a) { a[bias].dense.strides[0] = 136; });
  refuses("argument 4 'y': its memory overlaps data of argument 1 'x'",
          [](auto &a) { a[x].dense.data = a[bias].dense.data; });
  loadWith(SPARSEC_DTYPE_F32, SPARSEC_LAYOUT_ROW_MAJOR);
  refuses(message, [](auto &) {});
  loadWith(SPARSEC_DTYPE_BF16, SPARSEC_LAYOUT_TRANSPOSED);
  refuses(message, [](auto &) {});
}

class AttentionOverlap : public AttentionOnFake {
protected:
  void SetUp() override {
    load(cudaAttention());
    auto indices = [](uintptr_t address) { return static_cast<const int32_t *>(at(address)); };
    sparsec_blocks_t lists = shapeOf(64, 128, 1, 8, 100, 300, SPARSEC_PATTERN_PADDED_LISTS);
    lists.capacity = 5;
    lists.partial = {indices(0x10000), indices(0x20000)};
    lists.full = {indices(0x30000), indices(0x40000)};
    setArguments(lists);
    fake.calls.clear();
  }
};

TEST_F(AttentionOverlap, ResultsOnInputsAndOnEachOther) {
  auto refusesAt = [&](int result, uintptr_t address, const std::string &message) {
    refuses((result == o ? "argument 7 'o'" : "argument 8 'lse'") + (": its memory overlaps " + message),
            [&](auto &a) { a[result].dense.data = at(address); });
  };
  for (auto [number, name] : {std::pair(q, "0 'q'"), std::pair(k, "1 'k'"), std::pair(v, "2 'v'")})
    for (int result : {o, lse})
      refusesAt(result, reinterpret_cast<uintptr_t>(arguments[number].dense.data) + 1024,
                std::string("data of argument ") + name);
  constexpr uintptr_t lists = 16 * 4, entries = 16 * 5 * 4, lseBytes = 2 * 8 * 100 * 4;
  for (auto [address, bytes, name] : {std::tuple(uintptr_t(0x10000), lists, "partial.starts"),
                                      {uintptr_t(0x20000), entries, "partial.indices"},
                                      {uintptr_t(0x30000), lists, "full.starts"},
                                      {uintptr_t(0x40000), entries, "full.indices"}}) {
    refusesAt(lse, address + bytes - 4, std::string(name) + " of argument 3 'pattern'");
    for (uintptr_t neighbour : {address + bytes, address - lseBytes}) {
      auto good = arguments;
      arguments[lse].dense.data = at(neighbour);
      EXPECT_OK(launch());
      arguments = good;
      fake.calls.clear();
    }
  }
  refusesAt(lse, 0x50000, "data of argument 5 'slopes'");
  refusesAt(lse, 0x60000 + 2 * 300 * 4 - 4, "data of argument 6 'ids'");
  refusesAt(lse, 0x400000 + 128, "data of argument 7 'o'");
}

TEST_F(AttentionOverlap, IndexArraysHaveTheirCapacity) {
  sparsec_blocks_t &lists = arguments[pattern].blocks;
  lists.encoding = SPARSEC_PATTERN_INDEX_ARRAYS;
  arguments[lse].dense.data = at(0x10000 + 17 * 4);
  EXPECT_OK(launch());
  fake.calls.clear();
  refuses("overlaps partial.starts", [](auto &a) { a[lse].dense.data = at(0x10000 + 16 * 4); });
  refuses("overlaps full.indices", [](auto &a) { a[lse].dense.data = at(0x40000 + 4 * 4); });
  arguments[lse].dense.data = at(0x40000 + 5 * 4);
  EXPECT_OK(launch());
}

TEST_F(AttentionOverlap, PackedProjectionsAreAccepted) {
  // q, o and k, v of one buffer (batches, length, heads, 2 * dimension), as a fused projection leaves them.
  for (auto [left, right, heads, length] : {std::tuple(q, o, 8, 100), {k, v, 2, 300}}) {
    sparsec_dense_t packed =
        sparsec_dense_bshd(at(0x1000000 + uintptr_t(left) * 0x1000000), SPARSEC_DTYPE_BF16, 2, heads, length, 128);
    packed.sizes[3] = 64;
    arguments[left].dense = arguments[right].dense = packed;
    arguments[right].dense.data = static_cast<char *>(packed.data) + 128;
  }
  EXPECT_OK(launch());
  fake.calls.clear();
  refuses("argument 7 'o': its memory overlaps data of argument 0 'q'",
          [](auto &a) { a[o].dense.data = static_cast<char *>(a[o].dense.data) - 2; });
}

TEST_F(LinearOverlap, OutputsOfTheReference) {
  std::vector<float> memory(1 << 16);
  setArguments(128, 192, 4);
  arguments[w].blocks.capacity = 0;
  rowPtr.assign(3, 0);
  arguments[w].blocks.full.starts = rowPtr.data();
  arguments[x].dense.data = memory.data();
  arguments[bias].dense.data = memory.data() + 4096;
  arguments[y].dense.data = nullptr; // is not written
  auto *outputs = reinterpret_cast<double *>(memory.data() + 8192);
  auto run = [&](double *result, double *magnitude) {
    return sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, 128, result, magnitude);
  };
  EXPECT_OK(run(outputs, outputs + 512));
  EXPECT_STATUS(run(reinterpret_cast<double *>(memory.data() + 100), nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "y: its memory overlaps data of argument 1 'x'");
  EXPECT_STATUS(run(outputs, reinterpret_cast<double *>(memory.data() + 4096)), SPARSEC_STATUS_INVALID_ARGUMENT,
                "magnitude: its memory overlaps data of argument 2 'bias'");
  EXPECT_STATUS(run(outputs, outputs + 511), SPARSEC_STATUS_INVALID_ARGUMENT, "magnitude: its memory overlaps y");
}

} // namespace
