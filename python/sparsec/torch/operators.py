# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of products: a block-sparse matrix is the tensors of its lists and values."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from sparsec import devices, dtypes
from sparsec._native import Blocks
from sparsec.bsr import BSR
from sparsec.launch_info import Operation
from sparsec.plan import Plan
from sparsec.repeat import Repeater
from sparsec.torch.library import LIBRARY, TAGS, dtype_name, forget, kernel_of, version

__all__ = ["LinearForm", "keep_linear", "product", "repeat_linear", "sampled_product", "transposed_product"]

_MOST_PLANS = 16  # of a sampled product with one pattern, for calls of different sizes; the oldest one goes first

# y [..., rows] of a matrix of `rows` rows and x [..., columns], of the type of x. operands: those that the kernel takes
# behind x. static: the contents of the lists change only by functions of torch, and seldom, because each change makes
# a new plan.
LIBRARY.define(
    "product(Tensor row_ptr, Tensor col_idx, Tensor values, Tensor x, Tensor[] operands, SymInt rows, bool static, "
    "str kernel) -> Tensor",
    tags=TAGS,
)
# x W [..., columns] of a matrix of `columns` columns and x [..., rows], of the type of x: a product with the transpose
# of the matrix. The contents of the lists change only by functions of torch.
LIBRARY.define(
    "transposed_product(Tensor row_ptr, Tensor col_idx, Tensor values, Tensor x, SymInt columns, str kernel) -> Tensor",
    tags=TAGS,
)
# aᵀ b at the stored blocks of a matrix, for a [..., rows] and b [..., columns]: values of the shape of `values`, which
# are not read, and of this type, or of theirs. operands: those that the kernel takes behind b.
LIBRARY.define(
    "sampled_product(Tensor row_ptr, Tensor col_idx, Tensor values, Tensor a, Tensor b, Tensor[] operands, "
    "ScalarType? dtype, str kernel) -> Tensor",
    tags=TAGS,
)

product = torch.ops.sparsec.product.default
sampled_product = torch.ops.sparsec.sampled_product.default
transposed_product = torch.ops.sparsec.transposed_product.default


_Call = tuple[str, int]  # the text of a kernel, and the size of its matrix that the other inputs do not have, if any
# The key of a linear layer: rows, activation, whether there is a bias, whether there is a residual.
LinearForm = tuple[int, str | None, bool, bool]


class _Pattern:
    """The lists of a matrix. It lives as long as the tensor of their starts, which it does not keep.

    Attributes:
        row_ptr, col_idx: other tensors of the same memory.
        calls: repeats a call, or gives None.
        around: by the form of a linear layer: repeats its call around the operator, or gives None.
    """

    def __init__(self, row_ptr: torch.Tensor, col_idx: torch.Tensor, forget: Callable[[Any], Any]) -> None:
        self.row_ptr, self.col_idx = row_ptr.detach(), col_idx.detach()
        self._starts, self._columns = weakref.ref(row_ptr, forget), weakref.ref(col_idx)
        self._versions = version(row_ptr), version(col_idx)
        self.calls: dict[_Call, Callable[..., Any]] = {}
        self.around: dict[LinearForm, Callable[..., Any]] = {}
        self.prepared: dict[_Call, _Prepared] = {}

    def is_of(self, row_ptr: torch.Tensor, col_idx: torch.Tensor, static: bool) -> bool:
        """Whether these are its tensors and, if they are static, have the contents that they had."""
        if self._starts() is not row_ptr or self._columns() is not col_idx:
            return False
        return not static or self._versions == (version(row_ptr), version(col_idx))


class _Prepared:
    """A kernel with the pattern of a matrix, for any values and widths."""

    def __init__(self, pattern: _Pattern, values: torch.Tensor, shape: tuple[int, int], text: str) -> None:
        self.device, self.shape = values.device, shape
        self._pattern = pattern
        self._kernel = kernel_of(text, devices.target_of_device(values.get_device()))
        self._plans: dict[tuple[tuple[int, ...], ...], Plan] = {}
        lists = (pattern.row_ptr, pattern.col_idx, None, None, None)
        number = dtypes.number_of(dtype_name(values.dtype))
        block = (values.shape[1], values.shape[2])
        self.repeater = Repeater(
            self._kernel.info, Blocks(*shape, block, *lists, number, values.shape[0]), is_operator=True
        )

    def launch(self, values: torch.Tensor, inputs: Sequence[torch.Tensor], result: torch.Tensor, static: bool) -> None:
        """Launches, with a plan that is made if there is none, and prepares calls of this form."""
        w = BSR(self._pattern.row_ptr, self._pattern.col_idx, values, self.shape)
        arguments = self._kernel.info.arguments
        flat = [_flat(each, len(argument.sizes)) for each, argument in zip(inputs, arguments[1:], strict=False)]
        out = _flat(result, len(arguments[-1].sizes))
        plan = self._plan(w, flat, static)
        self._kernel.call_for(self.repeater, (values, *inputs), (result,), w, *flat, out=out, plan=plan)

    def _plan(self, w: BSR, inputs: Sequence[torch.Tensor], static: bool) -> Plan:
        is_sampled = self._kernel.info.operation is Operation.SDDMM
        key = tuple(tuple(each.shape) for each in inputs) if is_sampled else ()
        if key not in self._plans:
            if len(self._plans) == _MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            known = inputs if is_sampled else [None] * (len(self._kernel.info.inputs) - 1)
            self._plans[key] = self._kernel.plan(w, *known, static=static)
        return self._plans[key]


_dynamic_patterns: dict[int, _Pattern] = {}  # by the identity of the tensor of starts
_static_patterns: dict[int, _Pattern] = {}


def _flat(tensor: torch.Tensor, rank: int) -> torch.Tensor:
    """The tensor in the rank of the kernel: leading dimensions become one."""
    return tensor if tensor.dim() == rank or rank == 0 else tensor.reshape(-1, *tensor.shape[tensor.dim() - rank + 1 :])


def _prepared(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    shape: tuple[int, int],
    static: bool,
    call: _Call,
) -> _Prepared:
    patterns, key = _static_patterns if static else _dynamic_patterns, id(row_ptr)
    pattern = patterns.get(key)
    if pattern is None or not pattern.is_of(row_ptr, col_idx, static):
        pattern = patterns[key] = _Pattern(row_ptr, col_idx, functools.partial(forget, patterns, key))
    prepared = pattern.prepared.get(call)
    if prepared is None or prepared.shape != shape or prepared.device != values.device:
        prepared = pattern.prepared[call] = _Prepared(pattern, values, shape, call[0])
        pattern.calls[call] = prepared.repeater.call
    return prepared


def repeat_linear(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    x: torch.Tensor,
    bias: torch.Tensor | None,
    residual: torch.Tensor | None,
    static: bool,
    form: LinearForm,
) -> torch.Tensor | None:
    """The result of a linear layer that repeats an earlier one in all but memory; None if it does not.

    The call goes around torch's dispatcher, which takes as long as the rest of it. It gives None if something would see
    it there. Tensors of function transforms have no memory, so that they are not repeated.
    """
    pattern = (_static_patterns if static else _dynamic_patterns).get(id(row_ptr))
    if pattern is None or form not in pattern.around or not pattern.is_of(row_ptr, col_idx, static):
        return None
    result: torch.Tensor | None = pattern.around[form](values, x, bias, residual)
    return result


def keep_linear(row_ptr: torch.Tensor, static: bool, form: LinearForm, text: str) -> None:
    """Lets repeat_linear repeat calls of this form, as those of a kernel that was just called."""
    pattern = (_static_patterns if static else _dynamic_patterns).get(id(row_ptr))
    prepared = None if pattern is None else pattern.prepared.get((text, form[0]))
    if pattern is not None and prepared is not None:
        pattern.around[form] = prepared.repeater.call_around


def _repeated(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    x: torch.Tensor,
    operands: list[torch.Tensor],
    static: bool,
    key: _Call,
) -> torch.Tensor | None:
    """The result of a call that differs from an earlier one in its memory alone; None if there was none."""
    pattern = (_static_patterns if static else _dynamic_patterns).get(id(row_ptr))
    if pattern is None or not pattern.is_of(row_ptr, col_idx, static):
        return None
    call = pattern.calls.get(key)
    return None if call is None else call(values, x, *operands)


def _product(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    x: torch.Tensor,
    operands: list[torch.Tensor],
    rows: int,
    static: bool,
    kernel: str,
) -> torch.Tensor:
    y = _repeated(row_ptr, col_idx, values, x, operands, static, (kernel, rows))
    if y is None:
        with torch.no_grad():
            y = x.new_empty((*x.shape[:-1], rows))
            prepared = _prepared(row_ptr, col_idx, values, (rows, x.shape[-1]), static, (kernel, rows))
            prepared.launch(values, [x, *operands], y, static)
    return y


def _transposed_product(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    x: torch.Tensor,
    columns: int,
    kernel: str,
) -> torch.Tensor:
    y = _repeated(row_ptr, col_idx, values, x, [], True, (kernel, columns))
    if y is None:
        with torch.no_grad():
            y = x.new_empty((*x.shape[:-1], columns))
            prepared = _prepared(row_ptr, col_idx, values, (x.shape[-1], columns), True, (kernel, columns))
            prepared.launch(values, [x], y, True)
    return y


def _sampled_product(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    operands: list[torch.Tensor],
    dtype: torch.dtype | None,
    kernel: str,
) -> torch.Tensor:
    s = _repeated(row_ptr, col_idx, values, a, [b, *operands], False, (kernel, 0))
    if s is None:
        with torch.no_grad():
            s = torch.empty_like(values, dtype=dtype, memory_format=torch.contiguous_format)
            prepared = _prepared(row_ptr, col_idx, values, (a.shape[-1], b.shape[-1]), False, (kernel, 0))
            prepared.launch(values, [a, b, *operands], s, False)
    return s


for _place in ("CPU", "CUDA"):
    LIBRARY.impl("product", _product, _place)
    LIBRARY.impl("sampled_product", _sampled_product, _place)
    LIBRARY.impl("transposed_product", _transposed_product, _place)


@torch.library.register_fake("sparsec::product", lib=LIBRARY)  # type: ignore[untyped-decorator]
def _product_form(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    x: torch.Tensor,
    operands: list[torch.Tensor],
    rows: int,
    static: bool,
    kernel: str,
) -> torch.Tensor:
    return x.new_empty((*x.shape[:-1], rows))


@torch.library.register_fake("sparsec::sampled_product", lib=LIBRARY)  # type: ignore[untyped-decorator]
def _sampled_product_form(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    operands: list[torch.Tensor],
    dtype: torch.dtype | None,
    kernel: str,
) -> torch.Tensor:
    return torch.empty_like(values, dtype=dtype, memory_format=torch.contiguous_format)


@torch.library.register_fake("sparsec::transposed_product", lib=LIBRARY)  # type: ignore[untyped-decorator]
def _transposed_product_form(
    row_ptr: torch.Tensor, col_idx: torch.Tensor, values: torch.Tensor, x: torch.Tensor, columns: int, kernel: str
) -> torch.Tensor:
    return x.new_empty((*x.shape[:-1], columns))
