/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host kernels as the compiler would make them, in C: y = tanh(w x) with f32
 * blocks of 16 x 16, tiles of 16 rows x 8 columns, and attention. Compiled as
 * the host image demands (see launch_info.h); the test writes the launch info of
 * one of them into the space that is left for it.
 */
#include "sparsec/launch_info.h"

#define BLOCK 16
#define TILE_COLUMNS 8

const unsigned char sparsec_launch_info[4096] = {1};

float tanhf(float);
float expf(float);
float logf(float);

/* A function pointer in data, and data that is written: both need their own kind of section. */
static float (*const activation[])(float) = {tanhf};
unsigned test_tiles_computed;

void sparsec_test_tanh_product(const uint64_t *parameters, int64_t tile_begin, int64_t tile_end) {
  const float *values = (const float *)parameters[0];
  const int32_t *rowPtr = (const int32_t *)parameters[1];
  const int32_t *colIdx = (const int32_t *)parameters[2];
  const float *x = (const float *)parameters[3];
  const int64_t xStride = (int64_t)parameters[4];
  float *y = (float *)parameters[5];
  const int64_t yStride = (int64_t)parameters[6];
  const int64_t mSize = (int64_t)parameters[7], nSize = (int64_t)parameters[8], kSize = (int64_t)parameters[9];
  const int64_t panels = (int64_t)parameters[10];
  for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
    const int64_t row = tile / panels, panel = tile % panels;
    __atomic_fetch_add(&test_tiles_computed, 1, __ATOMIC_RELAXED);
    for (int64_t m = row * BLOCK; m < (row + 1) * BLOCK && m < mSize; ++m)
      for (int64_t n = panel * TILE_COLUMNS; n < (panel + 1) * TILE_COLUMNS && n < nSize; ++n) {
        float sum = 0;
        for (int32_t block = rowPtr[row]; block < rowPtr[row + 1]; ++block)
          for (int64_t k = 0; k < BLOCK && colIdx[block] * BLOCK + k < kSize; ++k)
            sum += values[(block * BLOCK + m % BLOCK) * BLOCK + k] * x[(colIdx[block] * BLOCK + k) * xStride + n];
        y[m * yStride + n] = activation[0](sum);
      }
  }
}

/*
 * Attention in f32 with the parameters of cudaAttention() of runtime_images.cpp:
 * head dimension 4, blocks of 2 queries x 3 keys, tiles of 2 queries.
 */
enum { DIMENSION = 4, QUERY_BLOCK = 2, KEY_BLOCK = 3 };

struct Tensor {
  float *data;
  const int64_t *strides;
};

static struct Tensor tensorAt(const uint64_t *parameters) {
  struct Tensor result = {(float *)parameters[0], (const int64_t *)parameters + 1};
  return result;
}

static float *rowOf(struct Tensor tensor, int64_t batch, int64_t head, int64_t row) {
  return tensor.data + batch * tensor.strides[0] + head * tensor.strides[1] + row * tensor.strides[2];
}

/* Whether list `list` holds the block. */
static int listHolds(const uint64_t *pattern, const int32_t *starts, const int32_t *indices, int64_t list,
                     int32_t block) {
  if (!starts)
    return 0;
  const int isPadded = (int32_t)pattern[0] == SPARSEC_PATTERN_PADDED_LISTS;
  const int64_t begin = isPadded ? list * (int64_t)pattern[3] : starts[list];
  const int64_t end = isPadded ? begin + starts[list] : starts[list + 1];
  for (int64_t i = begin; i < end; ++i)
    if (indices[i] == block)
      return 1;
  return 0;
}

void sparsec_test_attention(const uint64_t *parameters, int64_t tile_begin, int64_t tile_end) {
  const struct Tensor q = tensorAt(parameters), k = tensorAt(parameters + 4), v = tensorAt(parameters + 8);
  const struct Tensor o = tensorAt(parameters + 12);
  const int64_t heads = (int32_t)parameters[16], queries = (int32_t)parameters[17];
  const int64_t keyHeads = (int32_t)parameters[18], keys = (int32_t)parameters[19];
  float *lse = (float *)parameters[20];
  const int64_t *lseStrides = (const int64_t *)parameters + 21;
  const float scale = *(const float *)(parameters + 23);
  const uint64_t *pattern = parameters + 24;
  const float *slopes = (const float *)parameters[32];
  const int32_t *ids = (const int32_t *)parameters[33];
  const int64_t idStride = (int64_t)parameters[34];
  const int64_t rows = (queries + QUERY_BLOCK - 1) / QUERY_BLOCK;
  for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
    const int64_t row = tile % rows, head = tile / rows % heads, batch = tile / rows / heads;
    const int64_t keyHead = head / (heads / keyHeads);
    const int64_t list =
        ((pattern[1] == 1 ? 0 : batch) * (int64_t)pattern[2] + (pattern[2] == 1 ? 0 : head)) * rows + row;
    for (int64_t i = row * QUERY_BLOCK; i < (row + 1) * QUERY_BLOCK && i < queries; ++i) {
      float sum = 0, result[DIMENSION] = {0};
      for (int64_t key = 0; key < keys; ++key) {
        const int32_t block = (int32_t)(key / KEY_BLOCK);
        const int isFull = listHolds(pattern, (const int32_t *)pattern[6], (const int32_t *)pattern[7], list, block);
        const int isPartial = listHolds(pattern, (const int32_t *)pattern[4], (const int32_t *)pattern[5], list, block);
        if (!isFull && !(isPartial && ids[batch * idStride + i] == ids[batch * idStride + key]))
          continue;
        float score = 0;
        for (int d = 0; d < DIMENSION; ++d)
          score += rowOf(q, batch, head, i)[d] * rowOf(k, batch, keyHead, key)[d];
        const float weight = expf(scale * score + slopes[head] * (float)(key - i));
        sum += weight;
        for (int d = 0; d < DIMENSION; ++d)
          result[d] += weight * rowOf(v, batch, keyHead, key)[d];
      }
      for (int d = 0; d < DIMENSION; ++d)
        rowOf(o, batch, head, i)[d] = sum == 0 ? 0 : result[d] / sum;
      lse[batch * lseStrides[0] + head * lseStrides[1] + i] = sum == 0 ? -__builtin_inff() : logf(sum);
    }
  }
}
