# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of the suite: what its profiles measure, and with which libraries."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CUBE = (8192, 8192, 8192)
BLOCKS = (128, 64, 32, 16)
DLMC = Path(__file__).resolve().parents[2] / "examples" / "data" / "transformer-magnitude-0.95-q512x512.smtx"
SKEWED = ("uniform", "power-law", "dense-rows", "empty-rows", "band", "arrow", "block-diagonal")
COMPETITORS = ("triton", "cusparse-ell", "cusparse-bsr", "torch-bsr")
LIBRARIES = ("sparsec", *COMPETITORS, "counters")


@dataclass(frozen=True)
class Case:
    """A product: M x K x N, blocks, a mask, layouts and the type of W and X."""

    size: tuple[int, int, int]
    block: int
    density: float
    mask: str = "random"  # a kind of sparsec-mask, or a file .smtx
    layouts: str = "kn_mn"
    dtype: str = "bf16"

    @property
    def mask_name(self) -> str:
        """As sparsec-bench reports it."""
        return Path(self.mask).stem if self.mask.endswith(".smtx") else self.mask

    @property
    def size_text(self) -> str:
        return "x".join(map(str, self.size))

    @property
    def grid(self) -> tuple[int, int]:
        """The numbers of block rows and columns."""
        return self.size[0] // self.block, self.size[1] // self.block

    @property
    def key(self) -> str:
        return f"{self.dtype} {self.size_text} {self.block} {self.layouts} {self.mask_name} {self.density:.6g}"


@dataclass(frozen=True)
class Group:
    """Cases for one question, with the libraries that are asked."""

    name: str
    cases: tuple[Case, ...]
    libraries: tuple[str, ...]


def density_of(path: Path) -> float:
    """The density of a file .smtx."""
    with path.open(encoding="utf-8") as file:
        rows, columns, count = map(int, file.readline().split(","))
    return count / (rows * columns)


def density_cases(blocks: tuple[int, ...], densities: tuple[float, ...], layouts: str = "kn_mn") -> tuple[Case, ...]:
    return tuple(Case(CUBE, block, density, layouts=layouts) for block in blocks for density in densities)


def row_cases(blocks: tuple[int, ...]) -> tuple[Case, ...]:
    """8 to 64 stored blocks in every block row."""
    return tuple(Case(CUBE, block, count * block / CUBE[1], "uniform") for block in blocks for count in (8, 16, 32, 64)
                 if count * block <= CUBE[1])  # fmt: skip


def mask_cases(blocks: tuple[int, ...], density: float) -> tuple[Case, ...]:
    return tuple(Case(CUBE, block, density, mask) for block in blocks for mask in ("random", *SKEWED))


def file_cases(sizes: tuple[tuple[int, tuple[int, int, int]], ...]) -> tuple[Case, ...]:
    """A matrix of DLMC with each nonzero a block, and a random mask of its density."""
    return tuple(Case(size, block, density_of(DLMC), mask) for block, size in sizes for mask in ("random", str(DLMC)))


def trial() -> Iterator[Group]:
    """Seconds: small products that show whether the programs and the libraries work."""
    for libraries, layouts in ((("sparsec",), "nk_nm"), ((*COMPETITORS, "counters"), "kn_mn")):
        cases = tuple(Case((256, 384, 64), 128, 0.5, mask, layouts) for mask in ("random", "band", "empty-rows"))
        yield Group("trial", cases, libraries)


def quick() -> Iterator[Group]:
    """A few minutes."""
    own = ("sparsec",)
    densities = (1.0, 0.5, 0.25, 0.1, 0.05)
    yield Group("density", density_cases(BLOCKS, densities), own)
    yield Group("masks", mask_cases((64,), 0.1), own)
    yield Group("masks", file_cases(((16, CUBE),)), own)
    yield Group("layouts", density_cases(BLOCKS, densities, "nk_nm"), own)
    yield Group("rows", row_cases((128, 64)), own)
    yield Group("sizes", tuple(Case((side, side, 4096), 64, 0.1) for side in (4096, 8192, 16384, 32768)), own)
    yield Group("widths", tuple(Case((8192, 8192, width), 64, 0.1) for width in (16, 256, 1024)), own)
    yield Group("types", tuple(Case(CUBE, block, density, layouts="nk_nm", dtype="f8E4M3FN") for block in (128, 64)
                               for density in (0.5, 0.25, 0.1)), own)  # fmt: skip
    yield Group("counters", tuple(Case(CUBE, block, density) for block, density in
                                  ((128, 0.25), (64, 0.25), (32, 0.1), (16, 0.1))), ("counters",))  # fmt: skip
    yield Group("density", density_cases(BLOCKS, densities), COMPETITORS)


def full() -> Iterator[Group]:
    """About an hour on one card. The cases of `quick` come first."""
    yield from quick()
    everyone = ("sparsec", *COMPETITORS)
    yield Group("density", density_cases(BLOCKS, (0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2)), everyone)
    yield Group("masks", mask_cases(BLOCKS, 0.1), everyone)
    yield Group("masks", file_cases(((16, CUBE), (32, (16384, 16384, 4096)))), everyone)
    yield Group("rows", row_cases(BLOCKS), everyone)
    sides = (4096, 8192, 16384, 32768, 65536)
    yield Group("sizes", tuple(Case((side, side, 4096), block, 0.1) for side in sides for block in (128, 64)), everyone)
    widths = (1, 16, 64, 256, 1024, 4096, 16384)
    yield Group("widths", tuple(Case((8192, 8192, width), block, 0.1) for width in widths for block in (128, 64)),
                everyone)  # fmt: skip
    yield Group("counters", tuple(Case(CUBE, block, density) for block in BLOCKS for density in (1.0, 0.25, 0.05)),
                ("counters",))  # fmt: skip


PROFILES = {"trial": trial, "quick": quick, "full": full}


def tasks(profile: str, libraries: tuple[str, ...] = LIBRARIES) -> list[tuple[str, Case]]:
    """Every library and case of a profile once, in order."""
    listed = [(library, case) for group in PROFILES[profile]() for library in group.libraries if library in libraries
              for case in group.cases]  # fmt: skip
    return list(dict.fromkeys(listed))
