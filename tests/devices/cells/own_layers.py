"""Layers of custom cells with random weights, for the tests of devices. `tests/nn/own/test_layer.py` has torch's."""

from collections.abc import Mapping
from math import pi
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import (
    cell,
    erf,
    exp,
    floor,
    product,
    relu,
    sigmoid,
    sign,
    sin,
    sqrt,
    tanh,
    unit_max,
    unit_mean,
    unit_norm,
    unit_softmax,
    unit_sum,
)
from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from tests.cells.with_torch import CELLS, gallery, shapes_of

T, B, I = 7, 4, 3
LENGTHS = np.array([6, 3, 5, 1])


@cell(states=("h",))
def many_gates(z_a, z_b, z_c, z_d, z_e, x_f, x_g, h_i, h_j, h, *, w):
    r = sigmoid(z_a + w * h) * tanh(z_b) + 0.1 * sigmoid(z_c) * tanh(z_d)
    jumps = z_d * z_d * sign(z_d) + sin(3 * x_g) ** 2 * floor(3 / pi * x_g)  # by which gradients do not jump
    return 0.5 * r * tanh(x_f * h_i + z_e) + 0.2 * relu(x_g) * erf(h_j) + 0.1 * jumps


@cell(states=("s", "h"))
def three_stages(z_a, x_b, s, h, mask_s, mask_h):
    u = sigmoid(z_a)
    p = tanh(product(u * h) + x_b)
    q = tanh(product(p * s))
    new_s = u * s + (1 - u) * p * q
    new_h = tanh(product(new_s) + u) + unit_mean(q) * p
    return mask_s * s + (1 - mask_s) * new_s, mask_h * h + (1 - mask_h) * new_h


@cell(states=("h",))
def layer_norm(z_a, x_b, h, *, g, eps=1e-5):
    centered = z_a - unit_mean(z_a)
    return tanh(g * centered / sqrt(unit_mean(centered * centered) + eps)) * sigmoid(x_b)


@cell(states=("h",))
def over_units(z_a, x_b, h_c, h, *, g, eps=0.01):
    p = unit_softmax(g * z_a)
    a, b, _ = unit_norm(x_b, h_c, z_a)
    e = exp(h - unit_max(h))
    return tanh(a + unit_sum(p * h) - unit_max(x_b * h)) + 0.3 * unit_norm(b * e / unit_sum(e), eps=eps)


@cell(states=("h",))
def gates_of_h(h_a, h_b, x_c, h):
    return tanh(h_a) * sigmoid(h_b) + 0.3 * x_c


@cell(states=("p", "s", "h"))
def two_inner_states(z_a, p, s, h, *, w):
    u = tanh(z_a + 0.4 * s + w * p)
    new_p = 0.5 * p + u * tanh(product(u * p))
    return new_p, 0.7 * s + 0.3 * p, tanh(new_p + s)


@cell(states=("c", "h"))
def multiplicative(x_m, h_m, x_f, x_n, c, h):
    m = x_m * h_m
    f = sigmoid(x_f + product(m))
    c = f * c + (1 - f) * tanh(x_n + product(m))
    return c, tanh(c)


@cell(states=("h",))
def residual(z_a, h, *, dt=0.3):
    """Two of its products share a matrix."""
    u = tanh(product(h, "R2") + tanh(z_a))
    return h + dt * (product(u) - 0.1 * h + u - product(u * h, "R2"))


@cell(states=("p", "q", "h"))
def alone(x_a, x_b, p, q, h, mask_h, *, w, dt=0.3):
    new_p = p - dt * (tanh(w * h + x_a) + 0.5 * q)
    return new_p, q + dt * new_p * p, mask_h * h + (1 - mask_h) * sigmoid(x_b) * new_p


NINE = many_gates, three_stages, layer_norm, gates_of_h, two_inner_states, multiplicative, residual, over_units, alone
MADE_UP = {own.__name__: own for own in NINE}
ALL = [*CELLS, *MADE_UP]


def cell_of(name: str) -> Any:
    return MADE_UP.get(name) or gallery(name)


def argument_shapes(plan: Plan, T: int, B: int, I: int, H: int, D: int) -> list[tuple[int, ...]]:
    """The shapes of what `minirnn.ops.sequence.layer.RecurrentLayer` takes, in its order."""
    shapes: list[tuple[int, ...]] = [(T, B, I), (D, B, H)]
    shapes += [(D, plan.states - 1, B, H)] if plan.states > 1 else []
    for _ in range(D):
        shapes += [((plan.of_both + plan.of_x) * H, I)] if plan.reads_x else []
        shapes += [((plan.of_both + plan.of_h) * H, H)] if plan.reads_h else []
        shapes += [(len(plan.gate_names) * H,), *[(H, H)] * plan.matrices, *[(H,)] * plan.vectors]
    return shapes


class OwnLayer:
    """A layer of a cell with random arrays, in float64. Recurrent sums are of size 1 for any H."""

    def __init__(
        self, rng: np.random.Generator, name: str, H: int, D: int = 1, P: int = 0, ragged: bool = False
    ) -> None:
        self.cell, self.H, self.D, self.P = cell_of(name), H, D, P or H
        self.plan: Plan = self.cell.plan(bool(P))
        self.lengths = LENGTHS if ragged else None
        inner, step = self.plan.states - 1, self.cell.step
        draw = lambda *shape: 0.5 * rng.normal(size=shape)  # noqa: E731
        shapes = shapes_of(self.cell, I, H, self.P)
        self.named = [{n: draw(*s) / max(1, s[-1] ** 0.5 / 3) for n, s in shapes.items()} for _ in range(D)]
        self.x, self.h0, self.c0 = draw(T, B, I), draw(D, B, self.P), draw(D, inner, B, H) if inner else None
        if name == "slstm":
            self.c0[:, 1] = np.abs(self.c0[:, 1]) + 0.5  # n, by which it divides
        self.dy, self.dc = draw(T, B, D * self.P), draw(D, inner, B, H) if inner else None
        self.dh = draw(D, B, self.P) * step.read  # otherwise the last state is undefined
        self.masks = [rng.uniform(size=(D, T, B, H)) for _ in range(self.plan.masks)]
        if ragged:
            padding = np.arange(T)[:, None] >= LENGTHS
            self.x[padding], self.dy[padding] = np.nan, 0

    def weights(self, named: Mapping[str, Any]) -> Weights:
        """W, R, Wp, bW of all gates, no bR, U, vectors as devices take them: gates in the order of the plan."""
        order, H = list(self.cell.step.gate_order), self.H

        def rows(name: str, kinds: str) -> Any:
            if name not in named:
                return None
            there = [n for n in order if n[0] in kinds]
            at = [there.index(n) for n in self.plan.gate_names if n[0] in kinds]
            return np.concatenate([named[name][k * H : (k + 1) * H] for k in at])

        U = tuple(named[n] for n in self.cell.step.matrices)
        vectors = tuple(named[n] for n in self.plan.vector_names)
        W, R, b = rows("weight_ih", "zx"), rows("weight_hh", "zh"), rows("bias", "zxh")
        return Weights(W, R, named.get("weight_hr"), b, None, U, vectors)

    def run(self, device: Any, dtype: str = "float64", training: bool = True) -> dict[str, np.ndarray]:
        """All results and gradients of a device, by name; without `training` the results alone."""

        def on(a: Any) -> Any:
            if isinstance(a, (tuple, list)):
                return Weights(*map(on, a)) if isinstance(a, Weights) else type(a)(map(on, a))
            return None if a is None else device.asarray(a.astype(dtype))

        weights = [on(self.weights(named)) for named in self.named]
        x, h0, c0 = on(self.x), on(self.h0), on(self.c0)
        options: dict[str, Any] = {"plan": self.plan, "lengths": self.lengths, "masks": on(tuple(self.masks))}
        y, h_n, c_n, saved = device.cell_sequence(x, h0, c0, weights, training=training, **options)
        found = {"y": y, "h_n": h_n, "c_n": c_n}
        if training:
            given = x, h0, c0, weights, saved, y, on(self.dy), on(self.dh), on(self.dc)
            dx, dh0, dc0, dweights = device.cell_sequence_grad(*given, need_dx=True, **options)
            found |= {"dx": dx, "dh0": dh0, "dc0": dc0, **self.by_name(dweights)}
        device.synchronize()
        return {n: device.to_numpy(a).copy() for n, a in found.items() if a is not None}

    def by_name(self, dweights: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for k, (dW, dR, dWp, db, _, dU, dvectors) in enumerate(dweights):
            found |= {f"dW{k}": dW, f"dR{k}": dR, f"dWp{k}": dWp, f"db{k}": db}
            found |= {f"dU{k}.{j}": a for j, a in enumerate(dU)} | {f"dv{k}.{j}": a for j, a in enumerate(dvectors)}
        return found


def tolerance_float32(layer: OwnLayer, expected: Mapping[str, np.ndarray]) -> float:
    """Twice the error of NumPy's float32, at least 3e-6: a norm of nearly equal units amplifies rounding anywhere."""
    found = layer.run(mr.devices.get("cpu"), "float32")
    return max(3e-6, *(2 * np.abs(found[n] - a).max() / max(np.abs(a).max(), 1e-30) for n, a in expected.items()))


def assert_close(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray], of_largest: float) -> None:
    """Check that every expected array exists, and that no error exceeds this fraction of the largest element."""
    for name, right in expected.items():
        np.testing.assert_allclose(
            found[name], right, rtol=0, atol=of_largest * max(np.abs(right).max(), 1e-30), err_msg=name
        )
