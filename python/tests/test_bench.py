# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m sparsec bench: its options, what it compares, its checks and its reports. No test depends on a time."""

import json
import math
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import sparsec
from sparsec import __main__, files
from sparsec.bench import cases, command, contenders, report, rounds

BSR_FLAGS = ["bench", "product", "--density=0.5", "--size=128x64", "--block=32", "--tokens=8", "--rounds=2"]
ATTENTION_FLAGS = ["bench", "attention", "--density=0.5", "--block=64", "--tokens=200", "--heads=2", "--rounds=1"]


@pytest.fixture
def without_torch(monkeypatch):
    """A machine without torch."""
    monkeypatch.setattr(contenders, "torch_or_none", lambda: None)


def weight(mask, block=(2, 2), shape=None):
    generator = np.random.default_rng(1)
    w = files.random_values(np.array(mask, bool), block, generator)
    return w if shape is None else sparsec.BSR(w.row_ptr, w.col_idx, w.values, shape)


# ---- Times -----------------------------------------------------------------------------------------------------------


def test_rounds_alternate():
    calls, clock_calls = [], []

    def clock(function):
        clock_calls.append(function())
        return float(len(clock_calls))

    names = ("a", "b", "c")
    functions = {name: lambda name=name: calls.append(name) for name in names}
    done = []
    times = rounds.measure(functions, 4, clock, done.append)
    assert "".join(calls) == "abcabc" + "abc" + "bca" + "cab" + "abc"
    assert done == [1, 2, 3, 4]
    assert times["a"].samples == (7, 12, 14, 16)
    assert (times["a"].median, times["a"].least, times["a"].most) == (13, 7, 16)
    assert rounds.measure({}, 3, clock) == {}


def test_host_clock_calls_once():
    calls = []
    assert rounds.host_clock(lambda: calls.append(1)) >= 0
    assert calls == [1]


# ---- Exact results ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [None, (5, 7)])
def test_error_of_a_product(shape):
    w = weight([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]], shape=shape)
    case = cases.Product.of(w, 3, np.random.default_rng(0))
    values, x = w.values.astype(np.float64), case.x.astype(np.float64)
    exact = x @ w.to_dense().astype(np.float64).T
    assert case.error(exact, values, x) < 1e-15
    scale = np.sqrt(np.square(exact).mean())
    wrong = exact.copy()
    wrong[1, -1] += 0.1
    assert case.error(wrong, values, x) == pytest.approx(0.1 / math.sqrt(exact.size) / scale)
    wrong[0, 0] = np.nan
    assert case.error(wrong, values, x) == math.inf
    assert case.flops == 2 * 5 * 4 * 3
    assert (case.density, case.sizes["tokens"]) == (5 / 12, 3)


def test_errors_of_attention():
    states = np.array([[1, 0], [0, 0], [1, 1]], np.uint8)
    case = cases.Attention.of(states, (4, 4), (1, 2, 8), (10, 7), np.random.default_rng(0))
    q, k, v = (array.astype(np.float64) for array in (case.q, case.k, case.v))
    visible = np.kron(states, np.ones((4, 4)))[:10, :7] > 0
    scores = np.where(visible, q @ k.swapaxes(2, 3) / math.sqrt(8), -np.inf)
    weights = np.exp(scores - np.where(visible.any(1), scores.max(-1), 0)[..., None])
    with np.errstate(invalid="ignore"):
        o = weights / weights.sum(-1, keepdims=True) @ v
    assert np.isnan(o[0, 0, 4]).all()  # a query without keys is not compared
    assert case.error(o, q, k, v, is_masked=True) < 1e-14
    assert case.error(o, q, k, v, is_masked=False) > 0.1
    dense = np.exp(q @ k.swapaxes(2, 3) / math.sqrt(8))
    assert case.error(dense / dense.sum(-1, keepdims=True) @ v, q, k, v, is_masked=False) < 1e-14
    assert case.flops == 4 * 8 * 2 * visible.sum()
    assert case.density == 0.5


def test_sampled_rows_have_both_ends():
    assert list(cases._sampled(3)) == [0, 1, 2]
    many = cases._sampled(1000)
    assert (len(many), many[0], many[-1]) == (16, 0, 999)


# ---- Files -----------------------------------------------------------------------------------------------------------


def test_matrices_from_files(tmp_path):
    generator = np.random.default_rng(0)
    (tmp_path / "p.smtx").write_text("2, 3, 2\n0 1 2\n0 2\n")
    np.save(tmp_path / "mask.npy", np.array([[True, False, False], [False, False, True]]))
    dense = np.kron([[1.5, 0, 0], [0, 0, 2]], np.ones((4, 4)))
    np.save(tmp_path / "dense.npy", dense)
    for name in ("p.smtx", "mask.npy", "dense.npy"):
        w = files.read_matrix(tmp_path / name, 4, generator)
        assert (w.shape, w.block, list(w.row_ptr), list(w.col_idx)) == ((8, 12), (4, 4), [0, 1, 2], [0, 2])
        assert w.values.dtype == np.float32
    assert (w.to_dense() == dense).all()


def test_matrices_from_files_of_scipy(tmp_path):
    sparse, io = pytest.importorskip("scipy.sparse"), pytest.importorskip("scipy.io")
    dense = np.kron([[1.5, 0, 0], [0, 0, 2]], np.ones((4, 4)))
    io.mmwrite(tmp_path / "m.mtx", sparse.coo_array(dense))
    sparse.save_npz(tmp_path / "m.npz", sparse.bsr_array(dense, blocksize=(2, 4)))
    for name, block in (("m.mtx", (4, 4)), ("m.npz", (2, 4))):
        w = files.read_matrix(tmp_path / name, 4, np.random.default_rng(0))
        assert w.block == block
        assert (w.to_dense() == dense).all()
    (tmp_path / "m.mtx").write_text("nothing")
    (tmp_path / "m.npz").write_text("nothing")
    for name in ("m.mtx", "m.npz"):
        with pytest.raises(sparsec.InvalidArgument, match=name):
            files.read_matrix(tmp_path / name, 4, np.random.default_rng(0))


def test_files_need_scipy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    with pytest.raises(sparsec.InvalidArgument, match=r"m\.mtx: reading it needs SciPy: pip install 'sparsec\[scipy"):
        files.read_matrix(tmp_path / "m.mtx", 4, np.random.default_rng(0))


@pytest.mark.parametrize(("name", "array", "message"), [
    ("m.txt", None, "expects a .smtx, .mtx, .npy or .npz file"),
    ("m.npy", np.zeros(3), r"expects a matrix of bool or floats, but got float64 \(3,\)"),
    ("m.npy", np.zeros((2, 2), int), r"expects a matrix of bool or floats, but got int64 \(2, 2\)"),
    ("m.npy", b"nothing", "m.npy: "),
])  # fmt: skip
def test_wrong_matrices(tmp_path, name, array, message):
    path = tmp_path / name
    if isinstance(array, bytes):
        path.write_bytes(array)
    elif array is not None:
        np.save(path, array)
    with pytest.raises(sparsec.InvalidArgument, match=message):
        files.read_matrix(path, 4, np.random.default_rng(0))


def test_masks_from_files(tmp_path):
    (tmp_path / "p.smtx").write_text("2, 3, 2\n0 1 2\n0 2\n")
    assert files.read_states(tmp_path / "p.smtx").tolist() == [[1, 0, 0], [0, 0, 1]]
    np.save(tmp_path / "m.npy", np.array([[1, 2]], np.uint8))
    assert files.read_states(tmp_path / "m.npy").tolist() == [[1, 2]]
    wrong = (np.zeros((2, 2)), np.full((2, 2), 3, np.uint8), np.zeros(3, bool))
    for array, message in zip(wrong, ("expects bool or uint8", "two dimensions", "two dimensions"), strict=True):
        np.save(tmp_path / "m.npy", array)
        with pytest.raises(sparsec.InvalidArgument, match=message):
            files.read_states(tmp_path / "m.npy")
    with pytest.raises(sparsec.InvalidArgument, match=r"expects a \.npy or \.smtx file"):
        files.read_states(tmp_path / "m.mtx")


# ---- The command -----------------------------------------------------------------------------------------------------


def rows_of(text):
    """{name: cells}: the lines of a table that are rows of numbers."""
    rows = (re.split(r"  +", line) for line in text.splitlines())
    return {row[0]: row[1:] for row in rows if len(row) == 7 and row[1][0].isdigit()}


def test_products_without_torch(without_torch, tmp_path, capsys):
    paths = [f"--json={tmp_path / 'out.json'}", f"--svg={tmp_path / 'out.svg'}"]
    assert __main__.main([*BSR_FLAGS, *paths]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("host (")
    assert f", f16, sparsec {sparsec.__version__}, 2 rounds\n" in captured.out
    assert "y = x Wᵀ, W 128 x 64 in blocks of 32 x 32, 8 tokens, density 0.5\n" in captured.out
    rows = rows_of(captured.out)
    assert set(rows) == {"sparsec", "dense"}
    assert all(float(cells[-1]) < 2e-3 for cells in rows.values())
    assert rows["dense"][4] == "1.00"
    assert "torch sparse BSR: not measured: bsr needs torch, which is not installed" in captured.out
    assert "dense: of NumPy, in f32" in captured.out
    assert "making and checking sparsec" in captured.err

    data = json.loads((tmp_path / "out.json").read_text())
    assert set(data) == {"format", "machine", "versions", "dtype", "rounds", "cases"}
    assert (data["format"], data["dtype"], data["rounds"]) == (1, "f16", 2)
    (case,) = data["cases"]
    assert {key: case[key] for key in case if key != "contenders"} == {
        "operation": "product", "rows": 128, "columns": 64, "block": [32, 32], "tokens": 8, "density": 0.5,
        "useful_flops": 2 * 128 * 64 * 8 // 2,
    }  # fmt: skip
    first, dense, last = case["contenders"]
    assert (first["name"], len(first["samples_ms"]), first["is_right"]) == ("sparsec", 2, True)
    assert first["least_ms"] <= first["median_ms"] <= first["most_ms"]
    assert first["useful_tflops"] == pytest.approx(case["useful_flops"] / first["median_ms"] / 1e9)
    assert first["dense_ratio"] == pytest.approx(dense["median_ms"] / first["median_ms"])
    assert set(last) == {"name", "note"}
    texts = [element.text for element in ElementTree.parse(tmp_path / "out.svg").iter() if element.text]
    assert {"sparsec", "dense"} <= set(texts)


def test_attention_without_torch(without_torch, capsys):
    assert __main__.main([*ATTENTION_FLAGS, "--quiet"]) == 0
    captured = capsys.readouterr()
    assert "making and checking" not in captured.err
    assert "attention, 1 x 2 heads, 200 queries, 200 keys, D 64, blocks of 64 x 64, density 0.5" in captured.out
    assert list(rows_of(captured.out)) == ["sparsec"]
    assert captured.out.count("needs torch, which is not installed") == 3


@pytest.mark.torch
def test_products_with_torch(capsys, tmp_path):
    pytest.importorskip("torch")
    assert __main__.main([*BSR_FLAGS, "--device=host", "--density=0.5,0.25", f"--svg={tmp_path / 'out.svg'}"]) == 0
    text = capsys.readouterr().out
    assert ", bf16, " in text
    assert [float(density) for density in re.findall(r"density ([\d.]+)", text)] == [0.5, 0.25]
    assert text.count("torch sparse BSR: in f32, because torch has no such product of smaller types there") == 2
    assert set(rows_of(text)) == {"sparsec", "dense", "torch sparse BSR"}
    texts = [element.text for element in ElementTree.parse(tmp_path / "out.svg").iter() if element.text]
    assert {"density", "useful TFLOP/s", "0.25", "0.5", "torch sparse BSR"} <= set(texts)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_attention_with_torch(capsys, monkeypatch):
    torch = pytest.importorskip("torch")
    pytest.importorskip("sympy", reason="flex_attention of torch needs sympy")
    compiled = []
    monkeypatch.setattr(torch, "compile", lambda function, **options: compiled.append(function) or function)
    assert __main__.main([*ATTENTION_FLAGS, "--device=host"]) == 0
    assert compiled[0].__name__ == "flex_attention"
    rows = rows_of(capsys.readouterr().out)
    assert set(rows) == {"sparsec", "dense, all keys", "dense with a mask", "FlexAttention"}
    assert all(float(cells[-1]) < 1e-2 for cells in rows.values())


def test_files_are_cases(without_torch, tmp_path, capsys):
    (tmp_path / "p.smtx").write_text("2, 3, 3\n0 1 3\n0 1 2\n")
    flags = ["--rounds=1", "--contenders=sparsec"]
    assert __main__.main(["bench", "product", str(tmp_path / "p.smtx"), "--block=16x32", "--tokens=4", *flags]) == 0
    assert "W 32 x 96 in blocks of 16 x 32, 4 tokens, density 0.5" in capsys.readouterr().out
    assert __main__.main(["bench", "attention", str(tmp_path / "p.smtx"), "--block=64", "--heads=1", *flags]) == 0
    assert "1 x 1 heads, 128 queries, 192 keys, D 64, blocks of 64 x 64, density 0.5" in capsys.readouterr().out


def test_seeds_choose_the_blocks():
    def mask(seed):
        parser = __main__._parser()
        options = parser.parse_args(["bench", "product", "--density=0.3", "--size=640", f"--seed={seed}"])
        return next(command.cases(options)).weight

    assert (mask(1).col_idx == mask(1).col_idx).all()
    assert mask(1).block_count == 30
    assert mask(1).row_ptr.tolist() != mask(2).row_ptr.tolist()


@pytest.mark.parametrize(("flags", "message"), [
    (["product"], "bench expects a file or --density, and not both"),
    (["product", "{p}", "--density=1"], "bench expects a file or --density, and not both"),
    (["product", "{p}", "--size=64"], "--size is of random matrices"),
    (["product", "--density=1", "--size=100"], "--size 100x100 is no multiple of --block 64x64"),
    (["product", "--density=1", "--tokens=0"], "--tokens is 0, but expects an int of at least 1"),
    (["product", "--density=1", "--rounds=0"], "--rounds is 0, but expects an int of at least 1"),
    (["product", "--density=1", "--contenders=flex"], "--contenders: product has sparsec, dense, bsr, but got 'flex'"),
    (["product", "--density=1", "--device=cuda"], "--device cuda needs PyTorch with CUDA"),
    (["product", "--density=1", "--block=24", "--size=48", "--rounds=1"], "24"),
    (["attention", "--density=1", "--size=64"], "--size is of products"),
    (["attention", "--density=1", "--block=32"], "block is (32, 32), but expects one or two of 64, 128"),
    (["attention", "--density=1", "--heads=0"], "--heads is 0"),
    (["attention", "{partial}"], "has partial blocks (2)"),
    (["attention", "{p}", "--tokens=64", "--block=64"], "2 x 3 blocks of 64 x 64 do not cover --tokens 64"),
])  # fmt: skip
def test_wrong_options(without_torch, tmp_path, capsys, flags, message):
    (tmp_path / "p.smtx").write_text("2, 3, 2\n0 1 2\n0 2\n")
    np.save(tmp_path / "partial.npy", np.array([[1, 2]], np.uint8))
    paths = {"p": tmp_path / "p.smtx", "partial": tmp_path / "partial.npy"}
    assert __main__.main(["bench", *(flag.format(**paths) for flag in flags), "--quiet"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error


@pytest.mark.parametrize(("flag", "message"), [
    ("--density=0", "expects densities above 0, of at most 1, but got 0"),
    ("--density=a", "argument --density: invalid _numbers value"),
    ("--block=0", "expects one or two positive numbers, such as 64 or 64x32, but got 0"),
    ("--size=1x2x3", "expects one or two positive numbers"),
    ("--dtype=f64", "invalid choice: 'f64'"),
])  # fmt: skip
def test_wrong_command_lines(capsys, flag, message):
    with pytest.raises(SystemExit) as caught:
        __main__.main(["bench", "product", flag])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_help_names_all_contenders(capsys):
    with pytest.raises(SystemExit):
        __main__.main(["bench", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "product: sparsec, dense, bsr; attention: sparsec, dense, mask, flex" in text
    assert "checks every result against float64" in text


def test_wrong_results_are_seen(without_torch, monkeypatch, capsys):
    monkeypatch.setattr(cases.Product, "error", lambda *arguments: 0.01)
    assert __main__.main([*BSR_FLAGS, "--contenders=sparsec"]) == 1
    assert rows_of(capsys.readouterr().out)["sparsec"][-1] == "1.0e-02 WRONG"


def test_table_and_ratios():
    times = {"sparsec": rounds.Times((1.0, 2.0, 4.0)), "dense": rounds.Times((8.0,))}
    rows = [report.Row(name, each, 1e-3, True) for name, each in times.items()]
    case = report.CaseReport("product", "title", {}, 0.5, 10**12, rows)
    assert report.table(case).splitlines() == [
        "title",
        "         median ms  least   most  TFLOP/s  x dense    error",
        "sparsec      2.000  1.000  4.000      500     4.00  1.0e-03",
        "dense        8.000  8.000  8.000      125     1.00  1.0e-03",
    ]
    alone = report.CaseReport("product", "title", {}, 0.5, 10**12, rows[:1])
    assert alone.ratio(times["sparsec"]) is None
    assert "500" in report.table(alone)


def test_table_without_rows_has_the_reasons():
    rows = [report.Row("bsr", None, None, True, "not measured: a reason")]
    case = report.CaseReport("product", "title", {}, 0.5, 1, rows)
    assert report.table(case) == "title\ntorch sparse BSR: not measured: a reason"
