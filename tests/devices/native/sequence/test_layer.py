"""Whole layers in C++: threads, layouts, extreme values. `tests/devices/cpu/sequence/test_layer.py` has the numbers.

Tests `minirnn/devices/native/sequence/layer.py`, `minirnn/devices/native/sequence/ragged.py` and the kernels
`minirnn/devices/native/kernels/forward.h` and `minirnn/devices/native/kernels/backward.h`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.base import Weights
from minirnn.devices.native import threads
from tests.devices.cpu.sequence.layer_cases import MODES, Layer, assert_identical, fast, random_layer, scaled
from tests.each import each


def native_layer(layer: Layer) -> dict[str, Any]:
    return fast(layer, "native")


LENGTHS = [4, 9, 9, 1, 7, 2, 9, 9, 5, 6, 8, 3, 9, 9, 9, 9, 9]
SHARED: list[tuple[str, dict[str, Any]]] = [
    *((mode, {"T": 9, "B": 17, "I": 90, "D": 2, "lengths": LENGTHS}) for mode in MODES),
    # 4 tiles of samples: 2 or 4 threads have whole tiles each, and 3 threads divide the units
    *((mode, {"T": 5, "B": 24, "I": 90, "D": D}) for mode in MODES for D in (1, 2)),
    # 7 tiles, which leave 3 threads unequal shares, and 8
    *(("lstm", {"T": 6, "B": B, "I": 64, "projection": 70}) for B in (40, 48)),
]


@pytest.mark.parametrize("number", ["2", "3", "4", "7"])
@each(("rnn_mode", "sizes"), SHARED)
def test_any_number_of_threads_gives_the_same_bits(
    rnn_mode: str, sizes: dict[str, Any], number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = scaled(random_layer(rnn_mode, H=130, dtype="float32", **sizes))
    monkeypatch.setenv("MINIRNN_NUM_THREADS", "1")
    alone = native_layer(layer)
    monkeypatch.setenv("MINIRNN_NUM_THREADS", number)
    assert threads.count() == int(number)
    assert_identical(native_layer(layer), alone)


def spread(a: Any) -> Any:
    """The same numbers with a gap after each, and the first two axes exchanged in memory."""
    b = np.zeros((a.shape[1], a.shape[0], *a.shape[2:], 2))
    b[..., 0] = a.swapaxes(0, 1)
    return b[..., 0].swapaxes(0, 1)


def odd(a: Any) -> Any:
    """An array whose axes of one element have strides that NumPy never uses."""
    strides = [s if n > 1 else 1000 for s, n in zip(a.strides, a.shape, strict=True)]
    return np.lib.stride_tricks.as_strided(a, a.shape, strides)


STRANGE = [((4, 3, 5, 6), spread, np.asfortranarray)]
STRANGE += [(size, odd, odd) for size in ((2, 1, 1, 1), (1, 2, 1, 1), (3, 1, 2, 1), (2, 3, 1, 1))]


@each(("size", "of_array", "of_weight"), STRANGE)
@each("rnn_mode", MODES)
def test_the_layout_in_memory_does_not_matter(rnn_mode: str, size: Any, of_array: Any, of_weight: Any) -> None:
    layer = random_layer(rnn_mode, **dict(zip("TBIH", size, strict=True)), D=2)
    given = {name: getattr(layer, name) for name in ("x", "h0", "c0", "dy", "dh_n", "dc_n")}
    moved = {name: None if a is None else of_array(a) for name, a in given.items()}
    weights = [Weights(*[None if w is None else of_weight(w) for w in own[:5]]) for own in layer.weights]
    assert_identical(native_layer(layer._replace(**moved, weights=weights)), native_layer(layer))


def test_the_gradient_of_a_weight_has_the_order_in_memory_of_the_weight() -> None:
    layer = random_layer("lstm", T=4, B=3, I=5, H=6)
    own = layer.weights[0]
    for W, R in ((own.W, own.R.T.copy().T), (own.W.T.copy().T, own.R)):
        found = native_layer(layer._replace(weights=[own._replace(W=W, R=R)]))
        assert (found["dW[0]"].strides, found["dR[0]"].strides) == (W.strides, R.strides)


def test_saturated_gates_are_exact() -> None:
    """The same holds in NumPy: for large arguments a sigmoid is 0 or 1, and tanh is 1 or -1, to the last bit."""
    device: Any = mr.devices.get("native")
    H = 17
    for dtype, far in (("float32", 100.0), ("float64", 800.0)):
        n = random_layer("lstm", T=1, B=3, I=2, H=H, dtype=dtype)
        zero = Weights(*[None if w is None else np.zeros_like(w) for w in n.weights[0][:5]])
        own = zero._replace(bW=np.repeat([far, -far, -far, far], H).astype(dtype))
        c0 = np.full((1, 3, H), 7, dtype)
        _, _, c_n, _ = device.cell_sequence(n.x, n.h0, c0, [own], training=True, **n.attributes)
        np.testing.assert_array_equal(c_n, np.full((1, 3, H), -1, dtype))


def test_what_is_saved_is_one_row_of_all_values() -> None:
    device: Any = mr.devices.get("native")
    for rnn_mode, values in (("lstm", 5), ("gru", 4), ("rnn_tanh", 0)):
        n = random_layer(rnn_mode, D=2)
        *_, saved = device.cell_sequence(n.x, n.h0, n.c0, n.weights, training=True, **n.attributes)
        assert (0 if saved is None else saved.size) == values * n.h0.size * len(n.x)
        assert saved is None or saved.ndim == 1
