"""Initial values of Conv1d. `tests/peers` compares it with torch for all options of stride, padding and dilation."""

from __future__ import annotations

import minirnn as mr


def test_initial_values_are_bounded_by_the_fan_in() -> None:
    mr.manual_seed(0)
    conv = mr.nn.Conv1d(8, 50, 5, groups=2)
    conv.reset_parameters()
    for p in conv.parameters():
        assert 0.8 / 20**0.5 < abs(p).max().item() <= 1 / 20**0.5
