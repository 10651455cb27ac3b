#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the kernels that ctest runs on the simulator, one a file: OUT/<chip>/<name>.mlir. They are kernels as those of
test/device/generate_kernels.py, few enough for a processor: every walk, layout, copy and instruction is there."""
import argparse
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "device"))
import attention_kernels  # noqa: E402
import generate_kernels  # noqa: E402
import merge_kernels  # noqa: E402
import scheduled_kernels  # noqa: E402
import sddmm_kernels  # noqa: E402
import sequence_kernels  # noqa: E402
import spgemm_kernels  # noqa: E402

Spmm, Sddmm, Spgemm, Attention, Sequence, Merge = (
    generate_kernels.Kernel, sddmm_kernels.Kernel, spgemm_kernels.Kernel, attention_kernels.Kernel,
    sequence_kernels.Kernel, merge_kernels.Kernel)

KERNELS = {
    "sm_90a": [
        # By blocks, windows and streams.
        Spmm("bf16", "128x128", "nk_nm", "same", "none"),
        Spmm("f16", "128x128", "kn_mn", "f32", "bias"),
        Spmm("bf16", "64x64", "kn_mn", "same", "everything"),
        Spmm("f16", "64x64", "nk_nm", "same", "softcap"),
        Spmm("bf16", "32x32", "nk_nm", "same", "gelu"),
        Spmm("f16", "32x32", "kn_mn", "f32", "none"),
        Spmm("bf16", "16x16", "kn_nm", "same", "none"),
        Spmm("f16", "16x16", "nk_mn", "same", "residual"),
        Spmm("bf16", "128x112", "nk_mn", "same", "none"),
        # Windows of short products, and streams of long blocks.
        Spmm("bf16", "64x32", "kn_mn", "same", "none"),
        Spmm("f16", "32x64", "nk_nm", "f32", "bias"),
        # Streams of warps with other numbers of block rows, stages, slots, and parts of 64 columns.
        Spmm("bf16", "16x16", "kn_mn", "same", "gelu"),
        Spmm("f16", "16x16", "nk_nm", "f32", "bias"),
        # Transposed matrices.
        Spmm("bf16", "16x16t", "kn_nm", "same", "none"),
        Spmm("f16", "16x16t", "nk_mn", "f32", "everything"),
        Spmm("bf16", "64x64t", "nk_nm", "same", "none"),
        Spmm("f16", "32x32t", "kn_mn", "f32", "everything"),
        # fp8: sums of two levels.
        Spmm("f8E4M3FN", "128x128", "nk_nm", "bf16", "none"),
        Spmm("f8E5M2", "64x64", "nk_mn", "f32", "everything"),
        Spmm("f8E4M3FN", "32x32", "nk_nm", "f16", "none"),
        Spmm("f8E5M2", "16x16", "nk_nm", "bf16", "none"),
        # Sums of one level: windows whose blocks two producers copy in turn.
        Spmm("f8E4M3FN", "64x64", "nk_nm", "bf16", "none", "fast"),
        Spmm("f8E5M2", "32x32", "nk_mn", "bf16", "everything", "fast"),
        # Scales of blocks and of X, by wgmma and mma.sync: a block has several of X, or a scale several chunks.
        Spmm("f8E4M3FN", "128x128", "nk_nm", "bf16", "none", "bothscales"),
        Spmm("f8E5M2", "64x64", "nk_mn", "f32", "everything", "xscale"),
        Spmm("f8E4M3FN", "96x256", "nk_mn", "f16", "none", "bothscales"),
        Spmm("f8E5M2", "16x64", "nk_nm", "bf16", "none", "scales"),
        # Dense products at a pattern, with clusters and multicast.
        Sddmm("bf16", "128x128", "mk_nk", "same", "cluster_none"),
        Sddmm("f16", "64x64", "km_kn", "f32", "residual"),
        Sddmm("bf16", "32x32", "mk_kn", "same", "none"),
        # Attention: every limit, lists, regions of both kinds.
        Attention("bf16", "64", None, None, "causal", "root", "no", "bf16", "lse", "none"),
        Attention("f16", "64", None, None, "window", "scaled", "sink", "f32", "o", "cap"),
        Attention("bf16", "64", 128, 64, "causal", "root", "no", "bf16", "lse", "docs"),
        Attention("f16", "64", None, None, "causal", "root", "no", "f32", "lse", "capexact"),
        Attention("bf16", "128", None, None, "causal", "root", "no", "bf16", "lse", "cap"),
        # Numbers of documents are of i64 in this region, and of i8 in the last one for sm_89.
        Attention("f16", "64", None, None, "all", "root", "no", "f32", "lse", "capdoc"),
        # Terms of queries and keys: with lists and two blocks a step, and without.
        Attention("bf16", "128", 64, 64, "all", "root", "no", "bf16", "o", "terms"),
        Attention("f16", "64", None, None, "causal", "root", "no", "f16", "lse", "terms"),
        # Masks of words: with two blocks a step, one, and no lists; and together with values of a score.
        Attention("bf16", "128", 64, 64, "all", "root", "no", "bf16", "lse", "words"),
        Attention("f16", "64", 128, 128, "window", "root", "sink", "f32", "lse", "words"),
        Attention("bf16", "64", None, None, "causal", "root", "no", "bf16", "o", "mixwords"),
        # Tiles that are cut along the keys: one with two groups, and three side by side.
        Attention("bf16", "128", 128, 128, "all", "root", "no", "bf16", "lse", "none"),
        Attention("f16", "64", 64, 64, "all", "root", "sink", "f32", "lse", "none"),
        Attention("f16", "128", None, None, "causal", "scaled", "no", "f16", "lse", "slopes"),
        Attention("bf16", "192v128", 64, 128, "causal", "root", "sink", "bf16", "lse", "none"),
        # Sequences with sizes of their own: NaN behind their keys, pages smaller than a block, lists for each sequence.
        Sequence("bf16", "64", None, None, "lengths", "all", "no", "bf16", "lse", "none"),
        Sequence("f16", "64", 128, 64, "packed", "causal", "sink", "f32", "lse", "thirds"),
        Sequence("bf16", "128", None, None, "page16", "causal", "no", "bf16", "o", "positions"),
        # Two groups share a tile, and the second one may have no queries.
        Sequence("bf16", "128", 128, 128, "packedlengths", "causal", "no", "bf16", "lse", "none"),
        # Products of two block-sparse matrices.
        Spgemm("bf16", "128x128x128", "mn", "same", "everything"),
        Spgemm("f16", "192x112x80", "values", "same", "residual"),
        # A tile has one chunk of results for two staging buffers.
        Spgemm("f16", "64x64x64", "values", "same", "none"),
        # Merges: one pass and several, a pass that is cut, a loop, and vectors of parts of other types.
        Merge("bf16", "bf16", "bf16", "128"),
        Merge("f32", "f32", "bf16", "96"),
        Merge("f32", "f32", "f32", "any"),
        Merge("f16", "bf16", "f32", "64"),
        Merge("bf16", "f32", "f16", "20"),
    ],
    "sm_89": [
        Spmm("bf16", "64x64", "nk_nm", "same", "none"),
        Spmm("f16", "32x32", "kn_mn", "f32", "everything"),
        Spmm("bf16", "16x16", "kn_nm", "same", "gelu"),
        Spmm("bf16", "64x64t", "nk_nm", "same", "none"),
        Spmm("f8E4M3FN", "64x64", "nk_nm", "bf16", "none"),
        Spmm("f8E5M2", "128x128", "nk_mn", "f32", "everything", "bothscales"),
        Spmm("f8E4M3FN", "32x32", "nk_nm", "bf16", "none", "xscale"),
        Spmm("f8E5M2", "64x64", "nk_mn", "f32", "everything", "fast"),
        Sddmm("bf16", "64x64", "mk_nk", "same", "none"),
        Sddmm("f16", "32x32", "km_kn", "f32", "everything"),
        Spgemm("bf16", "64x64x64", "mn", "same", "everything"),
        Spgemm("f16", "48x48x80", "values", "f32", "residual"),
        Attention("bf16", "64", None, None, "causal", "root", "no", "bf16", "lse", "none"),
        Attention("bf16", "64", 64, 64, "window", "scaled", "no", "f32", "o", "bias"),
        Attention("f16", "64", None, None, "all", "root", "no", "bf16", "o", "capfast"),
        Attention("bf16", "128", 64, 64, "causal", "root", "no", "bf16", "lse", "terms"),
        Attention("f16", "64", 64, 128, "all", "root", "no", "bf16", "lse", "words"),
        Sequence("bf16", "64", None, None, "packedlengths", "causal", "no", "bf16", "lse", "none"),
        Sequence("f16", "64", 64, 64, "page16", "window", "sink", "f32", "o", "positions"),
        Merge("bf16", "bf16", "bf16", "256"),
        Merge("f32", "f32", "f16", "any"),
        Merge("f16", "f16", "f16", "1"),
    ],
}
# Hand-written schedules of some of them, for the plans of patterns.
PLANNED = {
    Spmm("bf16", "16x16", "kn_mn", "same", "gelu"): {"tile_m": 128, "tile_n": 64, "stages": 5, "block_stages": 5},
    Spmm("f16", "16x16", "nk_nm", "f32", "bias"): {"tile_m": 128, "tile_n": 256, "stages": 4, "cluster": 2,
                                                   "block_stages": 2},
}
MODULES = {Spmm: generate_kernels, Sddmm: sddmm_kernels, Spgemm: spgemm_kernels, Attention: attention_kernels,
           Sequence: sequence_kernels, Merge: merge_kernels}


def planned(fields):
    """Streams of eight warps, in stages of four columns."""
    numbers = ", ".join(f"{name} = {value}" for name, value in fields.items())
    return (f"[#sparsec.schedule<instruction = mma_sync, copy = tma, {numbers}, tile_k = 64, consumers_m = 8, "
            "consumers_n = 1, producer_registers = 40, consumer_registers = 232, walk = streams>]")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder to write to")
    options = parser.parse_args()
    for chip, kernels in KERNELS.items():
        folder = options.out / chip
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.mlir"):
            old.unlink()
        for kernel in kernels:
            module = MODULES[type(kernel)]
            text = module.text_of(kernel)
            if kernel in PLANNED:
                text = scheduled_kernels.scheduled(text, planned(PLANNED[kernel]), "planned_schedules")
            (folder / f"{module.name_of(kernel)}.mlir").write_text(text)


if __name__ == "__main__":
    main()
