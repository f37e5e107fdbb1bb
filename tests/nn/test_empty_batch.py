"""A batch of 0 rows goes through every recurrent layer, as in torch: empty outputs, zeros as gradients.

Tests `minirnn/nn/recurrent.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.each import each

T, I, H = 4, 3, 5


def check(outputs: list[mr.Tensor], inputs: list[mr.Tensor]) -> None:
    """Zeros of the right shapes as gradients of the sum of all outputs, which is 0."""
    total = mr.ops.concat([o.reshape(-1) for o in outputs]).sum()
    assert total.item() == 0
    for g, t in zip(mr.grad(total, inputs), inputs, strict=True):
        assert g.shape == t.shape
        assert not g.numpy().any()


@each("kind", ["RNN", "GRU", "LSTM"])
@each("batch_first", [False, True])
@each("lengths", [None, [], np.zeros(0, np.int64)])
def test_layers_take_no_rows(kind: str, batch_first: bool, lengths: Any, device: str) -> None:
    module = getattr(nn, kind)(I, H, 2, bidirectional=True, batch_first=batch_first, dropout=0.5, device=device)
    x = mr.tensor(np.zeros((0, T, I) if batch_first else (T, 0, I), "f4"), True, device)
    output, state = module(x, lengths=lengths)
    assert output.shape == ((0, T, 2 * H) if batch_first else (T, 0, 2 * H))
    parts = list(state) if kind == "LSTM" else [state]
    assert [s.shape for s in parts] == [(4, 0, H)] * len(parts)
    check([output, *parts], [x, *module.parameters()])
    given = tuple(parts) if kind == "LSTM" else parts[0]
    assert module(x, given)[0].shape == output.shape


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_layers_still_want_a_time_step(kind: str) -> None:
    with pytest.raises(ValueError, match=f"{kind}: T is 0"):
        getattr(nn, kind)(I, H)(np.zeros((0, 2, I), "f4"))
