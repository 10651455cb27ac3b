# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of fp8 from Python, against float64 products of the same elements."""

import itertools
import re

import numpy as np
import pytest

import sparsec
from sparsec import arrays, programs

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

DTYPES = {"f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2}
M, K, N = 100, 200, 9  # blocks at the edges are cut
BLOCK = (32, 48)


def compiled(program):
    return sparsec.compile(program, targets="host")[program.name]


def data(kind, *shape, seed=1):
    """Elements in f32: normal ones, positive ones, or pairs that nearly cancel along the last dimension."""
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    if kind == "positive":
        return values.abs()
    if kind == "cancelling":
        values[..., 1::2] = -values[..., 0::2] * 1.125
    return values


def matrix(dtype, kind="normal", shape=(M, K), block=BLOCK):
    """A BSR matrix with about half of its blocks, and a scale for each."""
    grid = [-(-size // side) for size, side in zip(shape, block, strict=True)]
    mask = torch.rand(grid, generator=torch.Generator().manual_seed(7)) < 0.5
    row_ptr = torch.nn.functional.pad(mask.sum(dim=1).cumsum(0), (1, 0)).to(torch.int32)
    col_idx = mask.nonzero()[:, 1].to(torch.int32)
    values = data(kind, len(col_idx), *block).to(DTYPES[dtype])
    scales = torch.rand(len(col_idx), generator=torch.Generator().manual_seed(8)) * 4 - 1
    return sparsec.BSR(row_ptr, col_idx, values, shape), scales


def to_dense(w, scales=None):
    """The matrix in float64, block by block."""
    values = w.values.double() if scales is None else w.values.double() * scales.double()[:, None, None]
    rows, columns = (-(-size // side) * side for size, side in zip(w.shape, w.block, strict=True))
    dense = torch.zeros(rows, columns, dtype=torch.float64)
    (r, c), starts = w.block, w.row_ptr.tolist()
    for i, (start, stop) in enumerate(itertools.pairwise(starts)):
        for b in range(start, stop):
            j = int(w.col_idx[b])
            dense[i * r : (i + 1) * r, j * c : (j + 1) * c] = values[b]
    return dense[: w.shape[0], : w.shape[1]]


def check(y, w, x, at_most=2.0**-16):
    """The error of a sum is at most a part of the sum of its magnitudes: w [M, K], x [K, N] in float64."""
    assert ((y.double() - w @ x).abs() <= at_most * (w.abs() @ x.abs())).all()


@pytest.mark.parametrize("kind", ["normal", "positive", "cancelling"])
@pytest.mark.parametrize("sums", [{}, {"scales": True}, {"accumulation": "fast"}], ids=["plain", "scales", "fast"])
@pytest.mark.parametrize(("w_dtype", "x_dtype"), list(itertools.product(DTYPES, DTYPES)))
def test_every_pair_of_types(w_dtype, x_dtype, sums, kind):
    w, scales = matrix(w_dtype, kind)
    x = data("positive" if kind == "positive" else "normal", N, K, seed=2).to(DTYPES[x_dtype])
    program = programs.spmm(
        BLOCK, w_dtype, x_dtype=x_dtype, x_layout="nk", y_layout="nm", result_dtype="f32", name="f8", **sums
    )
    operands = (scales, x) if "scales" in sums else (x,)
    y = compiled(program)(w, *operands)
    assert y.dtype == torch.float32
    check(y.T, to_dense(w, scales if "scales" in sums else None), x.double().T)


@pytest.mark.parametrize(("x_layout", "y_layout"), list(itertools.product(("kn", "nk"), ("mn", "nm"))))
def test_layouts_of_a_product_with_scales(x_layout, y_layout):
    w, scales = matrix("f8E4M3FN")
    x = data("normal", K, N, seed=2).to(torch.float8_e4m3fn)
    program = programs.spmm(BLOCK, "f8E4M3FN", scales=True, x_layout=x_layout, y_layout=y_layout, result_dtype="f16")
    y = compiled(program)(w, scales, x if x_layout == "kn" else x.T.contiguous())
    assert y.dtype == torch.float16
    check(y if y_layout == "mn" else y.T, to_dense(w, scales), x.double(), 2.0**-10)


def test_scales_of_the_transpose_are_in_the_order_of_the_stored_blocks():
    w, scales = matrix("f8E5M2")
    x = data("normal", N, M, seed=2).to(torch.float8_e5m2)
    program = programs.spmm(
        BLOCK, "f8E5M2", scales=True, transposed=True, x_layout="nk", y_layout="nm", result_dtype="f32"
    )
    check(compiled(program)(w, scales, x).T, to_dense(w, scales).T, x.double().T)


def test_scales_and_extras():
    """The scales stand behind w, the extras behind x; rows, columns and the tensor have scales in the epilogue."""
    w, scales = matrix("f8E4M3FN")
    x = data("normal", N, K, seed=2).to(torch.float8_e5m2)
    row, column, whole = data("positive", M, seed=3), data("positive", N, seed=4), torch.tensor(0.375)
    program = programs.spmm(
        BLOCK,
        "f8E4M3FN",
        x_dtype="f8E5M2",
        scales=True,
        x_layout="nk",
        y_layout="nm",
        result_dtype="f32",
        epilogue=lambda acc, row, column: acc * row * column * whole,
        extras={"row": programs.per_row(), "column": programs.per_column()},
    )
    y = compiled(program)(w, scales, x, row, column)
    scaled = to_dense(w, scales) * row.double()[:, None] * 0.375
    check(y.T, scaled, x.double().T * column.double())


def x_scales(n=N, k=K):
    """A scale for each token and 128 of K, and the same for each element of x [n, k] in float64."""
    scale = torch.rand(n, -(-k // 128), generator=torch.Generator().manual_seed(9)) * 4 - 1
    return scale, scale.double().repeat_interleave(128, dim=1)[:, :k]


@pytest.mark.parametrize("scales", [False, True])
@pytest.mark.parametrize("block", [(32, 16), (16, 64), (48, 128), (32, 256)])
def test_scales_of_x(block, scales):
    k = 300  # the last block and the last scale are cut
    w, of_blocks = matrix("f8E4M3FN", shape=(M, k), block=block)
    x = data("normal", N, k, seed=2).to(torch.float8_e5m2)
    x_scale, of_elements = x_scales(k=k)
    program = programs.spmm(
        block,
        "f8E4M3FN",
        x_dtype="f8E5M2",
        scales=scales,
        x_scale=True,
        x_layout="nk",
        y_layout="nm",
        result_dtype="f32",
    )
    kernel = compiled(program)
    operands = (w, of_blocks, x, x_scale) if scales else (w, x, x_scale)
    y, (expected, _) = kernel(*operands), kernel.reference(*operands)
    exact = to_dense(w, of_blocks if scales else None), (x.double() * of_elements).T
    check(y.T, *exact)
    check(torch.as_tensor(expected).T, *exact)


def test_scales_of_x_with_other_layouts_and_extras():
    w, _ = matrix("f8E5M2", block=(64, 32))
    x = data("normal", M, N, seed=2).to(torch.float8_e5m2)
    x_scale, of_elements = x_scales(k=M)
    program = programs.spmm(
        (64, 32),
        "f8E5M2",
        x_scale=True,
        transposed=True,
        result_dtype="f32",
        epilogue=lambda acc, row: acc + row,
        extras={"row": programs.per_row()},
    )
    row = data("normal", K, seed=3)
    y = compiled(program)(w, x, x_scale, row)
    check(y - row[:, None], to_dense(w).T, x.double() * of_elements.T, 2.0**-15)


def test_the_text_of_scales_of_x():
    text = programs.spmm(32, "f8E5M2", scales=True, x_scale=True, m=64, n=5, k=300, x_layout="nk").text()
    assert "%scales: tensor<?xf32>, %x: tensor<5x300xf8E5M2>, %x_scale: tensor<5x3xf32>" in text
    assert "sparsec.spmm %w scales(%scales), %x x_scale(%x_scale) " in text


def test_other_scales_of_x_are_refused():
    w, _ = matrix("f8E4M3FN", block=(32, 64))
    x = data("normal", N, K).to(torch.float8_e4m3fn)
    x_scale, _ = x_scales()
    kernel = compiled(programs.spmm((32, 64), "f8E4M3FN", x_scale=True, x_layout="nk"))
    with pytest.raises(sparsec.InvalidArgument, match="'x_scale': expects size 1 to be 2"):
        kernel(w, x, x_scale[:, :1].contiguous())
    with pytest.raises(sparsec.InvalidArgument, match="'x_scale': expects size 0 to be 9"):
        kernel(w, x, x_scale[:-1])
    with pytest.raises(sparsec.InvalidArgument, match="'x_scale': expects elements of type f32"):
        kernel(w, x, x_scale.half())
    with pytest.raises(sparsec.InvalidArgument, match="x_scale is True, but expects False with dtype bf16"):
        programs.spmm(32, "bf16", x_scale=True)
    with pytest.raises(sparsec.InvalidArgument, match="x_scale is True, but expects False with accumulation fast"):
        programs.spmm(32, "f8E5M2", x_scale=True, accumulation="fast")
    with pytest.raises(sparsec.InvalidArgument, match="blocks whose columns divide 128 or are a multiple of it.*48"):
        programs.spmm((32, 48), "f8E5M2", x_scale=True)


def test_the_default_result_is_bf16():
    w, _ = matrix("f8E4M3FN")
    x = data("normal", K, N, seed=2).to(torch.float8_e4m3fn)
    program = programs.spmm(BLOCK, "f8E4M3FN")
    assert "block = 32x48>, %x: tensor<?x?xf8E4M3FN>)" in program.text()
    kernel = compiled(program)
    y = kernel(w, x)
    assert y.dtype == torch.bfloat16
    check(y, to_dense(w), x.double(), 2.0**-8)
    expected, magnitude = kernel.reference(w, x)
    check(torch.as_tensor(expected), to_dense(w), x.double(), 2.0**-16)
    assert (torch.as_tensor(magnitude) >= 0).all()


def test_the_text_has_only_the_clauses_that_are_asked_for():
    text = programs.spmm(32, "f8E5M2").text()
    assert "scales" not in text
    assert "accumulation" not in text
    assert programs.spmm(32, "f8E5M2", accumulation="two_level", x_dtype="f8E5M2").text() == text
    assert "sparsec.spmm %w, %x x_layout(kn) y_layout(mn) accumulation(fast)" in programs.spmm(
        32, "f8E5M2", accumulation="fast"
    ).text().replace("\n", "")
    text = programs.spmm(32, "f8E5M2", x_dtype="f8E4M3FN", scales=True, m=64, n=5, k=96, x_layout="nk").text()
    assert re.search(r"%w: !sparsec.bsr<64x96xf8E5M2.*, %scales: tensor<\?xf32>, %x: tensor<5x96xf8E4M3FN>", text)
    assert "sparsec.spmm %w scales(%scales), %x " in text


def test_infinities_and_nan():
    w = sparsec.BSR(
        torch.tensor([0, 1], dtype=torch.int32),
        torch.tensor([0], dtype=torch.int32),
        torch.ones(1, 16, 16).to(torch.float8_e4m3fn),
        (16, 16),
    )
    x = torch.ones(3, 16)
    x[0, 3], x[1, 5] = float("inf"), float("nan")
    y = compiled(programs.spmm(16, "f8E4M3FN", x_dtype="f8E5M2", x_layout="nk", y_layout="nm"))(
        w, x.to(torch.float8_e5m2)
    )
    assert (y[0] == float("inf")).all()
    assert y[1].isnan().all()
    assert (y[2] == 16).all()


def test_another_number_of_scales_is_refused():
    w, scales = matrix("f8E4M3FN")
    x = data("normal", N, K).to(torch.float8_e4m3fn)
    kernel = compiled(programs.spmm(BLOCK, "f8E4M3FN", scales=True, x_layout="nk"))
    with pytest.raises(sparsec.InvalidArgument, match="scales"):
        kernel(w, scales[:-1], x)
    with pytest.raises(sparsec.InvalidArgument, match="scales"):
        kernel(w, scales.half(), x)


def test_views_of_tensors_by_pointer():
    """Tensors of torch without DLPack's C interface are read by their address."""
    w, scales = matrix("f8E4M3FN")
    x = data("normal", N, K).to(torch.float8_e5m2)
    program = programs.spmm(BLOCK, "f8E4M3FN", x_dtype="f8E5M2", scales=True, x_layout="nk", y_layout="nm")
    kernel = compiled(program)
    by_pointer = w.with_values(arrays.torch_view(w.values))
    out = torch.empty(N, M, dtype=torch.bfloat16)
    kernel(by_pointer, scales, arrays.torch_view(x), out=out)
    assert torch.equal(out, kernel(w, scales, x))


def test_arrays_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    w, scales = matrix("f8E4M3FN")
    x = data("normal", N, K, seed=2).to(torch.float8_e5m2)
    program = programs.spmm(
        BLOCK, "f8E4M3FN", x_dtype="f8E5M2", scales=True, x_layout="nk", y_layout="nm", result_dtype="f32"
    )
    values = w.values.float().numpy().astype(ml_dtypes.float8_e4m3fn)
    in_numpy = sparsec.BSR(w.row_ptr.numpy(), w.col_idx.numpy(), values, w.shape)
    y = compiled(program)(in_numpy, scales.numpy(), x.float().numpy().astype(ml_dtypes.float8_e5m2))
    assert isinstance(y, np.ndarray)
    check(torch.from_numpy(y).T, to_dense(w, scales), x.double().T)
