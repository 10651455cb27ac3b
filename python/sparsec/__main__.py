# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line: python -m sparsec doctor | compile | inspect | run | bench | draw | cache."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import _native, cache, compiler, doctor, files, module
from .bench import command as bench
from .errors import Error, InvalidArgument
from .pictures import Picture, draw_states


def _doctor(options: argparse.Namespace) -> int:
    problems = 0
    for finding in doctor.findings():
        print(f"{finding.name + ':':12} {'PROBLEM: ' if finding.is_problem else ''}{finding.text}", flush=True)
        problems += finding.is_problem
    print(f"{problems} problems" if problems else "no problems")
    return 1 if problems else 0


def _compile(options: argparse.Namespace) -> int:
    source = sys.stdin.read() if options.source == "-" else Path(options.source)
    compiled = module.compile(
        source,
        options.targets,
        expect_density=options.expect_density,
        expect_n=options.expect_n,
        embed_ptx=options.embed_ptx,
        allow_spills=options.allow_spills,
        ptxas=options.ptxas,
        cache=not options.no_cache,
    )
    if options.emit:
        text = compiled.emit(options.emit)
        if options.output is None:
            sys.stdout.write(text)
        else:
            cache.write_atomically(options.output, text.encode())
        return 0
    if options.output is None:
        raise InvalidArgument("compile needs --output for the compiled file, or --emit for text")
    compiled.save(options.output)
    print(compiled.report)
    return 0


def _inspect(options: argparse.Namespace) -> int:
    print(module.load(options.file).report)
    return 0


def _run(options: argparse.Namespace) -> int:
    program = compiler.find_compiler().path.with_name("sparsec-run")
    if not program.is_file():
        raise Error(f"there is no sparsec-run at {program}, beside the compiler")
    return subprocess.run([program, *options.arguments]).returncode


def read_picture(path: Path, rows: int, columns: int) -> Picture:
    """The picture of the blocks in a file.

    Args:
        path: .npz: a BSR matrix of scipy.sparse.save_npz. .npy: a mask of blocks, bool, or uint8 with 1 for full and 2
            for partial blocks. .smtx: a pattern whose nonzeros are blocks.
        rows, columns: of the picture at most.

    Raises:
        InvalidArgument: the file is of another kind, or holds something else.
    """
    match path.suffix:
        case ".npz":
            return files.read_scipy(path).draw(rows=rows, columns=columns)
        case ".npy":
            return draw_states(files.read_states(path), path.name, rows=rows, columns=columns)
        case ".smtx":
            return files.read_smtx(path).draw(rows=rows, columns=columns)
    raise InvalidArgument(f"{path}: expects a .npz, .npy or .smtx file")


def _draw(options: argparse.Namespace) -> int:
    picture = read_picture(options.file, options.rows, options.columns)
    if options.output is None:
        print(picture)
    else:
        picture.save(options.output)
    return 0


def _cache(options: argparse.Namespace) -> int:
    if options.action == "clear":
        print(f"removed {cache.clear()} files from {cache.folder()}")
        return 0
    entries = cache.entries()
    for entry in entries:
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.modified))
        kernels = ", ".join(entry.kernels) or "damaged"
        print(f"{made} {entry.size:>9} B  {kernels} for {', '.join(entry.targets)}  {entry.path.name}")
    print(f"{len(entries)} files, {sum(entry.size for entry in entries)} B, in {cache.folder()}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m sparsec", description="Compiles and runs block-sparse kernels.")
    parser.add_argument("--version", action="version", version=f"sparsec {_native.version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, function: Any, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(function=function)
        return command

    add("doctor", _doctor, "Show versions, devices, ptxas and the cache, and test every device.")

    command = add("compile", _compile, "Compile kernels, through the cache.")
    command.add_argument("source", help="file of kernels, - is standard input")
    command.add_argument("--targets", help="as sm_90a,host; by default this machine's GPU, else host")
    command.add_argument("-o", "--output", type=Path, help="file to write")
    command.add_argument("--emit", metavar="STAGE", help="write a stage as text: mlir, schedule, tile, nvvm, llvm, ptx")
    command.add_argument("--expect-density", type=float, metavar="D", help="expected fraction of stored blocks")
    command.add_argument("--expect-n", type=int, metavar="N", help="expected number of columns of X")
    command.add_argument("--embed-ptx", action="store_true", help="put PTX for newer GPUs beside the machine code")
    command.add_argument("--allow-spills", action="store_true", help="try no other schedule where ptxas spills")
    command.add_argument("--ptxas", help="path of the assembler; by default it is searched for")
    command.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")

    command = add("inspect", _inspect, "Show the kernels of a compiled file, without a device.")
    command.add_argument("file", type=Path)

    command = add("run", _run, "Run a kernel on files or random data with sparsec-run, which documents its arguments.")
    command.add_argument("arguments", nargs=argparse.REMAINDER, help="of sparsec-run; see `run --help`")

    command = add("bench", bench.run, "Time a product or attention beside other ways to compute it.")
    command.description = bench.DESCRIPTION
    bench.add_arguments(command)

    command = add("draw", _draw, "Draw the blocks of a matrix or a mask.")
    command.add_argument("file", type=Path, help=".npz of SciPy, .npy mask of blocks, or .smtx pattern")
    command.add_argument("-o", "--output", type=Path, help=".svg or .txt file; by default text is printed")
    command.add_argument("--rows", type=int, default=64, help="of the picture at most (default 64)")
    command.add_argument("--columns", type=int, default=96, help="of the picture at most (default 96)")

    command = add("cache", _cache, "Show or clear the compiled files on disk.")
    command.add_argument("action", choices=("list", "clear"), nargs="?", default="list")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command. Returns the exit code: 0 good, 1 an error or a problem, 2 a wrong command line."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["run"]:  # all that follows is sparsec-run's, also --help
        options = argparse.Namespace(function=_run, arguments=words[1:])
    else:
        options = _parser().parse_args(words)
    try:
        return int(options.function(options))
    except (Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
