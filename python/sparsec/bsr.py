# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse matrices."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _native, arrays, dtypes
from .errors import InvalidArgument
from .pictures import HostLists, Picture, draw_matrix


class BSR:
    """A block-sparse (BSR) matrix of M x K elements with blocks of r x c.

    It refers to its arrays and does not copy them. Elements of edge blocks beyond the matrix do not count.

    Attributes:
        row_ptr: int32 [ceil(M / r) + 1]. Block row i has the blocks row_ptr[i] up to row_ptr[i + 1].
        col_idx: int32 [blocks]. The block column of each block; none twice in a block row.
        values: [blocks, r, c], contiguous, of f32, f16, bf16 or f8.
        shape: (M, K).
        parts: row_ptr, col_idx, values, the block and the shape, for code that reads all of them in every call.
    """

    def __init__(self, row_ptr: Any, col_idx: Any, values: Any, shape: tuple[int, int]) -> None:
        """Refers to arrays of NumPy, torch or another library, all on one device.

        Raises:
            InvalidArgument: an array has another type, rank or length than the attributes say, or is not contiguous.
        """
        if len(values.shape) != 3:
            raise InvalidArgument(
                f"values: expects rank 3 (blocks, block rows, block columns), but got {len(values.shape)}"
            )
        if len(shape) != 2:
            raise InvalidArgument(f"shape: expects rows and columns, but got {shape}")
        self._set(row_ptr, col_idx, values, shape, (int(values.shape[1]), int(values.shape[2])))
        if arrays.is_jax(values):
            # While a function is traced it has no memory, and a view would keep it from being donated.
            self._check_lengths()
        else:
            self.native(False)

    @classmethod
    def of_leaves(cls, row_ptr: Any, col_idx: Any, values: Any, shape: tuple[int, int], block: tuple[int, int]) -> BSR:
        """The matrix of parts that may be anything, as a library that handles trees puts them there."""
        matrix = cls.__new__(cls)
        matrix._set(row_ptr, col_idx, values, shape, block)
        return matrix

    def _set(self, row_ptr: Any, col_idx: Any, values: Any, shape: tuple[int, int], block: tuple[int, int]) -> None:
        self._row_ptr, self._col_idx, self._values = row_ptr, col_idx, values
        self._shape = (int(shape[0]), int(shape[1]))
        self._block = block
        self.parts = row_ptr, col_idx, values, block, self._shape
        self._native: dict[bool, _native.Blocks] = {}

    def _check_lengths(self) -> None:
        rows = -(-self._shape[0] // self._block[0]) if self._block[0] else 0
        lists = {"row_ptr": (self._row_ptr, rows + 1), "col_idx": (self._col_idx, self.block_count)}
        for name, (array, length) in lists.items():
            if tuple(array.shape) != (length,):
                raise InvalidArgument(f"{name}: expects shape ({length},), but got {tuple(array.shape)}")

    def _make_native(self, check_lists: bool) -> _native.Blocks:
        values = arrays.dense(self._values)
        block_count, block_rows, block_columns = values.shape
        self._check_lengths()
        return _native.Blocks(
            *self._shape,
            (block_rows, block_columns),
            arrays.dense(self._row_ptr),
            arrays.dense(self._col_idx),
            None,
            None,
            values,
            values.dtype,
            block_count,
            check_lists=check_lists,
        )

    def native(self, check_lists: bool) -> _native.Blocks:
        """The view that launches take; with check_lists they check the lists first."""
        if check_lists not in self._native:
            self._native[check_lists] = self._make_native(check_lists)
        return self._native[check_lists]

    @property
    def row_ptr(self) -> Any:
        return self._row_ptr

    @property
    def col_idx(self) -> Any:
        return self._col_idx

    @property
    def values(self) -> Any:
        return self._values

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    @property
    def block(self) -> tuple[int, int]:
        """(r, c)."""
        return self._block

    @property
    def block_count(self) -> int:
        """The number of stored blocks."""
        return int(self._values.shape[0])

    @property
    def block_grid(self) -> tuple[int, int]:
        """The numbers of block rows and block columns."""
        return -(-self._shape[0] // self.block[0]), -(-self._shape[1] // self.block[1])

    @property
    def density(self) -> float:
        """Stored blocks divided by all blocks; 0 for a matrix without elements."""
        rows, columns = self.block_grid
        return self.block_count / (rows * columns) if rows * columns else 0.0

    def __repr__(self) -> str:
        (rows, columns), (r, c) = self._shape, self.block
        return f"<sparsec.BSR {rows}x{columns}, block {r}x{c}, {self.block_count} blocks, density {self.density:.3g}>"

    def check(self) -> None:
        """Checks the lists: row_ptr ascends from 0 to the number of blocks, columns are in range and
        none is twice in a row.

        Arrays on a GPU are copied to the host for it.

        Raises:
            InvalidPattern: they break a rule; the text says where.
        """
        row_ptr, col_idx = (np.ascontiguousarray(_to_numpy(array)) for array in (self._row_ptr, self._col_idx))
        lists = _native.Blocks(*self._shape, self.block, row_ptr, col_idx, None, None, None, 1, self.block_count)
        _native.check_blocks(lists)

    def with_values(self, values: Any) -> BSR:
        """The matrix of the same pattern with other values: [blocks, r, c], as sddmm gives them.

        Raises:
            InvalidArgument: the values do not fit the pattern.
        """
        return BSR(self._row_ptr, self._col_idx, values, self._shape)

    def astype(self, dtype: str) -> BSR:
        """The matrix of the same pattern with values rounded to "f32", "f16", "bf16", ..., in a copy.

        Raises:
            InvalidArgument: no kernel takes this type, or NumPy needs ml_dtypes for it.
        """
        if arrays.is_torch(self._values):
            return self.with_values(self._values.to(dtypes.torch_dtype(dtypes.number_of(dtype))))
        return self.with_values(_values(_to_numpy(self._values), dtype))

    def as_torch(self, device: Any = None) -> BSR:
        """The matrix in torch tensors on a device. NumPy arrays become CPU tensors of the same memory.

        Args:
            device: as torch takes it, as "cuda"; None leaves tensors where they are.
        """
        tensors = [
            array if arrays.is_torch(array) else _to_torch(array)
            for array in (self._row_ptr, self._col_idx, self._values)
        ]
        row_ptr, col_idx, values = (tensor if device is None else tensor.to(device) for tensor in tensors)
        return BSR(row_ptr, col_idx, values, self._shape)

    # ---- From and to other forms -------------------------------------------------------------------------------------

    @classmethod
    def from_dense(
        cls,
        a: np.ndarray[Any, Any],
        block: int | tuple[int, int],
        mask: np.ndarray[Any, Any] | None = None,
        dtype: str | None = None,
    ) -> BSR:
        """Copies the blocks of a dense matrix.

        Args:
            a: [M, K].
            block: (r, c), or r for r x r. Blocks at the edges are filled up with zeros.
            mask: bool [ceil(M / r), ceil(K / c)], the blocks to store. None stores those with an element that is not 0.
            dtype: "f32", "f16", "bf16", ...: the type to which the values are rounded; None is that of a.

        Raises:
            InvalidArgument: a is no matrix, the mask has another shape or type, or no kernel takes the type.
        """
        block = block_pair(block)
        blocks = blocks_of(a, block)
        if mask is None:
            mask = (blocks != np.zeros((), blocks.dtype)).any(axis=(2, 3))
        if mask.dtype != np.bool_ or mask.shape != blocks.shape[:2]:
            raise InvalidArgument(f"mask: expects bool {blocks.shape[:2]}, but got {mask.dtype} {mask.shape}")
        row_ptr = np.zeros(len(mask) + 1, np.int32)
        np.cumsum(mask.sum(axis=1), out=row_ptr[1:])
        shape = (a.shape[0], a.shape[1])
        return cls(row_ptr, np.nonzero(mask)[1].astype(np.int32), _values(blocks[mask], dtype), shape)

    def to_dense(self) -> np.ndarray[Any, Any]:
        """Copies the matrix to a NumPy array [M, K] of the same type; torch's bf16 and f8 need ml_dtypes.

        Raises:
            InvalidPattern: the lists break a rule.
        """
        self.check()
        row_ptr, col_idx, values = (_to_numpy(array) for array in (self._row_ptr, self._col_idx, self._values))
        (rows, columns), (r, c) = self.block_grid, self.block
        blocks = np.zeros((rows, columns, r, c), values.dtype)
        blocks[np.repeat(np.arange(rows), np.diff(row_ptr)), col_idx] = values
        return blocks.swapaxes(1, 2).reshape(rows * r, columns * c)[: self._shape[0], : self._shape[1]]

    @classmethod
    def from_scipy(cls, s: Any, dtype: str | None = None) -> BSR:
        """Refers to the arrays of a scipy.sparse BSR matrix, and checks the lists. 64-bit indices are copied.

        Args:
            dtype: "f32", "f16", "bf16", ...: the type to which the values are rounded, in a copy; None is that of s.

        Raises:
            InvalidArgument: s has another format, or no kernel takes the type of its values.
            InvalidPattern: a block is stored twice (call its sum_duplicates first).
        """
        if getattr(s, "format", None) != "bsr":
            raise InvalidArgument(f"expects a scipy.sparse BSR matrix, but got {type(s).__name__}; tobsr() makes one")
        matrix = cls(_int32(s.indptr), _int32(s.indices), _values(s.data, dtype), s.shape)
        matrix.check()
        return matrix

    def to_scipy(self) -> Any:
        """Makes a scipy.sparse.bsr_array that refers to the arrays. Arrays on a GPU are copied.

        Raises:
            InvalidArgument: the shape is no multiple of the block, or the values are not f32, the only type of kernels
                that SciPy has (astype makes them so).
        """
        self._expect_whole_blocks("SciPy")
        from scipy import sparse

        values = _to_numpy(self._values)
        if values.dtype != np.float32:
            raise InvalidArgument(
                f"SciPy has no matrices of {values.dtype.name}; astype('f32') makes values that it has"
            )
        return sparse.bsr_array((values, _to_numpy(self._col_idx), _to_numpy(self._row_ptr)), shape=self._shape)

    @classmethod
    def from_torch(cls, t: Any) -> BSR:
        """Refers to the parts of a torch.sparse_bsr tensor [M, K]. Indices of int64 are copied once to int32.

        Raises:
            InvalidArgument: t is no BSR tensor, or has batch or dense dimensions.
        """
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(t, torch.Tensor) or t.layout is not torch.sparse_bsr:
            raise InvalidArgument(
                f"expects a torch.sparse_bsr tensor, but got {getattr(t, 'layout', type(t).__name__)}"
            )
        if t.dim() != 2 or t.values().dim() != 3:
            raise InvalidArgument("expects a matrix without batch and dense dimensions")
        values = t.values()
        return cls(
            t.crow_indices().to(torch.int32), t.col_indices().to(torch.int32), values.contiguous(), tuple(t.shape)
        )

    def to_torch(self) -> Any:
        """Makes a torch.sparse_bsr tensor that refers to the arrays; those of NumPy become CPU tensors.

        Raises:
            InvalidArgument: the shape is no multiple of the block.
            InvalidPattern: the lists break a rule.
        """
        import torch

        self._expect_whole_blocks("torch")
        self.check()
        parts = self.as_torch()
        return torch.sparse_bsr_tensor(
            parts.row_ptr, parts.col_idx, parts.values, size=self._shape, check_invariants=False
        )

    def _expect_whole_blocks(self, library: str) -> None:
        if any(size % side for size, side in zip(self._shape, self.block, strict=True)):
            raise InvalidArgument(
                f"shapes of {library} are multiples of the block, but {self._shape} is none of {self.block}"
            )

    def draw(self, *, rows: int = 64, columns: int = 96) -> Picture:
        """A picture of the stored blocks: text in a terminal, SVG in a notebook. Arrays on a GPU are copied for it.

        Args:
            rows, columns: of the picture at most. Rows are sampled, columns merged, where there are more.

        Raises:
            InvalidPattern: the lists break a rule.
        """
        return draw_matrix(self.host_lists(), rows=rows, columns=columns)

    def host_lists(self) -> HostLists:
        """The checked lists in memory of the host. Raises InvalidPattern if they break a rule."""
        self.check()
        return HostLists(_to_numpy(self._row_ptr), _to_numpy(self._col_idx), self._shape, self.block)

    def _repr_svg_(self) -> str:
        return self.draw().svg()


def block_pair(block: int | tuple[int, int]) -> tuple[int, int]:
    """(r, c) of a block. Raises InvalidArgument if it is no pair of positive numbers."""
    pair = (block, block) if isinstance(block, int) else tuple(block)
    if len(pair) != 2 or min(pair) < 1:
        raise InvalidArgument(f"block: expects one or two positive numbers, but got {block}")
    return int(pair[0]), int(pair[1])


def blocks_of(a: np.ndarray[Any, Any], block: tuple[int, int]) -> np.ndarray[Any, Any]:
    """The blocks of a matrix as [block rows, block columns, r, c], filled up with zeros at the edges.

    Raises:
        InvalidArgument: a is no matrix of NumPy.
    """
    if not isinstance(a, np.ndarray):
        raise InvalidArgument(f"a: expects a NumPy array, but got {type(a).__name__}")
    if a.ndim != 2:
        raise InvalidArgument(f"a: expects a matrix, but got rank {a.ndim}")
    (rows, columns), (r, c) = a.shape, block
    row_count, column_count = -(-rows // r), -(-columns // c)
    padded = np.zeros((row_count * r, column_count * c), a.dtype)
    padded[:rows, :columns] = a
    return padded.reshape(row_count, r, column_count, c).swapaxes(1, 2)


def _values(array: np.ndarray[Any, Any], dtype: str | None) -> np.ndarray[Any, Any]:
    """The array, contiguous and rounded to a type."""
    return np.ascontiguousarray(array, None if dtype is None else dtypes.numpy_dtype(dtypes.number_of(dtype)))


def _int32(indices: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if indices.size and (indices.min() < -(2**31) or indices.max() >= 2**31):
        raise InvalidArgument("expects indices that fit in 32 bits")
    return np.ascontiguousarray(indices, np.int32)


def _to_numpy(array: Any) -> np.ndarray[Any, Any]:
    """The array in host memory, copied only from a GPU."""
    if isinstance(array, np.ndarray):
        return array
    if arrays.is_jax(array):
        return np.asarray(array)  # its __dlpack__ has types that NumPy's does not know
    if isinstance(array, _native.Dense):
        raise InvalidArgument("expects arrays that NumPy reads, but got a view of from_pointer")
    if not arrays.is_torch(array):
        return np.from_dlpack(array)
    array = array.detach().cpu()
    number = dtypes.number_of(str(array.dtype).removeprefix("torch."))
    if dtypes.is_in_numpy(number):
        return np.asarray(array)
    torch = sys.modules["torch"]
    bits: np.ndarray[Any, Any] = array.view(torch.int16 if dtypes.BYTES[number] == 2 else torch.uint8).numpy()
    return bits.view(dtypes.numpy_dtype(number))


def _to_torch(array: np.ndarray[Any, Any]) -> Any:
    """A torch CPU tensor of the same memory."""
    import torch

    bits, number = dtypes.bits_of(array)
    if number == 0:
        return torch.from_numpy(array)
    return torch.from_numpy(bits.view(np.int16 if bits.itemsize == 2 else np.uint8)).view(dtypes.torch_dtype(number))
