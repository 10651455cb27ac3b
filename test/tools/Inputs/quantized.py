# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantized.py {write|compare} PREFIX [even]

Writes operands in f32 whose rows are of very different sizes, all of them too small for fp8, or compares a product of
their quantised values with that of NumPy: f8E4M3FN has 4 bits and f8E5M2 has 3.
Rows of X are alike where `even` is given."""
import sys

import numpy as np

step, prefix = sys.argv[1:3]
rng = np.random.default_rng(3)
sizes = np.exp2(-20.0 - (np.arange(70) % 9 if "even" not in sys.argv[3:] else np.zeros(70)))[:, None]
x = (rng.standard_normal((70, 160)) * sizes).astype(np.float32)
data = (rng.standard_normal((5, 32, 64)) * 2.0**-20).astype(np.float32)
indptr, indices = np.array([0, 2, 2, 5]), np.array([2, 0, 1, 0, 2])
if step == "write":
    np.savez(prefix + ".w.npz", format=np.bytes_(b"bsr"), shape=np.array([96, 160]), indptr=indptr.astype(np.int32),
             indices=indices.astype(np.int32), data=data)
    np.save(prefix + ".x.npy", x)
else:
    w = np.zeros((96, 192))
    for row in range(3):
        for block in range(indptr[row], indptr[row + 1]):
            w[32 * row:32 * (row + 1), 64 * indices[block]:64 * (indices[block] + 1)] = data[block]
    exact = x.astype(np.float64) @ w[:, :160].T
    errors = np.linalg.norm(np.load(prefix + ".y.npy") - exact, axis=1) / np.linalg.norm(exact, axis=1)
    assert errors.max() < 2**-3, errors.max()
