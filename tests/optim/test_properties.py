"""For all settings, the step sizes of a schedule are those of its formula.

Tests `minirnn/optim/lr_scheduler`.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minirnn import nn, optim
from minirnn.optim import lr_scheduler as s
from tests.examples import examples


@given(st.integers(1, 30), st.floats(0, 0.05), st.integers(0, 60))
@examples(40)
def test_step_by_step_a_schedule_comes_to_what_its_formula_says(length: int, low: float, epochs: int) -> None:
    e, way = epochs, min(epochs, length) / length
    for build, expected in (
        (lambda o: s.StepLR(o, length, 0.9), 0.2 * 0.9 ** (e // length)),
        (lambda o: s.MultiStepLR(o, [length, 2 * length], 0.3), 0.2 * 0.3 ** min(e // length, 2)),
        (lambda o: s.ConstantLR(o, 0.25, length), 0.05 if e < length else 0.2),
        (lambda o: s.LinearLR(o, 0.1, 0.8, length), 0.2 * (0.1 + 0.7 * way)),
        (lambda o: s.ExponentialLR(o, 0.97), 0.2 * 0.97**e),
        (lambda o: s.PolynomialLR(o, length, 1.5), 0.2 * (1 - way) ** 1.5),
        (lambda o: s.CosineAnnealingLR(o, length, low), low + (0.2 - low) * (1 + math.cos(math.pi * e / length)) / 2),
    ):
        optimizer = optim.SGD([nn.Parameter([1.0])], 0.2)
        schedule = build(optimizer)
        for _ in range(epochs):
            optimizer.step()
            schedule.step()
        np.testing.assert_allclose(schedule.get_last_lr(), [expected], rtol=1e-9, atol=1e-12)
        assert 0 <= optimizer.lr <= 0.2 + 1e-12
