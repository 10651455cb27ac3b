#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares sparsec.torch.attention with compiled flex_attention on the same functions and BlockMasks, in one process:
times with a cold cache, and root-mean-square errors against float64, forward and backward. PYTHONPATH has the package.
Without a GPU it runs on the host, where flex_attention is not compiled and sizes are small.

    bench/torch_attention.py [--tokens=N] [--rounds=11] [--json=FILE]

Times are medians in microseconds, of a forward pass and of both passes. Errors are those over the root mean square of
the exact result.
"""

import argparse
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import sparsec
import sparsec.torch
from sparsec.bench.rounds import GpuClock, host_clock, measure

device = "cuda" if torch.cuda.is_available() else "cpu"
BLOCK, CAP = 128, 20.0
SHAPE = (2, 16, 128) if device == "cuda" else (1, 2, 64)  # batches, heads, D


class Case(NamedTuple):
    """What is computed, for N tokens."""

    mask_mod: Callable[..., Any]
    score_mod: Callable[..., Any] | None = None
    queries: float = 1  # of N
    group: int = 1  # query heads for each key head


def cases(tokens: int) -> dict[str, Case]:
    """The cases by name."""
    slopes = 2.0 ** -torch.arange(1, SHAPE[1] + 1, device=device).float()
    ids = torch.randint(0, 8, (tokens,), generator=torch.Generator().manual_seed(1)).sort().values.int().to(device)

    def causal(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return q_idx >= kv_idx

    def documents(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return (ids[q_idx] == ids[kv_idx]) & (q_idx >= kv_idx)

    def window(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return (q_idx >= kv_idx) & ((q_idx - kv_idx < tokens // 8) | (kv_idx < 4))

    def later(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return q_idx + (tokens - tokens // 4) >= kv_idx

    def alibi(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score + slopes[h] * (kv_idx - q_idx)

    def softcap(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return CAP * torch.tanh(score / CAP)

    return {
        "documents": Case(documents),
        "window and sink": Case(window),
        "ALiBi": Case(causal, alibi),
        "softcap": Case(causal, softcap),
        "Sq = Skv / 4": Case(later, queries=0.25),
        "grouped heads": Case(causal, group=min(4, SHAPE[1])),
    }


def exact(case: Case, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, factors: torch.Tensor) -> list[torch.Tensor]:
    """o, and the gradients of q, k and v from that of o, in float64, one head after the other."""
    q, k, v = (each.detach().double().requires_grad_() for each in (q, k, v))
    o = torch.empty(*q.shape[:3], v.shape[3], dtype=torch.float64, device=device)
    rows, columns = torch.arange(q.shape[2], device=device)[:, None], torch.arange(k.shape[2], device=device)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            scores = q[b, h] @ k[b, h // case.group].T / q.shape[3] ** 0.5
            place = torch.tensor(b, device=device), torch.tensor(h, device=device), rows, columns
            scores = scores if case.score_mod is None else case.score_mod(scores, *place)
            scores = scores.masked_fill(~case.mask_mod(*place), -torch.inf)
            part = scores.softmax(1) @ v[b, h // case.group]
            o[b, h] = part.detach()
            part.backward(factors[b, h].double())
    return [o, q.grad, k.grad, v.grad]


def error(result: torch.Tensor, expected: torch.Tensor) -> float:
    return float((result.detach().double() - expected).square().mean().sqrt() / expected.square().mean().sqrt())


def measured(case: Case, tokens: int, rounds: int) -> dict[str, Any]:
    """A row of the table."""
    torch.compiler.reset()  # few compiles of flex_attention are kept, behind which it would not be compiled
    batches, heads, depth = SHAPE
    queries = int(tokens * case.queries)
    sizes = (heads, queries), (heads // case.group, tokens), (heads // case.group, tokens)
    q, k, v = (torch.randn(batches, *each, depth, device=device).bfloat16().requires_grad_() for each in sizes)
    factors = torch.randn(batches, heads, queries, depth, device=device).bfloat16()
    block_mask = create_block_mask(case.mask_mod, None, None, queries, tokens, device=device, BLOCK_SIZE=BLOCK)
    flex = torch.compile(flex_attention, dynamic=False) if device == "cuda" else flex_attention
    flex_inputs = [q, k, v] if device == "cuda" else [each.detach() for each in (q, k, v)]  # it has no gradient there
    own = sparsec.torch.Attention(score_mod=case.score_mod)
    forward: dict[str, Callable[[], Any]] = {
        "sparsec": lambda: own(q, k, v, block_mask),
        "flex": lambda: flex(*flex_inputs, score_mod=case.score_mod, block_mask=block_mask, enable_gqa=case.group > 1),
    }
    expected = exact(case, q, k, v, factors)
    row: dict[str, Any] = {"density": 1 - block_mask.sparsity() / 100}
    clock = GpuClock(torch) if device == "cuda" else host_clock
    has_gradient = {"sparsec": True, "flex": device == "cuda"}
    both = {
        name: (lambda call=call: torch.autograd.grad(call(), (q, k, v), factors))
        for name, call in forward.items()
        if has_gradient[name]
    }
    for name, call in forward.items():
        row[f"{name}_error"] = error(call(), expected[0])
    for name, call in both.items():
        row[f"{name}_gradient_errors"] = [error(*each) for each in zip(call(), expected[1:], strict=True)]
    with torch.no_grad():
        row |= {name: 1e3 * each.median for name, each in measure(forward, rounds, clock).items()}
    row |= {f"{name}_both": 1e3 * each.median for name, each in measure(both, rounds, clock).items()}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=8192 if device == "cuda" else 512)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json", help="writes the rows")
    options = parser.parse_args()
    torch.manual_seed(0)
    name = torch.cuda.get_device_name() if device == "cuda" else "host"
    print(f"{name}, torch {torch.__version__}, sparsec {sparsec.__version__}, {options.tokens} keys, bf16")
    print("batches {}, heads {}, D {}; gradients: the largest error of those of q, k and v".format(*SHAPE))
    columns = ("sparsec", "flex", "sparsec_both", "flex_both", "sparsec_error", "flex_error")
    print("| case | visited | " + " | ".join(columns) + " | sparsec gradients | flex gradients |")
    print("|---" * 10 + "|")
    rows = {}
    for case, each in cases(options.tokens).items():
        row = rows[case] = measured(each, options.tokens, options.rounds)
        cells = [f"{row[c]:.2e}" if c.endswith("error") else f"{row[c]:.0f}" if c in row else "-" for c in columns]
        names = [f"{each}_gradient_errors" for each in ("sparsec", "flex")]
        cells += [f"{max(row[each]):.2e}" if each in row else "-" for each in names]
        print(f"| {case} | {row['density']:.3f} | " + " | ".join(cells) + " |", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(
                {"device": name, "torch": torch.__version__, "tokens": options.tokens, "rows": rows}, file, indent=1
            )


if __name__ == "__main__":
    main()
