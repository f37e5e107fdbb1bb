"""On cpu, what no state reaches is computed for many steps before the loop over them.

Tests `minirnn/devices/cpu/sequence/write_forward.py` and `minirnn/devices/cpu/sequence/forward.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, exp, sigmoid, tanh, where
from minirnn.devices.cpu.sequence.write_forward import loop_of
from minirnn.ops.sequence.layer import RecurrentLayer, template
from tests.cells import published
from tests.cells.with_torch import gallery


def inputs_of(own: Any, rng: np.random.Generator, T: int, B: int, I: int, H: int, D: int) -> list[Any]:
    plan = own.plan()
    shapes: list[tuple[int, ...]] = [(T, B, I), (D, B, H)]
    shapes += [(D, plan.states - 1, B, H)] if plan.states > 1 else []
    for _ in range(D):
        shapes += [((plan.of_both + plan.of_x) * H, I)] if plan.reads_x else []
        shapes += [((plan.of_both + plan.of_h) * H, H)] if plan.reads_h else []
        shapes += [(len(plan.gate_names) * H,), *[(H, H)] * plan.matrices, *[(H,)] * plan.vectors]
    # Recurrent sums of size 1 for any H: larger ones make a chaotic network, which amplifies each rounding.
    scales = [0.5 / max(1, s[1] ** 0.5 / 2) if len(s) == 2 else 0.5 for s in shapes]
    values = [rng.normal(size=s) * k for s, k in zip(shapes, scales, strict=True)]
    return [mr.tensor(value, requires_grad=True) for value in values]


@cell(states=("a", "h"))
def early(x_n, x_s, z_u, a, h, *, w, k=2.0):
    """Values that no state reaches: one is saved, two are compared in the loop, one is a new state."""
    n = tanh(x_n * w)
    p = where(x_s > 0.1, n, k * x_s)
    u = sigmoid(z_u + a)
    h = where(x_s > n, u * h, -h) + (1 - n) * p
    a = exp(-p * p)
    return a, h


OWN = {"early": early, "minlstm": published.minlstm, "rwkv4": published.rwkv4}
SIZES = [(1, 1, 1, 1), (3, 1, 2, 5), (130, 1, 2, 70), (2, 70, 3, 64), (5, 2, 300, 4)]
"""A piece of one step, of several, and of more than are computed at once; a step that is work enough; a wide x."""


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", ["sru", "mingru", *OWN])
def test_kernels_equal_the_composition_at_all_sizes(
    rng: np.random.Generator, name: str, sizes: tuple[int, ...]
) -> None:
    own: Any = OWN.get(name) or gallery(name)
    T, B = sizes[:2]
    inputs = inputs_of(own, rng, *sizes, 2)
    lengths = rng.integers(1, T + 1, B)
    before = [t.numpy().copy() for t in inputs]
    found, seed = [], int(rng.integers(2**32))
    for composed in (False, True):
        plan = own.plan()
        there = template(plan)
        node = RecurrentLayer(plan, [there] * 2, lengths)
        fallbacks = inputs[0].device.fallbacks.copy()
        outputs = list((node.compose if composed else node)(*inputs))
        draw = np.random.default_rng(seed)
        cotangents = [mr.tensor(draw.normal(size=t.shape)) for t in outputs]
        found.append([t.numpy() for t in (*outputs, *mr.grad(outputs, inputs, cotangents))])
        assert composed or inputs[0].device.fallbacks == fallbacks
    for a, b in zip(*found, strict=True):
        assert np.abs(a - b).max() <= 1e-12 * max(np.abs(b).max(), 1)
    assert all(np.array_equal(t.numpy(), a) for t, a in zip(inputs, before, strict=True))


def test_what_no_state_reaches_is_computed_before_the_loop() -> None:
    """minGRU is left with ``h = a * h + b`` in the loop, which is two calls."""
    loop = loop_of(gallery("mingru").plan())
    before, inside = (loop.run.__doc__ or "").split("in steps:")
    assert len(inside.strip().splitlines()) == 2 and "sigmoid" in before
    assert len(loop.ahead.slots) == 5  # a, b, and three values that the gradient reads
    for name in ("lstm", "gru", "indrnn"):
        assert not loop_of(gallery(name).plan()).ahead.slots


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ["mingru", "early"])
def test_a_layer_is_its_steps_one_after_the_other(rng: np.random.Generator, name: str, dtype: str) -> None:
    """Also in evaluation, which keeps nothing for a gradient: the same bits."""
    own: Any = OWN.get(name) or gallery(name)
    layer = own.layer(3, 70, dtype=dtype)
    tolerance = {"float16": 4e-3, "float32": 2e-6, "float64": 1e-14}[dtype]
    for T, B in ((130, 1), (9, 3)):
        x = mr.tensor(rng.normal(size=(T, B, 3)), dtype=dtype)
        first = [mr.tensor(rng.normal(size=(B, 70)), dtype=dtype) for _ in own.step.user_states]
        states: Any = first if len(first) > 1 else first[0]
        y, _ = layer(x, states)
        with mr.no_grad():
            again, _ = layer(x, states)
        np.testing.assert_array_equal(y.numpy(), again.numpy())
        for t in range(T):
            y_t, states = layer.step(x[t], states)
            np.testing.assert_allclose(y.numpy()[t], y_t.numpy(), atol=tolerance)
