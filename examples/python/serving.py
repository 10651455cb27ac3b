# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Serves requests of different lengths: their prompts packed in one call, then a decode loop on a paged KV cache."""

import torch

import sparsec.torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

HEADS, KV_HEADS, HEAD_DIM = 8, 2, 64
PAGE, PAGES, MOST_PAGES = 16, 64, 16  # tokens of a page, pages of the pool, most pages of a request
PROMPTS, STEPS = [37, 100, 5, 64], 40


def random_tokens(count: int, heads: int) -> torch.Tensor:
    return torch.randn(count, heads, HEAD_DIM, dtype=torch.bfloat16, device=device)


def exact(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool) -> torch.Tensor:
    """Attention of one request in float64, of tensors [tokens, heads, D]."""
    q, k, v = (each.double().transpose(0, 1) for each in (q, k, v))
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=True)
    return o.transpose(0, 1)


class PagedCache:
    """Keys and values of all requests in one pool of pages. The table and the lengths change in place."""

    def __init__(self, requests: int) -> None:
        shape = (PAGES, PAGE, KV_HEADS, HEAD_DIM)
        # Elements behind the last key of a request have no influence, not even NaN.
        self.k, self.v = (torch.full(shape, torch.nan, dtype=torch.bfloat16, device=device) for _ in range(2))
        self.table = torch.full((requests, MOST_PAGES), -1, dtype=torch.int32, device=device)
        self.lengths = torch.zeros(requests, dtype=torch.int32, device=device)
        self.counts = [0] * requests  # the lengths, for the host
        self.free = torch.randperm(PAGES).tolist()

    def append(self, request: int, k: torch.Tensor, v: torch.Tensor) -> None:
        """Adds tokens [tokens, KV_HEADS, HEAD_DIM] to a request, and takes the pages that they need from the pool."""
        first, last = self.counts[request], self.counts[request] + len(k)
        for place in range(-(-first // PAGE), -(-last // PAGE)):
            self.table[request, place] = self.free.pop()
        tokens = torch.arange(first, last, device=device)
        pages = self.table[request, tokens // PAGE].long()
        self.k[pages, tokens % PAGE], self.v[pages, tokens % PAGE] = k, v
        self.counts[request] = last
        self.lengths[request] = last


# Random tokens stand for those of a model. The lists of keys and values are what results are compared with.
cache = PagedCache(len(PROMPTS))
keys = [random_tokens(length, KV_HEADS) for length in PROMPTS]
values = [random_tokens(length, KV_HEADS) for length in PROMPTS]

# (a) Prompts: all tokens in a row. Queries see the keys of their own request, up to their position.
starts = torch.tensor([0, *PROMPTS]).cumsum(0).int().to(device)
q = random_tokens(sum(PROMPTS), HEADS)
o = sparsec.torch.attention(q, torch.cat(keys), torch.cat(values), query_starts=starts, key_starts=starts, causal=True)
parts = zip(q.split(PROMPTS), keys, values, o.split(PROMPTS), strict=True)
error = max((own - exact(*request, is_causal=True)).abs().max().item() for *request, own in parts)
print(f"{len(PROMPTS)} prompts of {PROMPTS} tokens in one call: largest error {error:.1e}")
assert error < 0.03  # bf16 probabilities and values of N(0, 1)

# (b) Decode: one query for each request in each step. One compiled kernel serves all lengths, and it reads each page of
# keys once for all query heads that share it.
for request, (k, v) in enumerate(zip(keys, values, strict=True)):
    cache.append(request, k, v)
attend = sparsec.torch.Attention(layout="bshd", causal=True)
error = 0.0
for _ in range(STEPS):
    q = random_tokens(len(PROMPTS), HEADS)
    for request in range(len(PROMPTS)):
        k, v = random_tokens(1, KV_HEADS), random_tokens(1, KV_HEADS)
        cache.append(request, k, v)
        keys[request], values[request] = torch.cat([keys[request], k]), torch.cat([values[request], v])
    o = attend(q[:, None], cache.k, cache.v, key_lengths=cache.lengths, page_table=cache.table)
    for request, (k, v) in enumerate(zip(keys, values, strict=True)):
        expected = exact(q[request, None], k, v, is_causal=False)
        error = max(error, (o[request] - expected).abs().max().item())
used = PAGES - len(cache.free)
print(f"{STEPS} steps to {cache.counts} tokens, {used} of {PAGES} pages: largest error {error:.1e}")
assert error < 0.03
