# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""f8_scales.py {write|compare} PREFIX [x_scale]

Writes operands of a product with a scale for each block, and with scales of X where asked, or compares a result with
the dense product of NumPy. All numbers are exact, and so are their sums."""
import sys

import numpy as np

step, prefix = sys.argv[1:3]
has_x_scale = "x_scale" in sys.argv[3:]
block_columns, depth = (64, 160) if has_x_scale else (48, 144)  # with 64, the last column of blocks ends beyond K
rng = np.random.default_rng(7)


def some_scales(*shape):
    """Scales whose products with the operands are exact."""
    return np.ldexp(1 + rng.integers(0, 2, shape) / 2, rng.integers(-3, 3, shape)).astype(np.float32)


indptr, indices = np.array([0, 2, 2, 5]), np.array([2, 0, 1, 0, 2])
data = rng.integers(-4, 5, (5, 32, block_columns)).astype(np.float32)
scales = some_scales(5)
x = rng.integers(-2, 3, (70, depth)).astype(np.float32)
x_scale = some_scales(70, 2)
if step == "write":
    np.savez(prefix + ".w.npz", format=np.bytes_(b"bsr"), shape=np.array([96, depth]), indptr=indptr.astype(np.int32),
             indices=indices.astype(np.int32), data=data)
    np.save(prefix + ".s.npy", scales)
    np.save(prefix + ".x.npy", x)
    if has_x_scale:
        np.save(prefix + ".t.npy", x_scale)
else:
    dense = np.zeros((96, 3 * block_columns))
    for row in range(3):
        for block in range(indptr[row], indptr[row + 1]):
            columns = slice(block_columns * indices[block], block_columns * (indices[block] + 1))
            dense[32 * row:32 * (row + 1), columns] = scales[block] * data[block]
    scaled = x * np.repeat(x_scale, 128, axis=1)[:, :depth] if has_x_scale else x
    np.testing.assert_array_equal(np.load(prefix + ".y.npy"), scaled @ dense[:, :depth].T)
