# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutated kernel texts through the whole compiler. Whatever the text is, the exit code is 0 or 1, and with 1 a message
says where."""
import pathlib
import re

import attention
import schedule_fields
import schedules
import spmm
from harness import check_refusal

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["examples", "bench", "test/dialect", "test/schedule", "test/ptx", "test/tools/Inputs"]
TOKEN = re.compile(r'"[^"\n]*"|//[^\n]*|[%@!#][\w.$]+|[A-Za-z_][\w.]*|'
                   r"0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\s+|.")
NUMBERS = ["0", "1", "-1", "2", "3", "8", "16", "24", "63", "64", "65", "128", "255", "256", "65536", "2147483647",
           "2147483648", "4294967296", "1152921504606846976", "9223372036854775807", "18446744073709551616", "1e400",
           "0x7FC00000", "0.0"]
WORDS = ["bf16", "f16", "f32", "f64", "i1", "i32", "i64", "index", "f8E4M3FN", "tensor<?x?xf32>", "tensor<f32>",
         "!sparsec.bsr<?x?xbf16, block = 64x64>", "!sparsec.pattern<64x64>", "per_row", "full", "scalar", "causal",
         "window", "epilogue", "score", "mask", "wgmma", "tma", "mma_sync", "cp_async", "array", "dense",
         "arith.truncf", "arith.addf", "math.erf", "sparsec.yield", "sparsec.return", "sparsec.kernel", "func.func",
         "{", "}", "(", ")", "<", ">", "[", "]", "->", ":", ",", "?", "loc(unknown)", "\x00", "\udcff"]
# Longer than any text of a kernel that is read here takes.
MOST_SECONDS = 60


def seeds():
    """Texts of the project's own kernels, cut where tests cut them."""
    paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.mlir"))
    texts = [part for path in paths for part in re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE)]
    return [text for text in texts if "sparsec.kernel" in text and len(text) < 6000]


SEEDS = seeds()


def base_text(rng):
    if rng.random() < 0.5:
        return rng.choice(SEEDS)
    if rng.random() < 0.3:
        return schedules.random_kernel(rng, rng.choice(list(schedule_fields.CHIPS))).text()
    if rng.random() < 0.5:
        return spmm.random_kernel(rng, "k", tame=False).text()
    return attention.random_kernel(rng, "k", tame=False).text()


def mutate(rng, text):
    """One change of a token, a line or a character."""
    kind = rng.randrange(10)
    tokens = TOKEN.findall(text)
    solid = [index for index, token in enumerate(tokens) if not token.isspace()] or [0]
    if not tokens:
        return rng.choice(WORDS)
    place, other = rng.choice(solid), rng.choice(solid)
    numbers = [index for index in solid if tokens[index][0].isdigit()]
    if kind <= 1 and numbers:
        tokens[rng.choice(numbers)] = rng.choice(NUMBERS)
    elif kind == 2:
        tokens[place] = ""
    elif kind == 3:
        tokens[place] += " " + tokens[other]
    elif kind == 4:
        tokens[place], tokens[other] = tokens[other], tokens[place]
    elif kind == 5:
        tokens[place] = rng.choice(WORDS)
    elif kind == 6:
        tokens[place] = rng.choice(TOKEN.findall(base_text(rng)) or [""])
    elif kind == 7:
        lines = text.split("\n")
        line = rng.randrange(len(lines))
        lines[line:line + 1] = rng.choice([[], [lines[line]] * 2, [lines[line], rng.choice(lines)]])
        return "\n".join(lines)
    elif kind == 8:
        end = rng.randrange(len(text) + 1)
        return rng.choice([text[:end], text[end:], text + text[end:], text[:end] + text[end:end + 40] * 20])
    else:
        end = rng.randrange(len(text) + 1)
        insertions = ["\x00", "<" * 300, "[" * 300, "\udce9", chr(rng.randrange(1, 128))]
        return text[:end] + rng.choice(insertions) + text[end:]
    return "".join(tokens)


def check_texts(case):
    text = base_text(case.rng)
    for _ in range(case.rng.choice([0, 1, 1, 1, 2, 3])):
        text = mutate(case.rng, text)
    (case.folder / "kernel.mlir").write_bytes(text.encode("utf-8", "surrogateescape"))
    # ptxas is the business of other tests: it would take most of the time.
    mode = case.rng.choice([["--arch=host"], ["--emit=ptx", "--arch=sm_90a"], ["--emit=ptx", "--arch=sm_89"],
                            ["--emit=schedule", "--remarks"]])
    outcome = case.run("sparsec", "kernel.mlir", *mode, "-o", "out", seconds=MOST_SECONDS)
    check_refusal(case, outcome)
    case.count({0: "accepted", 1: "refused"}.get(outcome.code, "failed"))
