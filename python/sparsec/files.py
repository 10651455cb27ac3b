# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of matrices and of masks of blocks: those that sparsec-run reads too."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .bsr import BSR, block_pair
from .errors import InvalidArgument

Array = np.ndarray[Any, Any]


def read_smtx(path: Path) -> BSR:
    """The pattern of a file of the Deep Learning Matrix Collection, with blocks of 1 x 1.

    Raises:
        InvalidArgument: the file is of another kind.
    """
    try:
        sizes, row_ptr, col_idx = ([int(word) for word in line.replace(",", " ").split()]
                                   for line in (path.read_text() + "\n\n").splitlines()[:3])  # fmt: skip
        rows, columns, count = sizes
    except ValueError:
        raise InvalidArgument(f"{path}: expects lines of sizes, row pointers and columns") from None
    values = np.ones((count, 1, 1), np.float32)
    return BSR(np.array(row_ptr, np.int32), np.array(col_idx, np.int32), values, (rows, columns))


def read_npy(path: Path) -> Array:
    """The array of a .npy file. Raises InvalidArgument if it is damaged, or holds objects."""
    try:
        array: Array = np.load(path)
    except (ValueError, EOFError) as error:
        raise InvalidArgument(f"{path}: {error}") from None
    return array


def read_scipy(path: Path) -> BSR:
    """The BSR matrix of a file of scipy.sparse.save_npz, with values of f32.

    Raises:
        InvalidArgument: there is no SciPy, or the file is of another kind.
    """
    sparse = _scipy(path, "scipy.sparse")
    try:
        matrix = sparse.load_npz(path)
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InvalidArgument(f"{path}: {error}") from None
    return BSR.from_scipy(matrix, "f32")


def read_states(path: Path) -> Array:
    """The states of blocks of a mask: 0 empty, 1 full, 2 partial.

    Args:
        path: .npy: bool, or uint8 with the states; .smtx: a pattern whose nonzeros are full blocks.

    Raises:
        InvalidArgument: the file is of another kind, or holds something else.
    """
    if path.suffix == ".smtx":
        return np.asarray(read_smtx(path).to_dense() != 0, np.uint8)
    if path.suffix != ".npy":
        raise InvalidArgument(f"{path}: expects a .npy or .smtx file")
    states = read_npy(path)
    if states.dtype not in (np.bool_, np.uint8):
        raise InvalidArgument(f"{path}: expects bool or uint8, but got {states.dtype}")
    if states.ndim != 2 or (states > 2).any():
        raise InvalidArgument(f"{path}: expects two dimensions of 0 (empty), 1 (full) and 2 (partial)")
    return np.asarray(states, np.uint8)


def read_matrix(path: Path, block: int | tuple[int, int], generator: np.random.Generator) -> BSR:
    """A block-sparse matrix with values of f32.

    Args:
        path: .smtx: a pattern whose nonzeros are blocks. .npy: a mask of blocks (bool), or a matrix (floats) that is
            cut into blocks; blocks of zeros are not stored. .mtx: a Matrix Market file, which is cut likewise. .npz: a
            BSR matrix of scipy.sparse.save_npz, with its own blocks.
        block: of the files that have none of their own.
        generator: of the values of patterns and masks.

    Raises:
        InvalidArgument: the file is of another kind, or it needs SciPy, which is not there.
    """
    match path.suffix:
        case ".smtx":
            return random_values(read_smtx(path).to_dense() != 0, block, generator)
        case ".npy":
            array = read_npy(path)
            if array.ndim != 2 or array.dtype.kind not in "bf":
                found = f"{array.dtype} {array.shape}"
                raise InvalidArgument(f"{path}: expects a matrix of bool or floats, but got {found}")
            is_mask = array.dtype == np.bool_
            return random_values(array, block, generator) if is_mask else BSR.from_dense(array, block, dtype="f32")
        case ".mtx":
            try:
                matrix = _scipy(path, "scipy.io").mmread(path)
            except ValueError as error:
                raise InvalidArgument(f"{path}: {error}") from None
            return BSR.from_dense(matrix.toarray() if hasattr(matrix, "toarray") else matrix, block, dtype="f32")
        case ".npz":
            return read_scipy(path)
    raise InvalidArgument(f"{path}: expects a .smtx, .mtx, .npy or .npz file")


def random_values(mask: Array, block: int | tuple[int, int], generator: np.random.Generator) -> BSR:
    """The matrix with the blocks of a mask, bool [block rows, block columns], and values of N(0, 1) in f32."""
    r, c = block_pair(block)
    row_ptr = np.concatenate([[0], mask.sum(1).cumsum()]).astype(np.int32)
    values = generator.standard_normal((int(row_ptr[-1]), r, c), np.float32)
    return BSR(row_ptr, np.nonzero(mask)[1].astype(np.int32), values, (mask.shape[0] * r, mask.shape[1] * c))


def _scipy(path: Path, module: str) -> Any:
    """A module of SciPy. Raises InvalidArgument if SciPy is not installed."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise InvalidArgument(f"{path}: reading it needs SciPy: pip install 'sparsec[scipy]'") from None
