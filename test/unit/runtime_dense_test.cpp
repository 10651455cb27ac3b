// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense views, and DLPack tensors as dense views.

#include "arguments/dlpack_abi.h"
#include "runtime_expect.h"
#include "sparsec/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

TEST(Dense, ContiguousViews) {
  char data;
  sparsec_dense_t matrix = sparsec_dense_2d(&data, SPARSEC_DTYPE_F16, 3, 5);
  EXPECT_EQ(matrix.data, &data);
  EXPECT_EQ(matrix.rank, 2);
  EXPECT_EQ(matrix.sizes[0], 3);
  EXPECT_EQ(matrix.sizes[1], 5);
  EXPECT_EQ(matrix.strides[0], 5);
  EXPECT_EQ(matrix.strides[1], 1);
  sparsec_dense_t vector = sparsec_dense_1d(&data, SPARSEC_DTYPE_F32, 7);
  EXPECT_EQ(vector.rank, 1);
  EXPECT_EQ(vector.sizes[0], 7);
  EXPECT_EQ(vector.strides[0], 1);
  sparsec_dense_t cube = sparsec_dense_3d(&data, SPARSEC_DTYPE_F32, 2, 3, 5);
  EXPECT_EQ(cube.rank, 3);
  EXPECT_THAT(std::span(cube.sizes, 3), ::testing::ElementsAre(2, 3, 5));
  EXPECT_THAT(std::span(cube.strides, 3), ::testing::ElementsAre(15, 5, 1));
}

TEST(Dense, HeadsInBothOrders) {
  // The same sizes whatever the order in memory.
  char data;
  sparsec_dense_t headsFirst = sparsec_dense_bhsd(&data, SPARSEC_DTYPE_F16, 2, 3, 5, 64);
  sparsec_dense_t sequenceFirst = sparsec_dense_bshd(&data, SPARSEC_DTYPE_F16, 2, 3, 5, 64);
  for (const sparsec_dense_t &tensor : {headsFirst, sequenceFirst}) {
    EXPECT_EQ(tensor.rank, 4);
    EXPECT_EQ(tensor.data, &data);
    EXPECT_THAT(std::span(tensor.sizes, 4), ::testing::ElementsAre(2, 3, 5, 64));
  }
  EXPECT_THAT(std::span(headsFirst.strides, 4), ::testing::ElementsAre(960, 320, 64, 1));
  EXPECT_THAT(std::span(sequenceFirst.strides, 4), ::testing::ElementsAre(960, 64, 192, 1));
}

TEST(Dense, ElementTypes) {
  EXPECT_EQ(sparsec_dtype_bytes(SPARSEC_DTYPE_F32), 4u);
  EXPECT_EQ(sparsec_dtype_bytes(SPARSEC_DTYPE_BF16), 2u);
  EXPECT_EQ(sparsec_dtype_bytes(SPARSEC_DTYPE_F8E5M2), 1u);
  EXPECT_EQ(sparsec_dtype_bytes(SPARSEC_DTYPE_I64), 8u);
  EXPECT_EQ(sparsec_dtype_bytes(SPARSEC_DTYPE_I32), 4u);
  EXPECT_EQ(sparsec_dtype_bytes(SPARSEC_DTYPE_I8), 1u);
  EXPECT_EQ(sparsec_dtype_bytes(SPARSEC_DTYPE_NONE), 0u);
  EXPECT_EQ(sparsec_dtype_bytes(sparsec_dtype_t(77)), 0u);
  EXPECT_STREQ(sparsec_dtype_name(SPARSEC_DTYPE_F8E4M3FN), "f8E4M3FN");
  EXPECT_STREQ(sparsec_dtype_name(SPARSEC_DTYPE_I64), "i64");
  EXPECT_STREQ(sparsec_dtype_name(SPARSEC_DTYPE_I32), "i32");
  EXPECT_STREQ(sparsec_dtype_name(SPARSEC_DTYPE_I8), "i8");
  EXPECT_STREQ(sparsec_dtype_name(sparsec_dtype_t(77)), "unknown");
}

/// A 6 x 10 bf16 tensor on a CUDA device: rows 16 elements apart, 32 bytes into its memory.
struct Tensor {
  int64_t shape[6] = {6, 10}, strides[6] = {16, 1};
  char data[1];
  dlpack::ManagedTensor managed = {
      {data, {dlpack::cuda, 0}, 2, {dlpack::bfloatCode, 16, 1}, shape, strides, 32}, nullptr, nullptr};
};

TEST(DLPack, StridedTensorIsViewedInPlace) {
  Tensor tensor;
  auto dense = sparsec::sized<sparsec_dense_t>();
  ASSERT_OK(sparsec_dense_from_dlpack(&tensor.managed, &dense));
  EXPECT_EQ(dense.data, tensor.data + 32);
  EXPECT_EQ(dense.dtype, SPARSEC_DTYPE_BF16);
  EXPECT_EQ(dense.rank, 2);
  EXPECT_EQ(dense.sizes[0], 6);
  EXPECT_EQ(dense.sizes[1], 10);
  EXPECT_EQ(dense.strides[0], 16);
  EXPECT_EQ(dense.strides[1], 1);
}

TEST(DLPack, CompactTensorsNeedNoStrides) {
  Tensor tensor;
  tensor.managed.tensor.strides = nullptr;
  tensor.managed.tensor.ndim = 3;
  tensor.shape[2] = 4;
  auto dense = sparsec::sized<sparsec_dense_t>();
  ASSERT_OK(sparsec_dense_from_dlpack(&tensor.managed, &dense));
  EXPECT_EQ(dense.strides[0], 40);
  EXPECT_EQ(dense.strides[1], 4);
  EXPECT_EQ(dense.strides[2], 1);
}

TEST(DLPack, SequenceFirstTensorSeenByHeads) {
  // The export of a framework for a (2, 5, 3, 64) tensor with its two middle dimensions swapped.
  Tensor tensor;
  tensor.managed.tensor.ndim = 4;
  std::ranges::copy(std::initializer_list<int64_t>{2, 3, 5, 64}, tensor.shape);
  std::ranges::copy(std::initializer_list<int64_t>{960, 64, 192, 1}, tensor.strides);
  auto dense = sparsec::sized<sparsec_dense_t>();
  ASSERT_OK(sparsec_dense_from_dlpack(&tensor.managed, &dense));
  EXPECT_EQ(dense.rank, 4);
  EXPECT_THAT(std::span(dense.sizes, 4), ::testing::ElementsAre(2, 3, 5, 64));
  EXPECT_THAT(std::span(dense.strides, 4), ::testing::ElementsAre(960, 64, 192, 1));
}

TEST(DLPack, StridesOfSingleElementsMeanNothing) {
  Tensor tensor;
  tensor.shape[1] = 1;
  tensor.strides[1] = 999;
  auto dense = sparsec::sized<sparsec_dense_t>();
  ASSERT_OK(sparsec_dense_from_dlpack(&tensor.managed, &dense));
  EXPECT_EQ(dense.strides[1], 1);
  tensor.shape[0] = 1;
  tensor.shape[1] = 10;
  tensor.strides[0] = 0;
  tensor.strides[1] = 1;
  ASSERT_OK(sparsec_dense_from_dlpack(&tensor.managed, &dense));
  EXPECT_EQ(dense.strides[0], 10) << "at least the width, as a launch expects";
}

TEST(DLPack, StridesOfEmptyTensorsMeanNothing) {
  // The export of a framework for an expanded tensor, cut to no rows.
  Tensor tensor;
  tensor.shape[0] = 0;
  tensor.strides[0] = -7;
  tensor.strides[1] = 0;
  auto dense = sparsec::sized<sparsec_dense_t>();
  ASSERT_OK(sparsec_dense_from_dlpack(&tensor.managed, &dense));
  EXPECT_THAT(std::span(dense.sizes, 2), ::testing::ElementsAre(0, 10));
  EXPECT_THAT(std::span(dense.strides, 2), ::testing::ElementsAre(10, 1));
}

TEST(DLPack, TypesAndDevices) {
  struct {
    uint8_t code, bits;
    sparsec_dtype_t dtype;
  } types[] = {{2, 32, SPARSEC_DTYPE_F32},      {2, 16, SPARSEC_DTYPE_F16},    {4, 16, SPARSEC_DTYPE_BF16},
               {10, 8, SPARSEC_DTYPE_F8E4M3FN}, {12, 8, SPARSEC_DTYPE_F8E5M2}, {0, 32, SPARSEC_DTYPE_I32},
               {0, 64, SPARSEC_DTYPE_I64},      {0, 8, SPARSEC_DTYPE_I8},      {6, 8, SPARSEC_DTYPE_I8}};
  for (auto [code, bits, dtype] : types)
    for (int32_t device : {1, 2, 3, 13}) {
      Tensor tensor;
      tensor.managed.tensor.dtype = {code, bits, 1};
      tensor.managed.tensor.device.type = device;
      auto dense = sparsec::sized<sparsec_dense_t>();
      EXPECT_OK(sparsec_dense_from_dlpack(&tensor.managed, &dense));
      EXPECT_EQ(dense.dtype, dtype);
    }
}

TEST(DLPack, DevicesOfTheMemory) {
  Tensor tensor;
  auto dense = sparsec::sized<sparsec_dense_t>();
  tensor.managed.tensor.device = {dlpack::cuda, 3};
  ASSERT_OK(sparsec_dense_from_dlpack(&tensor.managed, &dense));
  EXPECT_EQ(dense.device, 3);
  tensor.managed.tensor.device = {dlpack::cpu, 0};
  ASSERT_OK(sparsec_dense_from_dlpack(&tensor.managed, &dense));
  EXPECT_EQ(dense.device, SPARSEC_PLACE_HOST);
  for (int32_t shared : {dlpack::cudaHost, dlpack::cudaManaged}) {
    tensor.managed.tensor.device = {shared, 0};
    ASSERT_OK(sparsec_dense_from_dlpack(&tensor.managed, &dense));
    EXPECT_EQ(dense.device, SPARSEC_PLACE_UNKNOWN) << "usable on the host and on devices";
  }
  dense.size = 100;
  EXPECT_STATUS(sparsec_dense_from_dlpack(&tensor.managed, &dense), SPARSEC_STATUS_INVALID_ARGUMENT,
                "out_dense: expects a size of at least 112 bytes, but got 100");
}

/// The same tensor as DLPack 1.x has it.
struct VersionedTensor : Tensor {
  dlpack::ManagedTensorVersioned versioned = {{1, 3}, nullptr, nullptr, 0, managed.tensor};
};

TEST(DLPack, VersionedTensorGivesTheSameView) {
  VersionedTensor tensor;
  auto expected = sparsec::sized<sparsec_dense_t>(), dense = expected;
  ASSERT_OK(sparsec_dense_from_dlpack(&tensor.managed, &expected));
  ASSERT_OK(sparsec_dense_from_dlpack_versioned(&tensor.versioned, &dense));
  EXPECT_EQ(std::memcmp(&dense, &expected, sizeof(dense)), 0);
  tensor.versioned.tensor.device = {dlpack::cuda, 5};
  ASSERT_OK(sparsec_dense_from_dlpack_versioned(&tensor.versioned, &dense));
  EXPECT_EQ(dense.device, 5);
}

TEST(DLPack, ReadOnlyTensorGivesAReadOnlyView) {
  VersionedTensor tensor;
  auto dense = sparsec::sized<sparsec_dense_t>();
  // Read-only; a copy; padded; a flag of a later version.
  const std::pair<uint64_t, uint32_t> cases[] = {{0, 0}, {1, SPARSEC_DENSE_READ_ONLY}, {2, 0}, {4, 0}, {1 << 20, 0}};
  for (auto [flags, expected] : cases) {
    tensor.versioned.flags = flags;
    ASSERT_OK(sparsec_dense_from_dlpack_versioned(&tensor.versioned, &dense));
    EXPECT_EQ(dense.flags, expected);
  }
}

TEST(DLPack, NothingButTheVersionIsReadOfAnotherOne) {
  VersionedTensor tensor;
  tensor.versioned.tensor.device.type = 99;
  auto dense = sparsec::sized<sparsec_dense_t>();
  for (auto [major, minor, text] : {std::tuple(0u, 8u, "0.8"), std::tuple(2u, 0u, "2.0")}) {
    tensor.versioned.version = {major, minor};
    EXPECT_STATUS(sparsec_dense_from_dlpack_versioned(&tensor.versioned, &dense), SPARSEC_STATUS_INVALID_ARGUMENT,
                  std::string("managed_tensor: expects DLPack version 1, but got ") + text);
  }
  tensor.versioned.version = {1, 0};
  EXPECT_STATUS(sparsec_dense_from_dlpack_versioned(&tensor.versioned, &dense), SPARSEC_STATUS_INVALID_ARGUMENT,
                "an unknown device");
  EXPECT_STATUS(sparsec_dense_from_dlpack_versioned(nullptr, &dense), SPARSEC_STATUS_INVALID_ARGUMENT,
                "managed_tensor is NULL");
  EXPECT_STATUS(sparsec_dense_from_dlpack_versioned(&tensor.versioned, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "out_dense is NULL");
}

TEST(DLPack, CppLayer) {
  VersionedTensor tensor;
  tensor.versioned.flags = dlpack::readOnlyFlag;
  // The structs of dlpack.h have other names than ours.
  EXPECT_EQ(sparsec::fromDlpack(reinterpret_cast<DLManagedTensor *>(&tensor.managed)).flags, 0u);
  EXPECT_EQ(sparsec::fromDlpack(reinterpret_cast<DLManagedTensorVersioned *>(&tensor.versioned)).flags,
            SPARSEC_DENSE_READ_ONLY);
  tensor.managed.tensor.device.type = 10;
  EXPECT_THROW(sparsec::fromDlpack(reinterpret_cast<DLManagedTensor *>(&tensor.managed)), sparsec::Error);
}

TEST(DLPack, NullDataOfAnEmptyTensorStaysNull) {
  Tensor tensor;
  tensor.shape[0] = 0;
  tensor.managed.tensor.data = nullptr;
  auto dense = sparsec::sized<sparsec_dense_t>();
  ASSERT_OK(sparsec_dense_from_dlpack(&tensor.managed, &dense));
  EXPECT_EQ(dense.data, nullptr);
}

TEST(DLPack, WhatHasNoViewIsRefused) {
  struct {
    const char *message;
    std::function<void(Tensor &)> change;
  } cases[] = {
      {"expects memory of the processor or of CUDA, but got ROCm (DLPack device type 10)",
       [](auto &t) { t.managed.tensor.device.type = 10; }},
      {"but got Vulkan (DLPack device type 7)", [](auto &t) { t.managed.tensor.device.type = 7; }},
      {"but got Trainium (DLPack device type 18)", [](auto &t) { t.managed.tensor.device.type = 18; }},
      {"but got an unknown device (DLPack device type 19)", [](auto &t) { t.managed.tensor.device.type = 19; }},
      {"but got an unknown device (DLPack device type 5)", [](auto &t) { t.managed.tensor.device.type = 5; }},
      {"but got an unknown device (DLPack device type -1)", [](auto &t) { t.managed.tensor.device.type = -1; }},
      {"expects a CUDA device of 0 or more, but got -1", [](auto &t) { t.managed.tensor.device.id = -1; }},
      {"expects rank 0 to 5, but got 6", [](auto &t) { t.managed.tensor.ndim = 6; }},
      {"expects rank 0 to 5, but got -1", [](auto &t) { t.managed.tensor.ndim = -1; }},
      {"shape is NULL", [](auto &t) { t.managed.tensor.shape = nullptr; }},
      {"expects elements of type float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, int64, int32, int8 or bool, "
       "but got int16",
       [](auto &t) { t.managed.tensor.dtype.code = 0; }},
      {"but got bfloat16x2", [](auto &t) { t.managed.tensor.dtype.lanes = 2; }},
      {"but got float64", [](auto &t) { t.managed.tensor.dtype = {2, 64, 1}; }},
      {"but got uint8", [](auto &t) { t.managed.tensor.dtype = {1, 8, 1}; }},
      {"but got float8_e4m3fnuz", [](auto &t) { t.managed.tensor.dtype = {11, 8, 1}; }},
      {"but got float4_e2m1fnx2", [](auto &t) { t.managed.tensor.dtype = {17, 4, 2}; }},
      {"but got type code 18 of 3 bits", [](auto &t) { t.managed.tensor.dtype = {18, 3, 1}; }},
      {"size 0 is -6", [](auto &t) { t.shape[0] = -6; }},
      {"size 1 is 4294967296", [](auto &t) { t.shape[1] = int64_t(1) << 32; }},
      {"stride 1 is 2", [](auto &t) { t.strides[1] = 2; }},
      {"stride 0 is -16", [](auto &t) { t.strides[0] = -16; }},
      {"stride 0 is too large", [](auto &t) { t.strides[0] = INT64_MAX; }},
  };
  for (auto &[message, change] : cases) {
    Tensor tensor;
    change(tensor);
    sparsec_dense_t dense = sparsec_dense_1d(&tensor, SPARSEC_DTYPE_F32, 1);
    EXPECT_STATUS(sparsec_dense_from_dlpack(&tensor.managed, &dense), SPARSEC_STATUS_INVALID_ARGUMENT, message);
    EXPECT_EQ(dense.data, nullptr);
  }
  auto dense = sparsec::sized<sparsec_dense_t>();
  EXPECT_STATUS(sparsec_dense_from_dlpack(nullptr, &dense), SPARSEC_STATUS_INVALID_ARGUMENT, "managed_tensor is NULL");
  EXPECT_STATUS(sparsec_dense_from_dlpack(&dense, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "out_dense is NULL");
}

} // namespace
