"""A step that is said to be linear in its states, unit by unit, is so in numbers, and no other one is.

Tests `minirnn/cells/slopes.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, relu, sigmoid, straight_through, tanh, where
from minirnn.cells.slopes import slopes
from minirnn.cells.text import write
from tests.cells import published
from tests.cells.with_torch import CELLS, WITH_KEYS, gallery


@cell(states=("p", "h"))
def leaky(x_a: Any, p: Any, h: Any, *, w: Any, dt: float = 0.3) -> Any:
    return p + dt * (tanh(x_a) - w * p), 0.5 * h - p / (1 + x_a * x_a)


@cell(states="h")
def jumps(x_a: Any, h: Any) -> Any:
    return where(h > 0, 1, x_a)


@cell(states="h")
def spikes(x_a: Any, h: Any) -> Any:
    return x_a + straight_through(relu(h), h)


@cell(states="h")
def forgets(x_a: Any, h: Any) -> Any:
    return straight_through(x_a, h)


@cell(states="c", output="y")
def only_the_output_bends(x_a: Any, c: Any) -> Any:
    c = sigmoid(x_a) * c + x_a
    return c, tanh(c)


OWN = {f.__name__: f for f in (leaky, jumps, spikes, forgets, only_the_output_bends)}
PUBLISHED = {n: one for n, one in vars(published).items() if hasattr(one, "step")}
ALL = {**{n: gallery(n) for n in (*CELLS, *WITH_KEYS)}, **PUBLISHED, **OWN}
LINEAR = {"mingru", "minlstm", "lru", "linear_attention", "retnet", "s6", "leaky", "forgets", "only_the_output_bends"}
LINEAR |= {"rg_lru", "gla", "longhorn"}


def text_of(name: str) -> dict[str, str] | str:
    step = ALL[name].step
    found = slopes(step)
    if isinstance(found, str):
        return found
    return {f"{n} {m}": write(e, step.names, top=True) for n, one in found.items() for m, e in one.items()}


@pytest.mark.parametrize("name", ALL)
def test_it_is_linear_in_numbers_if_and_only_if_it_is_said_to_be(name: str) -> None:
    assert isinstance(slopes(ALL[name].step), dict) == (name in LINEAR)
    mr.manual_seed(3)
    own = ALL[name]
    layer = own.layer(3, 4, dtype="float64")
    rng = np.random.default_rng(3)
    with mr.no_grad():
        for p in layer.parameters():
            p.copy_(rng.normal(size=p.shape))
        x = rng.normal(size=(1, 1, 3))
        masks = {n: mr.tensor(rng.uniform(size=(1, 1, 4))) for n in own.step.masks}

        def after(states: Any) -> list[np.ndarray]:
            given = states[0] if len(states) == 1 else tuple(states)
            found = layer(mr.tensor(x), given, **({"masks": masks} if masks else {}))[1]
            return [s.numpy() for s in (found if isinstance(found, tuple) else (found,))]

        first = layer(mr.tensor(x), **({"masks": masks} if masks else {}))[1]
        zeros = [np.zeros(s.shape) for s in (first if isinstance(first, tuple) else (first,))]
        p, q = ([rng.normal(size=s.shape) for s in zeros] for _ in range(2))
        of_p, of_q, of_sum, of_0 = map(after, (p, q, [a + b for a, b in zip(p, q, strict=True)], zeros))
        affine = all(np.allclose(a + b, c + d) for a, b, c, d in zip(of_p, of_q, of_sum, of_0, strict=True))
        one = [a.copy() for a in p]
        for a in one:
            a[..., -1] += 1  # of one unit or key
        alone = all(np.allclose(a[..., :-1], b[..., :-1]) for a, b in zip(after(one), of_p, strict=True))
    assert (affine and alone) == (name in LINEAR)


def test_the_derivatives_and_the_reasons() -> None:
    assert text_of("mingru") == {"h h": "1 - z"}
    assert text_of("leaky") == {"p p": "1 - dt * w", "h h": "0.5", "h p": "-1 / (1 + x_a**2)"}
    assert text_of("only_the_output_bends") == {"c c": "sigmoid(x_a)"}
    assert text_of("forgets") == {}
    assert text_of("lstm") == "z_i reads h of all units"
    assert text_of("sru") == "dc/dc_prev contains c_prev"
    assert text_of("deltanet") == "dot(S_prev, k_k) is a sum over keys"
    assert text_of("jumps") == "it jumps where h_prev > 0 changes"
    assert text_of("spikes") == "dh/dh_prev contains h_prev"  # that of relu, not the one that a gradient gets
