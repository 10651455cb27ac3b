# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page about performance that bench/suite/write_report.py makes of results of bench/suite/measure.py."""

import hashlib
import json
import struct
import zlib
from pathlib import Path
from xml.etree import ElementTree

import counters
import pictures
import pytest
import write_report
from profiles import CUBE, Case
from records import Results, crossover, newest

REPOSITORY = Path(__file__).parents[2]
DENSE_MS = 4.0
SESSION = {
    "record": "session", "session": 1, "date": "2026-01-02T03:04:05+00:00",
    "command": ["bench/former.py", "--x", "build/release/bin", "--out", "/mnt/o.jsonl"],
    "profile": "quick", "commit": "abc", "launches": 15,
    "machine": {"name": "A GPU", "driver_version": "1.2", "memory.total": "3 MiB", "clocks.max.sm": "4 MHz",
                "clocks.max.mem": "5 MHz", "power.limit": "6 W"},
}  # fmt: skip


def record(library, case, speedup=None, failure=None, **more):
    """A record of a case: a speed-up over the dense product, a failure, or counters."""
    base = {"session": 1, "library": library, "key": case.key, "clocks": {"sm_mhz": [1, 2, 3], "power_w": [7, 8, 9]},
            "case": {"size": list(case.size), "block": case.block, "density": case.density, "mask": case.mask_name,
                     "layouts": case.layouts, "dtype": case.dtype}}  # fmt: skip
    if failure:
        return {**base, "record": "failure", "failure": failure}
    if speedup is None:
        return {**base, "record": "counters", **more}
    median = DENSE_MS / speedup
    rows, depth, width = case.size
    flops = 2 * rows * depth * width * case.density
    return {**base, "record": "result", "median_ms": median, "quartiles_ms": [0.9 * median, 1.2 * median],
            "dense_ms": DENSE_MS, "tflops": flops / median * 1e-9, "launches": 15, **more}  # fmt: skip


def report(*records):
    lines = [json.dumps(each) for each in (SESSION, *records)]
    return write_report.Report(Results(lines), "bench/results/m/x-suite.jsonl")


def section(page, title):
    return page.split(f"\n{title}\n", 1)[1].split("\n## ", 1)[0]


# ---- What is computed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("points", "expected"), [
    ([(0.5, 1.2), (1.0, 0.6)], ("at", 0.6)),  # a speed-up of 0.6 / d
    ([(1.0, 0.5), (0.25, 2.0), (0.1, 4.0)], ("at", 0.5)),
    ([(0.1, 4.0), (0.3, 0.5), (0.5, 1.5)], ("at", 0.1 * 3 ** (2 / 3))),  # it counts where it is slower first
    ([(0.1, 0.9), (0.5, 0.5)], ("below", 0.1)),
    ([(0.1, 9), (0.5, 1.0)], ("above", 0.5)),
])  # fmt: skip
def test_crossover(points, expected):
    kind, density = crossover(points)
    assert (kind, density) == (expected[0], pytest.approx(expected[1]))


def test_crossover_is_told():
    assert write_report.crossover_text([(0.5, 1.2), (1.0, 0.6)]) == "0.60"
    assert write_report.crossover_text([(0.05, 0.9)]) == "< 0.05"
    assert write_report.crossover_text([(0.05, 3), (0.5, 2)]) == "> 0.5"


def test_the_last_record_of_a_case_counts():
    case = Case(CUBE, 64, 0.5)
    failed = record("triton", case, failure="out of memory")
    results = Results(map(json.dumps, [SESSION, failed, record("triton", case, 2), SESSION]))
    assert (len(results.results), len(results.failures)) == (1, 0)
    results = Results(map(json.dumps, [SESSION, record("triton", case, 2), failed]))
    assert (len(results.results), len(results.failures)) == (0, 1)


def test_newest_file(tmp_path):
    assert newest(tmp_path) is None
    for name in ("b/2026-01-03-suite.jsonl", "a/2026-02-01-suite.jsonl", "b/2026-03-01.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert newest(tmp_path) == tmp_path / "a" / "2026-02-01-suite.jsonl"


# ---- The page --------------------------------------------------------------------------------------------------------


def test_speed_and_crossover_of_libraries():
    made = report(record("sparsec", Case(CUBE, 64, 0.5), 1.5), record("sparsec", Case(CUBE, 64, 0.1), 6),
                  record("sparsec", Case(CUBE, 64, 1.0), 0.75), record("triton", Case(CUBE, 64, 0.1), 0.5),
                  record("sparsec", Case(CUBE, 64, 0.123456), 5), record("sparsec", Case(CUBE, 128, 0.5), 2),
                  record("cusparse-bsr", Case(CUBE, 64, 0.5), failure="not | supported"))  # fmt: skip
    page = made.markdown()
    # 2 * 8192^3 * 0.5 operations in 4 / 1.5 ms.
    assert "| sparsec | 206 (0.75) | 206 (1.50) | 165 (6.00) |" in section(page, "### Blocks of 64 x 64")
    assert "| Triton kernel |  |  | 14 (0.50) |" in page
    assert "| 64 x 64 | 0.75 | < 0.1 |" in section(page, "## Crossover density")
    assert "| 128 x 128 | > 0.5 |  |" in page
    assert "| cuSPARSE BSR | 1 | `bf16 8192x8192x8192 64 kn_mn random 0.5` | not \\| supported |" in page
    assert "| sparsec | 5 | 30.0% | 30.0% |" in section(page, "## Spread")
    for text in ("| GPU | A GPU, 3 MiB |", "| driver | 1.2 |", "| commit | abc |", "SM clock 2 MHz", "up to 9 W",
                 "bench/suite/measure.py --x bin --out o.jsonl\n", "`bench/results/m/x-suite.jsonl`"):  # fmt: skip
        assert text in page
    assert "none failed" not in page
    for title in ("## Skewed masks", "## Blocks a row", "## Sizes", "## Widths", "## sparsec by block and density",
                  "## Types", "## Hardware counters", "## How other libraries were called"):  # fmt: skip
        assert title not in page


def test_pictures_are_understood_alone():
    made = report(record("sparsec", Case(CUBE, 64, 0.5), 1.5), record("sparsec", Case(CUBE, 64, 0.1), 6))
    page = made.markdown()
    assert "(images/performance/speedup-64.svg)" in page
    assert "(images/performance/speedup-64.png)" in page
    texts = [element.text for element in ElementTree.fromstring(made.pictures["speedup-64"]).iter() if element.text]
    assert "Speed-up of block-sparse over dense products, blocks of 64 x 64, A GPU" in texts
    assert {"speed-up over cuBLAS dense (times)", "density: stored blocks / all blocks", "cuBLAS dense", "sparsec"} <= (
        set(texts)
    )
    assert any("driver 1.2, 2026-01-02" in text and "L2 flushed" in text for text in texts)


def test_all_libraries_have_the_dense_time_of_sparsec():
    case = Case(CUBE, 64, 0.5)
    other, alone = record("triton", case, 2), record("triton", Case(CUBE, 64, 0.25), 2)
    made = report({**other, "dense_ms": 3.0}, record("sparsec", case, 1.5), {**alone, "dense_ms": 3.6})
    page = made.markdown()
    text = section(page, "## The dense product")
    assert "| process | d = 0.5 | d = 0.25 |" in text
    assert "| sparsec | 4.000 |  |\n| Triton kernel | 3.000 | 3.600 |" in text
    assert "took 0.75 to 0.75 of its time" in text  # at d = 0.25 there is no other
    assert "| Triton kernel | 275 (2.00) | 137 (1.80) |" in section(page, "### Blocks of 64 x 64")


def test_what_did_not_run():
    refused = ["a, b: an element is 1, but should be 2", "c: OutOfResources: shared memory", "a, b: elements are NaN"]
    made = report(record("triton", Case(CUBE, 64, 0.5), 2, refused=refused[:2]),
                  record("triton", Case(CUBE, 32, 0.5), 2, refused=refused[2:]))  # fmt: skip
    text = section(made.markdown(), "## What did not run")
    assert text.startswith("\n2 cases were measured, and none failed.\n")
    assert "| Triton kernel | a, b | 2 | a wrong result |\n| Triton kernel | c | 1 | `OutOfResources` |\n" in text
    plain = section(report(record("triton", Case(CUBE, 64, 0.5), 2)).markdown(), "## What did not run")
    assert plain == "\n1 cases were measured, and none failed.\n"


def test_ways_of_other_libraries():
    ways = [(64, "b"), (128, "b"), (16, "a")]
    made = report(*(record("triton", Case(CUBE, block, 0.5), 2, way=way) for block, way in ways),
                  record("sparsec", Case(CUBE, 64, 0.5), 2))  # fmt: skip
    text = section(made.markdown(), "## How other libraries were called")
    assert "| Triton kernel | a | 1 | 16 |\n| Triton kernel | b | 2 | 128, 64 |" in text


def test_masks_beside_random_ones():
    cases = [("random", 4), ("band", 5), ("uniform", 4.4)]
    made = report(*(record("sparsec", Case(CUBE, 64, 0.1, mask), speed) for mask, speed in cases),
                  record("triton", Case(CUBE, 64, 0.1, "band"), 2), record("torch-bsr", Case(CUBE, 64, 0.1), 2),
                  record("sparsec", Case(CUBE, 64, 0.25, "uniform"), 2),
                  record("sparsec", Case(CUBE, 64, 0.25), 2))  # fmt: skip
    text = section(made.markdown(), "## Skewed masks")
    assert "| mask | block | density | M x K x N | sparsec | Triton kernel |" in text
    assert "| band | 64 x 64 | 0.1 | 8192 x 8192 x 8192 | 137 (1.25) |  |" in text
    assert "| uniform | 64 x 64 | 0.1 | 8192 x 8192 x 8192 | 121 (1.10) |  |" in text
    assert "0.25" not in text
    texts = [element.text for element in ElementTree.fromstring(made.pictures["masks"]).iter() if element.text]
    assert {"random", "band", "uniform", "137 (1.25)", "cuBLAS dense 275"} <= set(texts)
    assert "sparsec on skewed masks, blocks of 64 x 64, A GPU" in texts


def test_masks_without_a_dense_product():
    records = [record("sparsec", Case(CUBE, 64, 0.1, mask), 4) for mask in ("random", "band")]
    made = report(*({**each, "dense_ms": 0.0} for each in records))
    assert "| band | 64 x 64 | 0.1 | 8192 x 8192 x 8192 | 110 (1.00) |" in made.markdown()
    assert "cuBLAS" not in made.pictures["masks"]


def test_blocks_a_row():
    made = report(record("sparsec", Case(CUBE, 64, 8 / 128, "uniform"), 8),
                  record("triton", Case(CUBE, 128, 32 / 64, "uniform"), 2))  # fmt: skip
    text = section(made.markdown(), "## Blocks a row")
    assert "| 128 x 128 | 32 | 0.5 |  | 275 (2.00) |" in text
    assert "| 64 x 64 | 8 | 0.0625 | 137 (8.00) |  |" in text


def test_sizes_and_widths():
    made = report(*(record("sparsec", Case((side, side, 4096), 64, 0.1), 5) for side in (4096, 8192, 16384)),
                  record("triton", Case((8192, 8192, 4096), 64, 0.1), 2),
                  record("sparsec", Case((8192, 8192, 16), 64, 0.1), 3),
                  record("sparsec", Case(CUBE, 16, 0.1), 3))  # fmt: skip
    page = made.markdown()
    sizes, widths = section(page, "## Sizes"), section(page, "## Widths")
    assert "| block | library | 4096 | 8192 | 16384 |" in sizes
    assert "| 64 x 64 | Triton kernel |  | 27 (2.00) |  |" in sizes
    assert "| block | library | 16 | 4096 |" in widths
    assert "16 x 16" not in widths  # it has one width only
    assert {"sizes", "widths"} <= set(made.pictures)


def test_layouts_and_types():
    made = report(record("sparsec", Case(CUBE, 64, 0.5), 1.5),
                  record("sparsec", Case(CUBE, 64, 0.5, layouts="nk_nm"), 1.2),
                  record("sparsec", Case(CUBE, 64, 0.5, layouts="nk_nm", dtype="f8E4M3FN"), 1.8))  # fmt: skip
    page = made.markdown()
    text = section(page, "## sparsec by block and density")
    assert "| block | layout | d = 0.5 |" in text
    assert "| 64 x 64 | X as K x N, Y as M x N | 206 (0.75) |" in text
    assert "(images/performance/sparsec.svg)" in text
    texts = [element.text for element in ElementTree.fromstring(made.pictures["sparsec"]).iter() if element.text]
    assert {"sparsec: speed of block-sparse products, A GPU", "useful TFLOP/s", "blocks of 64"} <= set(texts)
    assert "| block | type | d = 0.5 |" in section(page, "## Types")
    assert "| 64 x 64 | f8E4M3FN | 247 (0.90) |" in section(page, "## Types")


def test_counters():
    values = dict.fromkeys(counters.METRICS) | {"duration_ns": 1500.0, "dram_bytes": 2e6, "registers": 168.0}
    found = {"kernel": "spmm(int)", "grid": "(132, 1, 1)", "cta": "(384, 1, 1)", **values}
    text = section(report(record("counters", Case(CUBE, 64, 0.5), counters=found)).markdown(), "## Hardware counters")
    for line in ("|  | 64-blocks, d = 0.5 |", "| kernel | `spmm` |", "| CTAs | 132 |", "| threads a CTA | 384 |",
                 "| time, µs | 1.5 |", "| DRAM bytes, MB | 2 |", "| registers a thread | 168 |",
                 "| branch efficiency, % |  |"):  # fmt: skip
        assert line in text
    assert {name for _, name, _, _ in write_report.COUNTERS} == set(counters.METRICS)


# ---- Files -----------------------------------------------------------------------------------------------------------


def png_chunks(png):
    """The kinds and contents of the chunks of a PNG file, whose checksums must be right."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, position = [], 8
    while position < len(png):
        (length,) = struct.unpack(">I", png[position : position + 4])
        body = png[position + 4 : position + 8 + length]
        assert struct.unpack(">I", png[position + 8 + length : position + 12 + length]) == (zlib.crc32(body),)
        chunks.append((body[:4], body[4:]))
        position += 12 + length
    return chunks


def test_png_tells_its_source():
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    plain = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes(13)) + chunk(b"IDAT", b"x") + chunk(b"IEND", b"")
    png = pictures.png_with_source(plain, "<svg/>")
    digest = hashlib.sha256(b"<svg/>").hexdigest()
    assert png_chunks(png) == [(b"IHDR", bytes(13)), (b"tEXt", b"source-sha256\0" + digest.encode()), (b"IDAT", b"x"),
                               (b"IEND", b"")]  # fmt: skip
    assert pictures.source_of_png(png) == digest
    assert pictures.source_of_png(plain) == ""


def test_old_pictures_are_removed(tmp_path):
    made = report(record("sparsec", Case(CUBE, 64, 0.5), 1.5))
    write_report.write(made, tmp_path, draw_png=False)
    (tmp_path / "images" / "performance" / "speedup-8.svg").write_text("old")
    write_report.write(made, tmp_path, draw_png=False)
    names = sorted(path.name for path in (tmp_path / "images" / "performance").iterdir())
    assert names == ["sparsec.svg", "speedup-64.svg"]
    assert (tmp_path / "performance.md").read_text().startswith("# Performance of block-sparse products\n")


def test_the_page_is_that_of_the_newest_results():
    file = newest(REPOSITORY / "bench" / "results")
    page, index = REPOSITORY / "docs" / "performance.md", REPOSITORY / "docs" / "site" / "pages" / "index.md"
    assert page.exists() == (file is not None)
    assert ("\ndocs/performance\n" in index.read_text()) == page.exists()
    if not file:
        return
    made = write_report.report_of(file)
    assert page.read_text() == made.markdown(), "bench/suite/write_report.py writes another page"
    folder = page.parent / write_report.PICTURES
    names = {path.name for path in folder.iterdir()}
    assert names == {f"{name}.{kind}" for name in made.pictures for kind in ("svg", "png")}
    for name, svg in made.pictures.items():
        assert (folder / f"{name}.svg").read_text() == svg
        assert pictures.source_of_png((folder / f"{name}.png").read_bytes()) == hashlib.sha256(svg.encode()).hexdigest()
