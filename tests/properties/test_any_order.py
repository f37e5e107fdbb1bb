"""Gradients of gradients through every fused op: against differences, and at what cost.

`tests/ops/test_verified.py` compares second derivatives with those of the compositions.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.counting import Counting
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.proof.case import Case as Verified
from minirnn.proof.cases import block, cudnn
from tests.compare import assert_close
from tests.ops.cudnn_rnn.cudnn_cases import random_masks
from tests.ops.derivatives import DIFFERENCES, along, derivatives, dot, loss

T, B, I, H = 3, 2, 3, 4
STEP, SEQUENCE = ("cell_step", "cell_step_grad"), ("cell_sequence", "cell_sequence_grad")


@dataclass(frozen=True)
class Case:
    """A case of `minirnn.proof`, and its forward and backward kernel, which one call launches `launches` times."""

    name: str
    verified: Verified
    kernels: tuple[str, str] = SEQUENCE
    launches: int = 1

    def draw(self, rng: np.random.Generator) -> list[np.ndarray]:
        return list(self.verified.make(rng).values())

    def ours(self, *inputs: mr.Tensor) -> list[mr.Tensor]:
        return list(self.verified.call(*inputs))

    def __str__(self) -> str:
        return self.name


def network(
    net: Network, version: int, dropout: bool = False, ragged: bool = False, training: bool = True, zoneout: str = ""
) -> Case:
    op = "cudnn_rnn" if version == 1 else f"cudnn_rnn_v{version}"
    masks = np.random.default_rng(5).choice([0.0, 1.0, 1.6], (net.L - 1, T, B, net.D * net.P)) if dropout else None
    more: dict[str, Any] = {"dropout_masks": masks, "is_training": training}
    if zoneout:
        more["zoneout_masks"] = random_masks(net, zoneout, np.random.default_rng(6), T, B)
    case = cudnn.forward(op, net, ragged, False, (T, B), **more)
    parts = [op, case.variant, *["masks"] * dropout, *["ragged"] * ragged, *["evaluation"] * (not training)]
    return Case(", ".join([*parts, *[f"zoneout {zoneout}"] * bool(zoneout)]), case, launches=net.L)


CELLS = [
    *(Case(f"lstm_block_cell, {v}", block.lstm("lstm_block_cell", v, B, I, H), STEP) for v in ("plain", "peepholes")),
    Case("gru_block_cell", block.gru(B, I, H), STEP),
]
SEQUENCES = [
    Case(f"{op}, {v}", block.lstm(op, v, T, B, I, H))
    for op in ("block_lstm", "block_lstm_v2")
    for v in ("plain", "short, peepholes")
]
NETWORKS = [
    network(Network("rnn_tanh", 2, H, I, "bidirectional"), 1),
    network(Network("rnn_relu", 1, H, I), 2),
    network(Network("lstm", 1, H, I), 1),
    network(Network("lstm", 2, H, I, "bidirectional"), 3, dropout=True, ragged=True),
    network(Network("lstm", 2, H, I, num_proj=2), 3, ragged=True),
    network(Network("lstm", 1, H, H, "bidirectional", "skip_input", num_proj=3), 3),
    network(Network("gru", 1, H, I, "bidirectional"), 3, ragged=True),
    network(Network("gru", 2, H, H, input_mode="auto_select"), 2, dropout=True),
    network(Network("lstm", 2, H, I, num_proj=2), 3, ragged=True, training=False),
]
ZONED = [
    network(Network("rnn_tanh", 2, H, I, "bidirectional"), 3, ragged=True, zoneout="numbers"),
    network(Network("lstm", 2, H, I, "bidirectional"), 3, dropout=True, ragged=True, zoneout="masks"),
    network(Network("lstm", 1, H, H, input_mode="skip_input", num_proj=3), 3, ragged=True, zoneout="masks"),
    network(Network("gru", 2, H, H, "bidirectional", "auto_select"), 3, ragged=True, zoneout="shared"),
]
ALL = [*CELLS, *SEQUENCES, *NETWORKS]


def draws(case: Case, rng: np.random.Generator) -> tuple[list[np.ndarray], list[np.ndarray], list[list[np.ndarray]]]:
    """Inputs, a weight for every output, and three directions in the space of the inputs."""
    values = case.draw(rng)
    outputs = case.ours(*[mr.tensor(v) for v in values])
    return (
        values,
        [rng.standard_normal(y.shape) for y in outputs],
        [[rng.standard_normal(v.shape) for v in values] for _ in range(3)],
    )


@pytest.mark.slow_elsewhere
@pytest.mark.parametrize("case", [*CELLS, SEQUENCES[1], NETWORKS[3]], ids=str)
def test_third_derivatives_are_differences_of_second_ones(case: Case, rng: np.random.Generator, device: str) -> None:
    values, weights, directions = draws(case, rng)
    found = derivatives(case.ours, device, values, weights, directions, 3)
    expected = along(lambda vs: derivatives(case.ours, device, vs, weights, directions, 2), values, directions[1])
    for k, (g, e) in enumerate(zip(found, expected, strict=True)):
        assert_close(g, e, *DIFFERENCES, what=f"input {k}")


# ---- which kernels ran


@pytest.mark.slow_elsewhere
@pytest.mark.parametrize("case", ALL + ZONED, ids=str)
def test_the_fused_kernels_run_whenever_no_second_derivative_is_asked_for(
    case: Case, rng: np.random.Generator, device: str
) -> None:
    values, weights, directions = draws(case, rng)
    counting = Counting(device)
    inputs = [mr.tensor(v, True, counting) for v in values]
    here, there = ([mr.tensor(a, device=counting) for a in arrays] for arrays in (weights, directions[0]))
    with counting.section("forward"):
        outputs = case.ours(*inputs)
        scalar = loss(outputs, here)
    with counting.section("backward"):
        mr.grad(scalar, inputs, retain_graph=True)
    with counting.section("recorded"):
        gs = mr.grad(scalar, inputs, create_graph=True)
    with counting.section("second"):
        mr.grad(dot(gs, there), inputs)
    forward, backward = case.kernels
    ran = {s: {k: c["calls"] for k, c in counting.counts[s].items() if k in case.kernels} for s in counting.counts}
    assert ran["forward"] == {forward: case.launches}
    if case.name.endswith("evaluation"):  # nothing was saved, so the first backward pass repeats the forward pass
        assert ran["backward"].pop(forward) == case.launches
    assert ran["backward"] == ran["recorded"] == {backward: case.launches}
    assert ran["second"] == {backward: case.launches} or not ran["second"]
    # Step by step it would be hundreds of primitives; around the kernel there are only a few, for any T. Gradients that
    # arrive at saved gates are the exception: they go through the composition.
    with counting.section("states"):
        again = case.ours(*inputs)
        states = {7: (1, 6), 4: (3,)}.get(len(again), range(len(again)))  # cs and h of LSTM block ops, h of a GRU
        mr.grad([again[k].sum() for k in states], inputs)
    assert not any(name in counting.counts["states"] for name in ("tanh", "sigmoid"))
    assert not counting.fallbacks


@pytest.mark.parametrize("case", [SEQUENCES[1], NETWORKS[0], NETWORKS[2]], ids=str)
def test_an_ordinary_backward_pass_takes_no_more_calls_for_a_longer_sequence(
    case: Case, rng: np.random.Generator
) -> None:
    calls = []
    for length in (3, 30):
        values = case.draw(rng)
        values[0] = rng.standard_normal((length, *values[0].shape[1:]))
        counting = Counting("cpu")
        inputs = [mr.tensor(v, True, counting) for v in values]
        outputs = case.ours(*inputs)
        counting.reset()
        mr.grad([y.sum() for y in outputs], inputs)
        calls.append(counting.total().calls)
    assert calls[0] == calls[1]


def test_the_example_of_the_documentation_runs() -> None:
    page = Path(__file__).parents[2] / "docs" / "ops" / "README.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)
    names: dict[str, Any] = {}
    exec(code, names)
    assert np.abs(names["gru"].weight_hh_l0.grad.numpy()).max() > 0
