# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled files on disk, by what they depend on.

The folder is SPARSEC_CACHE_DIR, else XDG_CACHE_HOME/sparsec/compiled, else ~/.cache/sparsec/compiled. A file appears
there at once and complete, so that any number of processes may use the folder. Nothing is ever removed but by `clear`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

from . import launch_info, log
from .compiler import Options, Program
from .errors import InvalidImage

_SUFFIX = ".sparsec"


def folder() -> Path:
    """The folder of the compiled files. It need not be there."""
    if named := os.environ.get("SPARSEC_CACHE_DIR"):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sparsec" / "compiled"


def _identity(program: Program | None) -> list[object]:
    """What tells builds of a program apart: two builds may print the same version."""
    if program is None:
        return []
    state = program.path.stat()
    return [program.version, state.st_size, state.st_mtime_ns]


def key(text: str, options: Options, compiler: Program, ptxas: Program | None) -> str:
    """The name of a compiled file: a hash of all that it depends on. Where ptxas is does not matter."""
    parts = [text, dataclasses.asdict(dataclasses.replace(options, ptxas=None)), _identity(compiler), _identity(ptxas)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def path_of(name: str) -> Path:
    """The path of the file with this key."""
    return folder() / f"{name}{_SUFFIX}"


def read(name: str) -> bytes | None:
    """Returns the compiled file with this key; None if there is none, or if it is damaged, which is said."""
    try:
        data = path_of(name).read_bytes()
    except FileNotFoundError:
        return None
    try:
        launch_info.read(data)
    except InvalidImage as error:
        log.say(f"the cached file {path_of(name)} is damaged and is made anew: {error}")
        return None
    return data


def write(name: str, data: bytes) -> None:
    """Stores a compiled file. Readers see all of it or none of it."""
    write_atomically(path_of(name), data)


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file that appears at once. Creates its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".new-{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@dataclass(frozen=True)
class Entry:
    """A compiled file in the cache. Size in bytes, time in seconds since the epoch."""

    path: Path
    size: int
    modified: float
    targets: tuple[str, ...]
    kernels: tuple[str, ...]


def _entry(path: Path) -> Entry:
    state = path.stat()
    try:
        images = launch_info.read(path.read_bytes())
    except InvalidImage:
        return Entry(path, state.st_size, state.st_mtime, (), ())
    return Entry(
        path,
        state.st_size,
        state.st_mtime,
        tuple(image.target for image in images),
        tuple(kernel.name for kernel in images[0].kernels),
    )


def entries() -> list[Entry]:
    """The files of the cache, newest first. A damaged file has no kernels."""
    found = []
    for path in folder().glob(f"*{_SUFFIX}"):
        try:
            found.append(_entry(path))
        except FileNotFoundError:
            continue  # another process has cleared the cache meanwhile
    return sorted(found, key=lambda entry: entry.modified, reverse=True)


def clear() -> int:
    """Removes all files of the cache. Returns their number."""
    paths = list(folder().glob(f"*{_SUFFIX}"))
    for path in paths:
        path.unlink(missing_ok=True)
    return len(paths)
