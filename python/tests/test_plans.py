# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans: their reasons and progress, and plans that are saved and loaded."""

import numpy as np
import pytest

import sparsec
from conftest import assert_product, dense, matrix


def test_info_has_a_reason(product):
    assert product.plan(matrix(), None).info().reason == "fixed order: threads take tiles as they become free"


def test_progress_rises_to_all(product):
    calls = []
    product.plan(matrix(), None, static=True, progress=lambda done, total: calls.append((done, total)))
    totals = {total for _, total in calls}
    assert len(totals) == 1
    assert [done for done, _ in calls] == sorted({done for done, _ in calls})
    assert calls[0][0] == 0
    assert calls[-1][0] == totals.pop()


def test_progress_cancels(product):
    with pytest.raises(sparsec.Cancelled, match="the progress callback cancelled the plan"):
        product.plan(matrix(), None, static=True, progress=lambda done, total: True)


def test_progress_raises(product):
    def fail(done, total):
        raise KeyError(f"{done} of {total}")

    with pytest.raises(KeyError, match="0 of"):
        product.plan(matrix(), None, static=True, progress=fail)


def test_saved_plan_serves_calls(product, tmp_path):
    w, x = matrix(), dense((52, 24))
    path = tmp_path / "product.plan"
    path.write_bytes(b"what was there before")
    product.plan(w, None, static=True).save(path)
    assert list(tmp_path.iterdir()) == [path]
    for plan in (product.load_plan(path), product.load_plan(path, w, None), product.load_plan(str(path), w, x)):
        np.testing.assert_array_equal(product(w, x, plan=plan), product(w, x))
        assert plan.device == sparsec.HOST
        assert plan.info().reason == "fixed order: threads take tiles as they become free"
    assert_product(product(w, x, plan=product.load_plan(path)), w, x)


def test_saved_plan_of_another_pattern_is_refused(product, tmp_path):
    path = tmp_path / "product.plan"
    product.plan(matrix(seed=1), None, static=True).save(path)
    other = matrix(seed=2)
    with pytest.raises(sparsec.InvalidPlan):
        product.load_plan(path, other, None)
    with pytest.raises(sparsec.InvalidArgument, match="plan is for"):
        product(other, dense((52, 24)), plan=product.load_plan(path))


def test_damaged_plans_are_refused(product, tmp_path):
    path = tmp_path / "product.plan"
    product.plan(matrix(), None, static=True).save(path)
    good = path.read_bytes()
    damaged = bytearray(good)
    damaged[-1] ^= 1
    for data in (b"", good[:-1], bytes(damaged), product.file.data):
        path.write_bytes(data)
        with pytest.raises(sparsec.InvalidPlan, match="saved plan: it"):
            product.load_plan(path)
    with pytest.raises(FileNotFoundError):
        product.load_plan(tmp_path / "missing.plan")


def test_saved_plan_of_a_transpose(compile_host, tmp_path):
    """It holds the index of the transpose, which the host reads."""
    kernel = compile_host(sparsec.spmm(16, "f16", transposed=True).text())["spmm"]
    w = matrix()
    x = dense((w.shape[0], 24))
    path = tmp_path / "transposed.plan"
    kernel.plan(w, None, static=True).save(path)
    np.testing.assert_array_equal(kernel(w, x, plan=kernel.load_plan(path, w, None)), kernel(w, x))


def test_packing_on_the_host_packs_nothing(product):
    w, x = matrix(), dense((52, 24))
    plan = product.plan(w, None, static=True, pack=True)
    assert plan.pack(w) is False
    assert plan.info().packed_bytes == 0
    np.testing.assert_array_equal(product(w, x, plan=plan), product(w, x))


def test_packing_refuses_a_plan_of_a_pattern_that_may_change_and_other_streams(product):
    w = matrix()
    with pytest.raises(sparsec.InvalidArgument, match="expects SPARSEC_PLAN_STATIC_PATTERN with SPARSEC_PLAN_PACK"):
        product.plan(w, None, pack=True)
    with pytest.raises(sparsec.InvalidArgument, match="stream: expects a number or a stream of torch, but got str"):
        product.plan(w, None, static=True, pack=True).pack(w, stream="main")


def changing_matrix(room):
    """A matrix without blocks, with room for some: their lists are NumPy's arrays, which tests write."""
    row_ptr, col_idx = np.zeros(5, np.int32), np.zeros(room, np.int32)
    values = dense((room, 16, 16), seed=3)
    return row_ptr, col_idx, sparsec.BSR(row_ptr, col_idx, values, (64, 96))


def set_lists(row_ptr, col_idx, rows):
    col_idx[: sum(map(len, rows))] = [column for row in rows for column in row]
    row_ptr[1:] = np.cumsum([len(row) for row in rows])


def as_dense(row_ptr, col_idx, values, shape):
    result = np.zeros(shape)
    for row in range(len(row_ptr) - 1):
        for block in range(row_ptr[row], row_ptr[row + 1]):
            column = col_idx[block]
            result[16 * row : 16 * row + 16, 16 * column : 16 * column + 16] = values[block]
    return result


def test_refilled_plans_follow_the_lists(compile_host):
    kernel = compile_host(sparsec.spmm(16, "f16", transposed=True).text())["spmm"]
    row_ptr, col_idx, w = changing_matrix(room=9)
    x = dense((64, 24))
    plan = kernel.plan(w, None, refill=True)
    np.testing.assert_array_equal(np.asarray(kernel(w, x, plan=plan)), 0)
    for rows in ([[5, 0], [], [3], [0, 1, 5]], [[], [2], [2], []], [[0, 1, 2, 3, 4, 5], [1], [], [0]]):
        set_lists(row_ptr, col_idx, rows)
        plan.refill(w)
        exact = as_dense(row_ptr, col_idx, w.values, (64, 96)).T @ x.astype(np.float64)
        np.testing.assert_allclose(np.asarray(kernel(w, x, plan=plan), np.float64), exact, rtol=2e-3, atol=2e-2)


def test_refilled_pairs_follow_the_lists(compile_host):
    kernel = compile_host(sparsec.spgemm(16, dtype="f16", result_dtype="f32").text())["spgemm"]
    row_ptr, col_idx, a = changing_matrix(room=9)
    b = matrix(rows=96, columns=52)
    plan = kernel.plan(a, b, refill=True)
    for rows in ([[5, 0], [], [3], [0, 1, 5]], [[], [2], [2], []]):
        set_lists(row_ptr, col_idx, rows)
        plan.refill(a, b)
        exact = as_dense(row_ptr, col_idx, a.values, (64, 96)) @ np.asarray(b.to_dense(), np.float64)
        np.testing.assert_allclose(kernel(a, b, plan=plan), exact, rtol=1e-5, atol=1e-4)


def test_refills_are_refused(product):
    w = matrix()
    with pytest.raises(sparsec.InvalidArgument, match="expects one that was made with SPARSEC_PLAN_REFILL"):
        product.plan(w, None, static=True).refill(w)
    plan = product.plan(w, None, refill=True)
    with pytest.raises(sparsec.InvalidArgument, match="refill expects 1 matrices, but got 2"):
        plan.refill(w, w)
    with pytest.raises(sparsec.InvalidArgument, match="plan is for"):
        plan.refill(matrix(rows=86))
    with pytest.raises(sparsec.InvalidArgument, match="cannot be saved"):
        plan.draw(w)
    broken = sparsec.BSR(w.row_ptr.copy(), w.col_idx.copy(), w.values, w.shape)
    broken.col_idx[0] = 99
    with pytest.raises(sparsec.InvalidPattern):
        plan.refill(broken)
    with pytest.raises(sparsec.InvalidArgument, match="got both"):
        product.plan(w, None, static=True, pack=True, refill=True)
