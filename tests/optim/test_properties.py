"""Properties for all settings: groups change nothing, and step sizes stay within their bounds.

Tests `minirnn/optim/optimizer.py` and `minirnn/optim/lr_scheduler`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minirnn as mr
from minirnn import nn, optim
from minirnn.optim import lr_scheduler as s
from tests.each import each
from tests.examples import examples

NAMES = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam")


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 2**32 - 1), lr=st.floats(0, 1))
@examples(10)
def test_a_group_for_each_parameter_changes_nothing(name: str, seed: int, lr: float) -> None:
    rng = np.random.Generator(np.random.Philox(seed))
    start, grads = rng.normal(size=(3, 4)), rng.normal(size=(5, 3, 4))
    ends = []
    for groups in (False, True):
        ps = [nn.Parameter(a) for a in start]
        optimizer = getattr(optim, name)([{"params": p} for p in ps] if groups else ps, lr=lr)
        for rows in grads:
            for p, g in zip(ps, rows, strict=True):
                p.grad = mr.tensor(g)
            optimizer.step()
        ends.append([p.numpy().copy() for p in ps])
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("name", NAMES)
def test_steps_are_counted_and_a_step_size_of_0_moves_nothing(name: str) -> None:
    p, idle = nn.Parameter(np.array([1.0, -2.0])), nn.Parameter([3.0])
    optimizer = getattr(optim, name)([p, idle], lr=0.0)
    for k in range(1, 4):
        p.grad = mr.tensor(np.array([0.5, 2.0]))
        optimizer.step()
        assert optimizer.state[p].get("step", k) == k
        assert optimizer.steps_done == k
    np.testing.assert_array_equal(p, [1.0, -2.0])
    assert idle not in optimizer.state or not optimizer.state[idle]
    assert ("step" in optimizer.state[p]) == (name != "SGD")


@each("shape", [(0,), (1,), (2, 0, 3), ()])
@each("name", NAMES)
def test_empty_and_single_parameters_are_stepped_and_saved(name: str, shape: Any, device: str) -> None:
    p = nn.Parameter(np.ones(shape), device=device)
    optimizer = getattr(optim, name)([p], lr=0.1)
    for _ in range(2):
        p.grad = mr.tensor(np.ones(shape), device=device)
        optimizer.step()
    assert p.shape == shape
    again = getattr(optim, name)([p])
    again.load_state_dict(optimizer.state_dict())
    p.grad = mr.tensor(np.ones(shape), device=device)
    again.step()


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
