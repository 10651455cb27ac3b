# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and loads kernels."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from . import cache, compiler, devices, launch_info, log, ptx_images
from .compiled_file import CompiledFile
from .compiler import Options
from .errors import InvalidArgument, UnknownKernel
from .kernel import Kernel
from .source import Source

_SLOW_COMPILE = 1.0  # seconds


@runtime_checkable
class Program(Protocol):
    """What `compile` takes beside text and paths, as sparsec.spmm and sparsec.attention make it."""

    @property
    def captures(self) -> Mapping[str, Any]:
        """Arrays that calls pass by themselves, by the name of their argument."""

    def text(self) -> str:
        """MLIR of the sparsec dialect."""


# ---- Module ----------------------------------------------------------------------------------------------------------


class Module:
    """The kernels of a compiled file. Made by `compile` and `load`.

    module["name"] is a Kernel, and iteration gives the names. The file is loaded on a device at the first call with
    arrays of that device.

    """

    def __init__(
        self,
        data: bytes,
        *,
        text: str | None = None,
        options: Options | None = None,
        captures: Mapping[str, Any] | None = None,
    ) -> None:
        self._file = CompiledFile(data)
        self._source = Source(text, options)
        self._kernels = {
            info.name: Kernel(self._file, info, captures or {}, self._source) for info in self.images[0].kernels
        }

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self._kernels[name]
        except KeyError:
            raise UnknownKernel(f"there is no kernel '{name}'; there are {', '.join(self._kernels)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        return f"<sparsec.Module of {', '.join(self.kernels)} for {', '.join(self.targets)}>"

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels."""
        return tuple(self._kernels)

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self._file.data

    @property
    def images(self) -> tuple[launch_info.ImageInfo, ...]:
        """What the file says about each of its images."""
        return self._file.images

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of the images: "sm_90a", "host", ..."""
        return self._file.targets

    @property
    def report(self) -> str:
        """A table of all images, kernels and variants: schedules, registers, spills, shared memory."""
        return self._file.report

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the compiled file, which `load`, `sparsec-run` and the C library read. It appears at once."""
        cache.write_atomically(Path(path), self.data)

    def emit(self, stage: str, target: str | None = None) -> str:
        """Compiles the text again, up to a stage.

        Args:
            stage: "mlir", "schedule", "tile", "nvvm", "llvm" or "ptx".
            target: any target of the compiler; None takes the first of the module.

        Raises:
            InvalidArgument: the module was loaded from a file, or there is no such target, or no such stage of it.
            CompileError: the compiler failed.
        """
        return self._source.emit(stage, target)


# ---- Compile and load ------------------------------------------------------------------------------------------------


def _read_source(source: str | os.PathLike[str] | Program) -> tuple[str, str | None, Mapping[str, Any]]:
    """The text of a source, the name of its file, and the arrays that it captured."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return source, None, {}
    if isinstance(source, (str, os.PathLike)):
        return Path(source).read_text(encoding="utf-8"), os.fspath(source), {}
    if isinstance(source, Program):
        return source.text(), None, source.captures
    raise InvalidArgument(f"source: expects text, a path or a program, but got {type(source).__name__}")


def _target_names(targets: str | Sequence[str] | None) -> tuple[str, ...]:
    if targets is None:
        return devices.default_targets()
    names = tuple(targets.split(",")) if isinstance(targets, str) else tuple(targets)
    if not names or not all(names):
        raise InvalidArgument("targets: expects at least one, and no empty name")
    return names


def _run_without_ptxas(text: str, name: str | None, options: Options, program: compiler.Program) -> bytes:
    """The compiled file with PTX in place of machine code of GPUs: one run of the compiler for each target."""
    images = []
    for target in options.targets:
        alone = dataclasses.replace(options, targets=(target,), embed_ptx=False)
        stage = "ptx" if alone.needs_ptxas else None
        data = compiler.run(text, name, alone, program, None, stage)
        images.append(ptx_images.ptx_image(target, data) if stage else ptx_images.Image(target, data, b""))
    return ptx_images.bundle(images)


def _compiled(text: str, name: str | None, options: Options, use_cache: bool) -> bytes:
    """The compiled file: from the cache, else from the compiler."""
    program = compiler.find_compiler()
    ptxas = compiler.ptxas_or_none(options.ptxas) if options.needs_ptxas else None
    has_ptx_alone = options.needs_ptxas and ptxas is None
    key = cache.key(text, options, program, ptxas)
    place = cache.path_of(key) if use_cache else None
    if place is not None and (data := cache.read(key)) is not None:
        log.decision(f"took {place}: same text, options, compiler and ptxas")
        return data
    begin = time.monotonic()
    if has_ptx_alone:
        log.say(
            "found no ptxas of CUDA 12.8 or later: the driver will compile the PTX of the kernels, whose registers and "
            "spills are not known; pip install 'sparsec[cuda13]' brings ptxas"
        )
        data = _run_without_ptxas(text, name, options, program)
    else:
        data = compiler.run(text, name, options, program, ptxas)
    seconds = time.monotonic() - begin
    if place is not None:
        cache.write(key, data)
    line = f"compiled {name or 'a program'} for {', '.join(options.targets)} in {seconds:.1f} s"
    line += f", cached as {place}" if place else ", not cached"
    if seconds > _SLOW_COMPILE:
        log.say(line)
    else:
        log.decision(line)
    return data


def compile(
    source: str | os.PathLike[str] | Program,
    targets: str | Sequence[str] | None = None,
    *,
    expect_density: float | None = None,
    expect_n: int | None = None,
    embed_ptx: bool = False,
    allow_spills: bool = False,
    ptxas: str | os.PathLike[str] | None = None,
    cache: bool = True,
) -> Module:
    """Compiles kernels, or takes the compiled file from the cache.

    Args:
        source: MLIR of the sparsec dialect as text (a str with a line break or a brace), the path of such a file, or a
            program of sparsec.spmm, sparsec.sddmm, sparsec.spgemm, sparsec.attention or sparsec.merge.
        targets: "sm_90a", "host", ...: one, several with commas, or a sequence. None is the GPU of this machine, and
            the host where there is none.
        expect_density: the fraction of blocks that are expected to be stored, for the choice of schedules.
        expect_n: the expected number of columns of X, for the choice of schedules.
        embed_ptx: put PTX beside the machine code, for GPUs that are newer than the targets.
        allow_spills: try no other schedule where ptxas reports spills.
        ptxas: path of the assembler; None searches for it (see compiler.search_ptxas). If there is none, the file has
            PTX, which the driver compiles for the GPU: a line on standard error says so.
        cache: read and write the folder of compiled files (see `python -m sparsec cache`).

    A compile of more than a second prints one line on standard error.

    Raises:
        CompileError: the text is wrong; the error has its file, line and column.
        InvalidArgument: an option has a wrong value.
        DriverError: targets is None, and no target runs on the GPU.
        Error: there is no compiler, or the ptxas that is named is none.
    """
    text, name, captures = _read_source(source)
    options = Options(
        _target_names(targets),
        expect_density,
        expect_n,
        embed_ptx,
        allow_spills,
        None if ptxas is None else os.fspath(ptxas),
    )
    return Module(_compiled(text, name, options, cache), text=text, options=options, captures=captures)


def load(source: str | os.PathLike[str] | bytes) -> Module:
    """Reads a compiled file: a path, or its bytes. The file is code: load it only from where you would load a library.

    Raises:
        InvalidImage: the file is truncated, damaged, of another kind, or of an incompatible version.
        OSError: the file cannot be read.
    """
    return Module(source if isinstance(source, bytes) else Path(source).read_bytes())
