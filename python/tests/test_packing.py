# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of values in packed blocks, which follow the values.

The host has no kernels for packed values. Here every plan packs into a list instead, and its launches read the stored
values, so that the tests see which copy a launch on a GPU would have read.
"""

import copy
import io
import types

import numpy as np
import pytest

import sparsec
from sparsec import arrays

torch = pytest.importorskip("torch")
operators = pytest.importorskip("sparsec.torch.operators")
packing = pytest.importorskip("sparsec.torch.packing")
dynamo = pytest.importorskip("torch._dynamo.testing")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*Function'> should not be instantiated:DeprecationWarning"),
]

M, K = 40, 72  # which cut blocks of 16


@pytest.fixture
def packed(monkeypatch):
    """Where plans pack, and whether they can.

    Attributes:
        copies: of the values, in the order in which they were packed.
        plans: the flags `pack` of all plans that were made.
        is_there: the value of Plan.pack.
        is_capturing: whether a CUDA graph is captured.
    """
    state = types.SimpleNamespace(copies=[], plans=[], is_there=True, is_capturing=False)
    make = sparsec.Kernel.plan

    def pack(plan, w):
        state.copies.append(w.values.detach().clone())
        return state.is_there

    def plan(kernel, *inputs, **options):
        state.plans.append(options["pack"])
        return make(kernel, *inputs, **options)

    monkeypatch.setattr(packing, "_PLACES", ("cpu",))
    monkeypatch.setattr(sparsec.Plan, "pack", pack)
    monkeypatch.setattr(sparsec.Kernel, "plan", plan)
    monkeypatch.setattr(arrays, "is_capturing", lambda device: state.is_capturing)
    return state


@pytest.fixture
def operator_calls(monkeypatch):
    """The calls that were not repeated around the operator."""
    calls, linear_module = [], pytest.importorskip("sys").modules["sparsec.torch.linear"]
    product = linear_module.product
    monkeypatch.setattr(linear_module, "product", lambda *inputs: calls.append(inputs) or product(*inputs))
    return calls


def layer(dtype=torch.float16, **options):
    torch.manual_seed(0)
    return sparsec.torch.SparseLinear(K, M, 16, density=0.5, dtype=dtype, pack=True, **options)


def tensor(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).half()


def check(module, x, packed):
    """The layer is right, and its last copy has the present values."""
    with torch.no_grad():
        y = module(x)
    exact = x.double() @ module.to_dense().double().T + module.bias.double()
    assert (y - exact).abs().max() < 5e-3
    assert torch.equal(packed.copies[-1], module.values)


def test_values_are_packed_once_and_again_after_a_change(packed, operator_calls):
    module, x = layer(), tensor(5, K)
    for _ in range(3):
        check(module, x, packed)
    assert (len(packed.copies), packed.plans, len(operator_calls)) == (1, [True], 1)
    changes = [
        lambda: module.values.mul_(-1),
        lambda: module.values[0].zero_(),
        lambda: module.load_state_dict(layer().state_dict()),
        lambda: torch.optim.SGD([module.values], lr=0.1).step(),
    ]
    module.values.grad = torch.ones_like(module.values)
    for change in changes:
        with torch.no_grad():
            change()
        for _ in range(2):
            check(module, x, packed)
    assert (len(packed.copies), len(operator_calls)) == (5, 5)
    assert packed.plans == [True, True], "one for the lists that were loaded"


def test_linear_packs(packed, operator_calls):
    module, x = layer(), tensor(2, 3, K)
    w = module.matrix
    expected = sparsec.torch.linear(x, w)
    assert packed.copies == []
    for _ in range(3):
        assert torch.equal(sparsec.torch.linear(x, w, pack=True), expected)
    w.values.mul_(2)
    assert torch.equal(sparsec.torch.linear(x, w, pack=True), 2 * expected)
    assert torch.equal(packed.copies[1], 2 * packed.copies[0])
    assert (packed.plans, len(packed.copies), len(operator_calls)) == ([False, True], 2, 3)


def test_training_reads_the_values(packed):
    module, x = layer(), tensor(5, K)
    module(x).sum().backward()
    assert packed.copies == []
    module.values.requires_grad_(False)
    x.requires_grad_()
    module(x).sum().backward()
    assert len(packed.copies) == 1, "the values have no gradient, that of x reads the stored ones"
    assert (x.grad - module.to_dense().sum(0)).abs().max() < 5e-3


def test_values_without_versions_are_not_packed(packed):
    with torch.inference_mode():
        module, x = layer(), tensor(5, K)
        before = module(x)
        module.values.mul_(-1)
        assert (module(x) - module.bias + before - module.bias).abs().max() < 5e-3
    assert packed.copies == []


def test_values_of_the_host_are_not_packed(packed, monkeypatch):
    monkeypatch.setattr(packing, "_PLACES", ("cuda",))
    with torch.no_grad():
        layer()(tensor(5, K))
    assert (packed.copies, packed.plans) == ([], [False])


def test_values_that_are_rounded_are_not_packed(packed):
    with torch.no_grad():
        layer(torch.float32)(tensor(5, K))
    assert packed.copies == []


def test_the_option_may_be_set_at_any_time(packed):
    module, x = layer(), tensor(5, K)
    module.pack = False
    with torch.no_grad():
        module(x)
        assert packed.copies == []
        module.pack = True
        module(x)
        assert len(packed.copies) == 1
        module.pack = False
        module.values.mul_(2)
        module(x)
    assert len(packed.copies) == 1


def test_plans_that_pack_nothing_repeat_their_calls(packed, operator_calls):
    packed.is_there = False
    module, x = layer(), tensor(5, K)
    for seed in range(3):
        with torch.no_grad():
            module(tensor(5, K, seed=seed))
            module.values.mul_(-1)
    assert (len(packed.copies), packed.plans, len(operator_calls)) == (1, [True], 1)
    module.values.data = module.values.data * 2
    for _ in range(2):
        packed.copies.append(module.values.detach())
        check(module, x, packed)
    assert (packed.plans, len(operator_calls)) == ([True], 1), "the lists decide whether something is packed"


def test_other_memory_gets_another_copy_but_not_without_end(packed, operator_calls):
    """Kernels on other streams may still read the copy of the old memory."""
    module, x = layer(), tensor(5, K)
    for count in range(1, 5):
        check(module, x, packed)
        check(module, x, packed)
        assert (len(packed.copies), packed.plans) == (count, [True] * count)
        module.values.data = module.values.data * -1
    for _ in range(3):
        packed.copies.append(module.values.detach())
        check(module, x, packed)
    assert packed.plans == [True] * 4 + [False]
    assert len(operator_calls) == 5


def test_other_lists_get_another_copy(packed):
    module, x = layer(), tensor(5, K)
    check(module, x, packed)
    module.set_pattern(np.eye(3, 5, dtype=bool))
    check(module, x, packed)
    with torch.no_grad():
        module.col_idx.add_(1)
    check(module, x, packed)
    assert packed.plans == [True] * 3


def test_a_graph_packs_in_front_of_every_launch(packed):
    module, x = layer(), tensor(5, K)
    check(module, x, packed)
    packed.is_capturing = True
    for count in (2, 3):
        check(module, x, packed)
        assert len(packed.copies) == count
    packed.is_capturing = False
    check(module, x, packed)
    assert (len(packed.copies), packed.plans) == (3, [True])


def test_a_graph_keeps_the_plan_of_its_memory(packed):
    module, x = layer(), tensor(5, K)
    old = module.values.data
    check(module, x, packed)
    packed.is_capturing = True
    check(module, x, packed)
    packed.is_capturing = False
    pattern = operators._patterns[operators._Mode.PACKED][id(module.row_ptr)]
    (first,) = pattern.prepared.values()
    module.values.data = old * 2
    check(module, x, packed)
    assert pattern.captured == [first]
    assert first not in pattern.prepared.values()


def test_a_graph_of_other_memory_reads_the_values(packed):
    """There a plan cannot be made, and the copy belongs to other launches."""
    module, x = layer(), tensor(5, K)
    check(module, x, packed)
    module.pack = False
    check(module, x, packed)
    module.pack = True
    module.values.data = module.values.data * 2
    packed.is_capturing = True
    packed.copies.append(module.values.detach())
    check(module, x, packed)
    assert (len(packed.copies), packed.plans) == (2, [True, False])


def test_compiled_models_pack(packed):
    module, x = layer().requires_grad_(False), tensor(5, K)
    torch._dynamo.reset()
    counter = dynamo.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(module, fullgraph=True, backend=counter)
    for _ in range(2):
        assert torch.equal(compiled(x), module(x))
    assert len(packed.copies) == 1
    module.values.mul_(-1)
    y = compiled(x)
    assert torch.equal(packed.copies[-1], module.values)
    assert torch.equal(y, module(x))
    assert (len(packed.copies), packed.plans, counter.frame_count) == (2, [True], 1)


def test_copies_of_a_layer_pack_for_themselves(packed):
    module, x, file = layer(), tensor(5, K), io.BytesIO()
    check(module, x, packed)
    assert set(module.state_dict()) == {"row_ptr", "col_idx", "values", "bias"}
    torch.save(module, file)
    file.seek(0)
    for other in (copy.deepcopy(module), torch.load(file, weights_only=False)):
        with torch.no_grad():
            other.values.mul_(-1)
        check(other, x, packed)
        assert torch.equal(packed.copies[-1], -module.values)
    assert packed.plans == [True] * 3


def test_log_says_why_values_are_not_packed(packed, monkeypatch, capsys):
    def reasons(module):
        with torch.no_grad():
            module(x)
        lines = capsys.readouterr().err.splitlines()
        return [line.partition("not packed: ")[2] for line in lines if "not packed" in line]

    module, x = layer(), tensor(5, K)
    monkeypatch.setenv("SPARSEC_LOG", "1")
    assert reasons(module) == []
    module.values.data = module.values.data * 2
    packed.is_capturing = True
    with pytest.raises(sparsec.InvalidArgument, match="A CUDA graph cannot make it: call once before"):
        reasons(module)
    assert (
        "values are not packed: a CUDA graph cannot make a plan for values in other memory" in capsys.readouterr().err
    )
    packed.is_capturing = False
    for _ in range(3):
        assert reasons(module) == []
        module.values.data = module.values.data * 2
    assert reasons(module)[0] == "they were in other memory 4 times"
    states = pytest.importorskip("torch.distributed._composable_state")
    with monkeypatch.context() as patch:
        patch.setattr(states, "_module_state_mapping", {module: None})
        assert reasons(layer())[0] == "torch does not count how fully_shard changes values"
    with torch.inference_mode():
        module = layer()
    other = layer()
    other.values.data = torch.cat([torch.zeros(1).half(), other.values.data.flatten()])[1:].view_as(other.values)
    assert reasons(other)[0] == "they are not at a multiple of 16 bytes"
    assert reasons(module)[0] == "torch does not count changes of tensors of the inference mode"
    monkeypatch.setattr(packing, "_PLACES", ("cuda",))
    assert reasons(layer())[0] == "cpu has no kernels for packed values"


# ---- On a GPU --------------------------------------------------------------------------------------------------------


@pytest.fixture
def on_gpu():
    """A layer whose blocks of 16 are those of half of the squares of 64, and a function that checks its result."""
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    squares = np.random.default_rng(0).random((16, 16)) < 0.5
    mask = np.kron(squares, np.ones((4, 4))).astype(bool)
    module = sparsec.torch.SparseLinear(
        1024, 1024, 16, mask=mask, dtype=torch.bfloat16, device="cuda", pack=True
    ).requires_grad_(False)

    def is_right(y, x):
        exact = x.double() @ module.to_dense().double().T + module.bias.double()
        return ((y.double() - exact).abs() <= 2.0**-8 * exact.abs() + 1e-3).all()

    return module, is_right


def gpu_tensor(tokens, seed=0):
    return torch.randn(tokens, 1024, device="cuda", generator=torch.Generator("cuda").manual_seed(seed)).bfloat16()


def test_values_are_packed_on_a_gpu(on_gpu):
    module, is_right = on_gpu
    for tokens in (1, 100, 2048):
        for change in (lambda: None, lambda: module.values.mul_(-1)):
            change()
            for seed in range(3):
                x = gpu_tensor(tokens, seed)
                assert is_right(module(x), x)
    (prepared,) = operators._patterns[operators._Mode.PACKED][id(module.row_ptr)].prepared.values()
    assert prepared.packed.source == (module.values.data_ptr(), module.values._version)
    (plan,) = prepared._plans.values()
    assert any(plan.info(number).packed_bytes > 0 for number in range(len(plan.kernel.info.variants)))


def test_streams_wait_for_the_copy_on_a_gpu(on_gpu):
    module, is_right = on_gpu
    x, stream = gpu_tensor(2048), torch.cuda.Stream()
    for _ in range(20):
        module.values.mul_(-1)
        stream.wait_stream(torch.cuda.current_stream())
        module(x)
        with torch.cuda.stream(stream):
            y = module(x)
        torch.cuda.current_stream().wait_stream(stream)
        assert is_right(y, x)


def test_graphs_follow_the_values_on_a_gpu(on_gpu):
    module, is_right = on_gpu
    x = gpu_tensor(2048)
    module(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = module(x)
    for _ in range(3):
        module.values.mul_(-1)
        graph.replay()
        assert is_right(y, x)
    kept = y.clone()
    module.values.data = module.values.data * 2
    assert is_right(module(x), x)
    graph.replay()
    assert torch.equal(y, kept), "the memory of the capture"


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_compiled_models_follow_the_values_on_a_gpu(on_gpu, mode):
    module, is_right = on_gpu
    compiled = torch.compile(module, fullgraph=True, mode=mode)
    for seed in range(6):
        x = gpu_tensor(2048, seed)
        assert is_right(compiled(x).clone(), x)
        module.values.mul_(-1)
