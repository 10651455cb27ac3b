# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse matrices and lists of patterns as trees of JAX.

The values of a matrix are a leaf, so that they have gradients and optimizers update them. Where its lists are arrays of
NumPy, they are constants of the computations that have the matrix: JAX compares them by their contents, and other lists
make another computation. Where they are arrays of JAX, they are leaves too, and may change from call to call. The
arrays of the lists of a pattern are leaves.
"""

from __future__ import annotations

import weakref
from typing import Any

import jax
import numpy as np

from sparsec.bsr import BSR
from sparsec.patterns.lists import BlockLists

__all__ = ["LIST_ARRAYS", "ConstantLists", "constant_lists"]

_Array = np.ndarray[Any, Any]


class ConstantLists:
    """The lists of a matrix as a constant, with its shape and block. Equal ones have equal contents."""

    def __init__(self, matrix: BSR) -> None:
        """Copies the lists. Raises InvalidPattern if they break a rule."""
        matrix.check()
        self.row_ptr, self.col_idx = _copy(matrix.row_ptr), _copy(matrix.col_idx)
        self.shape, self.block = matrix.shape, matrix.block
        self._hash = hash((self.shape, self.block, self.row_ptr.tobytes(), self.col_idx.tobytes()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, ConstantLists)
            and (self._hash, self.shape, self.block) == (other._hash, other.shape, other.block)
            and np.array_equal(self.row_ptr, other.row_ptr)
            and np.array_equal(self.col_idx, other.col_idx)
        )


def _copy(array: _Array) -> _Array:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


_constants: weakref.WeakKeyDictionary[BSR, ConstantLists] = weakref.WeakKeyDictionary()


def constant_lists(matrix: BSR) -> ConstantLists | None:
    """The lists of a matrix if they are arrays of NumPy, else None. They are read once: they may not change."""
    arrays = (matrix.row_ptr, matrix.col_idx)
    if not all(isinstance(each, np.ndarray) and each.dtype == np.int32 for each in arrays):
        return None  # a gradient of lists is an array of NumPy too, of JAX's float0
    lists = _constants.get(matrix)
    if lists is None:
        lists = _constants[matrix] = ConstantLists(matrix)
    return lists


# ---- Trees -----------------------------------------------------------------------------------------------------------

_Auxiliary = ConstantLists | tuple[tuple[int, int], tuple[int, int]]  # lists, or the shape and the block
_VALUES = jax.tree_util.GetAttrKey("values")
_LISTS = jax.tree_util.GetAttrKey("row_ptr"), jax.tree_util.GetAttrKey("col_idx")
LIST_ARRAYS = ("full_starts", "full_indices", "partial_starts", "partial_indices")


def _flatten_matrix(matrix: BSR) -> tuple[tuple[tuple[Any, Any], ...], _Auxiliary]:
    lists = constant_lists(matrix)
    if lists is not None:
        return ((_VALUES, matrix.values),), lists
    parts = (*_LISTS, _VALUES)
    return tuple(zip(parts, (matrix.row_ptr, matrix.col_idx, matrix.values), strict=True)), (matrix.shape, matrix.block)


def _unflatten_matrix(auxiliary: _Auxiliary, leaves: Any) -> BSR:
    if not isinstance(auxiliary, ConstantLists):
        row_ptr, col_idx, values = leaves
        return BSR.of_leaves(row_ptr, col_idx, values, *auxiliary)
    (values,) = leaves
    matrix = BSR.of_leaves(auxiliary.row_ptr, auxiliary.col_idx, values, auxiliary.shape, auxiliary.block)
    _constants[matrix] = auxiliary
    return matrix


def _flatten_lists(lists: BlockLists) -> tuple[tuple[tuple[Any, Any], ...], Any]:
    arrays = tuple((jax.tree_util.GetAttrKey(name), getattr(lists, name)) for name in LIST_ARRAYS)
    return arrays, (lists.queries, lists.keys, lists.block, lists.padded)


def _unflatten_lists(auxiliary: Any, leaves: Any) -> BlockLists:
    queries, keys, block, padded = auxiliary
    return BlockLists(queries, keys, block, **dict(zip(LIST_ARRAYS, leaves, strict=True)), padded=padded)


jax.tree_util.register_pytree_with_keys(BSR, _flatten_matrix, _unflatten_matrix)
jax.tree_util.register_pytree_with_keys(BlockLists, _flatten_lists, _unflatten_lists)
