"""The counting device: the wrapped device computes the same, and the counts are those of the formulas."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import devices
from minirnn.devices.base import KERNELS, OPTIONAL, PRIMITIVES, Weights
from minirnn.devices.counting import Count, Counting
from minirnn.devices.counting.operations import (
    ARITHMETIC,
    FUNCTIONS,
    KERNEL_COSTS,
    MOVES,
    REDUCTIONS,
    VIEWS,
)
from minirnn.ops.cudnn_rnn.cells import layer_of
from minirnn.ops.gru_block.cells import gru_block
from minirnn.proof.case import Composed

T, B, I, H = 4, 3, 2, 5


@pytest.fixture
def counting(device: str) -> Counting:
    return Counting(device)


def cudnn_gru(x: Any, h: Any, params: Any) -> Any:
    c, options = mr.tensor(np.zeros(0), device=x.device), {"rnn_mode": "gru", "direction": "bidirectional"}
    return mr.ops.cudnn_rnn_v3(x, h, c, params, np.array([4, 1, 2]), is_training=True, **options)[:2]


PARAMS = mr.ops.cudnn_rnn_params_size(1, H, I, rnn_mode="gru", input_mode="linear_input", direction="bidirectional")
LSTM = [(B, I), (B, H), (B, H), (I + H, 4 * H), (H,), (H,), (H,), (4 * H,)]
CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "lstm_block_cell": (partial(mr.ops.lstm_block_cell, use_peephole=True), LSTM),
    "block_lstm": (partial(mr.ops.block_lstm, 3, cell_clip=0.0), [(T, B, I), *LSTM[1:]]),
    "gru_block_cell": (mr.ops.gru_block_cell, [(B, I), (B, H), (I + H, 2 * H), (I + H, H), (2 * H,), (H,)]),
    "cudnn_rnn": (cudnn_gru, [(T, B, I), (2, B, H), (PARAMS,)]),
}
"""An op and the shapes of its inputs."""


def inputs(case: str, device: Any, rng: np.random.Generator) -> list[mr.Tensor]:
    return [mr.tensor(rng.normal(size=s), requires_grad=True, device=device) for s in CASES[case][1]]


@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_the_inner_device_computes_bit_for_bit(counting: Counting, case: str) -> None:
    def run(on: Any) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        ts = inputs(case, on, rng)
        outputs = [y for y in CASES[case][0](*ts) if y.size]
        sum((y * rng.normal(size=y.shape)).sum() for y in outputs).backward()
        return [y.numpy() for y in outputs] + [t.grad.numpy() for t in ts]

    for ours, theirs in zip(run(counting), run(counting.inner), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert not counting.fallbacks


def test_a_linear_layer_costs_twice_as_much_backward(counting: Counting, rng: np.random.Generator) -> None:
    x = mr.tensor(rng.normal(size=(B, I)), requires_grad=True, device=counting)
    w = mr.tensor(rng.normal(size=(I, H)), requires_grad=True, device=counting)
    with counting.section("forward"):
        loss = (x @ w).sum()
    with counting.section("backward"):
        loss.backward()
    forward, backward = counting.counts["forward"], counting.counts["backward"]
    assert forward["matmul"]["flops"] == 2 * B * I * H
    assert forward["sum"]["flops"] == B * H
    assert forward["matmul"]["bytes"] == 8 * (B * I + I * H + B * H)
    assert backward["matmul"]["flops"] == 2 * forward["matmul"]["flops"]
    assert counting.total("forward").flops == 2 * B * I * H + B * H


@pytest.mark.parametrize("case", ["lstm_block_cell", "gru_block_cell"])
def test_a_step_by_composition_costs_what_the_fused_kernel_is_said_to_cost(rng: np.random.Generator, case: str) -> None:
    op = partial(mr.ops.lstm_block_cell, cell_clip=0.0) if case == "lstm_block_cell" else mr.ops.gru_block_cell
    composed, fused = Counting(Composed()), Counting("cpu")
    for counting in (composed, fused):
        ts = inputs(case, counting, rng)
        counting.reset()
        op(*ts)
    assert composed.fallbacks["cell_step"] == 1 and not fused.fallbacks
    assert (composed.total().flops, composed.total().functions) == (fused.total().flops, fused.total().functions)
    if case == "lstm_block_cell":  # as its formula reads
        counts = composed.counts[""]
        assert counts["matmul"]["flops"] == 2 * B * (I + H) * 4 * H
        assert counts["add"]["flops"] == B * 4 * H + B * H + B * H  # b, forget_bias, i*ci + f*cs_prev
        assert counts["multiply"]["flops"] == 3 * B * H  # i*ci, f*cs_prev, o*co
        assert counts["tanh"]["functions"] == 2 * B * H and counts["sigmoid"]["functions"] == 3 * B * H


def test_a_fused_sequence_counts_the_steps_it_takes(counting: Counting, rng: np.random.Generator) -> None:
    ts = inputs("block_lstm", counting, rng)
    counting.reset()
    y = CASES["block_lstm"][0](*ts)
    count = counting.counts[""]["cell_sequence"]
    assert count["calls"] == 1
    gates = 2 * 4  # the sum of the parts of x, of h and of the bias
    lines = 3 * 3 + 1 + 3 + 1  # three sigmoids, forget_bias, cs and h
    assert count["flops"] == 3 * B * (2 * (I + H) * 4 * H + (gates + lines) * H)
    assert count["functions"] == 3 * 5 * B * H
    read, written = 3 * B * I + 2 * B * H + (I + H) * 4 * H + 4 * H, 7 * 3 * B * H + 2 * B * H
    assert count["bytes"] == 8 * (read + written)
    counting.reset()
    y.h.sum().backward()
    lines = 4 + 5 + 4 + 4 + 4 + 1  # dz_o, dcs, dz_ci, dz_i, dz_f, dcs_prev
    sums = 1 + 4  # dh of the output and of the next step; the bias
    grad = counting.counts[""]["cell_sequence_grad"]
    assert grad["flops"] == 3 * B * (2 * 2 * 4 * H * (I + H) + (lines + sums) * H)


def test_a_gru_step_back_costs_the_product_with_its_weights_and_its_formula() -> None:
    state, weights = (B, H), Weights(None, None, U=((H, H),))
    lines = 5 + 4 + 4 + 3  # dx_c, dz_u (where 1 - u is known), dz_r, dh_prev
    found = KERNEL_COSTS["cell_step_grad"]((state,), (None,), {}, (state,), weights, plan=gru_block.plan())
    assert found == (2 * B * H * H + lines * B * H, 0)


ZONEOUT = {
    ("lstm", None): (4 + 4, 3 + 4 + 3),  # h and c; backward dh * (1 - z), dh * z, for c two sums, and c_new again
    ("lstm", 2): (4, 4 + 3),  # c alone: the projected h is counted with P
    ("gru", None): (4, 4),
    ("rnn_tanh", None): (4, 3),
}


@pytest.mark.parametrize(("mode", "P"), ZONEOUT)
def test_zoneout_costs_the_lines_of_its_page(mode: str, P: int | None) -> None:
    G = {"lstm": 4, "gru": 3, "rnn_tanh": 1}[mode]
    weights = [Weights((G * H, I), (G * H, P or H), P and (P, H), (G * H,), (G * H,))] * 2
    rows = 2 * (4 + 1 + 2)
    inputs = (T, B, I), (2, B, P or H), (2, B, H) if mode == "lstm" else None, weights

    def flops(kernel: str, zoneout: Any) -> int:
        plan, masks, of_h = layer_of(mode, bool(P), zoneout)
        return KERNEL_COSTS[kernel](*inputs, plan=plan, lengths=[4, 1, 2], masks=masks, zoneout=of_h)[0]

    for kernel, lines in zip(("cell_sequence", "cell_sequence_grad"), ZONEOUT[mode, P], strict=True):
        more = flops(kernel, (0.1, 0.1)) - flops(kernel, None)
        assert more == rows * (lines * H + 4 * (P or 0)), kernel


def test_lengths_shorten_what_a_network_costs(rng: np.random.Generator) -> None:
    counting = Counting("cpu")
    y, _ = cudnn_gru(*inputs("cudnn_rnn", counting, rng))
    rows = 4 + 1 + 2
    gates, lines = 2 * 2 + 1 + 1, 2 * 3 + 2 + 3  # two sigmoids, the argument of n, h
    assert counting.counts[""]["cell_sequence"]["flops"] == 2 * rows * (2 * 3 * H * (I + H) + (gates + lines) * H)
    y.sum().backward()
    lines, sums = 5 + 4 + 4 + 1 + 1, 1 + 4  # dx_n, dz_z, dz_r, dh_n, dh_prev; dh, and the biases of four parts
    expected = 2 * rows * (2 * 2 * 3 * H * (I + H) + (lines + sums) * H)
    assert counting.counts[""]["cell_sequence_grad"]["flops"] == expected


def test_launches_are_the_drivers_own(counting: Counting, rng: np.random.Generator) -> None:
    driver = getattr(counting.inner, "driver", None)
    before = driver.launches if driver else 0
    CASES["lstm_block_cell"][0](*inputs("lstm_block_cell", counting, rng)).h.sum().backward()
    total = counting.total()
    computing = sum(c["calls"] for name, c in counting.counts[""].items() if name not in VIEWS and name != "getitem")
    assert total.launches == (driver.launches - before if driver else computing)


def test_sections_nest_and_reset_forgets(counting: Counting) -> None:
    a = counting.asarray(np.ones(3))
    with counting.section("outer"):
        a = a + a
        with counting.section("inner"):
            a = a * a
        a = a - a
    assert counting.counts["outer"].keys() == {"add", "subtract"}
    assert counting.counts["inner"]["multiply"] == {
        "calls": 1, "flops": 3, "functions": 0, "bytes": 72, "launches": 1,
    }  # fmt: skip
    json.dumps(counting.counts)
    report = counting.report()
    assert "multiply" in report and "outer" in report and "sum" in report
    counting.reset()
    assert counting.counts == {} and counting.total() == Count()


def test_views_move_nothing(counting: Counting) -> None:
    a = counting.asarray(np.ones((2, 6)))
    counting.reset()
    counting.getitem(counting.transpose(counting.reshape(a, (3, 4)), (1, 0)), (slice(1, 3),))
    counting.broadcast_to(a, (5, 2, 6))
    assert counting.total().bytes == counting.total().flops == 0
    counting.getitem(a, (np.array([1, 0, 1]),))
    assert counting.total().bytes == 8 * (12 + 18)


def test_it_can_be_the_default_device_and_be_registered() -> None:
    devices.register("counting-test", lambda: Counting("cpu"))
    with mr.use_device("counting-test") as device:
        assert mr.tensor([1.0, 2.0]).device is device
        assert (mr.tensor([1.0, 2.0]) * 3).tolist() == [3.0, 6.0]
    assert device.counts[""]["multiply"]["calls"] == 1


def test_every_primitive_and_kernel_has_a_cost() -> None:
    known = {*ARITHMETIC, *FUNCTIONS, *REDUCTIONS, *MOVES, *VIEWS}
    known |= {"sigmoid", "clip", "matmul", "softmax", "log_softmax", "scatter_add", "getitem", "recurrence", "argsort"}
    assert known == {*PRIMITIVES, *OPTIONAL}
    assert set(KERNEL_COSTS) == set(KERNELS), "KERNEL_COSTS is in minirnn/devices/counting/operations.py"


def test_a_layer_of_a_cell_with_keys() -> None:
    """RetNet: a product with the old matrix, an outer product, their sum, and a product summed over keys."""
    T, B, H, N = 3, 2, 5, 4

    @mr.cell("S", output="y", keys=N)
    def retnet(x_v, k_k, k_q, S, *, gamma=0.9):
        S = gamma * S + x_v * k_k
        y = mr.dot(S, k_q)
        return S, y

    device = Counting("cpu")
    layer = retnet.layer(H, H, device=device)
    y, _ = layer(mr.zeros((T, B, H), device=device))
    assert device.counts[""]["keyed_sequence"]["flops"] == T * B * 5 * H * N
    y.sum().backward()
    assert device.counts[""]["keyed_sequence_grad"]["calls"] == 1
    # dS: 2 H N; dx_v, dk_k, dk_q: 2 H N each; dS_prev: H N
    assert device.counts[""]["keyed_sequence_grad"]["flops"] == T * B * 9 * H * N
