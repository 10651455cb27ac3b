# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scipy_files.py write FOLDER: writes inputs of scaled.mlir, as small integers that every type holds exactly.
scipy_files.py compare FOLDER: compares results y-*.npy with what NumPy computes."""

import pathlib
import sys

import numpy
import scipy.io
import scipy.sparse

folder = pathlib.Path(sys.argv[2])
numbers = numpy.random.default_rng(1)
pattern = numbers.random((5, 4)) < 0.5
w = numpy.kron(pattern, numpy.ones((16, 16))) * numbers.integers(-4, 5, (80, 64))
x = numbers.integers(-4, 5, (64, 7)).astype(numpy.float64)
bias = numbers.integers(-4, 5, 80).astype(numpy.float64)

if sys.argv[1] == "write":
    bsr = scipy.sparse.bsr_matrix(w.astype(numpy.float32), blocksize=(16, 16))
    scipy.sparse.save_npz(folder / "w.npz", bsr, compressed=False)
    scipy.sparse.save_npz(folder / "w-compressed.npz", bsr.astype(numpy.float64))
    scipy.io.mmwrite(folder / "w.mtx", scipy.sparse.coo_matrix(w))
    numpy.save(folder / "x.npy", x.astype(numpy.float32))
    numpy.save(folder / "x-double.npy", x)
    numpy.save(folder / "x-half.npy", x.astype(numpy.float16))
    numpy.save(folder / "bias.npy", bias)
else:
    results = sorted(folder.glob("y-*.npy"))
    assert len(results) == 3, results
    for result in results:
        numpy.testing.assert_array_equal(numpy.load(result), 2 * (w @ x) + bias[:, None], err_msg=str(result))
