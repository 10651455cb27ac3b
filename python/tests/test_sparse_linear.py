# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of block-sparse layers, layers as modules, and their operators under torch.compile."""

import copy
import gc
import io
import math
import sys
import threading

import numpy as np
import pytest

import sparsec
from sparsec import tracing

torch = pytest.importorskip("torch")
layers = pytest.importorskip("sparsec.torch")
linear_module = pytest.importorskip("sparsec.torch.linear")
operators = pytest.importorskip("sparsec.torch.operators")
dynamo = pytest.importorskip("torch._dynamo.testing")
fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")
proxy_tensor = pytest.importorskip("torch.fx.experimental.proxy_tensor")
python_dispatch = pytest.importorskip("torch.utils._python_dispatch")
pytestmark = [
    pytest.mark.torch,
    # torch.compile makes one for its own use.
    pytest.mark.filterwarnings("ignore:.*Function'> should not be instantiated:DeprecationWarning"),
    # torch's forward mode does this.
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning"),
]

M, K = 40, 72  # which cut blocks of 16
UNIT = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
EXACT = {"gelu": torch.nn.functional.gelu, "relu": torch.relu, "silu": torch.nn.functional.silu}


@pytest.fixture
def plans(monkeypatch):
    """The flag `static` of all plans that are made."""
    made = []
    make = sparsec.Kernel.plan
    monkeypatch.setattr(
        sparsec.Kernel, "plan", lambda *inputs, **options: made.append(options["static"]) or make(*inputs, **options)
    )
    return made


def tensor(*shape, dtype=torch.float16, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def quarters(*shape, seed=0, limit=4):
    """Multiples of 1/4, so that sums of a few dozen products are exact in f16."""
    values = torch.randint(-limit, limit + 1, shape, generator=torch.Generator().manual_seed(seed))
    return values.half() / 4


def layer(dtype=torch.float16, density=0.5, **options):
    torch.manual_seed(0)
    return layers.SparseLinear(K, M, 16, density=density, dtype=dtype, **options)


def exact_of(module, x, activation=None, residual=None):
    """The result in double, with gradients for a dense weight."""
    weight = module.to_dense().double().requires_grad_()
    bias = None if module.bias is None else module.bias.detach().double().requires_grad_()
    y = torch.nn.functional.linear(x.double(), weight, bias)
    y = EXACT[activation](y) if activation else y
    return weight, bias, y if residual is None else y + residual


def stored(module, dense):
    """The blocks of a dense matrix that a layer stores."""
    r, c = module.block
    rows, columns = module.matrix.block_grid
    padded = torch.zeros(rows * r, columns * c, dtype=dense.dtype)
    padded[:M, :K] = dense
    blocks = padded.unflatten(1, (columns, c)).unflatten(0, (rows, r)).transpose(1, 2)
    return blocks[module._block_rows(), module.col_idx.long()]


# ---- Gradients -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("activation", [None, *EXACT])
@pytest.mark.parametrize("leading", [(5,), (), (2, 3), (2, 0)])
def test_gradients(dtype, activation, leading):
    """Of x, values, bias and residual, against torch in double. Without an activation one kernel does all."""
    module = layer(dtype, activation=activation)
    x, gradient = tensor(*leading, K, dtype=dtype).requires_grad_(), tensor(*leading, M, dtype=dtype, seed=2)
    residual = tensor(*leading, M, dtype=torch.float32, seed=3).requires_grad_()
    exact_x = x.detach().double().requires_grad_()
    weight, bias, exact = exact_of(module, exact_x, activation, residual.detach().double().requires_grad_())
    y = module(x, residual)
    assert (y.dtype, y.shape) == (dtype, exact.shape)
    y.backward(gradient)
    exact.backward(gradient.double())
    # Rounded: s, the slope at it (below 1.2), and the sum, whose terms are products of N(0, 1).
    unit = UNIT[dtype] * (1 if activation is None else 6)
    tokens = math.prod(leading)
    assert ((y.double() - exact).abs() <= unit * (exact.abs() + 1)).all()
    assert module.values.grad.dtype == dtype
    of_values = stored(module, weight.grad)
    assert ((module.values.grad - of_values).abs() <= unit * (of_values.abs() + 3 * tokens**0.5 + 1)).all()
    assert ((module.bias.grad - bias.grad).abs() <= unit * (bias.grad.abs() + 3 * tokens**0.5 + 1)).all()
    assert torch.equal(residual.grad, gradient.float())
    # Sums over M of weights below 0.4 and products of N(0, 1).
    assert (x.grad.dtype, x.grad.shape) == (dtype, x.shape)
    assert ((x.grad.double() - exact_x.grad).abs() <= unit * (exact_x.grad.abs() + M**0.5)).all()


def test_gradients_beyond_the_matrix_are_zero_or_unused():
    """Blocks at the edges have elements beyond it, which no result depends on."""
    module = layer(density=1.0)
    x = tensor(5, K)
    before = module(x).detach()
    padding = module.values.detach()[-1, M % 16 :, K % 16 :]
    padding.fill_(100.0)
    assert torch.equal(module(x).detach(), before)
    module(x).sum().backward()
    assert (module.values.grad[-1, M % 16 :] == 0).all()
    assert (module.values.grad[-1, :, K % 16 :] == 0).all()


@pytest.mark.filterwarnings("ignore:Input #. requires gradient and is not a double precision")
def test_gradcheck():
    """Products of multiples of 1/4 are exact, and so are their differences. Results must be the same in every run."""
    module = layers.SparseLinear(32, 32, 16, mask=[[True, False], [True, True]], dtype=torch.float16)
    x, residual, bias = quarters(3, 32), quarters(3, 32, seed=1), quarters(32, seed=2)
    values = quarters(3, 16, 16, seed=3)

    def function(x, values, bias, residual):
        w = sparsec.BSR(module.row_ptr, module.col_idx, values, (32, 32))
        return layers.linear(x, w, bias, residual=residual)

    inputs = [each.requires_grad_() for each in (x, values, bias, residual)]
    assert torch.autograd.gradcheck(function, inputs, eps=0.5, atol=1e-6, rtol=0, nondet_tol=0, fast_mode=False)


def test_expanded_and_transposed_gradients():
    module = layer()
    x = tensor(6, K)
    for gradient in (torch.ones(()).half().expand(6, M), tensor(M, 6).T):
        module.zero_grad()
        module(x).backward(gradient)
        weight, bias, exact = exact_of(module, x)
        exact.backward(gradient.double())
        assert (module.values.grad - stored(module, weight.grad)).abs().max() < 0.05
        assert (module.bias.grad - bias.grad).abs().max() < 0.05


def test_only_gradients_that_are_needed():
    module = layer()
    module.values.requires_grad_(False)
    module(tensor(5, K)).sum().backward()
    assert module.values.grad is None
    assert (module.bias.grad == 5).all()
    module.requires_grad_(False)
    assert not module(tensor(5, K)).requires_grad


def test_missing_gradients_are_refused_by_name():
    module, x = layer(), tensor(5, K)
    module.activation = lambda s: tracing.maximum(s, 0.5 * s)
    y = module(x)
    exact = exact_of(module, x)[2]
    assert (y - torch.maximum(exact, 0.5 * exact)).abs().max() < 5e-3
    with pytest.raises(NotImplementedError, match="through an activation that is a function: gelu, relu, silu have"):
        y.sum().backward()


def test_second_gradients_are_refused():
    module = layer()
    (gradient,) = torch.autograd.grad(module(tensor(5, K)).square().sum(), module.values, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


# ---- Operators -------------------------------------------------------------------------------------------------------


def test_plans_are_made_once(plans):
    """One for all widths of the product, one for each number of tokens of the gradient, none for other values."""
    module = layer()
    for tokens in (5, 6, 5, 6):
        module(tensor(tokens, K)).sum().backward()
        with torch.no_grad():
            module.values.add_(1)
    assert plans == [True, False, False]


def test_changed_lists_make_another_plan(plans):
    module, x = layer(), tensor(5, K)
    module(x)
    other = layer(density=0.5)
    other.set_pattern(np.roll(np.eye(3, 5, dtype=bool), 1, axis=1) | np.eye(3, 5, dtype=bool))
    module.set_pattern(torch.from_numpy(np.eye(3, 5, dtype=bool) | np.eye(3, 5, k=2, dtype=bool)))
    module(x)
    module.load_state_dict(other.state_dict())
    assert torch.equal(module(x), other(x))
    assert (module(x) - exact_of(module, x)[2]).abs().max() < 5e-3
    assert plans == [True] * 4


def test_lists_that_are_not_static_keep_their_plan(plans):
    module, x = layer(), tensor(5, K)
    w = module.matrix
    for _ in range(2):
        for static in (False, True):
            y = layers.linear(x, w, static=static)
            assert (y - exact_of(module, x)[2] + module.bias).abs().max() < 5e-3
        w.col_idx.copy_(4 - w.col_idx)
    assert plans == [False, True, True]


def test_inference_mode(plans):
    with torch.inference_mode():
        module = layer()
        for _ in range(2):
            x = tensor(5, K)
            assert (module(x) - exact_of(module, x)[2]).abs().max() < 5e-3
    assert plans == [True]


def test_patterns_are_forgotten():
    gc.collect()
    kept = [*operators._patterns.values(), operators._around]
    before = list(map(len, kept))
    module = layer()
    module(tensor(5, K)).sum().backward()
    with torch.no_grad():
        module(tensor(5, K))
    assert [len(each) - count for each, count in zip(kept, before, strict=True)] == [1, 1, 0, 1]
    del module
    gc.collect()
    assert list(map(len, kept)) == before


def test_operators_take_texts_of_one_line():
    """torch.compile of PyTorch 2.11 writes them into comments of its code."""
    block, dtype = (16, 16), torch.float16
    texts = [
        linear_module._text(block, dtype, dtype, None, "gelu"),
        linear_module._traced(block, dtype, dtype, None, lambda y: y * 2)[0],
        linear_module._values_gradient_text(block, dtype),
        linear_module._x_gradient_text(block, dtype),
    ]
    assert not any("\n" in text for text in texts)


def test_opcheck():
    module, x, gradient = layer(), tensor(2, 3, K), tensor(2, 3, M)
    lists = module.row_ptr, module.col_idx, module.values.detach()
    text = linear_module._text(module.block, x.dtype, x.dtype, None, "gelu")
    torch.library.opcheck(operators.product, (*lists, x, [module.bias.detach()], M, True, False, text))
    text = linear_module._values_gradient_text(module.block, x.dtype)
    torch.library.opcheck(operators.sampled_product, (*lists, gradient, x, [], None, text))
    text = linear_module._x_gradient_text(module.block, x.dtype)
    torch.library.opcheck(operators.transposed_product, (*lists, gradient, K, text))


@pytest.mark.parametrize("activation", [None, "gelu", lambda s: tracing.where(s > 0, s, 0.5 * s)])
def test_compile_without_graph_breaks(activation, plans):
    """One graph for all numbers of tokens but the first, with and without gradients."""
    module = torch.nn.Sequential(layer(activation=activation), torch.nn.Tanh())
    torch._dynamo.reset()
    counter = dynamo.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(module, fullgraph=True, backend=counter)
    for tokens in (5, 6, 7, 8):
        x = tensor(tokens, K)
        with torch.no_grad():
            assert torch.equal(compiled(x), module(x))
    assert counter.frame_count == 2
    for tokens in (5, 6) if not callable(activation) else ():
        x, gradients = tensor(tokens, K), []
        for each in (compiled, module):
            module.zero_grad()
            each(x).sum().backward()
            gradients.append((module[0].values.grad, module[0].bias.grad))
        assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))
    assert plans.count(True) == (2 if activation == "gelu" else 1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_inductor():
    module = torch.nn.Sequential(layer(), torch.nn.ReLU())
    torch._dynamo.reset()
    x = tensor(5, K)
    module(x).sum().backward()
    expected = module[0].values.grad
    module.zero_grad()
    y = torch.compile(module, fullgraph=True)(x)
    y.sum().backward()
    assert torch.equal(y, module(x))
    assert torch.equal(module[0].values.grad, expected)


def test_export():
    module, x = layer(activation="relu"), tensor(5, K)
    program = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    assert torch.equal(program.module()(tensor(9, K)), module(tensor(9, K)))
    assert operators.product in [node.target for node in program.graph.nodes]


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_modes_and_tracers_see_repeated_calls():
    """Calls go around the dispatcher of torch only where nothing would see them there."""
    module, x = layer(bias=False).requires_grad_(False), tensor(5, K)
    expected = [module(x) for _ in range(2)][1]
    seen = []

    class Mode(python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            seen.append(function)
            return function(*arguments, **(keywords or {}))

    with Mode():
        assert torch.equal(module(x), expected)
    assert operators.product in seen
    with fake_tensor.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        for each in (x, mode.from_tensor(x)):
            assert isinstance(module(each), fake_tensor.FakeTensor)
    other = tensor(5, K, seed=2)
    for traced in (proxy_tensor.make_fx(module)(x), torch.jit.trace(module, (x,))):
        assert torch.equal(traced(other), module(other))


def test_repeated_calls_go_around_the_operator(monkeypatch):
    """The second call of a form needs no operator, unless a gradient or a kind of tensor does."""

    class Other(torch.Tensor):
        pass

    def no_operator(*arguments):
        raise AssertionError("a call of the operator")

    module, x, residual = layer(activation="relu"), tensor(5, K), tensor(5, M)
    w, bias = module.matrix, module.bias.detach()
    calls = [
        lambda x, bias: module(x),
        lambda x, bias: module(x, residual),
        lambda x, bias: sparsec.torch.linear(x, w, bias),
        lambda x, bias: sparsec.torch.linear(x, w, bias, "gelu", residual),
    ]
    with torch.no_grad():
        expected = [call(x, bias) for call in calls]
    monkeypatch.setattr(sys.modules["sparsec.torch.linear"], "product", no_operator)
    with torch.no_grad():
        for call, result in zip(calls, expected, strict=True):
            assert torch.equal(call(x.clone(), bias.clone()), result)
        for arguments in ((x.as_subclass(Other), bias), (x, bias.as_subclass(Other)), (tensor(6, K), bias)):
            with pytest.raises(AssertionError, match="a call of the operator"):
                calls[2](*arguments)
    assert torch.equal(calls[2](x, bias), expected[2])
    for arguments in ((x.clone().requires_grad_(), bias), (x, bias.clone().requires_grad_())):
        with pytest.raises(AssertionError, match="a call of the operator"):
            calls[2](*arguments)
    with pytest.raises(AssertionError, match="a call of the operator"):
        module(x)


def test_parameters_that_became_attributes():
    module, x = layer(), tensor(5, K)
    expected = module(x).detach()
    for name in ("values", "bias"):
        value = module._parameters.pop(name).detach()
        setattr(module, name, 2 * value)
    assert torch.equal(module(x), 2 * expected)


def test_matrices_of_other_rows_share_lists():
    w = layer().matrix
    assert M % w.block[0], "the last block row has rows beyond the matrix"
    taller = sparsec.BSR(w.row_ptr, w.col_idx, w.values, (M + 1, K))
    x = tensor(5, K)
    for _ in range(2):
        y, z = sparsec.torch.linear(x, w), sparsec.torch.linear(x, taller)
        assert (y.shape, z.shape) == ((5, M), (5, M + 1))
        assert torch.equal(y, z[:, :M])


def test_function_transforms():
    module, x = layer(), tensor(5, K)
    module(x).float().square().sum().backward()
    parameters = dict(module.named_parameters())
    for _ in range(2):
        gradients = torch.func.grad(
            lambda parameters: torch.func.functional_call(module, parameters, (x,)).float().square().sum()
        )(parameters)
        assert torch.equal(gradients["values"], module.values.grad)
        assert torch.equal(gradients["bias"], module.bias.grad)
    module.requires_grad_(False)
    with pytest.raises(NotImplementedError, match="jvp"):
        torch.func.jvp(module, (x,), (x,))
    with pytest.raises(NotImplementedError, match="jvp"), torch.autograd.forward_ad.dual_level():
        module(torch.autograd.forward_ad.make_dual(x, x))
    with pytest.raises(RuntimeError, match="Batching rule not implemented for sparsec::product"):
        torch.func.vmap(module)(tensor(2, 5, K))


# ---- Modules ---------------------------------------------------------------------------------------------------------


def test_layers_are_plain_tensors():
    module, x = layer(), tensor(5, K)
    assert {name: each.shape for name, each in module.state_dict().items()} == {
        "values": module.values.shape, "bias": (M,), "row_ptr": (4,), "col_idx": (len(module.values),),
    }  # fmt: skip
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    for other in (copy.deepcopy(module), torch.load(file, weights_only=False)):
        assert torch.equal(other(x), module(x))
    assert module.double().values.dtype == torch.float64
    assert module.row_ptr.dtype == torch.int32


@pytest.mark.parametrize("assign", [False, True])
def test_layers_load_any_number_of_blocks(assign):
    module, other, x = layer(density=0.2), layer(density=0.6), tensor(5, K)
    module(x).sum().backward()
    model = torch.nn.Sequential(module)
    model.load_state_dict(torch.nn.Sequential(other).state_dict(), assign=assign)
    assert torch.equal(module(x), other(x))
    assert torch.equal(module.to_dense(), other.to_dense())
    assert module.density == pytest.approx(0.6)
    with pytest.raises(RuntimeError, match="size mismatch for row_ptr"):
        module.load_state_dict(layers.SparseLinear(K, 2 * M, 16, density=0.6).state_dict())


def test_threads_share_a_layer():
    module = layer().requires_grad_(False)
    inputs = [tensor(3, K, seed=seed) for seed in range(4)]
    expected = [module(x) for x in inputs]
    failures = []

    def work(x, y):
        failures.extend(0 for _ in range(2000) if not torch.equal(module(x), y))

    threads = [threading.Thread(target=work, args=each) for each in zip(inputs, expected, strict=True)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures


def test_density_and_mask():
    assert layer(density=0.4).density == pytest.approx(0.4)
    mask = np.random.default_rng(0).random((3, 5)) < 0.5
    for each in (mask, torch.from_numpy(mask)):
        module = layers.SparseLinear(K, M, 16, mask=each, bias=False)
        np.testing.assert_array_equal(module.to_dense().numpy()[::16, ::16] != 0, mask)
        assert module.bias is None
        assert module.values.dtype == torch.float32
    assert repr(module) == (
        f"SparseLinear(in_features=72, out_features=40, block=16x16, density={mask.mean():.3g}, bias=False, "
        "activation=None)"
    )
    rectangular = layers.SparseLinear(K, M, (16, 32), density=1.0, dtype=torch.float16)
    assert (rectangular(tensor(2, K)) - exact_of(rectangular, tensor(2, K))[2]).abs().max() < 5e-3


@pytest.mark.parametrize(("options", "message"), [
    ({}, "expects one of density and mask"),
    ({"density": 0.5, "mask": np.ones((3, 5), bool)}, "expects one of density and mask"),
    ({"mask": np.ones((5, 3), bool)}, r"mask: expects bool \(3, 5\), but got bool \(5, 3\)"),
    ({"mask": np.ones((3, 5))}, r"mask: expects bool \(3, 5\), but got float64 \(3, 5\)"),
])  # fmt: skip
def test_layers_refuse(options, message):
    with pytest.raises(sparsec.InvalidArgument, match=message):
        layers.SparseLinear(K, M, 16, **options)


def test_new_values_have_the_spread_of_a_dense_layer():
    module = layers.SparseLinear(1024, 512, 16, density=0.25)
    limit = 1 / math.sqrt(256)
    for each in (module.values, module.bias):
        assert limit * 0.95 < each.abs().max() <= limit
        assert abs(each.mean()) < limit / 8
    assert layers.SparseLinear(32, 32, 16, density=0.0)(torch.ones(2, 32).half()).isfinite().all()


def test_set_pattern_keeps_the_blocks_that_stay():
    module = layer(density=1.0)
    before, parameter = module.to_dense(), module.values
    mask = np.random.default_rng(1).random((3, 5)) < 0.5
    module.set_pattern(mask)
    elements = torch.from_numpy(np.kron(mask, np.ones((16, 16)))[:M, :K])
    assert torch.equal(module.to_dense(), before * elements)
    module.set_pattern(np.ones((3, 5), bool))
    assert torch.equal(module.to_dense(), before * elements)
    assert module.values is parameter
    with pytest.raises(sparsec.InvalidArgument, match="mask: expects"):
        module.set_pattern(mask[:2])


def test_training_after_set_pattern():
    """The optimizer goes on with the parameter if the number of blocks stays the same."""
    module = layer(torch.float32, density=0.5)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    rolled = np.roll(module.to_dense().numpy()[::16, ::16] != 0, 1, axis=1)
    x, target = tensor(64, K), tensor(64, M, seed=2)
    losses = []
    for step in range(40):
        if step == 20:
            module.set_pattern(rolled)
        optimizer.zero_grad()
        loss = (module(x).float() - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[19] < 0.8 * losses[0]
    assert losses[-1] < 0.8 * losses[20]


def test_master_weights():
    """f32 values are rounded for the kernel, and their gradient is f32."""
    module = layer(torch.float32)
    x = tensor(5, K, dtype=torch.bfloat16)
    rounded = copy.deepcopy(module).bfloat16()
    y = module(x)
    assert (y.double() - exact_of(rounded, x)[2]).abs().max() < 2e-2
    y.sum().backward()
    assert module.values.grad.dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(module(x.float()), y)
    with pytest.raises(sparsec.InvalidArgument, match="dtype is 'f32', but expects bf16 or f16$"):
        module(x.float())
    with pytest.raises(sparsec.InvalidArgument, match="dtype is 'f8E5M2', but expects bf16 or f16$"):
        module(x.to(torch.float8_e5m2))


@pytest.mark.parametrize("method", ["magnitude", "random"])
def test_from_linear(method):
    torch.manual_seed(0)
    dense = torch.nn.Linear(K, M, dtype=torch.float16)
    module = layers.SparseLinear.from_linear(dense, 16, 0.4, method, "gelu")
    assert module.density == pytest.approx(0.4)
    weight = module.to_dense()
    assert torch.equal(weight[weight != 0], dense.weight.detach()[weight != 0])
    assert torch.equal(module.bias, dense.bias)
    if method == "magnitude":
        mask = sparsec.prune.magnitude(dense.weight.detach().float().numpy(), 16, 0.4)
        np.testing.assert_array_equal(weight.numpy()[::16, ::16] != 0, mask)
    x = tensor(5, K)
    assert (module(x) - exact_of(module, x, "gelu")[2]).abs().max() < 5e-3
    assert layers.SparseLinear.from_linear(torch.nn.Linear(K, M, bias=False), 16).bias is None
    with pytest.raises(sparsec.InvalidArgument, match="method: expects magnitude or random, but got 'best'"):
        layers.SparseLinear.from_linear(dense, 16, 0.4, "best")


def test_sparsify():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(K, M), torch.nn.ReLU(), torch.nn.ModuleDict({"head": torch.nn.Linear(M, 8)})
    ).eval()
    dense = model[0]
    table = layers.sparsify_(model, 16, 0.4, filter=lambda name, layer: layer.out_features > 16)
    assert isinstance(model[0], layers.SparseLinear)
    assert not model[0].training
    assert isinstance(model[2]["head"], torch.nn.Linear)
    (swap,) = table
    assert (swap.name, swap.in_features, swap.out_features, swap.blocks) == ("0", K, M, 6)
    assert swap.density == pytest.approx(0.4)
    lost = ((dense.weight - model[0].to_dense()).norm() / dense.weight.norm()).item()
    assert swap.lost == pytest.approx(lost, rel=1e-5)
    assert str(table).splitlines() == [
        "layer          shape   blocks  density    lost",
        f"0              40x72        6    0.400  {lost:6.3f}",
    ]
    assert [swap.name for swap in layers.sparsify_(model, 16)] == ["2.head"]
    with pytest.raises(sparsec.InvalidArgument, match="model: expects a module that has layers"):
        layers.sparsify_(dense)
