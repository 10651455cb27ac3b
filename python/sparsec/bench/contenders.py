# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways to compute a case: sparsec's, and those of the libraries that are there."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsec import dtypes, module, programs
from sparsec.arrays import HOST
from sparsec.bench.cases import Array, Attention, Product
from sparsec.errors import InvalidArgument

PRODUCTS = ("sparsec", "dense", "bsr")
ATTENTIONS = ("sparsec", "dense", "mask", "flex")
TITLES = {
    ("product", "sparsec"): "sparsec",
    ("product", "dense"): "dense",
    ("product", "bsr"): "torch sparse BSR",
    ("attention", "sparsec"): "sparsec",
    ("attention", "dense"): "dense, all keys",
    ("attention", "mask"): "dense with a mask",
    ("attention", "flex"): "FlexAttention",
}


@dataclass(frozen=True)
class Contender:
    """A way to compute a case.

    Attributes:
        name: one of PRODUCTS or ATTENTIONS.
        run: computes the result, on the device.
        error: gives the relative error of such a result.
        note: how it differs from the others, in words.
    """

    name: str
    run: Callable[[], Any]
    error: Callable[[Any], float]
    note: str = ""


def torch_or_none() -> Any:
    """The module torch; None if it is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch


def contenders(
    case: Product | Attention, device: str, dtype: str, names: tuple[str, ...]
) -> Iterator[tuple[str, Callable[[], Contender]]]:
    """The contenders of a case, as functions that make them, because some of them cannot be made.

    Args:
        case: what is computed.
        device: "host" or "cuda".
        dtype: "bf16" or "f16".
        names: those to make, of PRODUCTS or ATTENTIONS.
    """
    torch = torch_or_none()
    builder: Any
    if isinstance(case, Product):
        builder = _NumpyProduct(case, dtype) if torch is None else _TorchProduct(torch, case, device, dtype)
    else:
        builder = _NumpyAttention(case, dtype) if torch is None else _TorchAttention(torch, case, device, dtype)
    for name in names:
        yield name, getattr(builder, name)


def _needs_torch(name: str) -> Contender:
    raise InvalidArgument(f"{name} needs torch, which is not installed")


class _NumpyProduct:
    """Products of NumPy's arrays on the host."""

    def __init__(self, case: Product, dtype: str) -> None:
        self._case = case
        self._w = case.weight.astype(dtype)
        self._x = case.x.astype(dtypes.numpy_dtype(dtypes.number_of(dtype)))

    def _error(self, y: Array) -> float:
        values = self._w.values.astype(np.float64)
        return self._case.error(y.astype(np.float64), values, self._x.astype(np.float64))

    def sparsec(self) -> Contender:
        dtype = dtypes.NAMES[dtypes.number_of(self._x.dtype.name)]
        program = programs.spmm(self._w.block, dtype, x_layout="nk", y_layout="nm")
        kernel = module.compile(program, "host")["spmm"]
        plan = kernel.plan(self._w, None, static=True, device=HOST)
        return Contender("sparsec", lambda: kernel(self._w, self._x, plan=plan), self._error)

    def dense(self) -> Contender:
        """NumPy's product in f32, which has a fast library, where that of f16 has none."""
        weight, x = self._w.astype("f32").to_dense().T.copy(), self._x.astype(np.float32)
        return Contender("dense", lambda: x @ weight, self._error, "of NumPy, in f32")

    def bsr(self) -> Contender:
        return _needs_torch("bsr")


class _TorchProduct:
    """Products of torch's tensors."""

    def __init__(self, torch: Any, case: Product, device: str, dtype: str) -> None:
        self._torch, self._case = torch, case
        place = "cpu" if device == "host" else device
        self._w = case.weight.as_torch(place).astype(dtype)
        self._x = torch.from_numpy(case.x).to(place, self._w.values.dtype)

    def _error(self, y: Any) -> float:
        y, values, x = (tensor.double().cpu().numpy() for tensor in (y, self._w.values, self._x))
        return self._case.error(y, values, x)

    def sparsec(self) -> Contender:
        from sparsec.torch.linear import linear

        return Contender("sparsec", lambda: linear(self._x, self._w, static=True), self._error)

    def dense(self) -> Contender:
        f32 = self._torch.from_numpy(self._case.weight.to_dense())
        weight = f32.to(self._x.device, self._x.dtype)
        linear = self._torch.nn.functional.linear
        return Contender("dense", lambda: linear(self._x, weight), self._error)

    def bsr(self) -> Contender:
        w, x, note = self._w, self._x, ""
        if not x.is_cuda:
            w, x, note = w.astype("f32"), x.float(), "in f32, because torch has no such product of smaller types there"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse BSR tensor support")
            weight = w.to_torch()
        linear = self._torch.nn.functional.linear
        return Contender("bsr", lambda: linear(x, weight), self._error, note)


class _NumpyAttention:
    """Attention of NumPy's arrays on the host."""

    def __init__(self, case: Attention, dtype: str) -> None:
        self._case, self._dtype = case, dtype
        rounded = dtypes.numpy_dtype(dtypes.number_of(dtype))
        self._qkv = [array.astype(rounded) for array in (case.q, case.k, case.v)]

    def sparsec(self) -> Contender:
        depth = self._case.q.shape[3]
        program = programs.attention(depth, dtype=self._dtype, pattern=True, block=self._case.block)
        kernel = module.compile(program, "host")["attention"]
        lists = self._case.lists

        def error(o: Array) -> float:
            q, k, v = (array.astype(np.float64) for array in self._qkv)
            return self._case.error(o.astype(np.float64), q, k, v, is_masked=True)

        return Contender("sparsec", lambda: kernel(*self._qkv, lists), error)

    def dense(self) -> Contender:
        return _needs_torch("dense")

    def mask(self) -> Contender:
        return _needs_torch("mask")

    def flex(self) -> Contender:
        return _needs_torch("flex")


class _TorchAttention:
    """Attention of torch's tensors."""

    def __init__(self, torch: Any, case: Attention, device: str, dtype: str) -> None:
        self._torch, self._case = torch, case
        self._place = "cpu" if device == "host" else device
        rounded = dtypes.torch_dtype(dtypes.number_of(dtype))
        self._qkv = [torch.from_numpy(array).to(self._place, rounded) for array in (case.q, case.k, case.v)]

    def _contender(self, name: str, run: Callable[[], Any], *, is_masked: bool = True) -> Contender:
        def error(o: Any) -> float:
            o, q, k, v = (tensor.double().cpu().numpy() for tensor in (o, *self._qkv))
            return self._case.error(o, q, k, v, is_masked=is_masked)

        return Contender(name, run, error)

    def sparsec(self) -> Contender:
        from sparsec.torch.attention import attention

        lists = self._case.lists.to(self._place)
        return self._contender("sparsec", lambda: attention(*self._qkv, pattern=lists))

    def dense(self) -> Contender:
        attention = self._torch.nn.functional.scaled_dot_product_attention
        return self._contender("dense", lambda: attention(*self._qkv), is_masked=False)

    def mask(self) -> Contender:
        attention = self._torch.nn.functional.scaled_dot_product_attention
        rows = [self._case.visible(query) for query in range(self._case.q.shape[2])]
        visible = self._torch.from_numpy(np.stack(rows)).to(self._place)
        return self._contender("mask", lambda: attention(*self._qkv, attn_mask=visible))

    def flex(self) -> Contender:
        from torch.nn.attention.flex_attention import BlockMask, flex_attention

        lists = self._case.lists
        columns = -(-lists.keys // lists.block[1])
        full = np.zeros((*lists.full_indices.shape[:3], columns), np.int32)
        full[..., : lists.capacity] = lists.full_indices
        counts, indices = (self._torch.from_numpy(array).to(self._place) for array in (lists.full_starts, full))
        none = self._torch.zeros_like
        states = self._torch.from_numpy(self._case.states != 0).to(self._place)
        rows, keys = lists.block

        def visible(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
            """The mask of the elements, which flex_attention asks for partial blocks and where it is not compiled."""
            return states[q_idx // rows, kv_idx // keys]

        block_mask = BlockMask.from_kv_blocks(
            none(counts),
            none(indices),
            counts,
            indices,
            BLOCK_SIZE=lists.block,
            mask_mod=visible,
            seq_lengths=(lists.queries, lists.keys),
        )
        compiled = self._torch.compile(flex_attention)
        return self._contender("flex", lambda: compiled(*self._qkv, block_mask=block_mask))
