# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes operands of a product with a scale for each block, or compares a result with the dense product of NumPy. All
numbers are exact, and so are their sums."""
import sys

import numpy as np

prefix = sys.argv[2]
rng = np.random.default_rng(7)
indptr, indices = np.array([0, 2, 2, 5]), np.array([3, 0, 1, 2, 3])
data = rng.integers(-4, 5, (5, 32, 48)).astype(np.float32)
scales = np.ldexp(1 + rng.integers(0, 2, 5) / 2, rng.integers(-3, 3, 5)).astype(np.float32)
x = rng.integers(-2, 3, (70, 192)).astype(np.float32)
if sys.argv[1] == "write":
    np.savez(prefix + ".w.npz", format=np.bytes_(b"bsr"), shape=np.array([96, 192]), indptr=indptr.astype(np.int32),
             indices=indices.astype(np.int32), data=data)
    np.save(prefix + ".s.npy", scales)
    np.save(prefix + ".x.npy", x)
else:
    dense = np.zeros((96, 192))
    for row in range(3):
        for block in range(indptr[row], indptr[row + 1]):
            dense[32 * row:32 * (row + 1), 48 * indices[block]:48 * (indices[block] + 1)] = scales[block] * data[block]
    np.testing.assert_array_equal(np.load(prefix + ".y.npy"), x @ dense.T)
