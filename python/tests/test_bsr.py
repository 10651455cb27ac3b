# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse matrices: from and to other forms, and what they refuse."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsec

ROW_PTR = np.array([0, 2, 2, 3], np.int32)
COL_IDX = np.array([0, 2, 1], np.int32)


def small(row_ptr=ROW_PTR, col_idx=COL_IDX, values=None, shape=(11, 8)):
    """A matrix of 3 x 3 blocks of 4 x 3, of which the last row and column are cut."""
    if values is None:
        values = np.arange(36, dtype=np.float32).reshape(3, 4, 3)
    return sparsec.BSR(row_ptr, col_idx, values, shape)


@st.composite
def matrices(draw):
    """A dense matrix, a block, and a mask of its blocks."""
    rows, columns = draw(st.integers(0, 20)), draw(st.integers(0, 20))
    block = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    grid = -(-rows // block[0]), -(-columns // block[1])
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    a = random.integers(-3, 4, (rows, columns)).astype(np.float32)
    return a, block, random.random(grid) < draw(st.floats(0, 1))


@given(matrices())
def test_from_dense_keeps_the_blocks_of_the_mask(case):
    a, block, mask = case
    matrix = sparsec.BSR.from_dense(a, block, mask)
    expected = a * np.repeat(np.repeat(mask, block[0], 0), block[1], 1)[: a.shape[0], : a.shape[1]]
    matrix.check()
    np.testing.assert_array_equal(matrix.to_dense(), expected)
    assert (matrix.shape, matrix.block, matrix.block_count) == (a.shape, block, mask.sum())
    assert matrix.density == (mask.mean() if mask.size else 0)


@given(matrices())
def test_from_dense_without_mask_stores_what_is_not_zero(case):
    a, block, mask = case
    matrix = sparsec.BSR.from_dense(sparsec.BSR.from_dense(a, block, mask).to_dense(), block)
    assert matrix.block_count == sum(block_values.any() for block_values in matrix.values)


def test_attributes_and_text():
    matrix = small()
    assert matrix.row_ptr is ROW_PTR
    assert matrix.col_idx is COL_IDX
    assert (matrix.block, matrix.block_grid, matrix.block_count, matrix.density) == ((4, 3), (3, 3), 3, 3 / 9)
    assert repr(matrix) == "<sparsec.BSR 11x8, block 4x3, 3 blocks, density 0.333>"


def test_to_dense_puts_blocks_in_place():
    values = np.arange(36, dtype=np.float32).reshape(3, 4, 3)
    expected = np.zeros((12, 9), np.float32)
    expected[0:4, 0:3], expected[0:4, 6:9], expected[8:12, 3:6] = values
    np.testing.assert_array_equal(small().to_dense(), expected[:11, :8])


@pytest.mark.parametrize(
    ("dtype", "expected"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f32", np.float32)]
)
def test_types(dtype, expected):
    a = np.random.default_rng(0).standard_normal((8, 9))
    for matrix in (sparsec.BSR.from_dense(a, (4, 3), dtype=dtype), small().astype(dtype)):
        assert matrix.values.dtype == expected
    np.testing.assert_array_equal(sparsec.BSR.from_dense(a, (4, 3), dtype=dtype).to_dense(), a.astype(expected))


def test_bf16_without_ml_dtypes_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    with pytest.raises(sparsec.InvalidArgument, match=r"NumPy has no bf16: install ml_dtypes"):
        small().astype("bf16")


def test_with_values_shares_the_pattern():
    values = np.ones((3, 4, 3), np.float16)
    other = small().with_values(values)
    assert other.row_ptr is ROW_PTR
    assert other.values is values
    with pytest.raises(sparsec.InvalidArgument, match=r"col_idx: expects shape \(2,\), but got \(3,\)"):
        small().with_values(values[:2])


@pytest.mark.parametrize(("change", "message"), [
    ({"row_ptr": ROW_PTR[:3]}, r"row_ptr: expects shape \(4,\), but got \(3,\)"),
    ({"col_idx": np.zeros(4, np.int32)}, r"col_idx: expects shape \(3,\), but got \(4,\)"),
    ({"col_idx": COL_IDX.astype(np.int64)}, "expects elements of i32, but got i64"),
    ({"col_idx": COL_IDX.astype(np.float32)}, "full indices: expects elements of i32, but got f32"),
    ({"col_idx": np.zeros(6, np.int32)[::2]}, "full indices: expects a contiguous array"),
    ({"values": np.zeros((3, 12), np.float32)}, "values: expects rank 3"),
    ({"values": np.zeros((3, 4, 6), np.float32)[:, :, ::2]}, "values: expects a contiguous array"),
    ({"values": np.zeros((3, 4, 3))}, "expects elements of f32, .*'d'"),
    ({"values": np.zeros((3, 0, 3), np.float32)}, "row_ptr"),
    ({"shape": (11, -1)}, "expects sizes of 0 to 2147418111"),
    ({"shape": (11,)}, "shape: expects rows and columns"),
])  # fmt: skip
def test_refuses_wrong_arrays(change, message):
    with pytest.raises(sparsec.InvalidArgument, match=message):
        small(**change)


@pytest.mark.parametrize("change", [
    {"row_ptr": np.array([1, 2, 2, 3], np.int32)},
    {"row_ptr": np.array([0, 2, 1, 3], np.int32)},
    {"row_ptr": np.array([0, 2, 2, 4], np.int32)},
    {"col_idx": np.array([0, 3, 1], np.int32)},
    {"col_idx": np.array([-1, 2, 1], np.int32)},
    {"col_idx": np.array([2, 2, 1], np.int32)},
])  # fmt: skip
def test_check_finds_wrong_lists(change):
    matrix = small(**change)
    for use in (matrix.check, matrix.to_dense, matrix.draw):
        with pytest.raises(sparsec.InvalidPattern):
            use()


@pytest.mark.parametrize(("arguments", "message"), [
    (([[1.0]], 2), "a: expects a NumPy array, but got list"),
    ((np.zeros(4),  2), "a: expects a matrix, but got rank 1"),
    ((np.zeros((4, 4)), 0), "block: expects one or two positive numbers, but got 0"),
    ((np.zeros((4, 4)), (2, 2, 2)), "block: expects one or two positive numbers"),
    ((np.zeros((4, 4)), 2, np.ones((2, 3), bool)), r"mask: expects bool \(2, 2\), but got bool \(2, 3\)"),
    ((np.zeros((4, 4)), 2, np.ones((2, 2))), r"mask: expects bool \(2, 2\), but got float64 \(2, 2\)"),
    ((np.zeros((4, 4)), 2, None, "f64"), "expects elements of f32, .*, but got f64"),
])  # fmt: skip
def test_from_dense_refuses(arguments, message):
    with pytest.raises(sparsec.InvalidArgument, match=message):
        sparsec.BSR.from_dense(*arguments)


# ---- SciPy -----------------------------------------------------------------------------------------------------------


def test_scipy_shares_memory():
    sparse = pytest.importorskip("scipy.sparse")
    there = small(shape=(12, 9)).to_scipy()
    np.testing.assert_array_equal(there.toarray(), small(shape=(12, 9)).to_dense())
    assert there.blocksize == (4, 3)
    back = sparsec.BSR.from_scipy(there)
    assert np.shares_memory(back.values, there.data)
    assert np.shares_memory(back.col_idx, there.indices)
    np.testing.assert_array_equal(back.to_dense(), there.toarray())
    rounded = sparsec.BSR.from_scipy(sparse.bsr_array(there, dtype=np.float64), "f16")
    np.testing.assert_array_equal(rounded.to_dense(), there.toarray().astype(np.float16))
    there.indices, there.indptr = there.indices.astype(np.int64), there.indptr.astype(np.int64)
    np.testing.assert_array_equal(sparsec.BSR.from_scipy(there).to_dense(), there.toarray())


def test_scipy_refusals():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(sparsec.InvalidArgument, match="expects a scipy.sparse BSR matrix, but got csr_array"):
        sparsec.BSR.from_scipy(sparse.csr_array(np.eye(4)))
    with pytest.raises(sparsec.InvalidArgument, match=r"shapes of SciPy are multiples of the block, but \(11, 8\)"):
        small().to_scipy()
    with pytest.raises(sparsec.InvalidArgument, match="SciPy has no matrices of float16"):
        small(shape=(12, 9)).astype("f16").to_scipy()
    twice = sparse.bsr_array((np.ones((2, 2, 2), np.float32), [1, 1], [0, 2]), shape=(2, 4))
    with pytest.raises(sparsec.InvalidPattern):
        sparsec.BSR.from_scipy(twice)
    twice.indices = np.array([1, 2**31], np.int64)
    with pytest.raises(sparsec.InvalidArgument, match="expects indices that fit in 32 bits"):
        sparsec.BSR.from_scipy(twice)


# ---- torch -----------------------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse BSR tensor support is in beta")
@pytest.mark.parametrize("index_type", ["int32", "int64"])
def test_torch_shares_memory(index_type):
    torch = pytest.importorskip("torch")
    indices = [torch.from_numpy(array).to(getattr(torch, index_type)) for array in (ROW_PTR, COL_IDX)]
    values = torch.arange(36, dtype=torch.bfloat16).reshape(3, 4, 3)
    there = torch.sparse_bsr_tensor(*indices, values, size=(12, 9), check_invariants=True)
    matrix = sparsec.BSR.from_torch(there)
    assert matrix.values.data_ptr() == there.values().data_ptr()
    assert (matrix.col_idx.data_ptr() == there.col_indices().data_ptr()) == (index_type == "int32")
    np.testing.assert_array_equal(matrix.to_dense().astype(np.float32), there.to_dense().float().numpy())
    back = matrix.to_torch()
    assert back.values().data_ptr() == values.data_ptr()
    assert torch.equal(back.to_dense(), there.to_dense())
    assert matrix.astype("f16").values.dtype == torch.float16


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse BSR tensor support is in beta")
def test_numpy_becomes_torch():
    torch = pytest.importorskip("torch")
    for dtype in ("f32", "bf16"):
        matrix = small(shape=(12, 9)).astype(dtype)
        there = matrix.to_torch()
        assert there.values().data_ptr() == matrix.values.ctypes.data
        assert torch.equal(there.to_dense().float(), torch.from_numpy(small(shape=(12, 9)).to_dense()))


@pytest.mark.torch
def test_as_torch():
    torch = pytest.importorskip("torch")
    for dtype in ("f32", "bf16"):
        there = small().astype(dtype).as_torch()
        assert all(isinstance(array, torch.Tensor) for array in (there.row_ptr, there.col_idx, there.values))
        assert there.row_ptr.data_ptr() == ROW_PTR.ctypes.data
        assert there.as_torch().values is there.values
        assert there.as_torch("cpu").values.device.type == "cpu"
        np.testing.assert_array_equal(there.to_dense().astype(np.float32), small().to_dense())
    with pytest.raises(sparsec.InvalidArgument, match="^the array gives no memory: .* meta$"):
        small().as_torch("meta")


@pytest.mark.torch
def test_torch_refusals():
    torch = pytest.importorskip("torch")
    with pytest.raises(sparsec.InvalidArgument, match="expects a torch.sparse_bsr tensor, but got torch.strided"):
        sparsec.BSR.from_torch(torch.eye(4))
    with pytest.raises(sparsec.InvalidArgument, match="expects a torch.sparse_bsr tensor, but got ndarray"):
        sparsec.BSR.from_torch(np.eye(4))
    with pytest.raises(sparsec.InvalidArgument, match="shapes of torch are multiples of the block"):
        small().to_torch()
    batch = torch.eye(4).expand(2, 4, 4).to_sparse_bsr((2, 2))
    with pytest.raises(sparsec.InvalidArgument, match="expects a matrix without batch and dense dimensions"):
        sparsec.BSR.from_torch(batch)


# ---- Pictures --------------------------------------------------------------------------------------------------------


def test_views_of_pointers_are_not_read():
    w = small()
    views = [
        sparsec.from_pointer(each.ctypes.data, each.shape, dtype, device=sparsec.HOST)
        for each, dtype in ((w.row_ptr, "i32"), (w.col_idx, "i32"), (w.values, "f32"))
    ]
    for method in ("check", "to_dense", "draw"):
        with pytest.raises(sparsec.InvalidArgument, match="expects arrays that NumPy reads, but got a view of from_p"):
            getattr(sparsec.BSR(*views, w.shape), method)()


def test_draw_shows_the_stored_blocks():
    picture = small().draw()
    np.testing.assert_array_equal(
        picture.cells != 0, [[True, False, True], [False, False, False], [False, True, False]]
    )
    assert "11 x 8 in blocks of 4 x 3" in str(picture)
    assert small()._repr_svg_().startswith("<svg")
    assert small().draw(rows=2, columns=2).cells.shape == (2, 2)
