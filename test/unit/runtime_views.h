// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views as tests write them down.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_VIEWS_H
#define SPARSEC_TEST_UNIT_RUNTIME_VIEWS_H

#include "runtime_expect.h"
#include "sparsec/argument.hpp"

#include <cstring>
#include <limits>

namespace sparsec::test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

using sparsec::ArgumentArray;
using sparsec::sized;

/// Arguments that tests change; data() is what the C interface takes, valid until the next call.
class ArgumentList : public std::vector<sparsec::Argument> {
public:
  using vector::vector;
  const sparsec_argument_t *data() const {
    handles.clear();
    for (const sparsec::Argument &argument : *this)
      handles.push_back(argument.handle());
    return handles.data();
  }

private:
  mutable std::vector<sparsec_argument_t> handles;
};

/// The bits of a number as f16.
inline uint16_t f16(float value) {
  _Float16 narrow = _Float16(value);
  uint16_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  return bits;
}

/// A pattern without lists.
inline sparsec_blocks_t shapeOf(int32_t queryBlock, int32_t keyBlock, int64_t batches, int64_t heads, int64_t queries,
                                int64_t keys, sparsec_pattern_encoding_t encoding = SPARSEC_PATTERN_INDEX_ARRAYS) {
  sparsec_blocks_t shape = sparsec_blocks_pattern(batches, heads, queries, keys, queryBlock, keyBlock);
  shape.encoding = encoding;
  return shape;
}

inline sparsec_blocks_t viewOf(sparsec_pattern_buffer_t buffer) {
  auto view = sized<sparsec_blocks_t>();
  EXPECT_OK(sparsec_pattern_buffer_view(buffer, &view));
  return view;
}

/// How many there are of rows and columns of blocks, and of lists.
inline int64_t blockRowsOf(const sparsec_blocks_t &blocks) {
  return (blocks.rows + blocks.block_rows - 1) / blocks.block_rows;
}
inline int64_t blockColumnsOf(const sparsec_blocks_t &blocks) {
  return (blocks.columns + blocks.block_columns - 1) / blocks.block_columns;
}
inline int64_t listsOf(const sparsec_blocks_t &blocks) { return blocks.batches * blocks.heads * blockRowsOf(blocks); }

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_VIEWS_H
