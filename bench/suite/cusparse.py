# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse products of cuSPARSE through its generic interface, on tensors of torch.

The library is the one that torch has loaded. Names of constants are those of cusparse.h and library_types.h.
"""

import ctypes
import functools
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF = 0, 2, 14
OPERATION_NON_TRANSPOSE, INDEX_32I, INDEX_BASE_ZERO = 0, 2, 0
ORDER_COL, ORDER_ROW = 1, 2
SPMM_BLOCKED_ELL_ALG1, SPMM_BSR_ALG1 = 13, 14
TYPES = {torch.bfloat16: CUDA_R_16BF, torch.float16: CUDA_R_16F, torch.float32: CUDA_R_32F}
ORDERS = {"row-major X and Y": ORDER_ROW, "column-major X and Y": ORDER_COL}
BLOCK_ORDERS = {"row-major blocks": ORDER_ROW, "column-major blocks": ORDER_COL}

Prepared = tuple[Callable[[], Any], Callable[[], torch.Tensor]]


def library_path() -> str:
    """The file of cuSPARSE in this process."""
    paths = re.findall(r"\s(/\S*libcusparse\.so\S*)", Path("/proc/self/maps").read_text(encoding="utf-8"))
    return paths[0] if paths else "libcusparse.so"


class CuSparse:
    """A handle of the library."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(library_path())
        self.library.cusparseGetErrorString.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        self.call("cusparseCreate", ctypes.byref(self.handle))
        self.call("cusparseSetStream", self.handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: {self.library.cusparseGetErrorString(status).decode()}")

    def dense(self, tensor: torch.Tensor, rows: int, columns: int, order: int) -> ctypes.c_void_p:
        """The descriptor of a contiguous tensor, of rows x columns, or of columns x rows for column-major order."""
        descriptor = ctypes.c_void_p()
        stride = columns if order == ORDER_ROW else rows
        self.call("cusparseCreateDnMat", ctypes.byref(descriptor), *map(ctypes.c_int64, (rows, columns, stride)),
                  ctypes.c_void_p(tensor.data_ptr()), TYPES[tensor.dtype], order)  # fmt: skip
        return descriptor

    def bsr(self, problem: Any, values: torch.Tensor, order: int) -> ctypes.c_void_p:
        """`order` is that of the values in a block."""
        descriptor, pattern = ctypes.c_void_p(), problem.pattern
        sizes = (pattern.rows, pattern.columns, pattern.count, problem.block, problem.block)
        pointers = (pattern.row_ptr, pattern.col_idx, values)
        self.call("cusparseCreateBsr", ctypes.byref(descriptor), *map(ctypes.c_int64, sizes),
                  *(ctypes.c_void_p(each.data_ptr()) for each in pointers), INDEX_32I, INDEX_32I, INDEX_BASE_ZERO,
                  TYPES[values.dtype], order)  # fmt: skip
        return descriptor

    def blocked_ell(self, problem: Any, columns: torch.Tensor, values: torch.Tensor) -> ctypes.c_void_p:
        descriptor = ctypes.c_void_p()
        sizes = (problem.rows, problem.depth, problem.block, columns.shape[1] * problem.block)
        self.call("cusparseCreateBlockedEll", ctypes.byref(descriptor), *map(ctypes.c_int64, sizes),
                  ctypes.c_void_p(columns.data_ptr()), ctypes.c_void_p(values.data_ptr()), INDEX_32I, INDEX_BASE_ZERO,
                  TYPES[values.dtype])  # fmt: skip
        return descriptor

    def product(self, problem: Any, matrix: ctypes.c_void_p, kept: Any, dtype: torch.dtype, order: int,
                algorithm: int) -> Prepared:  # fmt: skip
        """The call Y = matrix X, and its result as M x N. `kept` is memory of the matrix."""
        x = problem.x.to(dtype)
        x = x if order == ORDER_ROW else x.T.contiguous()
        shape = (problem.rows, problem.width) if order == ORDER_ROW else (problem.width, problem.rows)
        y = torch.full(shape, float("nan"), dtype=dtype, device=problem.device)
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        arguments = (self.handle, OPERATION_NON_TRANSPOSE, OPERATION_NON_TRANSPOSE, ctypes.byref(one), matrix,
                     self.dense(x, problem.depth, problem.width, order), ctypes.byref(zero),
                     self.dense(y, problem.rows, problem.width, order), CUDA_R_32F, algorithm)  # fmt: skip
        size = ctypes.c_size_t()
        self.call("cusparseSpMM_bufferSize", *arguments, ctypes.byref(size))
        workspace = torch.empty(max(size.value, 1), dtype=torch.uint8, device=problem.device)
        pointer = ctypes.c_void_p(workspace.data_ptr())
        memory = (x, workspace, kept, one, zero)

        def run() -> Any:
            self.call("cusparseSpMM", *arguments, pointer)
            return memory

        return run, lambda: y if order == ORDER_ROW else y.T


def bsr_ways(problem: Any, way: Callable[[str, Callable[[], Prepared]], Any]) -> Iterator[list[Any]]:
    """In bf16, else in f16, else in f32."""
    library = CuSparse()

    def prepare(dtype: torch.dtype, block_order: int, order: int) -> Prepared:
        blocks = problem.values if block_order == ORDER_ROW else problem.values.transpose(1, 2)
        values = blocks.to(dtype).contiguous()
        matrix = library.bsr(problem, values, block_order)
        return library.product(problem, matrix, values, dtype, order, SPMM_BSR_ALG1)

    for dtype in TYPES:
        group = []
        for (of_blocks, block_order), (name, order) in itertools.product(BLOCK_ORDERS.items(), ORDERS.items()):
            title = f"{dtype}, {of_blocks}, {name}".removeprefix("torch.")
            group.append(way(title, functools.partial(prepare, dtype, block_order, order)))
        yield group


def ell_arrays(problem: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Columns as block rows x width, -1 where a row has no further block, and values as block rows x block x width x
    block, zero there: cuSPARSE reads the values as a row-major matrix of rows x (width of a row)."""
    pattern = problem.pattern
    counts = pattern.row_ptr.diff().long()
    width = max(1, int(counts.max()))
    rows = pattern.block_rows()
    places = torch.arange(pattern.count, device=rows.device) - pattern.row_ptr.long()[rows]
    columns = torch.full((pattern.rows, width), -1, dtype=torch.int32, device=rows.device)
    columns[rows, places] = pattern.col_idx
    values = torch.zeros(pattern.rows, width, problem.block, problem.block, dtype=torch.bfloat16, device=rows.device)
    values[rows, places] = problem.values
    return columns, values.transpose(1, 2).contiguous()


def ell_ways(problem: Any, way: Callable[[str, Callable[[], Prepared]], Any]) -> Iterator[list[Any]]:
    """In bf16, else in f16."""
    library = CuSparse()
    columns, values = ell_arrays(problem)

    def prepare(dtype: torch.dtype, order: int) -> Prepared:
        converted = values.to(dtype)
        matrix = library.blocked_ell(problem, columns, converted)
        return library.product(problem, matrix, (columns, converted), dtype, order, SPMM_BLOCKED_ELL_ALG1)

    for dtype in (torch.bfloat16, torch.float16):
        yield [way(f"{dtype}, {name}".removeprefix("torch."), functools.partial(prepare, dtype, order))
               for name, order in ORDERS.items()]  # fmt: skip
