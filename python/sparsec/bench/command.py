# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of python -m sparsec bench."""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsec import _native, cache, files
from sparsec.bench import contenders, rounds
from sparsec.bench.cases import Attention, Product
from sparsec.bench.report import CaseReport, Report, Row, picture, table, to_json
from sparsec.errors import InvalidArgument
from sparsec.options import block_sides, integer

# Largest relative errors of right results, by the type: some units in its last place.
TOLERANCES = {"bf16": 1e-2, "f16": 2e-3}
DESCRIPTION = """\
Times a product or attention on this machine beside the other ways to compute it, and checks every result against
float64. All of them run in each round, in changing order. Times are medians of the rounds; TFLOP/s count stored blocks
only. With PyTorch these are its dense operation, its block-sparse (BSR) tensors and FlexAttention; a GPU needs PyTorch.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("operation", choices=("product", "attention"), help="y = x W^T, or attention")
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        help="product: a matrix, .smtx, .mtx, .npy or .npz; attention: a mask of blocks, .npy or .smtx",
    )
    parser.add_argument("--density", type=_numbers, metavar="D,...", help="random blocks instead of a file; a row each")
    parser.add_argument("--block", type=_sizes, metavar="R[xC]", help="default 64, attention 128")
    parser.add_argument("--size", type=_sizes, metavar="M[xK]", help="product: of W without a file (default 2048)")
    parser.add_argument("--tokens", type=int, metavar="N", help="rows of x (default 512), or queries and keys (2048)")
    parser.add_argument("--batches", type=int, default=1, metavar="B", help="attention (default 1)")
    parser.add_argument("--heads", type=int, default=8, metavar="H", help="attention (default 8)")
    parser.add_argument("--head-dim", type=int, default=64, metavar="D", help="attention: 64 or 128 (default 64)")
    parser.add_argument("--dtype", choices=tuple(TOLERANCES), help="default bf16, without PyTorch f16")
    parser.add_argument("--device", choices=("host", "cuda"), help="default: the GPU that PyTorch uses, else the host")
    parser.add_argument("--contenders", metavar="NAME,...", help=_contenders_help())
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="samples of each time (default 15)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of random blocks and values (default 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples too")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the times, or the speed over several densities")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _contenders_help() -> str:
    names = [", ".join(each) for each in (contenders.PRODUCTS, contenders.ATTENTIONS)]
    return f"only these: product: {names[0]}; attention: {names[1]} (default all)"


def _numbers(text: str) -> list[float]:
    values = [float(word) for word in text.split(",")]
    if not all(0 < value <= 1 for value in values):
        raise argparse.ArgumentTypeError(f"expects densities above 0, of at most 1, but got {text}")
    return values


def _sizes(text: str) -> tuple[int, int]:
    words = text.split("x")
    if len(words) > 2 or not all(word.isascii() and word.isdigit() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError(f"expects one or two positive numbers, such as 64 or 64x32, but got {text}")
    return int(words[0]), int(words[-1])


def cases(options: argparse.Namespace) -> Iterator[Product | Attention]:
    """The cases that the options ask for. Raises InvalidArgument for options that do not go together."""
    if (options.file is None) == (options.density is None):
        raise InvalidArgument("bench expects a file or --density, and not both")
    if options.operation == "attention" and options.size is not None:
        raise InvalidArgument("--size is of products; attention has --tokens")
    generator = np.random.default_rng(options.seed)
    for density in options.density or [None]:
        make = _product if options.operation == "product" else _attention
        yield make(options, density, generator)


def _random_mask(shape: tuple[int, int], density: float, generator: np.random.Generator) -> np.ndarray[Any, Any]:
    """Exactly round(density * blocks) blocks, and at least one."""
    count = max(1, round(density * shape[0] * shape[1]))
    mask = np.zeros(shape[0] * shape[1], bool)
    mask[generator.choice(mask.size, count, replace=False)] = True
    return mask.reshape(shape)


def _product(options: argparse.Namespace, density: float | None, generator: np.random.Generator) -> Product:
    block = options.block or (64, 64)
    tokens = integer("--tokens", 512 if options.tokens is None else options.tokens, 1)
    if options.file is not None:
        if options.size is not None:
            raise InvalidArgument("--size is of random matrices; the file has a size of its own")
        return Product.of(files.read_matrix(options.file, block, generator), tokens, generator)
    size = options.size or (2048, 2048)
    if any(each % side for each, side in zip(size, block, strict=True)):
        raise InvalidArgument(f"--size {size[0]}x{size[1]} is no multiple of --block {block[0]}x{block[1]}")
    assert density is not None
    mask = _random_mask((size[0] // block[0], size[1] // block[1]), density, generator)
    return Product.of(files.random_values(mask, block, generator), tokens, generator)


def _attention(options: argparse.Namespace, density: float | None, generator: np.random.Generator) -> Attention:
    block = block_sides(options.block or (128, 128), (64, 128))
    shape = tuple(integer(f"--{name}", value, 1) for name, value in (
        ("batches", options.batches), ("heads", options.heads), ("head-dim", options.head_dim)))  # fmt: skip
    if options.file is not None:
        states = files.read_states(options.file)
        if (states == 2).any():
            raise InvalidArgument(f"{options.file}: has partial blocks (2), but bench has no mask for their elements")
        grid = (states.shape[0] * block[0], states.shape[1] * block[1])
        sizes = grid if options.tokens is None else (options.tokens, options.tokens)
        if any(-(-size // side) != count for size, side, count in zip(sizes, block, states.shape, strict=True)):
            raise InvalidArgument(
                f"{options.file}: {states.shape[0]} x {states.shape[1]} blocks of {block[0]} x {block[1]} do not cover "
                f"--tokens {options.tokens}"
            )
    else:
        assert density is not None
        tokens = integer("--tokens", 2048 if options.tokens is None else options.tokens, 1)
        sizes = (tokens, tokens)
        rows, columns = -(-tokens // block[0]), -(-tokens // block[1])
        states = _random_mask((rows, columns), density, generator).astype(np.uint8)
    return Attention.of(states, block, (shape[0], shape[1], shape[2]), sizes, generator)


def _names(options: argparse.Namespace) -> tuple[str, ...]:
    known = contenders.PRODUCTS if options.operation == "product" else contenders.ATTENTIONS
    names = known if options.contenders is None else tuple(options.contenders.split(","))
    for name in names:
        if name not in known:
            raise InvalidArgument(f"--contenders: {options.operation} has {', '.join(known)}, but got '{name}'")
    return tuple(dict.fromkeys(names))


def _device(options: argparse.Namespace, torch: Any) -> str:
    has_gpu = torch is not None and torch.cuda.is_available()
    if options.device == "cuda" and not has_gpu:
        raise InvalidArgument("--device cuda needs PyTorch with CUDA and a GPU that it can use")
    return str(options.device or ("cuda" if has_gpu else "host"))


def _processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def measure_case(
    case: Product | Attention,
    device: str,
    dtype: str,
    names: tuple[str, ...],
    count: int,
    clock: Callable[[rounds.Function], float],
    say: Callable[[str], None],
) -> CaseReport:
    """Makes the contenders of a case, checks their results and times those that there are.

    Raises:
        Error: sparsec itself cannot compute the case.
    """
    rows, functions = {}, {}
    for name, make in contenders.contenders(case, device, dtype, names):
        say(f"{case.title}: making and checking {name}")
        try:
            contender = make()
            error = contender.error(contender.run())
        except Exception as failure:  # any way in which another library cannot do it
            if name == "sparsec":
                raise
            reason = next(iter(str(failure).strip().splitlines()), type(failure).__name__)
            rows[name] = Row(name, None, None, True, f"not measured: {reason}")
            continue
        functions[name] = contender.run
        rows[name] = Row(name, None, error, error <= TOLERANCES[dtype], contender.note)
    times = rounds.measure(functions, count, clock, lambda done: say(f"{case.title}: round {done} of {count}"))
    rows |= {name: replace(rows[name], times=times[name]) for name in times}
    return CaseReport(case.operation, case.title, case.sizes, case.density, case.flops, list(rows.values()))


def _progress(is_quiet: bool) -> Callable[[str], None]:
    """Prints lines on standard error; on a terminal each replaces the one before."""
    is_terminal = sys.stderr.isatty()

    def say(text: str) -> None:
        if is_terminal and not is_quiet:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif not is_quiet and text and ": round " not in text:
            print(text, file=sys.stderr, flush=True)

    return say


def run(options: argparse.Namespace) -> int:
    """Runs the command. Returns 1 if a result was wrong."""
    torch = contenders.torch_or_none()
    device, names = _device(options, torch), _names(options)
    count = integer("--rounds", options.rounds, 1)
    dtype = options.dtype or ("f16" if torch is None else "bf16")
    is_gpu = device == "cuda"
    clock = rounds.GpuClock(torch) if is_gpu else rounds.host_clock
    versions = {"sparsec": _native.version()} | ({} if torch is None else {"torch": str(torch.__version__)})
    machine = torch.cuda.get_device_name() if is_gpu else f"host ({_processor()})"
    say, reports = _progress(options.quiet), []
    for case in cases(options):
        with contextlib.nullcontext() if torch is None else torch.no_grad():
            reports.append(measure_case(case, device, dtype, names, count, clock, say))
        say("")
    report = Report(machine, versions, dtype, count, reports)
    print(report.heading)
    print("\n\n".join(map(table, reports)))
    if options.json is not None:
        cache.write_atomically(options.json, (json.dumps(to_json(report), indent=1) + "\n").encode())
    if options.svg is not None:
        cache.write_atomically(options.svg, picture(report).encode())
    return 0 if report.is_right else 1
