# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse linear layers as modules, and models whose layers become such modules."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sparsec import prune
from sparsec.bsr import BSR, block_pair, blocks_of
from sparsec.errors import InvalidArgument
from sparsec.torch.linear import Activation, apply_linear
from sparsec.torch.operators import repeat_linear

__all__ = ["SparseLinear", "Swap", "SwapTable", "sparsify_"]

_METHODS: dict[str, Callable[..., np.ndarray[Any, Any]]] = {
    "magnitude": prune.magnitude,
    "random": lambda a, block, density: prune.random(a.shape, block, density),
}


class SparseLinear(torch.nn.Module):  # type: ignore[misc]
    """activation(x Wᵀ + bias) with a block-sparse weight W of out_features x in_features.

    Values and indices are plain tensors: state_dict, optimizers and torch.save treat them as those of any module.
    A call takes x [..., in_features] of bf16 or f16. Values of another type are rounded to that of x in each call, so
    that f32 values are master weights. Under torch.autocast x of f32 has its type first.

    Attributes:
        values: the parameter [blocks, r, c].
        bias: the parameter [out_features], or None.
        row_ptr, col_idx: buffers, int32: the lists of sparsec.BSR.
        in_features, out_features, block, activation: as they were given.
        pack: whether to keep a copy of the values in larger blocks, as `linear` does with this argument. It may be set
            at any time. Values of another type than x are not packed.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        block: int | tuple[int, int] = 64,
        *,
        density: float | None = None,
        mask: Any = None,
        bias: bool = True,
        activation: Activation = None,
        pack: bool = False,
        dtype: torch.dtype | None = None,
        device: Any = None,
    ) -> None:
        """Makes a layer with random values, which are distributed as those of torch.nn.Linear of as many inputs.

        Args:
            in_features, out_features: K and M.
            block: (r, c), or r for r x r: multiples of 16 from 16 to 256.
            density: the fraction of blocks to store, at random places; or
            mask: the blocks to store: bool [ceil(M / r), ceil(K / c)], of NumPy or torch.
            bias: whether there is a bias, of the type of the values.
            activation, pack: as of `linear`.
            dtype: of the values; None: torch's default.
            device: of all tensors; None: torch's default.

        Raises:
            InvalidArgument: not one of density and mask is given, or the mask has another shape or type.
        """
        super().__init__()
        self.row_ptr: torch.Tensor
        self.col_idx: torch.Tensor
        self.in_features, self.out_features = in_features, out_features
        self.block = block_pair(block)
        self.activation, self.pack = activation, pack
        if (density is None) == (mask is None):
            raise InvalidArgument("expects one of density and mask")
        if density is not None:
            mask = prune.random((out_features, in_features), self.block, density)
        row_ptr, col_idx = self._lists(mask)
        self.register_buffer("row_ptr", row_ptr.to(device or torch.get_default_device()))
        self.register_buffer("col_idx", col_idx.to(device or torch.get_default_device()))
        self.values = torch.nn.Parameter(torch.empty(len(col_idx), *self.block, dtype=dtype, device=device))
        self.bias = torch.nn.Parameter(torch.empty(out_features, dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws values and bias anew, as torch.nn.Linear does for the mean number of stored columns."""
        inputs = max(self.values.numel() / max(self.out_features, 1), 1.0)
        limit = 1 / math.sqrt(inputs)
        with torch.no_grad():
            self.values.uniform_(-limit, limit)
            if self.bias is not None:
                self.bias.uniform_(-limit, limit)

    def forward(self, x: torch.Tensor, residual: torch.Tensor | None = None) -> torch.Tensor:
        """activation(x Wᵀ + bias) + residual. Raises as `linear` does."""
        if x.dtype is torch.float32 and torch.is_autocast_enabled(x.device.type):
            x = x.to(torch.get_autocast_dtype(x.device.type))
        # A look-up of a parameter as an attribute takes half a microsecond. Other code may have replaced it by one.
        lists, parameters = self._buffers, self._parameters
        values, bias = parameters.get("values"), parameters.get("bias")
        values = self.values if values is None else values
        bias = self.bias if bias is None else bias
        is_rounded = values.dtype is not x.dtype
        if is_rounded:
            values = values.to(x.dtype)
        row_ptr, col_idx, shape = lists["row_ptr"], lists["col_idx"], (self.out_features, self.in_features)
        activation, pack = self.activation, self.pack and not is_rounded
        y = repeat_linear(row_ptr, col_idx, values, shape, x, bias, activation, residual, True, pack)
        if y is None:
            y = apply_linear(row_ptr, col_idx, values, self.block, shape, x, bias, activation, residual, True, pack)
        return y

    @property
    def matrix(self) -> BSR:
        """The weight as a matrix that refers to the tensors."""
        return BSR(self.row_ptr, self.col_idx, self.values.detach(), (self.out_features, self.in_features))

    @property
    def density(self) -> float:
        """Stored blocks divided by all blocks."""
        return self.matrix.density

    def to_dense(self) -> torch.Tensor:
        """Copies the weight to a tensor [out_features, in_features]."""
        (rows, columns), (r, c) = self.matrix.block_grid, self.block
        dense = self.values.new_zeros(rows, columns, r, c)
        dense[self._block_rows(), self.col_idx.long()] = self.values.detach()
        return dense.transpose(1, 2).reshape(rows * r, columns * c)[: self.out_features, : self.in_features]

    def set_pattern(self, mask: Any) -> None:
        """Stores other blocks. Those that stay keep their values, new ones are zero.

        The lists are new tensors. The parameter stays the same object; its data is a new tensor, so that an optimizer
        goes on with it if the number of blocks stays the same, and is made anew otherwise.

        Args:
            mask: as of the constructor.

        Raises:
            InvalidArgument: the mask has another shape or type.
        """
        row_ptr, col_idx = (each.to(self.row_ptr.device) for each in self._lists(mask))
        dense = self.values.new_zeros(*self.matrix.block_grid, *self.block)
        dense[self._block_rows(), self.col_idx.long()] = self.values.detach()
        self.row_ptr, self.col_idx = row_ptr, col_idx
        self.values.data = dense[self._block_rows(), col_idx.long()]
        self.values.grad = None

    @classmethod
    def from_linear(
        cls,
        linear: torch.nn.Linear,
        block: int | tuple[int, int] = 64,
        density: float = 0.25,
        method: str = "magnitude",
        activation: Activation = None,
    ) -> SparseLinear:
        """Makes a layer of the blocks of a dense layer, with a copy of their values and of its bias.

        Args:
            linear: the dense layer.
            block: as of the constructor.
            density: the fraction of blocks to store.
            method: "magnitude": those with the largest norms; "random".
            activation: as of `linear`.

        Raises:
            InvalidArgument: the method is none of these.
        """
        if method not in _METHODS:
            raise InvalidArgument(f"method: expects {' or '.join(_METHODS)}, but got {method!r}")
        weight = linear.weight.detach()
        mask = _METHODS[method](weight.float().cpu().numpy(), block, density)
        layer = cls(
            linear.in_features,
            linear.out_features,
            block,
            mask=mask,
            bias=linear.bias is not None,
            activation=activation,
            dtype=weight.dtype,
            device=weight.device,
        )
        blocks = torch.as_tensor(blocks_of(weight.float().cpu().numpy(), layer.block)[mask])
        with torch.no_grad():
            layer.values.copy_(blocks)
            if layer.bias is not None:
                layer.bias.copy_(linear.bias)
        return layer

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *arguments: Any) -> None:
        """Loads lists and values, also those of another number of blocks: the tensors get their sizes first."""
        loaded = state_dict.get(f"{prefix}col_idx")
        if loaded is not None and len(loaded) != len(self.col_idx):
            self.col_idx = self.col_idx.new_empty(len(loaded))
            self.values.data = self.values.new_empty(len(loaded), *self.block)
            self.values.grad = None
        super()._load_from_state_dict(state_dict, prefix, *arguments)

    def _lists(self, mask: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """row_ptr and col_idx of a mask, on the processor."""
        mask = mask.cpu().numpy() if isinstance(mask, torch.Tensor) else np.asarray(mask)
        grid = (-(-self.out_features // self.block[0]), -(-self.in_features // self.block[1]))
        if mask.dtype != np.bool_ or mask.shape != grid:
            raise InvalidArgument(f"mask: expects bool {grid}, but got {mask.dtype} {mask.shape}")
        row_ptr = np.zeros(grid[0] + 1, np.int32)
        np.cumsum(mask.sum(axis=1), out=row_ptr[1:])
        return torch.from_numpy(row_ptr), torch.from_numpy(np.nonzero(mask)[1].astype(np.int32))

    def _block_rows(self) -> torch.Tensor:
        """The block row of each block."""
        counts = self.row_ptr.diff().long()
        return torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)

    def extra_repr(self) -> str:
        r, c = self.block
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, block={r}x{c}, "
            f"density={self.density:.3g}, bias={self.bias is not None}, activation={self.activation}"
        )


# ---- Models ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Swap:
    """A layer that became block-sparse.

    Attributes:
        name: of the layer in the model.
        in_features, out_features: of the layer.
        blocks: the number of stored blocks.
        density: stored blocks divided by all blocks.
        lost: the norm of the weight that is not stored, divided by that of the whole weight.
    """

    name: str
    in_features: int
    out_features: int
    blocks: int
    density: float
    lost: float


class SwapTable(tuple[Swap, ...]):
    """The layers that `sparsify_` swapped. Its text is a table."""

    __slots__ = ()

    def __str__(self) -> str:
        width = max((len(swap.name) for swap in self), default=0)
        lines = [f"{'layer':{max(width, 5)}}  {'shape':>13}  {'blocks':>7}  {'density':>7}  {'lost':>6}"]
        for swap in self:
            shape = f"{swap.out_features}x{swap.in_features}"
            lines.append(
                f"{swap.name:{max(width, 5)}}  {shape:>13}  {swap.blocks:7d}  {swap.density:7.3f}  {swap.lost:6.3f}"
            )
        return "\n".join(lines)


def sparsify_(
    model: torch.nn.Module,
    block: int | tuple[int, int] = 64,
    density: float = 0.25,
    filter: Callable[[str, torch.nn.Linear], bool] | None = None,
    method: str = "magnitude",
) -> SwapTable:
    """Replaces linear layers of a model by block-sparse ones, in place.

    Args:
        model: a module that has layers of torch.nn.Linear.
        block, density, method: as of SparseLinear.from_linear.
        filter: of a layer's name and the layer: whether it is replaced. None: all are.

    Returns:
        What was replaced.

    Raises:
        InvalidArgument: the model is itself a layer, which cannot be replaced in place, or an option is wrong.
    """
    if isinstance(model, torch.nn.Linear):
        raise InvalidArgument("model: expects a module that has layers; SparseLinear.from_linear takes a layer")
    layers = [(name, each) for name, each in model.named_modules() if type(each) is torch.nn.Linear]
    swaps = []
    for name, dense in layers:
        if filter is not None and not filter(name, dense):
            continue
        sparse = SparseLinear.from_linear(dense, block, density, method)
        sparse.train(dense.training)
        model.set_submodule(name, sparse)
        whole, stored = (float(each.double().norm()) for each in (dense.weight.detach(), sparse.to_dense()))
        lost = math.sqrt(max(whole**2 - stored**2, 0.0)) / whole if whole else 0.0
        swaps.append(
            Swap(name, dense.in_features, dense.out_features, len(sparse.col_idx), sparse.matrix.density, lost)
        )
    return SwapTable(swaps)
