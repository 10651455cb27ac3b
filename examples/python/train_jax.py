# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a model of JAX with attention in a window and a block-sparse layer, with f32 master weights."""

import jax
import jax.numpy as jnp
import numpy as np

import sparsec
import sparsec.jax
from sparsec import patterns

random = np.random.default_rng(0)
weight = 0.05 * random.standard_normal((256, 128))
layer = sparsec.BSR.from_dense(weight, 32, sparsec.prune.random(weight.shape, 32, density=0.25), "f32")
model = {"layer": layer, "head": 0.05 * random.standard_normal((10, 256)).astype(np.float32)}
window = patterns.sliding_window(32) & patterns.causal()


def loss_of(model, x, labels):
    """x: [batches, tokens, 128], of which two heads of 64 attend; labels: [batches, tokens]."""
    q = x.astype(jnp.bfloat16).reshape(*x.shape[:2], 2, 64)
    mixed = sparsec.jax.attention(q, q, q, pattern=window, layout="bshd").reshape(x.shape)
    w = model["layer"]
    hidden = sparsec.jax.linear(mixed, w.with_values(w.values.astype(jnp.bfloat16)), activation="gelu")
    scores = jax.nn.log_softmax(hidden.astype(jnp.float32) @ model["head"].T)
    return -jnp.take_along_axis(scores, labels[..., None], -1).mean()


@jax.jit
def step(model, x, labels):
    loss, gradients = jax.value_and_grad(loss_of)(model, x, labels)
    return loss, jax.tree.map(lambda value, gradient: value - 2.0 * gradient, model, gradients)


teacher = random.standard_normal((10, 128))
x = random.standard_normal((4, 64, 128)).astype(np.float32)
labels = (x @ teacher.T).argmax(-1)
losses = []
for _ in range(60):
    loss, model = step(model, x, labels)
    losses.append(float(loss))

print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
assert losses[-1] < 0.7 * losses[0]
