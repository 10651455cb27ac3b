# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes operands of a product with scales of blocks and of X, or compares a result with the dense product of NumPy.
All numbers are exact, and so are their sums."""
import sys

import numpy as np

prefix = sys.argv[2]
rng = np.random.default_rng(7)
indptr, indices = np.array([0, 2, 2, 5]), np.array([2, 0, 1, 0, 2])
data = rng.integers(-4, 5, (5, 32, 64)).astype(np.float32)
scales = np.ldexp(1 + rng.integers(0, 2, 5) / 2, rng.integers(-3, 3, 5)).astype(np.float32)
x = rng.integers(-2, 3, (70, 160)).astype(np.float32)
x_scale = np.ldexp(1 + rng.integers(0, 2, (70, 2)) / 2, rng.integers(-3, 3, (70, 2))).astype(np.float32)
if sys.argv[1] == "write":
    np.savez(prefix + ".w.npz", format=np.bytes_(b"bsr"), shape=np.array([96, 160]), indptr=indptr.astype(np.int32),
             indices=indices.astype(np.int32), data=data)
    for name, array in ("s", scales), ("x", x), ("t", x_scale):
        np.save(f"{prefix}.{name}.npy", array)
else:
    dense = np.zeros((96, 192))
    for row in range(3):
        for block in range(indptr[row], indptr[row + 1]):
            dense[32 * row:32 * (row + 1), 64 * indices[block]:64 * (indices[block] + 1)] = scales[block] * data[block]
    scaled = x * np.repeat(x_scale, 128, axis=1)[:, :160]
    np.testing.assert_array_equal(np.load(prefix + ".y.npy"), scaled @ dense[:, :160].T)
