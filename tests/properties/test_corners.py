"""Corners of the backward formulas that no other test covered: each was found by a surviving mutant (see
`scripts/kill_power.py`) or by the measurement of branch coverage."""

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.fused import FusedOp
from tests.each import each
from tests.ops.block_cases import gru_inputs, lstm_inputs
from tests.ops.cudnn_rnn.cudnn_cases import random_call

# ---- fused ops


def test_a_fused_op_must_name_a_kernel_of_the_contract() -> None:
    with pytest.raises(TypeError, match="expected a name in minirnn.devices.base.KERNELS"):
        type("Wrong", (FusedOp,), {"kernel": "no_such_kernel"})


def test_inputs_that_a_gradient_op_does_not_read_have_gradient_zero(rng: np.random.Generator, device: str) -> None:
    arrays = [*lstm_inputs(rng, (2,), 3, 4).values(), *(rng.uniform(0.1, 0.9, (2, 4)) for _ in range(8))]
    inputs = [mr.tensor(a, k == 0, device) for k, a in enumerate(arrays)]
    result = ops.lstm_block_cell_grad(*inputs, use_peephole=True)
    assert (mr.grad(result.dicfo.sum(), inputs[0]).numpy() == 0).all()


@each("only", range(8))
def test_each_input_alone_has_the_gradient_it_has_among_all(only: int, rng: np.random.Generator, device: str) -> None:
    arrays = list(lstm_inputs(rng, (2,), 3, 4).values())
    every = [mr.tensor(a, True, device) for a in arrays]
    one = [mr.tensor(a, k == only, device) for k, a in enumerate(arrays)]
    full = mr.grad(ops.lstm_block_cell(*every, use_peephole=True).h.sum(), every)[only]
    alone = mr.grad(ops.lstm_block_cell(*one, use_peephole=True).h.sum(), one[only])
    np.testing.assert_array_equal(alone.numpy(), full.numpy())


def test_without_kernels_float16_is_computed_in_float32(rng: np.random.Generator, composed_device: str) -> None:
    values = [v.astype("f2") for v in gru_inputs(rng, 2, 3, 4).values()]
    half = ops.gru_block_cell(*[mr.tensor(v, device=composed_device) for v in values])
    single = ops.gru_block_cell(*[mr.tensor(v.astype("f4"), device=composed_device) for v in values])
    for a, b in zip(half, single, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy().astype("f2"))


def test_without_kernels_evaluation_keeps_nothing(rng: np.random.Generator, composed_device: str) -> None:
    net = Network("gru", 2, 3, 3)
    x, h, _, params = random_call(rng, net, 2, 2, composed_device)
    y = ops.cudnn_rnn(x, h, None, params, rnn_mode="gru", is_training=False)
    assert y.reserve_space.shape == (0,)


def test_the_outputs_of_every_op_show_their_names_in_a_notebook(rng: np.random.Generator) -> None:
    lstm, gru = lstm_inputs(rng, (2,), 3, 4).values(), gru_inputs(rng, 2, 3, 4).values()
    sequence = lstm_inputs(rng, (2, 2), 3, 4).values()
    x, h, c, params = random_call(rng, Network("lstm", 1, 4, 3), 2, 2, "cpu")
    cell, whole, block = ops.lstm_block_cell(*lstm), ops.block_lstm(2, *sequence), ops.gru_block_cell(*gru)
    first, second = ops.cudnn_rnn(x, h, c, params), ops.cudnn_rnn_v2(x, h, c, params)
    arrived = whole.cs, whole.h
    found = [
        cell,
        whole,
        block,
        first,
        second,
        ops.lstm_block_cell_grad(*lstm, *cell[:6], cell.cs, cell.h, use_peephole=False),
        ops.block_lstm_grad(2, *sequence, *whole, *arrived, use_peephole=False),
        ops.gru_block_cell_grad(*gru, *block[:3], block.h),
        ops.cudnn_rnn_backprop(x, h, c, params, *first[:3], *first[:3], first.reserve_space),
    ]
    for outputs in found:
        text = outputs._repr_html_()
        assert all(name in text for name in outputs._fields), type(outputs)
