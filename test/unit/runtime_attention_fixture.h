// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of cudaAttention(), or one made from it, loaded on the fake device, with arguments for it.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_ATTENTION_FIXTURE_H
#define SPARSEC_TEST_UNIT_RUNTIME_ATTENTION_FIXTURE_H

#include "runtime_kernel_fixture.h"

namespace sparsec::test {

class AttentionOnFake : public KernelOnFake {
protected:
  enum { q, k, v, pattern, scale, slopes, ids, o, lse };
};

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_ATTENTION_FIXTURE_H
