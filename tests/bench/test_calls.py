"""What is timed is the same for minirnn and for torch."""

from __future__ import annotations

import pytest

import minirnn as mr
from minirnn.bench.calls import our_calls, torch_calls


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_minirnn_and_torch_compute_gradients_of_the_same_shapes(mode: str) -> None:
    pytest.importorskip("torch")
    size = (3, 2, 4, 5)
    ours = our_calls(mr.devices.get("cpu"), mode, size, "float32")["forward+backward"]()
    theirs = torch_calls("cpu", mode, size, "float32")["forward+backward"]()
    states = 3 if mode == "lstm" else 2
    assert [g.shape for g in ours[:states]] == [tuple(g.shape) for g in theirs[:states]]
    assert ours[-1].size == sum(g.numel() for g in theirs[states:])
