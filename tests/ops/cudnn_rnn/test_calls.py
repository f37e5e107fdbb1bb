"""The CudnnRNN ops beyond stored values: lengths, dropout, memory.

The claims about every fused op are in `tests/ops/test_fused.py`, torch's values in `tests/ops/test_verified.py`, wrong
calls in `tests/hostile/calls_cudnn.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.ops.cudnn_rnn.params import Network
from tests.each import each
from tests.ops.cudnn_rnn.cudnn_cases import attributes_of, name_of, random_call, random_masks, used
from tests.ops.cudnn_rnn.cudnn_cases import run as run_padded

T, B, I, H = 5, 3, 4, 6
LENGTHS = np.array([2, 5, 3])

NETWORKS = [
    Network("rnn_tanh", 2, H, I, "bidirectional"),
    Network("lstm", 3, H, I, "bidirectional"),
    Network("lstm", 1, H, H, input_mode="skip_input", num_proj=4),
    Network("gru", 2, H, H, "bidirectional", "auto_select"),
]
networks = pytest.mark.parametrize("net", NETWORKS, ids=name_of)


def run(net: Network, inputs: list[mr.Tensor], lengths: Any = LENGTHS, **more: Any) -> list[mr.Tensor]:
    return run_padded(net, inputs, lengths, **more)


# ---- lengths, evaluation, batch-major arrays, dropout


@networks
@each("zoned", [False, True])
def test_nan_in_padding_changes_no_bit(net: Network, zoned: bool, rng: np.random.Generator, device: str) -> None:
    masks = random_masks(net, "masks", rng, T, B) if zoned else None
    values = [t.numpy().copy() for t in random_call(rng, net, T, B, "cpu")]
    dy = rng.standard_normal((T, B, net.D * net.P))
    padding = np.arange(T)[:, None] >= LENGTHS
    found = []
    for fill in (0.0, np.nan):
        values[0][padding] = fill
        dy[padding] = fill
        inputs = [mr.tensor(v, True, device) for v in values]
        outputs = run(net, inputs, zoneout_masks=masks)
        ones = [mr.tensor(np.ones(y.shape), device=device) for y in outputs[1:]]
        gs = mr.grad(outputs, used(net, inputs), [mr.tensor(dy, device=device), *ones])
        found.append([t.numpy() for t in (*outputs, *gs)])
    for zero, nan in zip(*found, strict=True):
        assert np.isfinite(nan).all()
        np.testing.assert_array_equal(zero, nan)
    assert (found[0][0][padding] == 0).all()


@networks
def test_evaluation_mode_has_gradients(net: Network, rng: np.random.Generator, device: str) -> None:
    inputs = random_call(rng, net, T, B, device)
    gs = []
    for training in (True, False):
        outputs = run(net, inputs, is_training=training)
        ones = [mr.tensor(np.ones(y.shape), device=device) for y in outputs]
        gs.append([g.numpy() for g in mr.grad(outputs, used(net, inputs), ones)])
    for a, b in zip(*gs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_evaluation_mode_drops_nothing_and_keeps_nothing(rng: np.random.Generator, device: str) -> None:
    net = Network("lstm", 2, H, I)
    inputs = random_call(rng, net, T, B, device)
    y = ops.cudnn_rnn(*inputs, dropout=0.9, is_training=False)
    np.testing.assert_array_equal(y.output.numpy(), ops.cudnn_rnn(*inputs).output.numpy())
    assert y.reserve_space.shape == (0,)
    for training, size in ((True, 2), (False, 0)):
        host = ops.cudnn_rnn_v2(*inputs, is_training=training).host_reserved
        assert (host.dtype, host.shape) == (np.int8, (size,))
    backprop = [mr.tensor(np.ones(t.shape), device=device) for t in y[:3]]
    raw = ops.cudnn_rnn_backprop(*inputs, *y[:3], *backprop, y.reserve_space, dropout=0.9)
    tape = mr.grad(list(ops.cudnn_rnn(*inputs)[:3]), inputs, backprop)
    for a, b in zip(raw, tape, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@networks
def test_batch_major_is_time_major_with_axes_exchanged(net: Network, rng: np.random.Generator, device: str) -> None:
    values = [t.numpy() for t in random_call(rng, net, T, B, "cpu")]
    cotangents = [rng.standard_normal(y.shape) for y in run(net, [mr.tensor(v, device=device) for v in values])]
    masks = random_masks(net, "masks", rng, T, B)
    found = []
    for time_major in (True, False):

        def turned(a: Any, axis: int = 0, time_major: bool = time_major) -> Any:
            return a if time_major or a.ndim < 3 else np.swapaxes(a, axis, axis + 1)

        inputs = [mr.tensor(turned(v), True, device) for v in values]
        z = tuple(turned(m, 1) for m in masks) if isinstance(masks, tuple) else turned(masks, 1)
        y = ops.cudnn_rnn_v3(*inputs, LENGTHS, **attributes_of(net), time_major=time_major, zoneout_masks=z)
        ys = list(y[: len(cotangents)])
        gs = mr.grad(ys, used(net, inputs), [mr.tensor(turned(g), device=device) for g in cotangents])
        found.append([turned(t.numpy()) for t in (*ys, *gs)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


def test_given_masks_act_between_layers_alone(rng: np.random.Generator, device: str) -> None:
    net = Network("gru", 2, H, I)
    inputs = random_call(rng, net, T, B, device)
    nothing = np.zeros((1, T, B, H))
    y = ops.cudnn_rnn(*inputs, rnn_mode="gru", dropout_masks=nothing)
    other = [mr.tensor(rng.standard_normal(inputs[0].shape), device=device), *inputs[1:]]
    z = ops.cudnn_rnn(*other, rnn_mode="gru", dropout_masks=nothing)
    np.testing.assert_array_equal(y.output.numpy(), z.output.numpy())  # nothing of the input gets through
    assert np.abs(y.output_h.numpy()[0] - z.output_h.numpy()[0]).max() > 1e-3  # but the first state is untouched
    all_dropped = ops.cudnn_rnn(*inputs, rnn_mode="gru", dropout=1.0)
    np.testing.assert_array_equal(all_dropped.output.numpy(), y.output.numpy())


@pytest.mark.slow_elsewhere
@networks
def test_forward_passes_before_backward_passes_do_not_disturb_each_other(
    net: Network, rng: np.random.Generator, device: str
) -> None:
    calls = [random_call(rng, net, T, B, device) for _ in range(3)]
    cotangent = rng.standard_normal((T, B, net.D * net.P))
    alone = [mr.grad(run(net, inputs)[0], used(net, inputs), cotangent) for inputs in calls]
    outputs = [run(net, inputs) for inputs in calls]
    kept = [[t.numpy().copy() for t in ys] for ys in outputs]
    for _ in range(5):
        run(net, random_call(rng, net, T, B, device))
    found = [mr.grad(y[0], used(net, inputs), cotangent) for y, inputs in zip(outputs, calls, strict=True)]
    for a, b in zip(alone, found, strict=True):
        for g, h in zip(a, b, strict=True):
            np.testing.assert_array_equal(g.numpy(), h.numpy())
    for ys, copies in zip(outputs, kept, strict=True):
        for t, copy in zip(ys, copies, strict=True):
            np.testing.assert_array_equal(t.numpy(), copy)


@networks
def test_the_reserve_space_grows_linearly_in_time(net: Network, rng: np.random.Generator, device: str) -> None:
    sizes = []
    for steps in (2, 4, 6):
        inputs = random_call(rng, net, steps, B, device)
        sizes.append(ops.cudnn_rnn_v3(*inputs, [steps] * B, **attributes_of(net)).reserve_space.size)
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]


@networks
@pytest.mark.parametrize("zoned", [False, True])
def test_a_reserve_space_serves_before_and_after_it_is_put_together(
    net: Network, zoned: bool, rng: np.random.Generator, device: str
) -> None:
    inputs = random_call(rng, net, T, B, device)
    z: Any = (0.3, 0.2) if net.rnn_mode == "lstm" else 0.3
    more = {**attributes_of(net), "dropout": 0.4, "zoneout_masks": z if zoned else None}
    found = []
    for put_together in (False, True):
        y = ops.cudnn_rnn_v3(*inputs, LENGTHS, **more)
        space = mr.tensor(y.reserve_space.numpy(), device=device) if put_together else y.reserve_space
        backprop = ops.cudnn_rnn_backprop_v3(*inputs, LENGTHS, *y[:3], *y[:3], space, y.host_reserved, **more)
        outputs = list(y[:3] if net.rnn_mode == "lstm" else y[:2])
        found.append([t.numpy() for t in (*backprop, *mr.grad(outputs, used(net, inputs), outputs))])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_modes_without_a_cell_state_ignore_it(rng: np.random.Generator, device: str) -> None:
    x, h, c, params = random_call(rng, Network("gru", 1, H, I), T, B, device)
    y = ops.cudnn_rnn(x, h, None, params, rnn_mode="gru")
    np.testing.assert_array_equal(y.output.numpy(), ops.cudnn_rnn(x, h, c, params, rnn_mode="gru").output.numpy())
    assert y.output_c.shape == (0,)
    assert np.abs(mr.grad(y.output.sum(), [x, c])[1].numpy()).max() == 0
