# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What measure.py times: kernels, sizes, patterns, and what each is compared with."""
import dataclasses
import functools
from typing import Callable, Optional

import patterns

SEQUENCE, WIDTH, BATCHES = 8192, 2048, 2  # of the table: heads x D = WIDTH
DENSITIES = [1.0, 0.5, 0.25, 0.1]
SPREADS = [1, 16, 40, 100, 1000]
NEAR_KEYS, FIRST_KEYS = 1024, 4  # that a query sees in the case of first_keys
CAP = 20


@dataclasses.dataclass
class Case:
    """One kernel on one set of sizes. What it is compared with is another case, or cuDNN on the same data: dense, or
    causal where the kernel is."""
    label: str
    kernel: str  # the stem of its .mlir file
    dimension: int
    batches: int
    heads: int
    sequence: int
    dtype: str = "bfloat16"
    key_heads: Optional[int] = None  # default: heads
    make_blocks: Optional[Callable] = None
    causal: bool = False
    window: Optional[int] = None  # keys to the left of a query, itself counted
    region: Optional[str] = None  # softcap, alibi, relative, documents or first_keys
    lengths: Optional[list] = None  # of the documents
    spread: float = 1  # standard deviation of the scores
    arch: str = "sm_90a"
    baseline: Optional["Case"] = None
    flex: bool = False  # is compared with compiled FlexAttention on the same mask and score, in place of cuDNN
    least_ratio: Optional[float] = None  # of useful TFLOP/s to the baseline's
    most_time: Optional[float] = None  # of the baseline's
    least_tflops: Optional[float] = None
    compares_errors: bool = False  # is not to be less accurate than cuDNN

    def __post_init__(self):
        self.key_heads = self.key_heads or self.heads

    @functools.cached_property
    def blocks(self):
        return self.make_blocks() if self.make_blocks else None

    @property
    def pairs(self):
        """The (query, key) pairs of a head that the kernel has to look at."""
        if self.blocks:
            return self.blocks.pairs
        if self.window:
            return self.window * self.sequence - self.window * (self.window - 1) / 2
        return self.sequence * (self.sequence + 1) / 2 if self.causal else self.sequence ** 2

    def operations_of(self, pairs):
        return 4 * self.dimension * self.heads * self.batches * pairs

    @property
    def operations(self):
        return self.operations_of(self.pairs)

    @property
    def cudnn_operations(self):
        return self.operations_of(self.sequence * (self.sequence + 1) / 2 if self.causal else self.sequence ** 2)

    @property
    def is_plain(self):
        """Whether cuDNN computes the same."""
        return self.window is None and self.region is None and (not self.blocks or self.blocks.density() == 1)


def table():
    """S = 8192, heads x D = 2048, batch 2, bf16: random lists of every density, and causal without lists."""
    goals = {(128, 128): [1.05, 1.00, 0.93, 0.82, 1.08], (128, 64): [0.92, 0.86, 0.81, 0.72],
             (64, 128): [1.10, 1.05, 0.98, 0.85, 1.12], (64, 64): [1.08, 1.02, 0.96, 0.82]}
    for (dimension, block), least in goals.items():
        size = dict(dimension=dimension, batches=BATCHES, heads=WIDTH // dimension, sequence=SEQUENCE)
        for density, ratio in zip(DENSITIES, least):
            yield Case(f"D={dimension} {block}-blocks d={density:g}", f"attention_bf16_{dimension}_{block}x{block}",
                       make_blocks=functools.partial(patterns.random_lists, SEQUENCE, block, density),
                       least_ratio=ratio, **size)
        if block == 128:
            yield Case(f"D={dimension} causal", f"attention_bf16_{dimension}_causal", causal=True,
                       least_ratio=least[-1], **size)


def regions():
    """Score regions next to the same kernel without, and partial blocks next to full ones."""
    for dimension in (128, 64):
        size = dict(dimension=dimension, batches=BATCHES, heads=WIDTH // dimension, sequence=SEQUENCE)
        name = f"attention_bf16_{dimension}"
        yield Case(f"D={dimension} softcap", f"{name}_softcap", region="softcap", most_time=1.1,
                   baseline=Case("none", f"{name}_dense", **size), **size)
        yield Case(f"D={dimension} softcap without flags", f"{name}_softcap_precise", region="softcap", most_time=1.6,
                   baseline=Case("none", f"{name}_dense", **size), **size)
        for spread in (2.5, 16):
            yield Case(f"D={dimension} softcap, scores x {spread:g}", f"{name}_softcap", region="softcap",
                       spread=spread, baseline=Case("none", f"{name}_dense", spread=spread, **size), **size)
        yield Case(f"D={dimension} causal ALiBi", f"{name}_causal_alibi", causal=True, region="alibi", most_time=1.1,
                   baseline=Case("none", f"{name}_causal", causal=True, **size), **size)
    for dimension, block in ((128, 128), (128, 64), (64, 128)):
        full = functools.partial(patterns.random_lists, SEQUENCE, block, 0.5)
        case = Case("full", f"attention_bf16_{dimension}_{block}x{block}_relative", dimension, BATCHES,
                    WIDTH // dimension, SEQUENCE, region="relative", make_blocks=full)
        yield dataclasses.replace(case, label=f"D={dimension} {block}-blocks partial, not full", baseline=case,
                                  most_time=1.4, make_blocks=lambda full=full: full().as_partial())
    one = Case("1", "attention_bf16_128_128x128_causal_documents", 128, BATCHES, 16, SEQUENCE, causal=True,
               region="documents", lengths=[SEQUENCE],
               make_blocks=lambda: patterns.random_lists(SEQUENCE, 128, 0.5).as_partial())
    yield dataclasses.replace(one, label="D=128 16 documents in a warp, not 1", lengths=[1] * SEQUENCE, baseline=one)


def gqa():
    """32 query heads on 8 key heads next to 32 on 32."""
    lists = functools.partial(patterns.random_lists, SEQUENCE, 128, 0.5)
    for label, kernel, make_blocks in (("dense", "attention_bf16_128_dense", None),
                                       ("128-blocks d=0.5", "attention_bf16_128_128x128", lists)):
        many = Case("32 on 32", kernel, 128, 1, 32, SEQUENCE, make_blocks=make_blocks)
        yield dataclasses.replace(many, label=f"GQA 32/8 {label}", key_heads=8, baseline=many, most_time=1.0)


def small():
    yield Case("B4 H16 S512 D64 f16", "attention_f16_64_dense", 64, 4, 16, 512, dtype="float16", most_time=1.2)


def real_patterns():
    """Patterns of real workloads, next to cuDNN on all keys (causal: all keys before)."""
    name = "attention_bf16_128_128x128"
    sink = functools.partial(patterns.window_and_sink, 16384, 128, 1, 3)
    yield Case("window and sink", f"{name}_causal", 128, 1, 16, 16384, causal=True, make_blocks=sink)
    yield Case("window and sink, half of the heads", f"{name}_causal", 128, 1, 16, 16384, causal=True,
               make_blocks=functools.partial(sink, heads=16))
    yield Case("window of 1024, GQA 64/8", "attention_bf16_64_causal_window1024", 64, 1, 64, 8192, key_heads=8,
               causal=True, window=1024)
    yield Case("vertical-slash (1000, 6096)", "attention_bf16_128_64x64_causal", 128, 1, 16, 32768, causal=True,
               make_blocks=functools.partial(patterns.vertical_slash, 32768, 64, 16, 1000, 6096))
    lengths = patterns.document_lengths(32768, 512, 8192)
    yield Case("documents", f"{name}_causal_documents", 128, 1, 16, 32768, causal=True, region="documents",
               lengths=lengths, make_blocks=functools.partial(patterns.documents, 32768, 128, lengths))
    yield Case("top-k per head", "attention_bf16_128_64x64", 128, 1, 12, 16384,
               make_blocks=functools.partial(patterns.top_blocks, 16384, 64, 12, 0.1))
    yield Case("3-D video window", name, 128, 1, 8, 18 * 48 * 80,
               make_blocks=functools.partial(patterns.video_window, (18, 48, 80), (6, 8, 8), (3, 3, 3), 128))


def errors():
    """Scores that are near to and far from one another: the error of both against double precision."""
    for dtype, name in (("bfloat16", "bf16"), ("float16", "f16")):
        for dimension in (128, 64):
            for spread in SPREADS:
                yield Case(f"{name} D={dimension} scores x {spread}", f"attention_{name}_{dimension}_dense",
                           dimension, 1, 8, 4096, dtype=dtype, spread=spread, compares_errors=True)


def flex():
    """Masks and scores of users, beside FlexAttention of torch that is compiled for them."""
    size = dict(dimension=128, batches=1, heads=16, sequence=16384, causal=True, flex=True)
    name = "attention_bf16_128_128x128_causal"
    lengths = patterns.document_lengths(16384, 300, 3000)
    yield Case("documents of 300 to 3000", f"{name}_documents", region="documents", lengths=lengths, most_time=0.65,
               make_blocks=functools.partial(patterns.documents, 16384, 128, lengths), **size)
    yield Case("window of 1024 and 4 keys", f"{name}_first_keys", region="first_keys", most_time=0.54,
               make_blocks=functools.partial(patterns.near_and_first_keys, 16384, 128, NEAR_KEYS, FIRST_KEYS), **size)
    yield Case("softcap of 20", "attention_bf16_128_causal_softcap", region="softcap", most_time=0.26, **size)


def sm_89():
    """The sm_89 kernels, compiled from their PTX by the driver."""
    size = dict(batches=BATCHES, sequence=SEQUENCE, arch="sm_89")
    yield Case("D=128 dense", "attention_bf16_128_dense", 128, heads=16, least_tflops=220, **size)
    yield Case("D=64 dense", "attention_bf16_64_dense", 64, heads=32, **size)
    yield Case("D=128 causal", "attention_bf16_128_causal", 128, heads=16, causal=True, **size)
    yield Case("D=128 128-blocks d=0.5", "attention_bf16_128_128x128", 128, heads=16,
               make_blocks=functools.partial(patterns.random_lists, SEQUENCE, 128, 0.5), **size)


GROUPS = {"table": table, "regions": regions, "gqa": gqa, "small": small, "patterns": real_patterns, "errors": errors,
          "flex": flex, "sm_89": sm_89}
