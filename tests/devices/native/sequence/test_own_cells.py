"""Layers of own cells on `native` agree with cpu, with equal bits for any number of threads.

`tests/nn/own/test_layer.py` compares cpu with torch, and `tests/devices/cpu/sequence/test_step.py` has the other cells.

Tests `minirnn/devices/native/sequence/layer.py` and `minirnn/devices/native/sequence/compiled.py`.
"""

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.native.sequence.compiled import LayerKernels, kernels
from tests.devices.cells.own_layers import ALL, MADE_UP, OwnLayer, assert_close, tolerance_float32

QUICK = ("many_gates",)
"""The cell of a plain run has more gates than a tile. Compiling one takes three seconds, so half of them are here."""
HERE = [*ALL[::2], *[n for n in MADE_UP if n not in ALL[::2]]]
cells = pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in HERE])


def layers(rng: np.random.Generator, name: str) -> list[OwnLayer]:
    """Sizes that leave vectors half empty; both directions, lengths, and a projection where the cell permits one."""
    found = [OwnLayer(rng, name, H=5), OwnLayer(rng, name, H=19, D=2, ragged=True), OwnLayer(rng, name, H=33, D=2)]
    if not found[0].plan.carries:
        found.append(OwnLayer(rng, name, H=7, D=2, P=3, ragged=True))
    return found


@cells
def test_a_layer_is_that_of_cpu(rng: np.random.Generator, name: str) -> None:
    """Also in float32, and without what the gradient needs."""
    native, cpu = (mr.devices.get(device) for device in ("native", "cpu"))
    for layer in layers(rng, name):
        found, expected = layer.run(native), layer.run(cpu)
        assert_close(found, expected, 1e-13)
        for n, a in layer.run(native, training=False).items():
            assert np.array_equal(a, found[n]), n
        assert_close(layer.run(native, "float32"), expected, tolerance_float32(layer, expected))


def test_a_layer_with_two_inner_states_and_a_product_is_that_of_cpu(rng: np.random.Generator) -> None:
    for layer in (OwnLayer(rng, "two_inner_states", H=5, D=2, ragged=True), OwnLayer(rng, "two_inner_states", H=9)):
        of = kernels(LayerKernels, layer.plan, np.dtype(np.float64))
        assert of is not None
        saved = layer.plan.saved
        assert of.saved_rows.slots[saved:] == [saved, None, saved + 1]  # p alone, and the operand of the product
        assert of.rows_by_name.slots[saved:] == [saved, saved + 1, saved + 2]
        found, expected = layer.run(mr.devices.get("native")), layer.run(mr.devices.get("cpu"))
        assert {"dx", "dh0", "dc0", "dU0.0", "dv0.0"} <= expected.keys()
        assert_close(found, expected, 1e-13)


@cells
def test_threads_do_not_change_bits(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("minirnn.devices.native.threads.usable_cores", lambda: 1)
    native = mr.devices.get("native")
    for layer in (OwnLayer(rng, name, H=150), OwnLayer(rng, name, H=133, D=2, ragged=True)):
        monkeypatch.setenv("MINIRNN_NUM_THREADS", "1")
        alone = layer.run(native)
        monkeypatch.setenv("MINIRNN_NUM_THREADS", "3")
        for n, a in layer.run(native).items():
            assert np.array_equal(a, alone[n]), n
