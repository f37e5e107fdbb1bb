"""One step as a node: its kernels equal its composition, to second order and in every dtype.

Tests `minirnn/ops/sequence/layer.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.base import Weights
from minirnn.ops.cudnn_rnn.cells import plan_of
from minirnn.ops.sequence.layer import run_step
from tests.compare import assert_close
from tests.each import each

B, I, H = 2, 3, 4
MODES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}


def values(mode: str, rng: np.random.Generator) -> list[np.ndarray]:
    G = MODES[mode]
    shapes = [(B, I), *[(B, H)] * (2 if mode == "lstm" else 1), (G * H, I), (G * H, H), (G * H,), (G * H,)]
    return [rng.normal(size=shape) for shape in shapes]


def run(mode: str, inputs: list[mr.Tensor]) -> list[mr.Tensor]:
    return run_step(plan_of(mode), inputs[:-4], Weights(*inputs[-4:-2], None, *inputs[-2:]))


@each("mode", MODES)
@each("dtype", ["float16", "float32", "float64"])
def test_kernels_equal_the_composition_in_first_and_second_gradients(
    mode: str, dtype: str, device: str, composed_device: str, rng: np.random.Generator
) -> None:
    given = values(mode, rng)
    first = [rng.normal(size=(B, H)) for _ in range(2 if mode == "lstm" else 1)]
    second = [rng.normal(size=a.shape) for a in given]
    results = []
    for place in (device, composed_device):
        inputs = [mr.tensor(a, True, place, dtype) for a in given]

        def on(arrays: list[np.ndarray], place: Any = place) -> list[mr.Tensor]:
            return [mr.tensor(a, device=place, dtype=dtype) for a in arrays]

        outputs = run(mode, inputs)
        gradients = mr.grad(outputs, inputs, on(first), create_graph=True)
        results.append([*outputs, *gradients, *mr.grad(list(gradients), inputs, on(second))])
    tolerance = {"float64": 1e-12, "float32": 2e-5, "float16": 0.1}[dtype]  # of second derivatives, up to 50 in size
    for got, expected in zip(*results, strict=True):
        assert_close(got, expected.numpy(), tolerance, "a few roundings of numbers up to 50")


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_some_inputs_alone_are_the_same(mode: str, device: str, rng: np.random.Generator) -> None:
    given = values(mode, rng)
    inputs = [mr.tensor(a, True, device) for a in given]
    every = mr.grad(run(mode, inputs)[0].sum(), inputs)
    for k, expected in enumerate(every):
        some = [mr.tensor(a, j == k, device) for j, a in enumerate(given)]
        assert_close(mr.grad(run(mode, some)[0].sum(), some[k]), expected.numpy())


def test_the_cell_state_alone_sends_its_gradient_back(device: str, rng: np.random.Generator) -> None:
    inputs = [mr.tensor(a, True, device) for a in values("lstm", rng)]
    found = mr.grad(run("lstm", inputs)[1].sum(), inputs)
    z = inputs[0].numpy() @ inputs[3].numpy().T + inputs[1].numpy() @ inputs[4].numpy().T
    f = 1 / (1 + np.exp(-(z + inputs[5].numpy() + inputs[6].numpy())[:, H : 2 * H]))
    assert_close(found[2], f)
