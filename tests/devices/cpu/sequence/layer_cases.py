"""Helpers of the tests of whole-sequence kernels on cpu and native: random layers, and their results by name."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from pytest import MonkeyPatch

import minirnn as mr
from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.devices.cpu import workspace
from minirnn.ops.cudnn_rnn.cells import layer_of
from minirnn.ops.sequence.layer import RecurrentLayer, flat
from tests.devices.cpu.kernel_checks import assert_within

MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}
T, B, I, H = 7, 3, 4, 5
LENGTHS = (4, 6, 1)  # no sample reaches T, so the kernels shorten the sequence


class Layer(NamedTuple):
    """Inputs of one layer and a cotangent for every output."""

    rnn_mode: str
    x: np.ndarray
    h0: np.ndarray
    c0: np.ndarray | None
    weights: list[Weights]
    lengths: np.ndarray | None
    dy: np.ndarray
    dh_n: np.ndarray
    dc_n: np.ndarray | None
    zoneout: tuple[Any, Any] | None = None

    @property
    def plan(self) -> Plan:
        return layer_of(self.rnn_mode, self.weights[0].Wp is not None, self.zoneout)[0]

    @property
    def attributes(self) -> dict[str, Any]:
        """The common options of both passes."""
        plan, masks, zoneout = layer_of(self.rnn_mode, self.weights[0].Wp is not None, self.zoneout)
        found: dict[str, Any] = {"plan": plan, "lengths": self.lengths}
        shape, H = self.dy.shape, self.weights[0].R.shape[0] // GATES[self.rnn_mode]

        def wide(z: Any, width: int) -> np.ndarray:
            return np.full((len(self.h0), *shape[:2], width), z, self.x.dtype) if isinstance(z, float) else z

        found["masks"] = tuple(wide(m, H) for m in masks)
        return found | ({} if zoneout is None else {"zoneout": wide(zoneout, self.h0.shape[2])})


def random_layer(
    rnn_mode: str,
    *,
    T: int = T,
    B: int = B,
    I: int = I,
    H: int = H,
    D: int = 1,
    lengths: Any = None,
    skip: bool = False,
    projection: int = 0,
    dtype: Any = np.float64,
    seed: int = 0,
) -> Layer:
    rng = np.random.default_rng(seed)

    def array(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(dtype)

    GH, P, width = GATES[rnn_mode] * H, projection or H, H if skip else I
    lstm = rnn_mode == "lstm"
    weights = [
        Weights(
            None if skip else array(GH, width),
            array(GH, P),
            array(P, H) if projection else None,
            array(GH),
            array(GH),
        )
        for _ in range(D)
    ]
    return Layer(
        rnn_mode,
        array(T, B, width),
        array(D, B, P),
        array(D, B, H) if lstm else None,
        weights,
        None if lengths is None else np.asarray(lengths, np.int32),
        array(T, B, D * P),
        array(D, B, P),
        array(D, B, H) if lstm else None,
    )


def zoned_layer(rnn_mode: str, zoneout: str, seed: int, **options: Any) -> Layer:
    """A random layer with a kind of zoneout; an empty string means none."""
    n = random_layer(rnn_mode, seed=seed, **options)
    if not zoneout:
        return n
    rng = np.random.default_rng(seed + 100)
    widths = [n.h0.shape[2], *([] if n.c0 is None else [n.c0.shape[2]])]
    if zoneout == "numbers":
        found: list[Any] = [0.3, 0.6][: len(widths)]
    else:
        found = [rng.random((len(n.h0), *n.x.shape[:2], width)) for width in widths]
        found = [((z < 0.5) + 0.0 if zoneout == "masks" else z).astype(n.x.dtype) for z in found]
    return n._replace(zoneout=(found[0], found[1] if len(found) > 1 else None))


def unwritten(shape: Any, dtype: Any) -> np.ndarray:
    """Memory from the workspace, filled with NaN."""
    return np.full(shape, np.nan, dtype)


def fast(layer: Layer, place: str = "cpu", *, need_dx: bool = True) -> dict[str, Any]:
    """All outputs and gradients of the fast kernels, by name; scratch that is read before written would be NaN."""
    n, attrs, device = layer, layer.attributes, mr.devices.get(place)
    with MonkeyPatch.context() as patch:
        patch.setattr(workspace, "empty", unwritten)
        y, h_n, c_n, saved = device.cell_sequence(n.x, n.h0, n.c0, n.weights, training=True, **attrs)
        dx, dh0, dc0, dweights = device.cell_sequence_grad(
            n.x, n.h0, n.c0, n.weights, saved, y, n.dy, n.dh_n, n.dc_n, need_dx=need_dx, **attrs
        )
    return named(y, h_n, c_n, dx, dh0, dc0, dweights)


def scaled(n: Layer) -> Layer:
    """The layer with weights of the size that networks have, so that errors do not grow from step to step."""
    scale = 0.6 * len(n.weights[0].bW) ** -0.5
    weights = [Weights(*[None if w is None else (scale * w).astype(w.dtype) for w in own[:5]]) for own in n.weights]
    return n._replace(weights=weights)


def in_float64(n: Layer) -> Layer:
    """The same numbers in float64; NaN in the padding is 0."""

    def wide(a: Any) -> Any:
        return np.nan_to_num(a.astype(np.float64)) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a

    arrays = {name: wide(getattr(n, name)) for name in ("x", "h0", "c0", "dy", "dh_n", "dc_n")}
    zoneout = None if n.zoneout is None else tuple(map(wide, n.zoneout))
    return n._replace(**arrays, weights=[Weights(*map(wide, own[:5])) for own in n.weights], zoneout=zoneout)


def plain(layer: Layer) -> dict[str, Any]:
    """The same by the composition on the tape."""
    n = layer
    plan, masks, zoneout = layer_of(n.rnn_mode, n.weights[0].Wp is not None, n.zoneout)
    weights = [
        Weights(*[None if w is None else mr.tensor(w, requires_grad=True) for w in own[:5]]) for own in n.weights
    ]
    states = [n.h0] if n.c0 is None else [n.h0, n.c0]
    inputs = [*(mr.tensor(a, requires_grad=True) for a in (n.x, *states)), *flat(weights)]
    outputs = RecurrentLayer(plan, weights, n.lengths, masks, zoneout).compose(*inputs)
    cotangents = [mr.tensor(a) for a in (n.dy, n.dh_n, n.dc_n) if a is not None]
    found = iter(mr.grad(list(outputs), inputs, cotangents))
    dx, dh0, dc0 = next(found), next(found), None if n.c0 is None else next(found)
    dweights = [[None if w is None else next(found) for w in own[:5]] for own in n.weights]
    y, h_n, c_n = [t.numpy() for t in outputs] + [None] * (2 - len(states))

    def array(t: Any) -> Any:
        return None if t is None else t.numpy()

    return named(y, h_n, c_n, array(dx), array(dh0), array(dc0), [[*map(array, own)] for own in dweights])


def named(y: Any, h_n: Any, c_n: Any, dx: Any, dh0: Any, dc0: Any, dweights: Any) -> dict[str, Any]:
    results = {"y": y, "h_n": h_n, "c_n": c_n, "dx": dx, "dh0": dh0, "dc0": dc0}
    for d, parts in enumerate(dweights):
        results |= {f"d{name}[{d}]": a for name, a in zip(Weights._fields[:5], parts, strict=False)}
    return results


def assert_same(got: dict[str, Any], want: dict[str, Any], tolerance: float) -> None:
    assert got.keys() == want.keys()
    for name in want:
        assert_within(name, got[name], want[name], tolerance)


def assert_identical(got: dict[str, Any], want: dict[str, Any]) -> None:
    for name, value in want.items():
        assert value is None or got[name].tobytes() == value.tobytes(), f"{name} differs"


VARIANTS = [
    pytest.param(mode, options, id="-".join([mode, *options]))
    for mode in MODES
    for options in ({}, {"skip": True}, {"projection": 2}, {"projection": 2, "skip": True})
    if mode == "lstm" or "projection" not in options
]
variants = pytest.mark.parametrize(("rnn_mode", "options"), VARIANTS)
both_directions = pytest.mark.parametrize("D", [1, 2])
