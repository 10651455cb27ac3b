# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the compiler as a program, and finds it and ptxas."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import CompileError, Error, InvalidArgument

_LOCATION = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): error: ", re.MULTILINE)
_WRONG_COMMAND_LINE = 2  # an exit code of the compiler
OLDEST_PTXAS = (12, 8)
"""The first release of ptxas that knows all that the compiler emits."""

TOOLKIT = Path("/usr/local/cuda")
"""Where the CUDA toolkit is by default."""


@dataclass(frozen=True)
class Program:
    """A program of this machine, and the version that it prints."""

    path: Path
    version: str


@dataclass(frozen=True)
class Options:
    """What a compile depends on beside the text. None takes the compiler's default.

    Attributes:
        targets: "sm_90a", "sm_89", "host", ...
        expect_density: the fraction of blocks that are expected to be stored.
        expect_n: the expected number of columns of X.
        embed_ptx: put PTX beside the machine code, for later chips.
        allow_spills: try no other schedule where ptxas reports spills.
        ptxas: path of the assembler; None searches for it.
    """

    targets: tuple[str, ...]
    expect_density: float | None = None
    expect_n: int | None = None
    embed_ptx: bool = False
    allow_spills: bool = False
    ptxas: str | None = None

    def flags(self) -> list[str]:
        flags = [f"--arch={','.join(self.targets)}"]
        if self.expect_density is not None:
            flags.append(f"--expect-density={self.expect_density}")
        if self.expect_n is not None:
            flags.append(f"--expect-n={self.expect_n}")
        if self.embed_ptx:
            flags.append("--embed-ptx")
        if self.allow_spills:
            flags.append("--allow-spills")
        return flags

    @property
    def needs_ptxas(self) -> bool:
        return any(target != "host" for target in self.targets)


# ---- Programs --------------------------------------------------------------------------------------------------------


@functools.lru_cache
def _version(path: Path, size: int, modified: int) -> str:
    """What a program prints for --version. The size and the time make a new build another program."""
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def _program(path: Path) -> Program:
    state = path.stat()
    return Program(path, _version(path, state.st_size, state.st_mtime_ns))


def find_compiler() -> Program:
    """Finds the compiler: SPARSEC_COMPILER, else the program inside the package.

    Raises:
        Error: it is not there, or does not run.
    """
    named = os.environ.get("SPARSEC_COMPILER")
    path = Path(named) if named else Path(__file__).parent / "bin" / "sparsec"
    if not path.is_file():
        source = "SPARSEC_COMPILER names it" if named else "the package should hold it; SPARSEC_COMPILER names another"
        raise Error(f"there is no compiler at {path} ({source})")
    try:
        return _program(path)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Error(f"the compiler {path} does not run: {error}") from error


def _package_folder(name: str) -> Path | None:
    """The folder of an installed package, which is not imported."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _ptxas_places() -> Iterator[tuple[str, Path]]:
    """Where ptxas may be, in the order of the search, with names for messages."""
    if named := os.environ.get("SPARSEC_PTXAS"):
        yield "SPARSEC_PTXAS", Path(named)
        return
    for package, place in (("nvidia.cu13", "bin"), ("nvidia.cuda_nvcc", "bin"), ("triton", "backends/nvidia/bin")):
        if folder := _package_folder(package):
            yield f"package {package}", folder / place / "ptxas"
    if found := shutil.which("ptxas"):
        yield "PATH", Path(found)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            yield variable, Path(home) / "bin" / "ptxas"
    yield str(TOOLKIT), TOOLKIT / "bin" / "ptxas"


def release_of(version: str) -> tuple[int, int] | None:
    """The release in what ptxas prints for --version; None if there is none."""
    match = re.search(r"release (\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else None


def search_ptxas(ptxas: str | None = None) -> tuple[Program | None, list[str]]:
    """Searches for a ptxas of CUDA 12.8 or later, and says why each other candidate was passed over.

    The order is: the argument, SPARSEC_PTXAS, the packages of the extras cuda13 and cuda12, triton's, PATH, CUDA_HOME,
    CUDA_PATH, /usr/local/cuda. If the argument or SPARSEC_PTXAS names one, no other is taken.
    """
    passed_over = []
    places = [("ptxas", Path(ptxas))] if ptxas else _ptxas_places()
    for source, path in places:
        if not os.access(path, os.X_OK):
            passed_over.append(f"{source}: {path} is no program")
            continue
        try:
            program = _program(path)
        except (OSError, subprocess.CalledProcessError) as error:
            passed_over.append(f"{source}: {path} does not run ({error})")
            continue
        release = release_of(program.version)
        if release is not None and release >= OLDEST_PTXAS:
            return program, passed_over
        found = "no release" if release is None else "release {}.{}".format(*release)
        passed_over.append(f"{source}: {path} has {found}, older than 12.8")
    return None, passed_over


def find_ptxas(ptxas: str | None = None) -> Program:
    """Returns the first usable ptxas of search_ptxas.

    Raises:
        Error: there is none. The text lists what was tried.
    """
    program, passed_over = search_ptxas(ptxas)
    if program is None:
        raise Error(
            "found no ptxas of CUDA 12.8 or later: pip install 'sparsec[cuda13]', or set SPARSEC_PTXAS. "
            f"Tried: {'; '.join(passed_over)}"
        )
    return program


def ptxas_or_none(ptxas: str | None = None) -> Program | None:
    """The first usable ptxas of search_ptxas; None if there is none.

    Raises:
        Error: the argument or SPARSEC_PTXAS names one that is not usable.
    """
    if ptxas or os.environ.get("SPARSEC_PTXAS"):
        return find_ptxas(ptxas)
    return search_ptxas()[0]


# ---- Compiling -------------------------------------------------------------------------------------------------------


def _error_of(code: int, diagnostics: str) -> Error:
    """The exception for a run of the compiler that failed."""
    text = diagnostics.strip() or f"the compiler ended with exit code {code} and no message"
    if code == _WRONG_COMMAND_LINE:
        return InvalidArgument(text.removeprefix("error: "))
    place = _LOCATION.search(text)
    if place is None:
        return CompileError(text, diagnostics=diagnostics)
    return CompileError(
        text, file=place["file"], line=int(place["line"]), column=int(place["column"]), diagnostics=diagnostics
    )


def _run(compiler: Program, text: str, name: str | None, flags: Sequence[str], environment: dict[str, str]) -> None:
    """Runs the compiler on the text. Messages name the file `name`, or <stdin>."""
    command = [str(compiler.path), "-", *flags]
    result = subprocess.run(command, input=text, capture_output=True, text=True, env={**os.environ, **environment})
    if result.returncode != 0:
        diagnostics = result.stderr if name is None else result.stderr.replace("<stdin>:", f"{name}:")
        raise _error_of(result.returncode, diagnostics)


def run(
    text: str, name: str | None, options: Options, compiler: Program, ptxas: Program | None, stage: str | None = None
) -> bytes:
    """Compiles a text.

    Args:
        text: MLIR of the sparsec dialect.
        name: of the file that the text is from, for messages; None if it is from none.
        options: targets and choices.
        compiler, ptxas: the programs; ptxas is None if the options need none.
        stage: None gives the compiled file; "ptx", "tile", "schedule", ... give a stage as text.

    Raises:
        CompileError: the text is wrong, or the compiler or ptxas failed.
        InvalidArgument: an option has a value that the compiler does not know.
    """
    environment = {} if ptxas is None else {"SPARSEC_PTXAS": str(ptxas.path)}
    with tempfile.TemporaryDirectory(prefix="sparsec-") as folder:
        output = Path(folder) / "output"
        flags = [*options.flags(), "-o", str(output)]
        if stage is not None:
            flags.append(f"--emit={stage}")
        _run(compiler, text, name, flags, environment)
        return output.read_bytes()
