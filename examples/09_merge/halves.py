# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over two halves of the keys, merged, against attention over all of them. Needs NumPy alone."""

import pathlib

import numpy as np

import sparsec

module = sparsec.compile(pathlib.Path(__file__).parent / "kernel.mlir", targets="host")
part, merge = module["part"], module["merge"]

generator = np.random.default_rng(1)
q, k, v = (generator.standard_normal((1, 8, rows, 64)).astype(np.float16) for rows in (500, 900, 900))

halves = slice(0, 450), slice(450, 900)
(o1, lse1), (o2, lse2) = [part(q, k[:, :, half].copy(), v[:, :, half].copy()) for half in halves]
o = np.empty(q.shape, np.float16)
merge(o1, lse1, o2, lse2, out=(o, lse1))  # the LSE takes the place of that of the first half

whole, whole_lse = part(q, k, v)
error, lse_error = np.abs(o - whole).max(), np.abs(lse1 - whole_lse).max()
assert error < 2**-11 and lse_error < 1e-5
print(f"two halves of 900 keys: largest error {error:.1e} of o, {lse_error:.1e} of lse")
