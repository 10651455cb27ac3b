# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling, loading and calling kernels, on the host."""

import gc
import math
import os
import re
import subprocess
import sys
import threading
import tracemalloc
import types
import weakref

import ml_dtypes
import numpy as np
import pytest

import conftest
import sparsec
from conftest import assert_product, dense, f64, matrix
from sparsec import arrays, devices, kernel, launch_info

SDDMM = """
sparsec.kernel @sampled(%p: !sparsec.bsr<?x?xf16, block = 16x32>, %a: tensor<?x?xf16>, %b: tensor<?x?xf16>,
                        %alpha: f32) -> (s: tensor<?x16x32xf32>) {
  %s = sparsec.sddmm %p, %a, %b, %alpha scalar epilogue (%acc: f32, %scale: f32) {
    %product = arith.mulf %acc, %scale : f32
    sparsec.yield %product : f32
  } : (!sparsec.bsr<?x?xf16, block = 16x32>, tensor<?x?xf16>, tensor<?x?xf16>, f32) -> tensor<?x16x32xf32>
  sparsec.return %s : tensor<?x16x32xf32>
}
"""
LINEAR = """
sparsec.kernel @linear(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>, %bias: tensor<?xf32>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %bias per_row x_layout(nk) y_layout(nm) epilogue (%acc: f32, %b: f32) {
    %s = arith.addf %acc, %b : f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
"""
ATTENTION = """
sparsec.kernel @attention(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                          %p: !sparsec.pattern<64x128>) -> (o: tensor<?x?x?x64xf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>,
      tensor<?x?x?x64xf16>, !sparsec.pattern<64x128>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
"""


# ---- Calls -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [None, False])
def test_product(product, plan):
    w, x = matrix(), dense((52, 24))
    y = product(w, x, plan=plan)
    assert y.dtype == np.float32
    assert_product(y, w, x)


def test_product_of_no_blocks_is_zero(product):
    w, x = matrix(density=0), dense((52, 8))
    assert (product(w, x) == np.zeros((70, 8))).all()


def test_transposed_layouts_bf16_and_bias(compile_host):
    linear = compile_host(LINEAR)["linear"]
    w = matrix(64, 48, dtype="bf16")
    x, bias = dense((10, 48), ml_dtypes.bfloat16), dense(64, np.float32)
    exact = f64(x) @ f64(w.to_dense()).T + f64(bias)
    y = linear(w, x, bias)
    assert y.dtype == ml_dtypes.bfloat16
    magnitude = np.abs(f64(x)) @ np.abs(f64(w.to_dense())).T + np.abs(f64(bias))
    assert (np.abs(f64(y) - exact) <= 2.0**-8 * np.abs(exact) + 1e-6 * magnitude).all()
    reference, _ = linear.reference(w, x, bias)
    assert reference.shape == (10, 64)
    np.testing.assert_allclose(reference, exact, rtol=1e-12)


def test_sampled_product(compile_host):
    sampled = compile_host(SDDMM)["sampled"]
    p = matrix(48, 64, block=(16, 32))
    a, b = dense((48, 40)), dense((64, 40), seed=2)
    exact = sparsec.BSR.from_dense(
        -0.5 * (f64(a) @ f64(b).T), (16, 32), p.to_dense()[::16, ::32] != 0, "f32"
    ).to_dense()
    s = p.with_values(sampled(p, a, b, -0.5))
    assert s.values.shape == (p.block_count, 16, 32)
    np.testing.assert_allclose(f64(s.to_dense()), exact, atol=1e-5)
    reference, magnitude = sampled.reference(p, a, b, -0.5)
    np.testing.assert_allclose(f64(p.with_values(reference.astype(np.float32)).to_dense()), exact, atol=1e-5)
    assert magnitude.shape == reference.shape == s.values.shape


class Lists(types.SimpleNamespace):
    """Lists of another library: only the attributes that a launch reads."""

    __hash__ = object.__hash__


def pattern(padded=False, full_starts=(0, 1, 3, 3), full_indices=(2, 0, 1), **fields):
    """Lists for 3 blocks of 64 queries and 3 blocks of 128 keys. The last query block sees no key."""
    return Lists(
        queries=150, keys=300, block=(64, 128), batches=1, heads=1, padded=padded,
        full_starts=np.array(full_starts, np.int32), full_indices=np.array(full_indices, np.int32),
        partial_starts=None, partial_indices=None, **fields,
    )  # fmt: skip


def attention_of(q, k, v, visible):
    scores = np.where(visible, f64(q) @ f64(k).swapaxes(-1, -2) / math.sqrt(q.shape[-1]), -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = weights.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, np.log(total) + np.where(np.isfinite(largest), largest, 0), -np.inf)[..., 0]
    return weights @ f64(v) / np.where(total > 0, total, 1), lse


@pytest.mark.parametrize("lists", [
    pattern(),
    pattern(padded=True, full_starts=(1, 2, 0), full_indices=(2, -1, -1, 0, 1, -1, -1, -1, -1)),
])  # fmt: skip
def test_attention_with_lists(compile_host, lists):
    attention = compile_host(ATTENTION)["attention"]
    q, k, v = dense((2, 3, 150, 64)), dense((2, 1, 300, 64), seed=2), dense((2, 1, 300, 64), seed=3)
    visible = np.zeros((150, 300), bool)
    visible[:64, 256:] = visible[64:128, :256] = True
    exact, exact_lse = attention_of(q, k, v, visible)
    o, lse = attention(q, k, v, lists)
    np.testing.assert_allclose(f64(o), exact, atol=2e-3)
    np.testing.assert_allclose(lse, exact_lse, atol=1e-5)
    for is_lse, expected in ((False, exact), (True, exact_lse)):
        values, magnitude = attention.reference(q, k, v, lists, lse=is_lse)
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-14)
        assert magnitude.shape == expected.shape


def test_inputs_in_another_order(compile_host):
    """The slots of the operation say what an input is, not its place."""
    arguments = "%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>"
    assert arguments in ATTENTION
    swapped = ATTENTION.replace(arguments, ", ".join(reversed(arguments.split(", "))))
    q, k, v = dense((1, 2, 150, 64)), dense((1, 1, 300, 64), seed=2), dense((1, 1, 300, 64), seed=3)
    attention, p = compile_host(ATTENTION)["attention"], pattern()
    other = compile_host(swapped)["attention"]
    np.testing.assert_array_equal(other(v, k, q, p)[1], attention(q, k, v, p)[1])
    for lse in (False, True):
        np.testing.assert_array_equal(other.reference(v, k, q, p, lse=lse)[0],
                                      attention.reference(q, k, v, p, lse=lse)[0])  # fmt: skip


def test_lse_is_of_attention(product):
    with pytest.raises(sparsec.InvalidArgument, match="attention and of merges, but product is neither"):
        product.reference(matrix(), dense((52, 24)), lse=True)


def test_reference_needs_host_memory(product):
    on_gpu = sparsec.from_pointer(4096, (52, 24), "f16", device=0)
    w = matrix()
    views = [sparsec.from_pointer(4096, array.shape, name, device=0)
             for array, name in ((w.row_ptr, "i32"), (w.col_idx, "i32"), (w.values, "f16"))]  # fmt: skip
    with pytest.raises(sparsec.InvalidArgument, match="needs arrays in host memory, but these are on device 0"):
        product.reference(sparsec.BSR(*views, w.shape), on_gpu)


def test_results_go_to_out(product):
    w, x = matrix(), dense((52, 24))
    out = np.full((70, 24), np.nan, np.float32)
    assert product(w, x, out=out) is out
    assert_product(out, w, x)


def test_strided_inputs_and_results(product):
    w, x = matrix(), dense((104, 40))[::2, 8:32]
    out = np.full((70, 48), 7, np.float32)
    product(w, x, out=out[:, 12:36])
    assert_product(out[:, 12:36], w, x)
    assert (out[:, :12] == 7).all()
    assert (out[:, 36:] == 7).all()


def test_raw_pointers(product):
    w, x = matrix(), dense((52, 24))
    y = np.empty((70, 24), np.float32)
    views = [
        sparsec.from_pointer(array.ctypes.data, array.shape, name, device=sparsec.HOST)
        for array, name in ((x, "f16"), (y, "f32"))
    ]
    product(w, views[0], out=views[1])
    assert_product(y, w, x)
    assert views[0].strides == (24, 1)
    assert sparsec.from_pointer(0, (3, 4), "f32", strides=(8, 1), read_only=True).strides == (8, 1)
    assert sparsec.from_pointer(0, (3, 4), "f32", read_only=True).read_only


class DLPackOnly:
    """An array of another library: only __dlpack__, as before DLPack 1.0 or as since then."""

    def __init__(self, array, is_versioned):
        self.array, self.is_versioned = array, is_versioned

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **arguments):
        if not self.is_versioned and "max_version" in arguments:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**arguments)


@pytest.mark.parametrize("is_versioned", [False, True])
def test_dlpack(product, is_versioned):
    w, x, y = matrix(), dense((52, 24)), np.empty((70, 24), np.float32)
    product(w, DLPackOnly(x, is_versioned), out=DLPackOnly(y, is_versioned))
    assert_product(y, w, x)


def test_arrays_live_as_long_as_their_views(product):
    x = dense((52, 24))
    reference = weakref.ref(x)
    view = arrays.dense(DLPackOnly(x, True))
    del x
    gc.collect()
    assert reference() is not None
    assert view.pointer == reference().ctypes.data
    del view
    gc.collect()
    assert reference() is None


# ---- What calls refuse -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "message"), [
    (lambda w, x: (w,), r"product takes 2 inputs \(w, x\), but got 1"),
    (lambda w, x: (w, None), "'x' is None, which only plans take"),
    (lambda w, x: (x, x), "argument 0 'w': expects a sparsec.BSR, but got ndarray"),
    (lambda w, x: (w, 3), "argument 1 'x': expects an array with the buffer protocol or __dlpack__"),
    (lambda w, x: (w, x.astype(np.float64)), "argument 1 'x': expects elements of f32, .*, but got format 'd'"),
    (lambda w, x: (w, x.astype(np.float32)), "argument 1 'x': .*f32"),
    (lambda w, x: (w, x[0]), "argument 1 'x': expects rank 2, but got 1"),
    (lambda w, x: (w, x[:50]), "argument 1 'x': .*50"),
    (lambda w, x: (w, np.asfortranarray(x)), "argument 1 'x': .*stride"),
    (lambda w, x: (w, np.lib.stride_tricks.as_strided(x.view(np.uint8), (52, 12), (47, 1)).view(np.float16)),
     "argument 1 'x': expects strides of whole elements, but stride 0 is 47 bytes"),
    (lambda w, x: (w, np.zeros((1,) * 6, np.float16)), "argument 1 'x': expects rank 0 to 5, but got 6"),
])  # fmt: skip
def test_refuses_inputs_by_name(product, change, message):
    with pytest.raises(sparsec.InvalidArgument, match=message):
        product(*change(matrix(), dense((52, 24))))


@pytest.mark.parametrize(("out", "message"), [
    (lambda y: (y, y), "out: product has 1 results, but got 2 arrays"),
    (lambda y: y[:60], "argument 2 'y': .*60"),
    (lambda y: y.astype(np.float16), "argument 2 'y': .*f16"),
    (lambda y: np.frombuffer(bytes(y), np.float32).reshape(y.shape), "argument 2 'y': .*read-only"),
])  # fmt: skip
def test_refuses_results(product, out, message):
    with pytest.raises(sparsec.InvalidArgument, match=message):
        product(matrix(), dense((52, 24)), out=out(np.zeros((70, 24), np.float32)))


def test_refuses_results_for_unknown_libraries(product):
    with pytest.raises(sparsec.InvalidArgument, match="out: results are made for arrays of NumPy and torch"):
        product(matrix(), DLPackOnly(dense((52, 24)), True))


def test_refuses_scalars_that_are_no_numbers(compile_host):
    p, a, b = matrix(48, 64, block=(16, 32)), dense((48, 40)), dense((64, 40))
    with pytest.raises(sparsec.InvalidArgument, match="argument 3 'alpha': expects a number, but got str"):
        compile_host(SDDMM)["sampled"](p, a, b, "half")


def test_refuses_streams_that_are_no_streams(product):
    with pytest.raises(sparsec.InvalidArgument, match="stream: expects a number or a stream of torch, but got str"):
        product(matrix(), dense((52, 24)), stream="fast")


@pytest.mark.parametrize("change", [{"full_indices": np.array([2, 0, 3], np.int32)}, {"full_starts": [0, 2, 1, 3]}])
def test_refuses_wrong_lists(compile_host, change):
    q, k = dense((1, 1, 150, 64)), dense((1, 1, 300, 64))
    with pytest.raises(sparsec.InvalidPattern):
        compile_host(ATTENTION)["attention"](q, k, k, pattern(**change))


@pytest.mark.parametrize(("lists", "message"), [
    (object(), "argument 3 'p': expects lists of a pattern, but got object"),
    (pattern(full_starts=(0, 1)), "argument 3 'p': full starts: expects at least 4 elements, but got 2"),
    (pattern(padded=True, full_starts=(1, 2)), "argument 3 'p': full starts: expects at least 3 elements, but got 2"),
])  # fmt: skip
def test_refuses_what_is_no_lists(compile_host, lists, message):
    q, k = dense((1, 1, 150, 64)), dense((1, 1, 300, 64))
    with pytest.raises(sparsec.InvalidArgument, match=message):
        compile_host(ATTENTION)["attention"](q, k, k, lists)


def test_first_call_and_check_find_wrong_columns(product):
    w, x = matrix(), dense((52, 24))
    product(w, x)
    w.col_idx[0] = 99
    with pytest.raises(sparsec.InvalidPattern, match="99"):
        product(w, x, check=True)
    with pytest.raises(sparsec.InvalidPattern, match="99"):
        product(sparsec.BSR(w.row_ptr, w.col_idx, w.values, w.shape), x)


# ---- Plans, launchers, variants --------------------------------------------------------------------------------------


def test_plan_serves_every_width(product):
    w = matrix()
    plan = product.plan(w, None)
    for width in (1, 24, 100):
        x = dense((52, width))
        assert_product(product(w, x, plan=plan), w, x)
    assert plan.info().tiles == -1
    sized = product.plan(w, dense((52, 130))).info()
    assert (sized.order, sized.tiles) == ("fixed", 5 * math.ceil(130 / 64))
    assert "product: fixed order" in repr(plan)


def test_plan_refuses_other_sizes(product):
    plan = product.plan(matrix(), dense((52, 24)))
    with pytest.raises(sparsec.InvalidArgument, match="plan is for .*N 24, .*but .*N 25"):
        product(matrix(), dense((52, 25)), plan=plan)


def test_plan_of_a_static_pattern_refuses_another(product):
    plan = product.plan(matrix(seed=1), None, static=True, fast=True)
    assert_product(product(matrix(seed=1), dense((52, 24)), plan=plan), matrix(seed=1), dense((52, 24)))
    with pytest.raises(sparsec.InvalidArgument, match="argument 0 'w': plan is for other index arrays"):
        product(matrix(seed=2), dense((52, 24)), plan=plan)


def test_plan_belongs_to_a_kernel(product, compile_host):
    other = compile_host(conftest.PRODUCT)["product"]
    with pytest.raises(sparsec.InvalidArgument, match="plan: expects one of product on device -1"):
        product(matrix(), dense((52, 24)), plan=other.plan(matrix(), None))


def test_plan_has_no_negative_variant(product):
    with pytest.raises(sparsec.InvalidArgument, match="variant: expects 0 or more, but got -1"):
        product.plan(matrix(), None).info(-1)
    with pytest.raises(sparsec.InvalidArgument, match="variant"):
        product.plan(matrix(), None).info(1)


def test_plans_live_as_long_as_their_matrix(product):
    w = matrix()
    product(w, dense((52, 8)))
    product(w, dense((52, 9)))
    assert len(product._plans[w]) == 1
    reference = weakref.ref(w)
    count = len(product._plans)
    del w
    gc.collect()
    assert reference() is None
    assert len(product._plans) == count - 1


def test_plans_of_many_sizes_are_not_kept(compile_host):
    """sddmm needs a plan for each depth K."""
    sampled = compile_host(SDDMM)["sampled"]
    p = matrix(48, 64, block=(16, 32))
    for depth in range(1, kernel._MOST_PLANS + 4):
        a, b = dense((48, depth)), dense((64, depth), seed=2)
        s = p.with_values(sampled(p, a, b, 1)).to_dense()
        stored = s != 0
        np.testing.assert_allclose(s[stored], (f64(a) @ f64(b).T)[stored], atol=1e-4)
    depths = [sizes[1][1] for _, sizes, _ in sampled._plans[p]]
    assert depths == list(range(4, kernel._MOST_PLANS + 4))


@pytest.mark.parametrize("static", [True, False])
def test_static_lists_of_attention_stay_as_they_are(compile_host, static):
    attention = compile_host(ATTENTION)["attention"]
    q, k, v = dense((1, 2, 150, 64)), dense((1, 2, 300, 64), seed=2), dense((1, 2, 300, 64), seed=3)
    lists = pattern(static=static)
    attention(q, k, v, lists)
    lists.full_indices[0] = 1
    if not static:
        attention(q, k, v, lists)
        return
    with pytest.raises(sparsec.InvalidArgument, match="argument 3 'p': plan is for other index arrays"):
        attention(q, k, v, lists)


def test_attention_without_pattern_has_one_plan(compile_host):
    text = re.sub(r",\s+%p: !sparsec.pattern<64x128>", "", ATTENTION)
    text = text.replace(" pattern(%p)", "").replace(", !sparsec.pattern<64x128>)", ")")
    attention = compile_host(text)["attention"]
    for queries, keys in ((70, 70), (65, 130)):
        q, k, v = dense((1, 2, queries, 64)), dense((1, 2, keys, 64), seed=2), dense((1, 2, keys, 64), seed=3)
        exact, _ = attention_of(q, k, v, np.ones((queries, keys), bool))
        np.testing.assert_allclose(f64(attention(q, k, v)[0]), exact, atol=2e-3)
    assert len(attention._open_plans) == 1


def test_plan_for_a_device(product):
    assert product.plan(None, None).device == sparsec.HOST
    assert product.plan(None, None, device=sparsec.HOST).device == sparsec.HOST
    with pytest.raises(sparsec.DriverError):
        product.plan(None, None, device=10000)


def test_launcher_runs_and_takes_other_memory(product):
    w, x = matrix(), dense((52, 24))
    launcher = product.launcher(w, x, plan=product.plan(w, None))
    assert launcher.run() is launcher.out
    assert_product(launcher.out, w, x)
    first = launcher.out.copy()
    other, y = dense((52, 24), seed=5), np.empty((70, 24), np.float32)
    launcher.rebind(w, other, out=y)
    assert launcher.run(stream=0) is y
    assert_product(y, w, other)
    with pytest.raises(sparsec.InvalidArgument, match="argument 1 'x'"):
        launcher.rebind(w, dense((52, 25)))
    y[:] = 0
    launcher.run()
    assert_product(y, w, other)
    assert not (first == y).all()


def test_launcher_keeps_its_memory(product):
    w = matrix()
    launcher = product.launcher(w, dense((52, 24)))
    gc.collect()
    garbage = [dense((52, 24), seed=seed) for seed in range(20)]
    launcher.run()
    assert_product(launcher.out, w, dense((52, 24)))
    assert len(garbage) == 20


def test_variant_and_launcher_take_the_plan_of_a_call(product):
    w, x = matrix(), dense((52, 24))
    for plan, count in ((False, 0), (product.plan(w, None), 0), (None, 1)):
        assert product.variant(w, x, plan=plan).schedule == "loops"
        assert_product(product.launcher(w, x, plan=plan).run(), w, x)
        assert len(product._plans.get(w, ())) == count


# ---- Modules ---------------------------------------------------------------------------------------------------------


def test_save_and_load(compile_host, tmp_path):
    path = tmp_path / "folder" / "product.o"
    compile_host(conftest.PRODUCT).save(path)
    w, x = matrix(), dense((52, 24))
    for loaded in (sparsec.load(path), sparsec.load(path.read_bytes())):
        assert loaded.targets == ("host",)
        assert_product(loaded["product"](w, x), w, x)
        with pytest.raises(sparsec.InvalidArgument, match="emit needs the text"):
            loaded.emit("mlir")
    assert [file.name for file in path.parent.iterdir()] == ["product.o"]


def test_names_and_signatures(compile_host):
    loaded = compile_host(conftest.PRODUCT + SDDMM)
    assert (loaded.kernels, list(loaded), len(loaded)) == (("product", "sampled"), ["product", "sampled"], 2)
    assert loaded["product"].signature == (
        "product(w: bsr<?x?xf16, block = 16x16>, x: tensor<?x?xf16>) -> (y: tensor<?x?xf32>)"
    )
    assert "alpha: f32) -> (s: tensor<?x16x32xf32>)" in repr(loaded["sampled"])
    assert "p: pattern<64x128>" in compile_host(ATTENTION)["attention"].signature
    assert repr(loaded) == "<sparsec.Module of product, sampled for host>"
    with pytest.raises(sparsec.UnknownKernel, match="there is no kernel 'missing'; there are product, sampled"):
        loaded["missing"]


def test_report(product):
    assert re.search(r"^host, sparsec \S+\n  product\(.*\n    variant 0: loops\n      product.host: tile",
                     product.file.report)  # fmt: skip
    assert product.report.startswith("host\n  product(")


def test_compiles_paths_and_programs(tmp_path, product):
    path = tmp_path / "kernel.mlir"
    path.write_text(conftest.PRODUCT)
    w, x = matrix(), dense((52, 24))
    program = types.SimpleNamespace(text=lambda: conftest.PRODUCT, captures={})
    for source in (path, str(path), program):
        assert_product(sparsec.compile(source, "host")["product"](w, x), w, x)
    with pytest.raises(sparsec.InvalidArgument, match="source: expects text, a path or a program, but got int"):
        sparsec.compile(3, "host")


def test_captures_are_bound_by_name():
    bias = dense(64, np.float32)
    program = types.SimpleNamespace(text=lambda: LINEAR, captures={"bias": bias})
    linear = sparsec.compile(program, "host")["linear"]
    w, x = matrix(64, 48, dtype="bf16"), dense((10, 48), ml_dtypes.bfloat16)
    np.testing.assert_array_equal(f64(linear(w, x)), f64(sparsec.compile(LINEAR, "host")["linear"](w, x, bias)))
    bias += 1  # by reference
    np.testing.assert_array_equal(f64(linear(w, x)), f64(sparsec.compile(LINEAR, "host")["linear"](w, x, bias)))
    with pytest.raises(sparsec.InvalidArgument, match=r"linear takes 2 inputs \(w, x\), but got 3"):
        linear(w, x, bias)


def test_emit(compile_host):
    loaded = compile_host(conftest.PRODUCT)
    assert "sparsec.spmm" in loaded.emit("mlir")
    assert ".target sm_90a" in loaded.emit("ptx", target="sm_90a")
    assert loaded["product"].emit("ptx", target="sm_90a") == loaded.emit("ptx", target="sm_90a")
    for emit in (loaded.emit, loaded["product"].emit):
        with pytest.raises(sparsec.InvalidArgument, match="host has no stage ptx"):
            emit("ptx")


def test_targets_of_this_machine(monkeypatch):
    monkeypatch.setattr(devices._native, "cuda_device_count", lambda: 0)
    assert sparsec.compile(conftest.PRODUCT).targets == ("host",)


@pytest.mark.parametrize(("capability", "target"), [(90, "sm_90a"), (89, "sm_89"), (87, "sm_86"), (120, "sm_120"),
                                                    (121, "sm_120"), (100, None), (75, None), (91, None)])  # fmt: skip
def test_target_of_a_capability(capability, target):
    assert devices.target_of(capability, ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_120", "host")) == target


def test_a_gpu_without_target_is_refused(monkeypatch):
    monkeypatch.setattr(devices._native, "cuda_device_count", lambda: 1)
    gpu = types.SimpleNamespace(info=lambda: {"name": "Old GPU", "compute_capability": 75})
    monkeypatch.setattr(devices, "device", lambda ordinal: gpu)
    with pytest.raises(sparsec.DriverError, match="no target runs on 'Old GPU' of compute capability 7.5"):
        sparsec.compile(conftest.PRODUCT)


def test_refuses_empty_targets():
    with pytest.raises(sparsec.InvalidArgument, match="targets: expects at least one, and no empty name"):
        sparsec.compile(conftest.PRODUCT, [])
    with pytest.raises(sparsec.InvalidArgument, match="targets: expects at least one, and no empty name"):
        sparsec.compile(conftest.PRODUCT, "host,")


# ---- Threads and memory ----------------------------------------------------------------------------------------------


def test_many_calls_from_threads_leak_nothing(product):
    """Each thread has arrays of its own; all share the kernel, a matrix, its plan and a launcher."""
    w, x = matrix(), dense((52, 8))
    launcher = product.launcher(w, x)
    launcher.run()
    expected = launcher.out.copy()
    failures = []

    def call(count):
        out = np.empty((70, 8), np.float32)
        for _ in range(count):
            product(w, x, out=out)
            launcher.run()
            if not (out == expected).all():
                failures.append(out.copy())

    def run_all(count):
        threads = [threading.Thread(target=call, args=(count,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()

    tracemalloc.start()
    run_all(20)
    counted = (w, x, product, launcher, *launcher._call.native)
    references = [sys.getrefcount(value) for value in counted]
    before = tracemalloc.get_traced_memory()[0]
    run_all(6250)  # with those of the launcher 100000 launches
    grown = tracemalloc.get_traced_memory()[0] - before  # about 20 KB are there once, for the threads
    tracemalloc.stop()
    assert not failures
    assert [sys.getrefcount(value) for value in counted] == references
    assert grown < 100000  # bytes: an object that each launch leaks has at least 16


def test_launch_infos_of_a_bundle():
    loaded = sparsec.compile(conftest.PRODUCT, "host,sm_89")
    assert loaded.targets == ("host", "sm_89")
    image = launch_info.read(loaded.data)[1]
    assert image.kernels[0].variants[0].requirements[0].alignment == 16
    assert all(0 < variant.stages[0].registers <= 255 for variant in image.kernels[0].variants)
    assert "needs 16-byte alignment of w, x, y" in image.report
    assert "registers" in image.report
    w, x = matrix(), dense((52, 24))
    assert_product(loaded["product"](w, x), w, x)


def test_report_of_variants_for_few_columns():
    product = conftest.PRODUCT.replace("16x16", "64x64")
    image = launch_info.read(sparsec.compile(product, "sm_90a").data)[0]
    narrow = [variant for variant in image.kernels[0].variants if variant.most_panels]
    assert [variant.most_tiles_per_sm for variant in narrow] == [int("wgmma" in each.schedule) for each in narrow]
    assert "and at most 16 columns" in image.report
    assert "and at most 64 columns or 1 tile for each multiprocessor" in image.report


def test_report_of_the_variant_for_few_tiles():
    image = launch_info.read(sparsec.compile(ATTENTION, "sm_89").data)[0]
    assert [variant.part_keys for variant in image.kernels[0].variants] == [0, 512, 0]
    assert "needs 16-byte alignment of q, k, v, o and few tiles with more than 512 keys, and a plan" in image.report
    assert "attention_merge: tile 2x256x1" in image.report


# ---- torch -----------------------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_torch_tensors(product, compile_host):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    linear = compile_host(LINEAR)["linear"]
    host = matrix(64, 48, dtype="bf16")
    w = sparsec.BSR(torch.from_numpy(host.row_ptr), torch.from_numpy(host.col_idx),
                    torch.from_numpy(host.values.view(np.int16)).view(torch.bfloat16), host.shape)  # fmt: skip
    x, bias = torch.randn(10, 48).bfloat16(), torch.randn(64)
    y = linear(w, x, bias)
    assert (y.dtype, y.shape) == (torch.bfloat16, (10, 64))
    exact = x.double() @ torch.from_numpy(f64(host.to_dense())).T + bias.double()
    assert ((y.double() - exact).abs() <= 2.0**-8 * exact.abs() + 1e-4).all()
    out = torch.empty(10, 64, dtype=torch.bfloat16)
    assert linear(w, x, bias, out=out) is out
    assert torch.equal(out, y)


@pytest.mark.torch
def test_torch_tensors_with_gradients_are_refused(product):
    torch = pytest.importorskip("torch")
    x = torch.zeros(52, 24, dtype=torch.float16, requires_grad=True)
    with pytest.raises(sparsec.InvalidArgument, match="argument 1 'x': the tensor requires a gradient"):
        product(matrix(), x)


def test_default_stream_is_that_of_torch(monkeypatch):
    class Tensor:
        is_cuda, device = True, "cuda:3"

    streams = {"cuda:3": types.SimpleNamespace(cuda_stream=77)}
    cuda = types.SimpleNamespace(current_stream=streams.get, is_initialized=lambda: True, current_device=lambda: 3)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor, cuda=cuda))
    assert arrays.current_stream([np.zeros(3), Tensor()]) == 77
    assert arrays.current_stream([np.zeros(3)]) == 0
    assert devices.current_cuda_device() == 3
    monkeypatch.delitem(sys.modules, "torch")
    assert devices.current_cuda_device() == 0


def test_dlpack_gets_the_stream():
    """Arrays of a GPU must be ready on the stream of the launch. In DLPack the default stream is number 1."""
    given = []

    class OnGpu(DLPackOnly):
        def __dlpack_device__(self):
            return 2, 0

        def __dlpack__(self, *, stream=None, **arguments):
            capsule = self.array.__dlpack__(**arguments)
            given.append(stream)
            return capsule

    for stream in (0, 5):
        arrays.dense(OnGpu(dense((2, 2)), True), stream)
    arrays.dense(DLPackOnly(dense((2, 2)), True), 5)  # NumPy refuses a stream
    assert given == [1, 5]


def test_import_needs_no_other_library():
    """import sparsec imports NumPy, and neither torch nor JAX, SciPy or ml_dtypes."""
    script = (
        "import sys, sparsec; print(*(name for name in ('torch', 'jax', 'scipy', 'ml_dtypes') if name in sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout == "\n"
