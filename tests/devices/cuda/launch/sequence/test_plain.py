"""The steps that are written out to be read compute what the cpu device does.

Tests `minirnn/devices/cuda/kernels/sequence/plain.cu`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.launch.sources import options, text
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.sequence.ladder_cases import random_case

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)
B, I, H = 5, 3, 9
SIZES: dict[str, Any] = {"grid": (2, 3), "block": (4, 4)}
"""Blocks of four units of four rows, more than enough."""


def run(kernel: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The arrays after a launch in check mode."""
    device = Cuda(SimDriver(SimOptions(check=True)))
    module = device.driver.module(text("sequence/plain.cu"), "plain.cu", options(np.dtype("f8")))
    memory = [device.asarray(a) for a in arrays]
    module.function(kernel)(np.int32(B), np.int32(H), *memory, **SIZES)
    return [np.asarray(device.to_numpy(a)) for a in memory]


def test_a_step_of_the_lstm_and_its_gradient(rng: np.random.Generator) -> None:
    case = random_case(rng, "lstm", 1, B, I, H, D=1, ragged=False)
    right, w = case.run(mr.devices.get("cpu")), case.weights[0]
    assert case.c0 is not None and case.dc_n is not None
    A, zeros = case.x[0] @ w.W.T + case.h0[0] @ w.R.T, np.zeros((B, H))
    _, _, c, h, values = run("lstm_step", [A, w.bW + w.bR, case.c0[0, 0], zeros, np.zeros((5, B, H))])
    np.testing.assert_allclose(c, right["c_n"][0, 0], rtol=1e-12)
    np.testing.assert_allclose(h, right["y"][0], rtol=1e-12)

    dh = case.dy[0] + case.dh_n[0]
    *_, dc, dA = run("lstm_step_grad", [values, dh, case.dc_n[0, 0], np.zeros((B, 4 * H))])
    np.testing.assert_allclose(dc, right["dc0"][0, 0], rtol=1e-11)
    for name, found in {"dx": dA @ w.W, "dh0": dA @ w.R, "dW[0]": dA.T @ case.x[0], "dbW[0]": dA.sum(axis=0)}.items():
        np.testing.assert_allclose(found, right[name].reshape(found.shape), rtol=1e-9, atol=1e-12, err_msg=name)


def test_a_step_of_the_gru(rng: np.random.Generator) -> None:
    case = random_case(rng, "gru", 1, B, I, H, D=1, ragged=False)
    w = case.weights[0]
    *_, h = run("gru_step", [case.x[0] @ w.W.T + w.bW, case.h0[0] @ w.R.T + w.bR, case.h0[0]])
    np.testing.assert_allclose(h, case.run(mr.devices.get("cpu"), backward=False)["y"][0], rtol=1e-12)
