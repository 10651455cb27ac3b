# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of products: a block-sparse matrix is the tensors of its lists and values."""

from __future__ import annotations

import collections
import enum
import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from sparsec import arrays, devices, dtypes, log
from sparsec._native import Blocks
from sparsec.bsr import BSR
from sparsec.launch_info import Operation
from sparsec.plan import Plan
from sparsec.repeat import Repeater
from sparsec.torch.library import LIBRARY, TAGS, dtype_name, kernel_of, version
from sparsec.torch.packing import PackedValues, reason_against

__all__ = ["keep_linear", "product", "repeat_linear", "sampled_product", "transposed_product"]

# The most copies of values that are made for a pattern, each with a plan, because the values are other tensors: those
# that are new in every call are not packed.
_MOST_PACKINGS = 4
_MOST_PLANS = 16  # of a sampled product with one pattern, for calls of different sizes; the oldest one goes first

# y [..., rows] of a matrix of `rows` rows and x [..., columns], of the type of x. operands: those that the kernel takes
# behind x. static: the contents of the lists change only by functions of torch, and seldom, because each change makes
# a new plan. packed: the same holds for the values, of which there may be a copy.
LIBRARY.define(
    "product(Tensor row_ptr, Tensor col_idx, Tensor values, Tensor x, Tensor[] operands, SymInt rows, bool static, "
    "bool packed, str kernel) -> Tensor",
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
# The key of a linear layer: the identity of row_ptr, the shape, the activation, whether there is no bias, whether there
# is no residual, static, pack.
LinearForm = tuple[int, tuple[int, int], str | None, bool, bool, bool, bool]


class _Mode(enum.Enum):
    """Tells what stays the same between calls: nothing, the lists, or the lists and the values."""

    DYNAMIC = enum.auto()
    STATIC = enum.auto()  # the lists stay as they are
    PACKED = enum.auto()  # so do the values


class _Pattern:
    """The lists of a matrix. It lives as long as the tensor of their starts, which it does not keep.

    Attributes:
        row_ptr, col_idx: other tensors of the same memory.
        calls: repeats a call, or gives None.
        prepared: by call; in the mode PACKED for the values that were seen last.
        packings: how many copies of values were made so far, by call.
        captured: what CUDA graphs refer to beside what is in `prepared`.
        forms: of linear layers whose calls are repeated.
    """

    def __init__(self, row_ptr: torch.Tensor, col_idx: torch.Tensor, mode: _Mode) -> None:
        self.row_ptr, self.col_idx, self.mode = row_ptr.detach(), col_idx.detach(), mode
        forget = functools.partial(_forget_pattern, _patterns[mode], _around, id(row_ptr))
        self.tensors = weakref.ref(row_ptr, forget), weakref.ref(col_idx)
        self._versions = version(row_ptr), version(col_idx)
        self.calls: dict[_Call, Callable[..., Any]] = {}
        self.prepared: dict[_Call, _Prepared] = {}
        self.packings: collections.Counter[_Call] = collections.Counter()
        self.captured: list[_Prepared] = []
        self.forms: set[LinearForm] = set()

    @property
    def versions(self) -> tuple[int, int] | None:
        """Those of the lists; None: their contents may change."""
        return None if self.mode is _Mode.DYNAMIC else self._versions

    def is_of(self, row_ptr: torch.Tensor, col_idx: torch.Tensor) -> bool:
        """Whether these are its tensors and, if they are static, have the contents that they had."""
        starts, columns = self.tensors
        if starts() is not row_ptr or columns() is not col_idx:
            return False
        return self.mode is _Mode.DYNAMIC or self._versions == (version(row_ptr), version(col_idx))


class _Prepared:
    """A kernel with the pattern of a matrix, for any values and widths."""

    def __init__(
        self, pattern: _Pattern, values: torch.Tensor, shape: tuple[int, int], call: _Call, is_packed: bool
    ) -> None:
        self.device, self.shape = values.device, shape
        self._pattern, self._call = pattern, call
        self._kernel = kernel_of(call[0], devices.target_of_device(values.get_device()))
        self._plans: dict[tuple[tuple[int, ...], ...], Plan] = {}
        self._values = (values.shape[1], values.shape[2]), dtypes.number_of(dtype_name(values.dtype)), values.shape[0]
        self.packed: PackedValues | None = None
        if is_packed:
            w = BSR(pattern.row_ptr, pattern.col_idx, values, shape)
            self.packed = PackedValues(self._plan(w, (), is_packed=True), values)
        self._make_repeater()

    def _make_repeater(self) -> None:
        """Repeats calls that read the values which are packed now."""
        pattern, (block, number, capacity) = self._pattern, self._values
        lists = (pattern.row_ptr, pattern.col_idx, None, None, None)
        self.repeater = Repeater(
            self._kernel.info,
            Blocks(*self.shape, block, *lists, number, capacity),
            is_operator=True,
            lists=pattern.tensors,
            versions=pattern.versions,
            packed=None if self.packed is None else self.packed.source,
        )
        pattern.calls[self._call] = self.repeater.call

    def launch(self, values: torch.Tensor, inputs: Sequence[torch.Tensor], result: torch.Tensor) -> None:
        """Launches, with a plan that is made if there is none, and prepares calls of this form."""
        w = BSR(self._pattern.row_ptr, self._pattern.col_idx, values, self.shape)
        if self.packed is not None and self.packed.prepare(w):
            self._make_repeater()
        arguments = self._kernel.info.arguments
        flat = [_flat(each, len(argument.sizes)) for each, argument in zip(inputs, arguments[1:], strict=False)]
        out = _flat(result, len(arguments[-1].sizes))
        plan = self._plan(w, flat)
        self._kernel.call_for(self.repeater, (values, *inputs), (result,), w, *flat, out=out, plan=plan)

    def _plan(self, w: BSR, inputs: Sequence[torch.Tensor], is_packed: bool = False) -> Plan:
        is_sampled = self._kernel.info.operation is Operation.SDDMM
        key = tuple(tuple(each.shape) for each in inputs) if is_sampled else ()
        if key not in self._plans:
            if len(self._plans) == _MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            known = inputs if is_sampled else [None] * (len(self._kernel.info.inputs) - 1)
            is_static = self._pattern.mode is not _Mode.DYNAMIC
            self._plans[key] = self._kernel.plan(w, *known, static=is_static, pack=is_packed)
        return self._plans[key]


_patterns: dict[_Mode, dict[int, _Pattern]] = {mode: {} for mode in _Mode}  # by the identity of the tensor of starts
_around: dict[LinearForm, Callable[..., Any]] = {}  # repeats the call of a linear layer around the operator


def _forget_pattern(
    patterns: dict[int, _Pattern], around: dict[LinearForm, Callable[..., Any]], key: int, _reference: Any
) -> None:
    """Removes a pattern, as the last call of a weak reference. The dicts are bound, because globals go before."""
    pattern = patterns.pop(key, None)
    for form in () if pattern is None else pattern.forms:
        around.pop(form, None)


def _flat(tensor: torch.Tensor, rank: int) -> torch.Tensor:
    """The tensor in the rank of the kernel: leading dimensions become one."""
    return tensor if tensor.dim() == rank or rank == 0 else tensor.reshape(-1, *tensor.shape[tensor.dim() - rank + 1 :])


def _pattern(row_ptr: torch.Tensor, col_idx: torch.Tensor, mode: _Mode) -> _Pattern | None:
    """That of these lists; None: there is none, or they have changed."""
    pattern = _patterns[mode].get(id(row_ptr))
    return pattern if pattern is not None and pattern.is_of(row_ptr, col_idx) else None


def _mode_of(
    row_ptr: torch.Tensor, col_idx: torch.Tensor, values: torch.Tensor, static: bool, packed: bool, call: _Call
) -> _Mode:
    if not packed:
        return _Mode.STATIC if static else _Mode.DYNAMIC
    reason = reason_against(values) or _reason_against_memory(row_ptr, col_idx, values, call)
    if reason is None:
        return _Mode.PACKED
    log.decision(f"values are not packed: {reason}")
    return _Mode.STATIC


def _reason_against_memory(
    row_ptr: torch.Tensor, col_idx: torch.Tensor, values: torch.Tensor, call: _Call
) -> str | None:
    """Why values in other memory than before get no copy."""
    pattern = _pattern(row_ptr, col_idx, _Mode.PACKED)
    prepared = None if pattern is None else pattern.prepared.get(call)
    if pattern is None or prepared is None or prepared.packed is None or prepared.packed.is_of(values):
        return None
    if arrays.is_capturing(values.get_device()):
        return "a CUDA graph cannot make a plan for values in other memory"
    if pattern.packings[call] == _MOST_PACKINGS:
        return f"they were in other memory {_MOST_PACKINGS} times"
    return None


def _prepared(
    row_ptr: torch.Tensor, col_idx: torch.Tensor, values: torch.Tensor, shape: tuple[int, int], mode: _Mode, call: _Call
) -> _Prepared:
    pattern = _pattern(row_ptr, col_idx, mode)
    if pattern is None:
        pattern = _Pattern(row_ptr, col_idx, mode)
        if old := _patterns[mode].get(id(row_ptr)):
            pattern.forms = old.forms
        _patterns[mode][id(row_ptr)] = pattern
    prepared = pattern.prepared.get(call)
    if prepared is not None and prepared.shape == shape and prepared.device == values.device:
        if prepared.packed is None or prepared.packed.is_of(values):
            return prepared
        if prepared.packed.is_captured:
            pattern.captured.append(prepared)
    prepared = pattern.prepared[call] = _Prepared(pattern, values, shape, call, mode is _Mode.PACKED)
    pattern.packings[call] += mode is _Mode.PACKED
    return prepared


def repeat_linear(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    shape: tuple[int, int],
    x: torch.Tensor,
    bias: torch.Tensor | None,
    activation: Any,
    residual: torch.Tensor | None,
    static: bool,
    pack: bool,
) -> torch.Tensor | None:
    """The result of a linear layer that repeats an earlier one in all but memory; None if it does not.

    The call goes around torch's dispatcher, which takes as long as the rest of it. It gives None if something would see
    it there. Tensors of function transforms have no memory, so that they are not repeated.
    """
    # In forward mode any tensor may have a tangent.
    if torch.compiler.is_dynamo_compiling() or forward_ad._current_level >= 0 or callable(activation):
        return None
    around = _around.get((id(row_ptr), shape, activation, bias is None, residual is None, static, pack))
    return None if around is None else around(row_ptr, col_idx, values, x, bias, residual)


def keep_linear(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    shape: tuple[int, int],
    activation: str | None,
    is_plain: tuple[bool, bool],
    static: bool,
    pack: bool,
    text: str,
) -> None:
    """Lets repeat_linear repeat calls of this form, as those of a kernel that was just called.

    is_plain: whether there is no bias, and no residual.
    """
    call = text, shape[0]
    pattern = _pattern(row_ptr, col_idx, _mode_of(row_ptr, col_idx, values, static, pack, call))
    prepared = None if pattern is None else pattern.prepared.get(call)
    if pattern is not None and prepared is not None:
        form = (id(row_ptr), shape, activation, *is_plain, static, pack)
        _around[form] = prepared.repeater.call_around
        pattern.forms.add(form)


def _repeated(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    x: torch.Tensor,
    operands: list[torch.Tensor],
    mode: _Mode,
    key: _Call,
) -> torch.Tensor | None:
    """The result of a call that differs from an earlier one in its memory alone; None if there was none."""
    pattern = _pattern(row_ptr, col_idx, mode)
    call = None if pattern is None else pattern.calls.get(key)
    return None if call is None else call(values, x, *operands)


def _product(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    x: torch.Tensor,
    operands: list[torch.Tensor],
    rows: int,
    static: bool,
    packed: bool,
    kernel: str,
) -> torch.Tensor:
    call = kernel, rows
    mode = _mode_of(row_ptr, col_idx, values, static, packed, call)
    y = _repeated(row_ptr, col_idx, values, x, operands, mode, call)
    if y is None:
        with torch.no_grad():
            y = x.new_empty((*x.shape[:-1], rows))
            prepared = _prepared(row_ptr, col_idx, values, (rows, x.shape[-1]), mode, call)
            prepared.launch(values, [x, *operands], y)
    return y


def _transposed_product(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    x: torch.Tensor,
    columns: int,
    kernel: str,
) -> torch.Tensor:
    y = _repeated(row_ptr, col_idx, values, x, [], _Mode.STATIC, (kernel, columns))
    if y is None:
        with torch.no_grad():
            y = x.new_empty((*x.shape[:-1], columns))
            prepared = _prepared(row_ptr, col_idx, values, (x.shape[-1], columns), _Mode.STATIC, (kernel, columns))
            prepared.launch(values, [x], y)
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
    s = _repeated(row_ptr, col_idx, values, a, [b, *operands], _Mode.DYNAMIC, (kernel, 0))
    if s is None:
        with torch.no_grad():
            s = torch.empty_like(values, dtype=dtype, memory_format=torch.contiguous_format)
            shape = a.shape[-1], b.shape[-1]
            prepared = _prepared(row_ptr, col_idx, values, shape, _Mode.DYNAMIC, (kernel, 0))
            prepared.launch(values, [a, b, *operands], s)
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
    packed: bool,
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
