# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory that launches with a plan bring: for each stream, and for each capture of a CUDA graph."""

import types

import numpy as np
import pytest

import sparsec


@pytest.fixture
def capture(monkeypatch):
    """The number of the capture that streams of the host seem to be in."""
    host, number = sparsec.devices.device(sparsec.HOST), [1]
    device = types.SimpleNamespace(allocate=host.allocate, capture=lambda stream: number[0])
    monkeypatch.setattr(sparsec.devices, "device", lambda ordinal: device)
    return number


def plan_with(sizes, kernel):
    """A plan that asks for as many bytes as sizes[0] says."""
    return sparsec.Plan(types.SimpleNamespace(workspace_bytes=lambda arguments: sizes[0]), kernel, sparsec.HOST)


def is_zero(memory):
    content = np.ones(memory.bytes, np.uint8)
    memory.download(content)
    return (content == 0).all()


def test_workspaces_are_zero_and_belong_to_streams(product):
    sizes = [16]
    plan = plan_with(sizes, product)
    first, other = plan.workspace((), 0, False), plan.workspace((), 5, False)
    assert is_zero(first)
    assert first is not other
    assert plan.workspace((), 0, False) is first
    assert plan.new_workspace(()) is not first
    sizes[0] = 32
    assert plan.workspace((), 0, False).bytes == 32
    sizes[0] = 0
    assert plan.new_workspace(()) is None


def test_captures_have_workspaces_of_their_own(product, capture):
    plan = plan_with([16], product)
    assert plan.workspace((), 0, True) is None  # a capture cannot allocate
    eager = plan.workspace((), 0, False)
    captured = []
    for number in range(1, 65):
        capture[0] = number
        captured.append(plan.workspace((), 0, True))
        assert plan.workspace((), 0, True) is captured[-1]  # its launches run one after the other
    assert is_zero(captured[-1])
    assert len({id(each) for each in [eager, *captured]}) == 65
    assert plan.workspace((), 7, True) is None  # another stream of the capture
    capture[0] = 65
    assert plan.workspace((), 0, True) is None
    assert plan.workspace((), 7, False) not in captured
    assert plan.workspace((), 0, True) is None  # graphs keep theirs


def test_captures_with_other_sizes(product, capture):
    sizes = [16]
    plan = plan_with(sizes, product)
    plan.workspace((), 0, False)
    sizes[0] = 32
    assert plan.workspace((), 0, True) is None
    plan.workspace((), 0, False)
    large = plan.workspace((), 0, True)
    assert large.bytes == 32
    sizes[0] = 16
    assert plan.workspace((), 0, True) is large
    sizes[0] = 48  # a plan serves many sizes: later captures may need more
    assert plan.workspace((), 0, True) is None
    plan.workspace((), 0, False)
    capture[0] = 2
    assert plan.workspace((), 0, True).bytes == 48
    capture[0] = 1
    assert plan.workspace((), 0, True) is None  # the graph has less


def test_captures_share_a_number_of_bytes(product, capture):
    sizes = [40 << 20]
    plan = plan_with(sizes, product)  # all captures together get 64 MiB
    plan.workspace((), 0, False)
    assert plan.workspace((), 0, True).bytes == 40 << 20
    capture[0] = 2
    assert plan.workspace((), 0, True) is None
    sizes[0] = 44 << 20
    plan.workspace((), 0, False)
    assert plan.workspace((), 0, True) is None


def test_the_host_captures_nothing():
    assert sparsec.devices.device(sparsec.HOST).capture(0) == 0
