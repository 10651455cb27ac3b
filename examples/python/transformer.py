# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small transformer with block-sparse weights and attention beside the same model of dense ones with masks.

Both begin with the same weights and see the same text: random words of a small vocabulary. The linear layers of one are
SparseLinear (density 0.25, blocks of 64), and it attends by sparsec.torch.attention to a window of 64 characters. Those
of the other are dense, where a mask makes the same blocks zero, and it attends by torch with a mask of the window.

    transformer.py [--steps=N] [--compile[=BACKEND]] [--svg=FILE]
"""

import argparse

import torch
from torch.nn.functional import cross_entropy, linear, scaled_dot_product_attention

import sparsec.torch
from sparsec import charts, patterns

WIDTH, HEADS, LAYERS, BLOCK, DENSITY = 256, 4, 2, 64, 0.25
BATCHES, TOKENS, WINDOW, LETTERS = 4, 128, 64, 27
MARKS = (1, 2, 5, 10, 20, 50)  # the steps whose losses are shown
device = "cuda" if torch.cuda.is_available() else "cpu"
place = torch.arange(TOKENS, device=device)
visible = (place[:, None] >= place) & (place[:, None] - place <= WINDOW)
pattern = patterns.sliding_window(WINDOW)


class MaskedLinear(torch.nn.Linear):
    """A dense layer with the weights of a sparse one: what is zero there stays zero."""

    def __init__(self, sparse: sparsec.torch.SparseLinear) -> None:
        super().__init__(sparse.in_features, sparse.out_features, device=device)
        with torch.no_grad():
            self.weight.copy_(sparse.to_dense())
            self.bias.copy_(sparse.bias)
        self.register_buffer("mask", self.weight.detach() != 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return linear(x, self.weight * self.mask, self.bias)


class Layer(torch.nn.Module):
    """Attention and two linear layers, each behind a norm and beside a residual."""

    def __init__(self, is_sparse: bool) -> None:
        super().__init__()
        self.is_sparse = is_sparse
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH, device=device) for _ in range(2))
        self.qkv, self.out, self.up, self.down = (
            sparsec.torch.SparseLinear(inputs, outputs, BLOCK, density=DENSITY, device=device)
            for inputs, outputs in ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.qkv(self.norms[0](x)).unflatten(-1, (3, HEADS, -1)).movedim(2, 0).transpose(2, 3)
        q, k, v = (each.bfloat16() for each in parts)
        if self.is_sparse:
            o = sparsec.torch.attention(q, k, v, pattern=pattern, block=BLOCK)
        else:
            o = scaled_dot_product_attention(q, k, v, attn_mask=visible)
        x = x + self.out(o.transpose(1, 2).flatten(2).float())
        return x + self.down(torch.nn.functional.gelu(self.up(self.norms[1](x))))


class Transformer(torch.nn.Module):
    """Predicts the next character."""

    def __init__(self, is_sparse: bool) -> None:
        super().__init__()
        self.letters = torch.nn.Embedding(LETTERS, WIDTH, device=device)
        self.places = torch.nn.Embedding(TOKENS, WIDTH, device=device)
        self.layers = torch.nn.ModuleList(Layer(is_sparse) for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, LETTERS, device=device)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.letters(text) + self.places(place)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def masked(model: Transformer) -> Transformer:
    """The same model with dense weights and masks."""
    other = Transformer(is_sparse=False)
    other.load_state_dict(model.state_dict())
    for mine, its in zip(other.layers, model.layers, strict=True):
        for name in ("qkv", "out", "up", "down"):
            setattr(mine, name, MaskedLinear(getattr(its, name)))
    return other


def batch(words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Text of random words, and the characters behind each of its characters."""
    text = words[torch.randint(len(words), (BATCHES, TOKENS // 6 + 1))].flatten(1).to(device)
    return text[:, :TOKENS], text[:, 1 : TOKENS + 1]


def loss_of(model: torch.nn.Module, text: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
    with torch.autocast(device, torch.bfloat16):
        logits = model(text)
    return cross_entropy(logits.float().flatten(0, 1), following.flatten())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=MARKS[-1])
    parser.add_argument("--compile", nargs="?", const="inductor", help="trains under torch.compile, in one graph")
    parser.add_argument("--svg", help="draws the losses")
    options = parser.parse_args()
    torch.manual_seed(0)
    words = torch.cat([torch.randint(1, LETTERS, (24, 5)), torch.zeros(24, 1, dtype=torch.long)], dim=1)
    sparse = Transformer(is_sparse=True)
    models: dict[str, torch.nn.Module] = {"block-sparse": sparse, "masked dense": masked(sparse)}
    if options.compile:
        models = {name: torch.compile(model, fullgraph=True, backend=options.compile) for name, model in models.items()}
    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-3) for model in models.values()]
    curves: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
    for step in range(1, options.steps + 1):
        text, following = batch(words)
        losses = []
        for model, optimizer in zip(models.values(), optimizers, strict=True):
            loss = loss_of(model, text, following)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if step in MARKS:
            for curve, value in zip(curves.values(), losses, strict=True):
                curve.append((step, value))
            print(
                f"step {step:3}: "
                + ", ".join(f"{name} {value:.4f}" for name, value in zip(models, losses, strict=True))
            )
    with torch.no_grad():
        text, following = batch(words)
        own, other = (loss_of(model, text, following).item() for model in models.values())
    if options.svg:
        lines = [charts.Line(name, curve) for name, curve in curves.items()]
        title = "Loss of a small transformer in training, density 0.25"
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(charts.line_chart(title, "step", "cross entropy", lines))
    first, last = curves["block-sparse"][0][1], losses[0]
    print(f"new text: {own:.3f}, masked dense {other:.3f}")
    print(f"loss {first:.3f} -> {last:.3f}, masked dense {losses[1]:.3f}")
    assert last < first
    assert abs(last - losses[1]) < 0.05
    assert abs(own - other) < 0.05


if __name__ == "__main__":
    main()
