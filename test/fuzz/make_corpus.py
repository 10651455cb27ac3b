# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make_corpus.py: writes the files of test/fuzz/corpus that NumPy and SciPy make. The other ones are text, or copies
that were damaged by hand."""

import io
import pathlib
import zipfile

import numpy
import scipy.sparse

CORPUS = pathlib.Path(__file__).parent / "corpus"

# 1, -2.5 and 3 are exact in every type; 65504 is the largest number of float16, 2^-14 its smallest normal one.
values = numpy.array([[1, -2.5, 3], [0, 65504, 2**-14]])
for name in ["float16", "float32", "float64", "int32", "complex64"]:
    numpy.save(CORPUS / f"numpy/{name}.npy", values.astype(name))
numpy.save(CORPUS / "numpy/uint16.npy", values.clip(0).astype("uint16"))
numpy.save(CORPUS / "numpy/big_endian.npy", values.astype(">f4"))
numpy.save(CORPUS / "numpy/fortran.npy", numpy.asfortranarray(values.astype("float32")))
numpy.save(CORPUS / "numpy/rank0.npy", numpy.float32(2.5))
numpy.save(CORPUS / "numpy/empty.npy", numpy.zeros((0, 5), "float32"))
numpy.save(CORPUS / "numpy/structured.npy", numpy.zeros(2, [("a", "float32"), ("b", "int32")]))
with open(CORPUS / "numpy/version2.npy", "wb") as file:
    numpy.lib.format.write_array(file, values.astype("float32"), version=(2, 0))

# 4 x 6 in blocks of 2 x 3, of which the block (0, 0) is absent and one element of the block (0, 1) is zero.
matrix = numpy.zeros((4, 6))
matrix[0:2, 3:6] = [[1, 2, 3], [4, 5, 0]]
matrix[2:4, 0:3] = [[7, 8, 9], [-1, -2, -3]]
matrix[2:4, 3:6] = 1
bsr = scipy.sparse.bsr_matrix(matrix, blocksize=(2, 3))
scipy.sparse.save_npz(CORPUS / "scipy/compressed.npz", bsr)
scipy.sparse.save_npz(CORPUS / "scipy/stored.npz", bsr, compressed=False)
scipy.sparse.save_npz(CORPUS / "scipy/csr.npz", scipy.sparse.csr_matrix(matrix))

# The arrays alone, as fuzz_scipy.cpp takes them.
archive = zipfile.ZipFile(io.BytesIO((CORPUS / "scipy/stored.npz").read_bytes()))
arrays = [archive.read(f"{name}.npy") for name in ["format", "shape", "indptr", "indices", "data"]]
(CORPUS / "scipy/arrays.bin").write_bytes(b"".join(arrays))
