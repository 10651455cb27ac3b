# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse layers whose parameters are sharded over processes by torch's FSDP."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
layers = pytest.importorskip("sparsec.torch")
pytestmark = pytest.mark.torch

PROCESSES, STEPS = 2, 3


def model():
    """Its layers have 5 and 6 blocks: one number is odd."""
    torch.manual_seed(0)
    masks = np.zeros((6, 4), bool), np.ones((2, 3), bool)
    masks[0].ravel()[::5] = True
    return torch.nn.Sequential(
        layers.SparseLinear(64, 96, 16, mask=masks[0], activation="gelu"),
        layers.SparseLinear(96, 32, (16, 32), mask=masks[1]),
    )


def train(module, parts):
    """Steps on the mean of the losses of parts of each batch."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01)
    for step in range(STEPS):
        x = torch.randn(PROCESSES, 8, 64, generator=torch.Generator().manual_seed(step)).bfloat16()
        optimizer.zero_grad()
        (sum(module(x[part]).float().square().mean() for part in parts) / len(parts)).backward()
        optimizer.step()


def compare(rank, folder):
    """Trains a sharded model on its part of the batches, and the same model on all of them."""
    from torch.distributed import fsdp

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=PROCESSES
    )
    mesh = torch.distributed.init_device_mesh("cpu", (PROCESSES,))
    whole, sharded = model(), model()
    for layer in sharded:
        fsdp.fully_shard(layer, mesh=mesh)
    fsdp.fully_shard(sharded, mesh=mesh)
    train(whole, range(PROCESSES))
    train(sharded, [rank])
    own = sum(parameter.to_local().numel() for parameter in sharded.parameters())
    assert own < 0.7 * sum(parameter.numel() for parameter in whole.parameters())
    for mine, other in zip(sharded.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(mine.full_tensor(), other.detach())
    torch.distributed.destroy_process_group()
    # The mesh keeps gloo's threads. One that releases a tensor while Python shuts down ends in std::terminate, so the
    # process leaves without Python's shutdown.
    os._exit(0)


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no torch.distributed")
def test_sharded_layers_train_as_whole_ones(tmp_path):
    torch.multiprocessing.spawn(compare, (str(tmp_path),), PROCESSES)
