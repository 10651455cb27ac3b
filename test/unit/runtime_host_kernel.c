/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A host kernel as the compiler would make it, in C: y = tanh(w x) with f32
 * blocks of 16 x 16, tiles of 16 rows x 8 columns. Compiled as the host image
 * demands (see launch_info.h); the test writes the launch info into the space
 * that is left for it.
 */
#include "sparsec/launch_info.h"

#define BLOCK 16
#define TILE_COLUMNS 8

const unsigned char sparsec_launch_info[4096] = {1};

float tanhf(float);

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
