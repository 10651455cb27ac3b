# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of attention with a score_mod, against those of torch in double precision of a softmax over all scores."""

import math

import pytest

from sparsec import patterns

torch = pytest.importorskip("torch")
pytest.importorskip("sympy", reason="torch.compile needs sympy")
st = pytest.importorskip("sparsec.torch")
scores = pytest.importorskip("sparsec.torch.attention_scores")
dynamo = pytest.importorskip("torch._dynamo.testing")
pytestmark = [
    pytest.mark.torch,
    # torch.compile makes one for its own use.
    pytest.mark.filterwarnings("ignore:.*Function'> should not be instantiated:DeprecationWarning"),
]

UNIT = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
QUERIES, KEYS, HEADS = 150, 200, 4


def tensors(dtype=torch.float16):
    generator = torch.Generator().manual_seed(4)
    shapes = (2, HEADS, QUERIES, 64), (2, 2, KEYS, 64), (2, 2, KEYS, 64)
    return [torch.randn(*shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


def alibi(slopes):
    return lambda score, b, h, q, k: score + slopes[h] * (k - q)


def softcap(factors):
    return lambda score, b, h, q, k: 3 * torch.tanh(score * factors[h] / 3)


def relative(table):
    return lambda score, b, h, q, k: score + table[h, (k - q + 200) // 8]


def hides(weights):
    """A score_mod that hides keys itself."""
    return lambda score, b, h, q, k: torch.where((q - k) % 3 == 0, -math.inf, score * weights[b, k])


def square(weights):
    return lambda score, b, h, q, k: score * score * weights[q] / 4


def infinite_at_zero(weights):
    """Scores of padding are 0. No others are."""
    return lambda score, b, h, q, k: score + weights[h, k] / torch.where(score == 0, 0.0, 1.0)


CASES = {
    "alibi": (alibi, (HEADS,)),
    "softcap": (softcap, (HEADS,)),
    "relative": (relative, (HEADS, 50)),
    "hides": (hides, (2, KEYS)),
    "square": (square, (QUERIES,)),
    "infinite at zero": (infinite_at_zero, (HEADS, KEYS)),
}


def exact(q, k, v, score_mod, visible, scale):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    b, h, i, j = (torch.arange(size).view(shape) for size, shape in
                  [(2, (2, 1, 1, 1)), (HEADS, (HEADS, 1, 1)), (QUERIES, (QUERIES, 1)), (KEYS, (KEYS,))])  # fmt: skip
    s = score_mod(q @ k.transpose(2, 3) * scale, b, h, i, j).masked_fill(~visible, -torch.inf)
    lse = s.logsumexp(3)
    return torch.exp(s - lse[..., None]) @ v, lse


def assert_gradients(make, array, options, visible, dtype=torch.float16, scale=0.125):
    """Compares gradients of sums of o and lse with random factors, also of the array, if it has one."""
    inputs = tensors(dtype)
    given = [*inputs, array] if array.requires_grad else inputs
    doubles = [each.detach().double().requires_grad_() for each in given]
    o, lse = st.attention(*inputs, score_mod=make(array), return_lse=True, **options)
    double_array = doubles[3] if array.requires_grad else array.double()
    exact_o, exact_lse = exact(*doubles[:3], make(double_array), visible, scale)
    generator = torch.Generator().manual_seed(5)
    factors = [torch.randn(each.shape, generator=generator).to(each.dtype) for each in (o, lse)]
    got = torch.autograd.grad((o, lse), given, factors)
    expected = torch.autograd.grad((exact_o, exact_lse), doubles, [each.double() for each in factors])
    for mine, other, of in zip(got, expected, given, strict=True):
        assert (mine.shape, mine.dtype) == (of.shape, of.dtype)
        error, largest = (mine.double() - other).abs().max(), other.abs().max()
        assert error <= 4 * UNIT[dtype] * largest
    return got


def weights(shape, dtype=torch.float32):
    return (torch.rand(shape, generator=torch.Generator().manual_seed(6)) / 8 + 0.5).to(dtype)


ALL = torch.ones(QUERIES, KEYS, dtype=torch.bool)


@pytest.mark.parametrize("has_gradient", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_functions(name, has_gradient):
    make, shape = CASES[name]
    assert_gradients(make, weights(shape).requires_grad_(has_gradient), {}, ALL)


@pytest.mark.parametrize("dtype", UNIT)
def test_options(dtype, monkeypatch):
    """Elements are computed in parts. The array has the type of the tensors."""
    monkeypatch.setattr(scores, "_ELEMENTS_OF_A_PART", 3 * 64 * 64)
    array = weights((HEADS,), dtype).requires_grad_()
    visible = ALL.tril(KEYS - QUERIES)
    assert_gradients(softcap, array, {"causal": True, "scale": 0.3}, visible, dtype, 0.3)
    pattern = patterns.sliding_window(40, 20)
    place = torch.arange(QUERIES)[:, None] - torch.arange(KEYS)
    assert_gradients(softcap, array, {"pattern": pattern, "block": 64}, (place <= 40) & (place >= -20), dtype)


def test_hidden_scores_need_no_finite_derivative():
    """The derivative of the square root is infinite at 0, where torch.autograd gives NaN."""

    def root(score, b, h, q, k):
        is_hidden = (q - k) % 3 == 0
        return torch.where(is_hidden, -math.inf, 2 * torch.sqrt(torch.where(is_hidden, 0 * score, 1.0)) - 2 + score)

    first, second = tensors(), tensors()
    plain = lambda score, b, h, q, k: torch.where((q - k) % 3 == 0, -math.inf, score)  # noqa: E731
    for given, score_mod in ((first, root), (second, plain)):
        st.attention(*given, score_mod=score_mod).float().square().sum().backward()
    assert all(torch.equal(mine.grad, other.grad) for mine, other in zip(first, second, strict=True))


def test_only_a_captured_array_has_a_gradient():
    slopes = weights((HEADS,)).requires_grad_()
    q, k, v = (each.detach() for each in tensors())
    o = st.attention(q, k, v, score_mod=alibi(slopes))
    o.float().square().sum().backward()
    other = slopes.detach().double().requires_grad_()
    exact(q.double(), k.double(), v.double(), alibi(other), ALL, 0.125)[0].square().sum().backward()
    assert (slopes.grad - other.grad).abs().max() <= 2**-8 * other.grad.abs().max()
    with torch.no_grad():
        assert not st.attention(q, k, v, score_mod=alibi(slopes)).requires_grad


def test_the_same_bits_in_every_run():
    array = weights((HEADS, 50)).requires_grad_()
    first, second = (assert_gradients(relative, array, {}, ALL) for _ in range(2))
    assert all(map(torch.equal, first, second))


def test_compile_without_graph_breaks():
    slopes = weights((HEADS,))
    counter = dynamo.CompileCounterWithBackend("aot_eager")
    attend = st.Attention(score_mod=alibi(slopes))
    compiled = torch.compile(lambda q, k, v: attend(q, k, v), fullgraph=True, backend=counter)
    for _ in range(2):
        first, second = tensors(), tensors()
        compiled(*first).square().sum().backward()
        attend(*second).square().sum().backward()
        assert all(torch.equal(mine.grad, other.grad) for mine, other in zip(first, second, strict=True))
    assert counter.frame_count == 1


def test_compiled_calls_refuse_arrays_with_a_gradient():
    """They are constants there: a gradient would be lost."""
    attend = st.Attention(score_mod=alibi(weights((HEADS,)).requires_grad_()))
    compiled = torch.compile(lambda q, k, v: attend(q, k, v), backend="aot_eager")
    with pytest.raises(Exception, match="'slopes' requires a gradient, but captured arrays get none here"):
        compiled(*tensors())
