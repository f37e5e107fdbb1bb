"""Random graphs of small matrices have torch's values and torch's first and second derivatives.

Tests `minirnn/engine/tape.py` and `minirnn/engine/backward.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import minirnn as mr
from minirnn import ops
from tests.compare import assert_close
from tests.examples import examples


@st.composite
def programs(draw: Any) -> list[tuple[str, int, int]]:
    """A list of (op, operand, operand): every op makes a (2, 3) matrix from earlier ones."""
    names = [*UNARY, *BINARY]
    return [
        (draw(st.sampled_from(names)), draw(st.integers(0, 2 + k)), draw(st.integers(0, 2 + k)))
        for k in range(draw(st.integers(1, 12)))
    ]


def lib() -> Any:
    return pytest.importorskip("torch")


UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tanh": (lambda a: a.tanh(), lambda a: a.tanh()),
    "sigmoid": (lambda a: a.sigmoid(), lambda a: a.sigmoid()),
    "negative": (lambda a: -a, lambda a: -a),
    "exp of tanh": (lambda a: a.tanh().exp(), lambda a: a.tanh().exp()),
    "relu": (lambda a: a.relu(), lambda a: a.relu()),
    "softmax": (lambda a: a.softmax(0), lambda a: a.softmax(0)),
    "log_softmax": (lambda a: a.log_softmax(), lambda a: a.log_softmax(-1)),
    "sum": (lambda a: a.tanh().sum(axis=1, keepdims=True) + a, lambda a: a.tanh().sum(1, keepdim=True) + a),
    "mean and broadcast": (
        lambda a: a.mean(axis=0).broadcast_to((2, 3)),
        lambda a: a.mean(0).expand(2, 3),
    ),
    "transpose": (lambda a: a.T.reshape(2, 3), lambda a: a.T.reshape(2, 3)),
    "rows": (lambda a: a[[1, 1]], lambda a: a[[1, 1]]),
    "max": (lambda a: a - a.max(axis=1, keepdims=True), lambda a: a - a.amax(1, keepdim=True)),
    "clip": (lambda a: a.clip(-1.5, 1.5), lambda a: a.clamp(-1.5, 1.5)),
    "number": (lambda a: 2.0 * a - 0.5, lambda a: 2.0 * a - 0.5),
}


BINARY: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "subtract a column": (lambda a, b: a - b[:, :1], lambda a, b: a - b[:, :1]),
    "multiply": (lambda a, b: a.tanh() * b, lambda a, b: a.tanh() * b),
    "divide": (lambda a, b: a / (b * b + 1.0), lambda a, b: a / (b * b + 1.0)),
    "multiply by a row": (lambda a, b: a * b[0].tanh(), lambda a, b: a * b[0].tanh()),
    "matmul": (lambda a, b: a.tanh() @ (b.T @ b).tanh(), lambda a, b: a.tanh() @ (b.T @ b).tanh()),
    "maximum": (lambda a, b: ops.maximum(a, b), lambda a, b: lib().maximum(a, b)),
    "where": (lambda a, b: ops.where(a > b, a, b * 2.0), lambda a, b: lib().where(a > b, a, b * 2.0)),
    "concat and split": (
        lambda a, b: ops.concat([a, b], 1).reshape(3, 4).T[1:3].reshape(2, 3),
        lambda a, b: lib().cat([a, b], 1).reshape(3, 4).T[1:3].reshape(2, 3),
    ),
}


def execute(program: list[tuple[str, int, int]], start: list[Any], which: int) -> Any:
    values = list(start)
    for name, i, j in program:
        values.append(UNARY[name][which](values[i]) if name in UNARY else BINARY[name][which](values[i], values[j]))
    return values[-1] + 0.1 * values[len(values) // 2]


@examples(120)
@hypothesis.given(programs(), st.integers(0, 2**16))
def test_random_graphs_have_torchs_values_and_first_and_second_derivatives(
    program: list[tuple[str, int, int]], seed: int
) -> None:
    torch = lib()
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal((2, 3)) for _ in range(3)]
    xs = [mr.tensor(a, requires_grad=True) for a in arrays]
    ts = [torch.tensor(a, requires_grad=True) for a in arrays]
    y, u = execute(program, xs, 0), execute(program, ts, 1)
    # Each op may magnify the rounding errors of those before it.
    tolerance, why = 1e-10, "float64: 1e-16, magnified up to 10 times by each of up to 6 ops in a row"
    assert_close(y, u.detach().numpy(), tolerance, why, what="value")
    v = rng.standard_normal((2, 3))
    gs = mr.grad(y, xs, v, create_graph=True)
    hs = torch.autograd.grad(u, ts, torch.tensor(v), create_graph=True, allow_unused=True, materialize_grads=True)
    for k, (g, h) in enumerate(zip(gs, hs, strict=True)):
        assert_close(g, h.detach().numpy(), tolerance, why, what=f"gradient {k}")
    ws = [rng.standard_normal((2, 3)) for _ in gs]
    ours = [(g, w) for g, w in zip(gs, ws, strict=True) if g.requires_grad]
    theirs = [(h, torch.tensor(w)) for h, w in zip(hs, ws, strict=True) if h.requires_grad]
    if not ours:
        return
    second = mr.grad([g for g, _ in ours], xs, [w for _, w in ours])
    expected = torch.autograd.grad(
        [h for h, _ in theirs], ts, [w for _, w in theirs], allow_unused=True, materialize_grads=True
    )
    for k, (g, h) in enumerate(zip(second, expected, strict=True)):
        assert_close(g, h.numpy(), 1e-8, "second derivatives: another factor of 100", what=f"second derivative {k}")
