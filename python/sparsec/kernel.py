# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels: calls, plans, launchers and the reference."""

from __future__ import annotations

import functools
import math
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from . import _native, arrays, log, quantize
from .bsr import BSR
from .compiled_file import CompiledFile
from .errors import InvalidArgument
from .launch_info import Argument, ArgumentKind, KernelInfo, Operation, Variant, kernel_report, requirements_text
from .pattern_argument import pattern_blocks
from .plan import Plan
from .repeat import Repeater
from .source import Source

_STATIC_PATTERN, _FAST, _PACK, _REFILL = 1, 2, 4, 8  # sparsec_plan_flag_t
_MOST_PLANS = 16  # that a matrix or pattern keeps, for calls of different sizes; the oldest one goes first
# The device, the sizes of the inputs, and the matrices behind the first one. Dead references are equal to no others.
_PlanKey = tuple[int, tuple[tuple[int, ...], ...], tuple[weakref.ref[Any], ...]]


@dataclass(frozen=True)
class _Inputs:
    """The inputs of a call, converted."""

    native: tuple[_native.Argument, ...]
    shapes: list[tuple[int, ...]]
    device: int
    stream: int
    like: Any  # an array of the library that makes the results
    blocks: tuple[Any, ...]  # the block-sparse matrices or the pattern that the kernel takes


@dataclass(frozen=True)
class _Call:
    """A call whose results have memory."""

    inputs: _Inputs
    native: tuple[_native.Argument, ...]
    results: tuple[Any, ...]

    @property
    def value(self) -> Any:
        return self.results[0] if len(self.results) == 1 else self.results


class Kernel:
    """A kernel of a module. Calling it computes its results.

    Arrays are those of NumPy, torch or any library with the buffer protocol or __dlpack__, or views of
    sparsec.from_pointer. They are never copied. All are in host memory, or all on one CUDA device.
    """

    def __init__(self, file: CompiledFile, info: KernelInfo, captures: Mapping[str, Any], source: Source) -> None:
        self.file, self.info, self._source = file, info, source
        names = {argument.name for argument in info.inputs}
        self._captures = {name: array for name, array in captures.items() if name in names}
        self._lock = threading.Lock()
        # By the first matrix or the pattern, then by all else that a plan is for.
        self._plans: weakref.WeakKeyDictionary[Any, dict[_PlanKey, Plan]] = weakref.WeakKeyDictionary()
        self._open_plans: dict[_PlanKey, Plan] = {}
        place = info.blocks_place
        captured = tuple(self._captures.get(argument.name) for argument in info.inputs)
        self._callers = _native.Callers(captured, -1 if place is None else place)
        self._repeat = self._callers.call
        self._repeaters: dict[int, Repeater] = {}  # by the identity of a matrix or pattern, as long as that lives

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def signature(self) -> str:
        """As "product(w: bsr<?x?xbf16, block = 16x16>, x: tensor<?x?xbf16>) -> (y: tensor<?x?xf32>)"."""
        return self.info.signature

    @property
    def report(self) -> str:
        """The variants for all targets: schedules, registers, spills, shared memory."""
        lines = []
        for target in self.file.targets:
            lines += [target, *kernel_report(self.file.info_of(target, self.name))]
        return "\n".join(lines)

    def emit(self, stage: str, target: str | None = None) -> str:
        """Compiles the text of its module again, up to a stage. Arguments and errors are those of Module.emit.

        The text is that of all kernels of the module.
        """
        return self._source.emit(stage, target)

    def __repr__(self) -> str:
        return f"<sparsec.Kernel {self.signature}>"

    def __call__(
        self,
        *inputs: Any,
        out: Any = None,
        plan: Plan | Literal[False] | None = None,
        stream: Any = None,
        check: bool = False,
    ) -> Any:
        """Computes the results.

        Args:
            inputs: the kernel's inputs in order, without those that its program captured: a BSR for a block-sparse
                matrix, lists of a pattern, a number for a scalar, and arrays.
            out: the array for the result, or a tuple of them. None makes new ones, of NumPy or torch.
            plan: of Kernel.plan. None makes a plan for each matrix or pattern at its first call, and keeps it as long
                as that object lives; the plan checks the lists. That of a transposed matrix holds their index, and that
                of spgemm the pairs of blocks: other lists need another BSR. sddmm and attention need one for each
                combination of sizes, and spgemm one for each combination of matrices, of which the last 16 are kept.
                One serves all sizes of attention whose sequences have sizes of their own. False launches without a plan
                and does not check the lists.
            stream: a CUDA stream as a number or an object of torch. None is torch's current stream if an input is a
                CUDA tensor of torch, else the default stream.
            check: check the lists of the matrix or pattern in this call too. On a GPU this waits for the stream.

        On a GPU the call returns before the results are there. What it makes at the first call (plans) cannot be
        captured in a CUDA graph.

        Returns:
            The result, or a tuple of several.

        Raises:
            InvalidArgument: an argument does not fit; the text names it.
            InvalidPattern: lists break a rule.
            DriverError: no image of the file runs on the device, or the driver refused.
        """
        is_plain = out is None and plan is None and stream is None and not check
        if is_plain and (value := self._repeat(*inputs)) is not None:
            return value
        call = self._prepare(inputs, out, stream, check)
        if check and call.inputs.device == arrays.HOST:
            self._check_lists(call.native)
        if is_plain:
            repeater = self._repeater_of(call.inputs.blocks[0] if call.inputs.blocks else None)
            self._launch(call, plan, repeater, self._with_captures(inputs), call.results)
        else:
            self._launch(call, plan)
        return call.value

    def plan(
        self,
        *inputs: Any,
        static: bool = False,
        fast: bool = False,
        pack: bool = False,
        refill: bool = False,
        stream: Any = None,
        device: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Plan:
        """Makes a plan for launches with these inputs.

        Args:
            inputs: as of a call. None leaves an input open: it may then have any size in every launch.
            static: the lists are the same in all launches, so that the plan may order them; other lists give wrong
                results on a GPU. Nobody writes the arrays that the plan has read.
            fast: make the plan in less time.
            pack: let Plan.pack copy small blocks to larger ones, if they are close together; with static.
            refill: the plan reads no lists. Plan.refill makes it from them whenever they have changed. A matrix tells
                the greatest number of blocks by the length of its values.
            stream: as of a call. The lists are read in its order, and the call waits for it.
            device: of the launches, if no input says it: the ordinal of a CUDA device, or sparsec.HOST (None).
            progress: is called with the steps that are done and their total while the plan is made. A value that is
                true cancels, and so does an exception, which the call raises.

        Raises:
            InvalidArgument: an input does not fit.
            InvalidPattern: lists break a rule.
            Cancelled: progress has cancelled the plan.
        """
        converted = self._convert(self._with_captures(inputs), stream, check=False)
        place = converted.device if device is None else device
        native, _ = self.file.native_kernel(self.name, place)
        wanted = ((static, _STATIC_PATTERN), (fast, _FAST), (pack, _PACK), (refill, _REFILL))
        flags = sum(flag for is_wanted, flag in wanted if is_wanted)
        return self._make_plan(native, place, converted.native, converted.stream, flags, progress)

    def load_plan(
        self, path: str | os.PathLike[str], *inputs: Any, stream: Any = None, device: int | None = None
    ) -> Plan:
        """Loads a plan that Plan.save has written, so that a program does not plan when it starts.

        Args:
            path: the file.
            inputs: as of a call, to compare their sizes and lists with those of the plan. None leaves an input open;
                without inputs nothing is compared.
            stream, device: as of plan.

        Raises:
            InvalidPlan: the file is damaged, or for another version, kernel, GPU or pattern: make the plan again.
            InvalidArgument: an input does not fit.
            OSError: the file cannot be read.
        """
        missing = sum(argument.name not in self._captures for argument in self.info.inputs)
        converted = self._convert(self._with_captures(inputs or (None,) * missing), stream, check=False)
        place = converted.device if device is None else device
        native, _ = self.file.native_kernel(self.name, place)
        views = (*converted.native, *(None for _ in self.info.results))
        return Plan(native.load_plan(Path(path).read_bytes(), views, converted.stream), self, place)

    def launcher(self, *inputs: Any, out: Any = None, plan: Plan | Literal[False] | None = None) -> Launcher:
        """Prepares a launch that runs many times. Arguments and errors are those of a call."""
        call = self._prepare(inputs, out, None, check=False)
        native, _ = self.file.native_kernel(self.name, call.inputs.device)
        used = self._plan_of(native, call.inputs, plan)
        if used is None:
            return Launcher(self, native.launcher(call.native), call, used)
        workspace = used.new_workspace(call.native)
        return Launcher(self, native.launcher(call.native, used.native, workspace), call, used)

    def variant(self, *inputs: Any, plan: Plan | Literal[False] | None = None) -> Variant:
        """The variant that a call with these arguments takes, without a launch."""
        call = self._prepare(inputs, None, None, check=False)
        native, target = self.file.native_kernel(self.name, call.inputs.device)
        used = self._plan_of(native, call.inputs, plan)
        number = native.variant(call.native, used.native if used else None)
        return self.file.info_of(target, self.name).variants[number]

    def reference(self, *inputs: Any, lse: bool = False) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Computes what the kernel is defined to compute, in double precision, one element after the other.

        Args:
            inputs: as of a call, in host memory.
            lse: of attention and of merges: the logarithm of the sum of exponentials instead of the first result.

        Returns:
            The result in float64, not rounded to the kernel's type, and the magnitude of its sums: f32 arithmetic is
            off by at most 1e-6 times it.

        Raises:
            InvalidArgument: an argument does not fit, is not in host memory, or lse is asked of another operation.
        """
        converted = self._convert(self._complete(inputs), None, check=False)
        if converted.device != arrays.HOST:
            raise InvalidArgument(
                f"the reference needs arrays in host memory, but these are on device {converted.device}"
            )
        if lse and not self.info.has_lse:
            raise InvalidArgument(f"lse is a result of attention and of merges, but {self.name} is neither")
        shapes = self.info.result_shapes(converted.shapes)
        results = tuple(
            arrays.placeholder(shape, argument.dtype) for shape, argument in zip(shapes, self.info.results, strict=True)
        )
        shape = shapes[0][::-1] if self.info.is_result_transposed else shapes[0]
        if lse:
            shape = shape[:-1]
        width = 1 if lse else shape[-1]
        rows = math.prod(shape if lse else shape[:-1])
        ordinal = arrays.HOST if "host" in self.file.targets else 0
        native, _ = self.file.native_kernel(self.name, ordinal)
        buffers = native.reference((*converted.native, *results), 0, rows, width, lse)
        values, magnitude = (np.frombuffer(buffer, np.float64).reshape(shape) for buffer in buffers)
        if self.info.is_result_transposed:
            return values.T, magnitude.T
        return values, magnitude

    def quantize(self, name: str, values: Any, group: str = "tensor", *, stream: Any = None) -> tuple[Any, Any]:
        """Quantises values for an fp8 input, w or x of spmm: value = quantised value * scale.

        It gives the values and scales of sparsec.quantize, by a kernel of the compiled file: on a GPU the call waits
        for nothing, and a CUDA graph may hold it.

        Args:
            name: of the input.
            values: of f32, f16 or bf16: a BSR for w, an array of NumPy or torch for x.
            group: the values that share a scale: "tensor"; "row" of w, or of an x [N, K]; "block" of w; "token": a row
                of x [N, K] and 128 of K.
            stream: as of a call.

        Returns:
            The quantised BSR or array, and the scales in f32: (), (M,) or (N,), (blocks,), (N, ceil(K / 128)).

        Raises:
            InvalidArgument: the input is none of fp8, or the values or the group do not fit it.
        """
        names = [argument.name for argument in self.info.inputs]
        if name not in names:
            raise InvalidArgument(f"name is {name!r}, but {self.name} has the inputs {', '.join(names)}")
        position = names.index(name)
        pair = quantize.empty_like(values, self.info.inputs[position].dtype, group)
        number = arrays.stream_number(stream, [quantize.values_of(values)])
        scales = arrays.dense(pair[1], number)
        source, target = (
            each.native(False) if isinstance(each, BSR) else arrays.dense(each, number) for each in (values, pair[0])
        )
        native, _ = self.file.native_kernel(self.name, source.device)
        native.quantize(position, quantize.group_number(group), source, target, scales, number)
        return pair

    def call_for(
        self,
        repeater: Repeater,
        repeated: tuple[Any, ...],
        results: tuple[Any, ...],
        *inputs: Any,
        out: Any,
        plan: Plan | None = None,
    ) -> None:
        """Launches as a call, and prepares a repeater for calls of the form of `repeated` and `results`."""
        self._launch(self._prepare(inputs, out, None, check=False), plan, repeater, repeated, results)

    def _launch(
        self,
        call: _Call,
        plan: Plan | Literal[False] | None,
        repeater: Repeater | None = None,
        repeated: tuple[Any, ...] = (),
        results: tuple[Any, ...] = (),
    ) -> None:
        """Launches. With a repeater it prepares that for calls of the form of the inputs and results."""
        native, target = self.file.native_kernel(self.name, call.inputs.device)
        used = self._plan_of(native, call.inputs, plan)
        if log.is_on():
            self._explain(native, target, call, used)
        number = call.inputs.stream
        is_capturing = arrays.is_capturing(call.inputs.device)
        workspace = used.workspace(call.native, number, is_capturing) if used else None
        native.launch(call.native, used.native if used else None, number, workspace)
        if repeater is not None and not is_capturing:
            repeater.add(native, used, workspace, repeated, results)

    # ---- Repeated calls ----------------------------------------------------------------------------------------------

    def _repeater_of(self, blocks: Any) -> Repeater:
        """That of a matrix or pattern; None: the kernel takes none."""
        key = 0 if blocks is None else id(blocks)
        found = self._repeaters.get(key)
        if found is None:
            native = None
            if self.info.blocks_place is not None:
                native, _ = _convert_input(self.info.arguments[self.info.blocks_place], blocks, 0, False)
            found = self._repeaters[key] = Repeater(self.info, native)
            forget = functools.partial(_forget, self._repeaters, self._callers, key)
            self._callers.keep(key, None if blocks is None else weakref.ref(blocks, forget), found.native)
        return found

    # ---- Conversion --------------------------------------------------------------------------------------------------

    def _with_captures(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """All inputs in the kernel's order: those of the call and those that the program captured."""
        names = [argument.name for argument in self.info.inputs if argument.name not in self._captures]
        if len(inputs) != len(names):
            raise InvalidArgument(f"{self.name} takes {len(names)} inputs ({', '.join(names)}), but got {len(inputs)}")
        passed = iter(inputs)
        return tuple(
            self._captures[argument.name] if argument.name in self._captures else next(passed)
            for argument in self.info.inputs
        )

    def _complete(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """All inputs in the kernel's order, none of them open."""
        inputs = self._with_captures(inputs)
        for argument, value in zip(self.info.inputs, inputs, strict=True):
            if value is None:
                raise InvalidArgument(f"'{argument.name}' is None, which only plans take")
        return inputs

    def _convert(self, inputs: tuple[Any, ...], stream: Any, check: bool) -> _Inputs:
        number = _stream_number(stream, inputs)
        native: list[_native.Argument] = []
        shapes: list[tuple[int, ...]] = []
        like: Any = None
        blocks: list[Any] = []
        for position, (argument, value) in enumerate(zip(self.info.inputs, inputs, strict=True)):
            try:
                converted, shape = _convert_input(argument, value, number, check)
            except InvalidArgument as error:
                raise InvalidArgument(f"argument {position} '{argument.name}': {error}") from None
            native.append(converted)
            shapes.append(shape)
            if isinstance(converted, _native.Blocks):
                blocks.append(value)
            elif like is None and isinstance(converted, _native.Dense):
                like = value
        if like is None and blocks and isinstance(blocks[0], BSR):
            like = blocks[0].values
        return _Inputs(tuple(native), shapes, _device_of(native), number, like, tuple(blocks))

    def _prepare(self, inputs: tuple[Any, ...], out: Any, stream: Any, check: bool) -> _Call:
        converted = self._convert(self._complete(inputs), stream, check)
        if out is None:
            shapes = self.info.result_shapes(converted.shapes)
            results = tuple(
                arrays.empty(converted.like, shape, argument.dtype)
                for shape, argument in zip(shapes, self.info.results, strict=True)
            )
        else:
            results = out if isinstance(out, tuple) else (out,)
        if len(results) != self.info.result_count:
            raise InvalidArgument(
                f"out: {self.name} has {self.info.result_count} results, but got {len(results)} arrays"
            )
        if any(map(arrays.is_jax, results)):
            raise InvalidArgument("out: expects arrays that may be written, but those of JAX never change")
        views = tuple(arrays.dense(result, converted.stream) for result in results)
        return _Call(converted, (*converted.native, *views), results)

    # ---- Plans -------------------------------------------------------------------------------------------------------

    def _make_plan(
        self,
        native: _native.Kernel,
        device: int,
        inputs: Sequence[_native.Argument],
        stream: int,
        flags: int = 0,
        progress: Callable[[int, int], object] | None = None,
    ) -> Plan:
        if arrays.is_capturing(device):
            raise InvalidArgument(
                f"plan: {self.name} has none for this call. A CUDA graph cannot make it: call once before"
            )
        views = (*inputs, *(None for _ in self.info.results))
        return Plan(native.plan(views, flags, stream, progress), self, device)

    def _plan_of(self, native: _native.Kernel, inputs: _Inputs, plan: Plan | Literal[False] | None) -> Plan | None:
        """The plan of a call: the caller's, an automatic one, or none."""
        if plan is None:
            return self._automatic_plan(native, inputs)
        if plan is False:
            return None
        if plan.kernel is not self or plan.device != inputs.device:
            raise InvalidArgument(
                f"plan: expects one of {self.name} on device {inputs.device}, but got one of {plan.kernel.name} on "
                f"device {plan.device}"
            )
        return plan

    def _automatic_plan(self, native: _native.Kernel, inputs: _Inputs) -> Plan:
        """The plan of matrices or of a pattern: for products one for all widths, for others one for these sizes.

        Attention whose sequences have sizes of their own has one for all sizes too.

        A kernel without blocks has one plan, for all calls: its workers take tiles as they become free.
        """
        info, first = self.info, inputs.blocks[0] if inputs.blocks else None
        known: Sequence[_native.Argument] = [None] * len(inputs.native)
        sizes: tuple[tuple[int, ...], ...] = ()
        if info.operation is Operation.SPMM or info.multiplies_blocks or info.has_sequences:
            known = [value if isinstance(value, _native.Blocks) else None for value in inputs.native]
        elif first is not None:
            known, sizes = inputs.native, tuple(inputs.shapes)
        with self._lock:
            plans = self._open_plans if first is None else self._plans.setdefault(first, {})
            key = (inputs.device, sizes, tuple(map(weakref.ref, inputs.blocks[1:])))
            if key not in plans:
                if len(plans) == _MOST_PLANS:
                    del plans[next(iter(plans))]
                # The index of a transpose, and pairs of blocks, cannot follow changes of the lists.
                is_static = info.takes_transpose or info.multiplies_blocks or getattr(first, "static", False)
                flags = _STATIC_PATTERN if is_static else 0
                plans[key] = self._make_plan(native, inputs.device, known, inputs.stream, flags)
            return plans[key]

    def _check_lists(self, native: tuple[_native.Argument, ...]) -> None:
        for value in native:
            if isinstance(value, _native.Blocks):
                _native.check_blocks(value)

    def _explain(self, native: _native.Kernel, target: str, call: _Call, plan: Plan | None) -> None:
        """Prints which variant and plan a launch takes, and why."""
        number = native.variant(call.native, plan.native if plan else None)
        info = self.file.info_of(target, self.name)
        text = f"{self.name} on {target}: variant {number} ({info.variants[number].schedule})"
        for passed_over in range(number):
            text += f"; variant {passed_over} does not fit{requirements_text(info, info.variants[passed_over])}"
        if plan is None:
            text += "; no plan, tiles in a fixed order"
        else:
            order = plan.info(number)
            text += f"; plan with {order.order} order, {order.workers} workers, balance {order.balance:.3f}"
            text += f" ({order.reason})"
        log.decision(text)


class Launcher:
    """A launch that is prepared once. Made by Kernel.launcher."""

    def __init__(self, kernel: Kernel, native: _native.Launcher, call: _Call, plan: Plan | None) -> None:
        self._kernel, self._native, self._call, self._plan = kernel, native, call, plan

    @property
    def out(self) -> Any:
        """The result array, or a tuple of several: those of the last binding."""
        return self._call.value

    def run(self, stream: Any = None) -> Any:
        """Launches, and returns the result arrays. Threads take turns. `stream` is that of a call.

        Raises:
            InvalidPattern: on the host, lists of the pattern break a rule.
            DriverError: the driver refused.
        """
        self._native.run(self._call.inputs.stream if stream is None else _stream_number(stream, ()))
        return self._call.value

    def rebind(self, *inputs: Any, out: Any = None) -> None:
        """Gives the next runs other memory and scalars, of the same sizes and strides. out=None makes new results.

        Raises:
            InvalidArgument: an argument differs in more than its memory. The launcher is then as before.
        """
        call = self._kernel._prepare(inputs, out, None, check=False)
        self._native.rebind(call.native)
        self._call = call


def _forget(repeaters: dict[int, Repeater], callers: _native.Callers, key: int, _reference: Any) -> None:
    """Drops what belongs to a matrix or pattern, as the last call of a weak reference."""
    repeaters.pop(key, None)
    callers.forget(key)


def _convert_input(
    argument: Argument, value: Any, stream: int, check: bool
) -> tuple[_native.Argument, tuple[int, ...]]:
    """The native argument and the shape of an input. The shape of a matrix is (rows, columns, stored blocks)."""
    if value is None:
        return None, ()
    if arrays.loses_gradient(value.values if isinstance(value, BSR) else value):
        raise InvalidArgument("the tensor requires a gradient, which would be lost: pass its detach()")
    if argument.kind is ArgumentKind.BSR:
        if not isinstance(value, BSR):
            raise InvalidArgument(f"expects a sparsec.BSR, but got {type(value).__name__}")
        return value.native(check), (*value.shape, value.block_count)
    if argument.kind is ArgumentKind.PATTERN:
        return pattern_blocks(value, check), ()
    if argument.kind is ArgumentKind.SCALAR:
        try:
            return float(value), ()
        except (TypeError, ValueError):
            raise InvalidArgument(f"expects a number, but got {type(value).__name__}") from None
    view = arrays.dense(value, stream)
    if len(view.shape) != len(argument.sizes):
        raise InvalidArgument(f"expects rank {len(argument.sizes)}, but got {len(view.shape)}")
    return view, view.shape


def _device_of(native: Sequence[_native.Argument]) -> int:
    """The device of the first argument that says where it is. The runtime refuses others elsewhere, by name."""
    for value in native:
        if isinstance(value, (_native.Dense, _native.Blocks)) and value.device != arrays.UNKNOWN:
            return value.device
    return arrays.HOST


def _stream_number(stream: Any, inputs: Sequence[Any]) -> int:
    return arrays.stream_number(stream, [value.values if isinstance(value, BSR) else value for value in inputs])
