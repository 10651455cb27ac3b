# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls on torch tensors that repeat earlier ones: the launcher of the first one runs with other memory."""

import functools
import gc
import threading
import types
import weakref

import numpy as np
import pytest

import sparsec
from sparsec import _native, arrays, patterns, repeat

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

M, K = 70, 52  # which cut blocks of 16


@pytest.fixture(scope="module")
def scaled():
    """y = alpha * (w x) + beta, with alpha by value and beta captured."""
    beta = torch.tensor(0.5)
    program = sparsec.spmm(
        16, "f16", x_layout="nk", y_layout="nm", result_dtype="f32",
        epilogue=lambda acc, alpha: alpha * acc + beta, extras={"alpha": sparsec.scalar()}, name="scaled",
    )  # fmt: skip
    return sparsec.compile(program, "host")["scaled"], beta


@pytest.fixture
def repeated(monkeypatch):
    """Counts the calls that were launched and those that were repeated."""
    counts = types.SimpleNamespace(launched=0, repeated=0)
    call, prepare = sparsec.Kernel.__call__, sparsec.Kernel._prepare

    def counted(self, *inputs, **options):
        before = counts.launched
        value = call(self, *inputs, **options)
        counts.repeated += counts.launched == before
        return value

    def prepared(self, *arguments, **options):
        counts.launched += 1
        return prepare(self, *arguments, **options)

    monkeypatch.setattr(sparsec.Kernel, "__call__", counted)
    monkeypatch.setattr(sparsec.Kernel, "_prepare", prepared)
    return counts


def matrix(seed=0, dtype="f16"):
    a = np.random.default_rng(seed).standard_normal((M, K))
    return sparsec.BSR.from_dense(a, 16, sparsec.prune.random((M, K), 16, 0.5, seed), dtype).as_torch()


def tensor(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).half()


def assert_scaled(y, w, x, alpha, beta):
    """Up to f32 sums."""
    dense = torch.from_numpy(w.to_dense().astype(np.float64))
    exact = alpha * (x.double() @ dense.T) + beta
    assert y.dtype == torch.float32
    assert y.shape == exact.shape
    assert ((y - exact).abs() <= 1e-6 * (abs(alpha) * (x.double().abs() @ dense.T.abs()) + abs(beta))).all()


def test_other_memory_and_scalars(scaled, repeated):
    kernel, beta = scaled
    w = matrix()
    for seed in range(5):
        x = tensor(10, K, seed=seed)
        alpha = seed - 1.5 if seed < 3 else seed
        beta.fill_(seed)
        w.values.mul_(-1)
        assert_scaled(kernel(w, x, alpha), w, x, alpha, seed)
    assert (repeated.launched, repeated.repeated) == (1, 4)


def test_results_are_new(scaled):
    kernel, beta = scaled
    w, x, other = matrix(), tensor(10, K), tensor(10, K, seed=2)
    results = [kernel(w, each, 1.0) for each in (x, x, other)]
    for each, y in zip((x, x, other), results, strict=True):
        assert_scaled(y, w, each, 1.0, float(beta))


def test_forms_have_launchers_of_their_own(scaled, repeated):
    """Widths, strides and alignments."""
    kernel, beta = scaled
    w, wide = matrix(), tensor(40, 3 * K)
    forms = [tensor(10, K), tensor(11, K), tensor(0, K), wide[:10, :K], wide[:10, 3 : K + 3], wide[::2][:10, :K]]
    same = wide[:10, 8 : K + 8]  # 16 bytes on
    for _ in range(3):
        for x in (*forms, same):
            assert_scaled(kernel(w, x, 2.0), w, x, 2.0, float(beta))
    assert (repeated.launched, repeated.repeated) == (6, 15)


def test_the_oldest_forms_go_first(scaled, repeated):
    kernel, beta = scaled
    w = matrix()
    for width in [*range(1, 18), 17, 2, 1]:
        x = tensor(width, K)
        assert_scaled(kernel(w, x, 1.0), w, x, 1.0, float(beta))
    assert (repeated.launched, repeated.repeated) == (18, 2)


def test_what_does_not_fit_is_refused_after_a_call(scaled):
    kernel, beta = scaled
    w, x = matrix(), tensor(10, K)
    kernel(w, x, 1.0)
    for values, message in (
        ((w, x.float(), 1.0), "argument 1 'x'"),
        ((w, x[:, :-1], 1.0), "argument 1 'x'"),
        ((w, x.T, 1.0), "argument 1 'x'"),
        ((w, x.to_sparse(), 1.0), "argument 1 'x': expects a strided tensor, but got torch.sparse_coo"),
        ((w, x[None], 1.0), "argument 1 'x': expects rank 2, but got 3"),
        ((w, x, "one"), "argument 2 'alpha': expects a number"),
        ((w, x), "takes 3 inputs"),
        ((), "takes 3 inputs"),
        ((w.values, x, 1.0), "argument 0 'w': expects a sparsec.BSR"),
        ((w, x.clone().requires_grad_(), 1.0), "argument 1 'x': the tensor requires a gradient"),
        ((w.with_values(w.values.clone().requires_grad_()), x, 1.0), "argument 0 'w': the tensor requires a gradient"),
    ):
        with pytest.raises(sparsec.InvalidArgument, match=message):
            kernel(*values)
    with torch.no_grad():
        for _ in range(2):
            y = kernel(w.with_values(w.values.clone().requires_grad_()), x.clone().requires_grad_(), 1.0)
            assert_scaled(y, w, x, 1.0, float(beta))


def test_options_are_not_repeated(scaled, repeated):
    kernel, beta = scaled
    w, x, out = matrix(), tensor(10, K), torch.empty(10, M)
    for options in (
        {"out": out},
        {"plan": False},
        {"plan": kernel.plan(w, None, None)},
        {"check": True},
        {"stream": 0},
    ):
        for _ in range(2):
            assert_scaled(kernel(w, x, 1.0, **options), w, x, 1.0, float(beta))
    assert (repeated.launched, repeated.repeated) == (10, 0)


def test_other_libraries_are_not_repeated(scaled, repeated):
    kernel, _ = scaled
    w, x = matrix(), tensor(10, K)
    for _ in range(2):
        assert isinstance(kernel(w, x.numpy(), 1.0), np.ndarray)
    assert (repeated.launched, repeated.repeated) == (2, 0)


def test_each_matrix_is_repeated_as_long_as_it_lives(scaled):
    kernel, beta = scaled
    gc.collect()
    before = len(kernel._repeaters)
    matrices = [matrix(seed) for seed in range(3)]
    x = tensor(10, K)
    for w in matrices * 2:
        assert_scaled(kernel(w, x, 1.0), w, x, 1.0, float(beta))
    assert len(kernel._repeaters) == before + 3
    values = weakref.ref(matrices[0].values)
    del matrices, w
    gc.collect()
    assert values() is None
    assert len(kernel._repeaters) == before


def test_attention_reads_the_lists_of_its_time(repeated):
    program = sparsec.attention(64, dtype="f16", pattern=True, block=64, lse=True)
    kernel = sparsec.compile(program, "host")["attention"]
    lists = patterns.causal().lists(256, block=64, device="cpu")
    q, k, v = (tensor(1, 2, 256, 64, seed=seed) for seed in range(3))
    visible = torch.ones(256, 256, dtype=torch.bool)
    for block in range(4):
        visible[64 * block : 64 * (block + 1), 64 * (block + 1) :] = False
    for count in (4, 4, 1):
        lists.full_starts[..., -1] = count - 1  # of the last block row, beside the partial block
        visible[192:, :192] = torch.arange(192) < 64 * (count - 1)
        scores = (q.double() @ k.double().mT / 8).masked_fill(~visible, -torch.inf)
        o, lse = kernel(q, k, v, lists)
        assert (o - scores.softmax(-1) @ v.double()).abs().max() < 2e-3
        assert (lse - scores.logsumexp(-1)).abs().max() < 1e-5
    assert (repeated.launched, repeated.repeated) == (1, 2)


def test_kernels_without_blocks(repeated):
    kernel = sparsec.compile(sparsec.attention(64, dtype="f16"), "host")["attention"]
    for seed in range(3):
        q, k, v = (tensor(1, 1, 40, 64, seed=3 * seed + each) for each in range(3))
        exact = (q.double() @ k.double().mT / 8).softmax(-1) @ v.double()
        assert (kernel(q, k, v) - exact).abs().max() < 2e-3
    assert (repeated.launched, repeated.repeated) == (1, 2)


def test_sampled_products(repeated):
    kernel = sparsec.compile(sparsec.sddmm(16, "f16", result_dtype="f32"), "host")["sddmm"]
    p = matrix()
    for width in (24, 24, 40, 40):
        a, b = tensor(M, width, seed=width), tensor(K, width, seed=2)
        s = p.with_values(kernel(p, a, b)).to_dense()
        stored = torch.from_numpy(p.to_dense() != 0)
        assert (torch.from_numpy(s) - a.double() @ b.double().T)[stored].abs().max() < 1e-4
    assert (repeated.launched, repeated.repeated) == (2, 2)


def test_threads(scaled):
    """Threads that meet at one launcher launch without it. Nothing is kept of 10^5 calls."""
    kernel, _ = scaled
    w, failures = matrix(), []
    inputs = [tensor(3, K, seed=seed) for seed in range(8)]
    expected = [kernel(w, x, 1.0) for x in inputs]
    references = [weakref.ref(x) for x in inputs]
    gc.collect()
    objects = len(gc.get_objects())

    def work(x, y):
        if not all(torch.equal(kernel(w, x, 1.0), y) for _ in range(12500)):
            failures.append(x)

    threads = [threading.Thread(target=work, args=each) for each in zip(inputs, expected, strict=True)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures
    del threads, each
    gc.collect()
    assert abs(len(gc.get_objects()) - objects) < 100
    del inputs
    gc.collect()
    assert [each() for each in references] == [None] * 8


def test_log_explains_repeated_calls_too(scaled, monkeypatch, capsys):
    kernel, _ = scaled
    w, x = matrix(), tensor(10, K)
    kernel(w, x, 1.0)
    monkeypatch.setenv("SPARSEC_LOG", "1")
    for _ in range(2):
        kernel(w, x, 1.0)
    assert capsys.readouterr().err.count("scaled on host: variant 0") == 2


def test_plans_are_not_made_while_a_graph_is_captured(scaled, monkeypatch):
    kernel, _ = scaled
    w, x = matrix(), tensor(10, K)
    monkeypatch.setattr(arrays, "is_capturing", lambda device: True)
    with pytest.raises(sparsec.InvalidArgument, match="plan: scaled has none for this call. A CUDA graph cannot"):
        kernel(w, x, 1.0)
    assert not arrays.is_torch(kernel(w, x.numpy(), 1.0, plan=False))


# ---- The extension ---------------------------------------------------------------------------------------------------


def test_leading_dimensions_fold(scaled):
    """Those of an operator become one where their strides allow it."""
    program = sparsec.spmm(16, "f16", x_layout="nk", y_layout="nm", result_dtype="f32")
    kernel = sparsec.compile(program, "host")["spmm"]
    native, _ = kernel.file.native_kernel("spmm", sparsec.HOST)
    w, wide = matrix(), tensor(6, 5, 2 * K)
    x = {
        (6, 5): wide[..., :K].contiguous(), (2, 3, 5): wide[..., :K].unflatten(0, (2, 3)), (): wide[0, 0, :K],
        (1, 5, 1): wide[:1, :, None, :K], (30,): wide[..., :K].flatten(0, 1), (3,): wide[::2, 0, :K],
    }  # fmt: skip
    for leading, each in x.items():
        repeater = repeat.Repeater(kernel.info, w.native(False), is_operator=True)
        repeater.add(native, None, None, (w.values, each), (torch.empty(*leading, M),))
        y = repeater.call(w.values, each)
        assert_scaled(y, w, each, 1.0, 0.0)
        assert repeater.call(-w.values, each).equal(-y)
        assert repeater.call(w.values[:-1], each) is None
        assert repeater.call(w.values.float(), each) is None
        assert repeater.call(w.values.mT, each) is None
    repeater = repeat.Repeater(kernel.info, w.native(False), is_operator=True)
    for each in (wide[::2, ::2, :K], wide[..., :K].transpose(0, 1), torch.tensor(1.0).half()):
        repeater.add(native, None, None, (w.values, each), (torch.empty(*each.shape[:-1], M),))
        assert repeater.call(w.values, each) is None


@pytest.mark.parametrize("arguments", [
    ((2,) * 25, 1, -1, None), ((2, 2), 3, -1, None), ((2, 2), -1, -1, None), ((2, 2), 1, 1, None),
    ((2, 2), 1, 0, None),
])  # fmt: skip
def test_callers_refuse_wrong_places(arguments):
    with pytest.raises(sparsec.InvalidArgument, match="expects at most 24 arguments, and blocks among the inputs"):
        _native.Caller(*arguments)


def test_callers_take_all_of_an_operator():
    reference, (observers, types) = weakref.ref(tensor), ((), ())
    for options in (
        {"observers": observers},
        {"types": types},
        {"lists": (reference,)},
        {"lists": (tensor,), "observers": observers, "types": types},
        {"versions": (1,), "observers": observers, "types": types},
        {"lists": (reference,), "versions": (1, 2), "observers": observers, "types": types},
    ):
        with pytest.raises(sparsec.InvalidArgument, match="expects observers and types together, and weak references"):
            _native.Caller((2, 2), 1, -1, None, **options)


def test_makers_must_make_tensors(scaled):
    kernel, _ = scaled
    native, _ = kernel.file.native_kernel("scaled", sparsec.HOST)
    caller = _native.Caller((2, 2, -1, 0, 2), 1, 0, matrix().native(False))
    inputs = (None, tensor(10, K), 1.0, torch.tensor(0.5))
    for maker in (torch.empty, (3,)), (torch.empty, (10, M), {"device": "meta"}):
        way = functools.partial(maker[0], **maker[2]) if len(maker) == 3 else maker[0]
        with pytest.raises(sparsec.InvalidArgument, match="expects makers of results to make tensors"):
            caller.add(native, None, None, (((way, maker[1]),),), inputs)
    with pytest.raises(sparsec.InvalidArgument, match="argument 4 'y'"):
        caller.add(native, None, None, (((torch.empty, (3, 3)),),), inputs)
    with pytest.raises(ZeroDivisionError):
        caller.add(native, None, None, (((divmod, (1, 0)),),), inputs)
    way = torch.empty, (10, M)
    wrong = (torch.empty,), (torch.empty, 3)
    for makers in ((), (way,), ((),), wrong[:1], *(((each,),) for each in wrong), ((way,), (way,))):
        with pytest.raises(sparsec.InvalidArgument, match="makers of results to be functions with their arguments"):
            caller.add(native, None, None, makers, inputs)
    with pytest.raises(sparsec.InvalidArgument, match="expects a plan"):
        caller.add(native, 3, None, ((way,),), inputs)


def test_a_result_on_another_device_is_made_in_another_way(scaled):
    kernel, beta = scaled
    native, _ = kernel.file.native_kernel("scaled", sparsec.HOST)
    w, x, made = matrix(), tensor(10, K), []
    caller = _native.Caller((2, 2, -1, 0, 2), 1, 0, w.native(False))

    def make(*shape, device):
        made.append(device)
        return types.SimpleNamespace() if device == "another" else torch.empty(shape)

    ways = tuple((functools.partial(make, device=device), (10, M)) for device in ("another", "cpu"))
    assert caller.add(native, None, None, (ways,), (None, x, 2.0, beta))
    assert_scaled(caller.call(None, x, 2.0, beta), w, x, 2.0, float(beta))
    assert made == ["another", "cpu"] * 2


def test_results_are_made_as_by_torch_compile():
    """With a way for other devices than the current one behind."""
    y = torch.empty(3, 5).half()
    (fast, arguments), (slow, form) = arrays.makers(y)
    assert fast is torch._C._dynamo.guards._empty_strided_cpu
    for made in (fast(*arguments), slow(*form)):
        assert (made.shape, made.stride(), made.dtype) == (y.shape, y.stride(), y.dtype)
    assert arrays.makers(y.numpy()) is None


def test_callers_refuse():
    with pytest.raises(sparsec.InvalidArgument, match="expects the place of one of 2 inputs, but got 2"):
        _native.Callers((None, None), 2)
    callers = _native.Callers((None,), 0)
    with pytest.raises(sparsec.InvalidArgument, match="expects a weak reference"):
        callers.keep(3, None, _native.Caller((2, 2), 1, -1, None))
    with pytest.raises(TypeError):
        callers.keep(3, None, None)
    callers.forget(3)
    assert callers.call(tensor(1)) is callers.call() is None
    assert _native.Callers((None,) * 25, -1).call(*[3] * 25) is None


# ---- Views -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2, torch.int64, torch.int32, torch.int8, torch.bool],
)
def test_views_without_dlpack(dtype):
    """torch before 2.10 has no C interface."""
    t = torch.zeros(6, 8).to(dtype)[1:4, 2:]
    view, expected = arrays.torch_view(t), _native.Dense(t)
    for name in ("dtype", "device", "pointer", "read_only", "shape", "strides"):
        assert getattr(view, name) == getattr(expected, name)
    reference = weakref.ref(t)
    del t, expected
    gc.collect()
    assert reference() is not None
    del view
    gc.collect()
    assert reference() is None


def test_views_without_dlpack_refuse():
    with pytest.raises(sparsec.InvalidArgument, match="but got int16"):
        arrays.torch_view(torch.zeros(3, dtype=torch.int16))


def test_types_without_the_interface_are_viewed_by_attributes(monkeypatch):
    views = []
    monkeypatch.setattr(arrays, "torch_view", lambda t: views.append(t) or _native.Dense(t))
    monkeypatch.delattr(torch.Tensor, "__dlpack_c_exchange_api__")
    t = torch.zeros(3)
    arrays.dense(t)
    assert views == [t]


def test_calls_with_a_workspace_are_not_repeated_in_a_capture(scaled, repeated, monkeypatch):
    kernel, beta = scaled
    w, x = matrix(), tensor(3, K)
    kernel(w, x, 2.0)
    kernel(w, x, 2.0)
    assert (repeated.launched, repeated.repeated) == (1, 1)
    capturing = []
    monkeypatch.setattr(arrays, "is_capturing", lambda device: bool(capturing))
    capturing.append(True)
    kernel(w, x, 2.0)
    assert (repeated.launched, repeated.repeated) == (1, 2), "without a workspace"
    x = tensor(4, K)
    native, _ = kernel.file.native_kernel("scaled", sparsec.HOST)
    workspace = sparsec.devices.device(sparsec.HOST).allocate(16)
    (repeater,) = kernel._repeaters.values()
    repeater.add(native, None, workspace, (w, x, 2.0, beta), [torch.empty(4, M)])
    assert_scaled(kernel(w, x, 2.0), w, x, 2.0, float(beta))
    assert (repeated.launched, repeated.repeated) == (2, 2)
    capturing.clear()
    assert_scaled(kernel(w, x, 2.0), w, x, 2.0, float(beta))
    assert (repeated.launched, repeated.repeated) == (2, 3)
