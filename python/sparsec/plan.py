# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans: which worker computes which tiles of a launch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from . import _native, arrays, devices, plan_pictures, saved_plan
from .bsr import BSR
from .errors import InvalidArgument
from .launch_info import ArgumentKind, KernelInfo
from .options import one_of
from .pictures import Picture
from .plan_info import PlanInfo

_TILE_ORDERS = ("fixed", "lists", "counter")  # sparsec_tile_order_t

# The captures whose launches of a plan get memory of their own, and the most bytes of all of it.
_CAPTURES, _MOST_BYTES = 64, 64 << 20


class _Described(Protocol):
    """A kernel, of which a plan knows no more than what it says about itself."""

    @property
    def name(self) -> str: ...

    @property
    def info(self) -> KernelInfo: ...


class Plan:
    """Which worker computes which tiles, for the launches of one kernel on one device.

    Made by Kernel.plan and Kernel.load_plan.
    """

    def __init__(self, native: _native.Plan, kernel: _Described, device: int) -> None:
        self.native, self.kernel, self.device = native, kernel, device
        self._workspaces: dict[int, _native.Memory | None] = {}
        self._spares: list[_native.Memory] = []  # for captures, which may not allocate
        self._captured: dict[tuple[int, int], _native.Memory] = {}  # by capture and stream: graphs write into these

    def info(self, variant: int = 0) -> PlanInfo:
        """What the plan holds for a variant. Raises InvalidArgument for a variant that the kernel does not have."""
        if variant < 0:
            raise InvalidArgument(f"variant: expects 0 or more, but got {variant}")
        fields = self.native.info(variant)
        return PlanInfo(**{**fields, "order": _TILE_ORDERS[fields["order"]]})

    def draw(
        self,
        w: BSR | None = None,
        *,
        of: str = "blocks",
        variant: int | None = None,
        rows: int = 64,
        columns: int = 96,
    ) -> Picture:
        """A picture of what the plan made of a matrix: text in a terminal, SVG in a notebook.

        Args:
            w: the matrix that the plan was made for. The workers of a plan of attention need none.
            of: "blocks": the block rows of w in the order of the plan's windows, with the stored blocks, and the block
                columns that are loaded for another row of the window. "workers": the tiles of each worker in the order
                in which it computes them, each as wide as its work is: the blocks of w that it multiplies; without w
                all tiles count the same.
            variant: which variant of the kernel; None: the first one whose plan has windows, or lists of tiles.
            rows, columns: of the picture at most. Rows are sampled where there are more.

        Raises:
            InvalidArgument: of or variant has another value, w is missing or none that the plan was made for, or the
                plan has no lists of tiles, which the text gives the reason of.
        """
        one_of("of", of, ("blocks", "workers"))
        number, sections = self._drawn(of, variant)
        info = self.info(number)
        if of == "workers":
            tile_rows = self.kernel.info.variants[number].stages[0].tile[0]
            lists = None if w is None else w.host_lists()
            return plan_pictures.draw_workers(lists, tile_rows, sections, info, rows, columns)
        if w is None:
            raise InvalidArgument("w is None, but the picture of blocks expects the matrix of the plan")
        return plan_pictures.draw_blocks(w.host_lists(), sections.windows(), info, rows, columns)

    def _drawn(self, of: str, variant: int | None) -> tuple[int, saved_plan.VariantSections]:
        """The variant of a picture, and its sections."""
        saved = self.native.save()
        if variant is not None:
            self.info(variant)  # refuses one that there is not
            return variant, saved_plan.read_variant(saved, variant)
        all_of_them = [saved_plan.read_variant(saved, number) for number in range(len(self.kernel.info.variants))]
        has = saved_plan.VariantSections.windows if of == "blocks" else saved_plan.VariantSections.tiles
        number = next((number for number, each in enumerate(all_of_them) if has(each) is not None), 0)
        return number, all_of_them[number]

    def pack(self, w: BSR, *, stream: Any = None) -> bool:
        """Copies the values of a matrix to larger blocks, which launches with the plan then multiply.

        Small blocks that are close together are faster so: 16 x 16 blocks of a dense matrix run at the speed of 64 x 64
        blocks. Launches read the copy. Call it again whenever the values have changed; it then needs no new memory, and
        a CUDA graph may hold it. Empty places of a packed block count as zeros: infinities and NaN of the dense operand
        may reach rows that have no block in their column.

        Args:
            w: the matrix of the plan, which Kernel.plan made with static=True and pack=True.
            stream: as of a call.

        Returns:
            Whether the plan has packed values. If not, launches read the stored values: the kernel has no variant for
            packed ones, which are for GPUs, or stored blocks fill too little of them. `info(variant).reason` says why.

        Raises:
            InvalidArgument: w is another matrix, or its values are not at a multiple of 16 bytes.
        """
        return self.native.pack(w.native(False), arrays.stream_number(stream, [w.values]))

    def refill(self, *matrices: BSR, stream: Any = None) -> None:
        """Makes the plan again, from lists that have changed in their memory.

        It is for patterns that are made on the device: the call enqueues kernels on a GPU and waits for nothing, and a
        CUDA graph may hold it. Launches that follow it on the stream use the lists of that time. Until the first call
        the plan is that of matrices without blocks.

        Args:
            matrices: the block-sparse inputs of the kernel in their order, of the sizes that Kernel.plan(...,
                refill=True) has seen. Their row_ptr says how many blocks there are.
            stream: as of a call.

        Raises:
            InvalidArgument: the plan was not made with refill=True, or a matrix has another size.
            InvalidPattern: lists in host memory break a rule.
        """
        left = list(matrices)
        is_matrix = [argument.kind is ArgumentKind.BSR for argument in self.kernel.info.arguments]
        if len(left) != sum(is_matrix):
            raise InvalidArgument(f"refill expects {sum(is_matrix)} matrices, but got {len(left)}")
        arguments = tuple(left.pop(0).native(False) if each else None for each in is_matrix)
        self.native.refill(arguments, arrays.stream_number(stream, [each.values for each in matrices]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan to a file for Kernel.load_plan. A file that is there is replaced as a whole."""
        path = Path(path)
        aside = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            aside.write_bytes(self.native.save())
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)

    def new_workspace(self, arguments: _native.Arguments) -> _native.Memory | None:
        """Makes the memory that a launch with these arguments needs, all of it zero; None if it needs none."""
        size = self.native.workspace_bytes(arguments)
        if size == 0:
            return None
        memory = devices.device(self.device).allocate(size)
        memory.upload(bytes(size))
        return memory

    def workspace(self, arguments: _native.Arguments, stream: int, is_capturing: bool) -> _native.Memory | None:
        """The memory for launches on a stream, which share it because they run one after the other.

        Each capture gets memory of its own, because graphs may run side by side. It was made with that of the first
        call outside a capture. Without such a call, and after many captures, there is none: a launch then takes its
        tiles in a fixed order, and does not split keys.
        """
        if is_capturing:
            return self._workspace_of_capture(arguments, stream)
        memory = self._workspaces.get(stream)
        if memory is None or memory.bytes < self.native.workspace_bytes(arguments):
            memory = self.new_workspace(arguments)
            self._workspaces[stream] = memory
            if memory is not None:
                self._make_spares(arguments, memory.bytes)
        return memory

    def _make_spares(self, arguments: _native.Arguments, size: int) -> None:
        if self._spares and self._spares[-1].bytes >= size:
            return
        bytes_left = _MOST_BYTES - sum(memory.bytes for memory in self._captured.values())
        count = min(_CAPTURES - len(self._captured), bytes_left // size)
        made = (self.new_workspace(arguments) for _ in range(count))
        self._spares = [spare for spare in made if spare is not None]

    def _workspace_of_capture(self, arguments: _native.Arguments, stream: int) -> _native.Memory | None:
        capture = devices.device(self.device).capture(stream), stream
        needed = self.native.workspace_bytes(arguments)
        memory = self._captured.get(capture)
        if memory is None and self._spares and self._spares[-1].bytes >= needed:
            memory = self._captured[capture] = self._spares.pop()
        return memory if memory is not None and memory.bytes >= needed else None

    def __repr__(self) -> str:
        info = self.info()
        return f"<sparsec.Plan of {self.kernel.name}: {info.order} order, {info.workers} workers, {info.tiles} tiles>"
