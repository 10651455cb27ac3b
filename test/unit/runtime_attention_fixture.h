// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of cudaAttention(), or one made from it, loaded on the fake device, with arguments for it.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_ATTENTION_FIXTURE_H
#define SPARSEC_TEST_UNIT_RUNTIME_ATTENTION_FIXTURE_H

#include "runtime_kernel_fixture.h"

namespace sparsec::test {

/// States of a block in block masks.
enum : uint8_t { empty = SPARSEC_BLOCK_EMPTY, full = SPARSEC_BLOCK_FULL, partial = SPARSEC_BLOCK_PARTIAL };

class AttentionOnFake : public KernelOnFake {
protected:
  enum { q, k, v, pattern, scale, slopes, ids, o, lse };

  /// 2 batches, 8 heads of which 4 share each of 2 key heads, 100 queries, 300 keys, head dimension 64. Memory that
  /// only a GPU would read is made up.
  void setArguments(const sparsec_blocks_t &lists) {
    auto tensor = [](uintptr_t address, int64_t heads, int64_t length) {
      return sparsec_dense_bhsd(at(address), SPARSEC_DTYPE_BF16, 2, heads, length, 64);
    };
    arguments = {tensor(0x100000, 8, 100),
                 tensor(0x200000, 2, 300),
                 tensor(0x300000, 2, 300),
                 lists,
                 0.125,
                 sparsec_dense_1d(at(0x50000), SPARSEC_DTYPE_F32, 8),
                 sparsec_dense_2d(at(0x60000), SPARSEC_DTYPE_I32, 2, 300),
                 tensor(0x400000, 8, 100),
                 sparsec_dense_3d(at(0x500000), SPARSEC_DTYPE_F32, 2, 8, 100)};
  }
};

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_ATTENTION_FIXTURE_H
