"""Zoneout in the CudnnRNN ops: forms of the masks, reserve space, devices without it, draws.

The claims about every fused op are tried with zoneout in `tests/ops/test_fused.py`, stored values of
torch in `tests/nn/test_regularization.py`.
Tests `minirnn/ops/cudnn_rnn/zoneout.py` and, on the simulator, `minirnn/devices/cuda/launch/cudnn_rnn/zoneout.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.cells.plan import Plan
from minirnn.devices.cpu.device import CPU
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.cudnn_rnn.zoneout import drawn_zoneout, expected_zoneout
from tests.ops.cudnn_rnn.cudnn_cases import attributes_of, name_of, random_call, used
from tests.ops.cudnn_rnn.cudnn_cases import random_masks as random_masks_of
from tests.ops.cudnn_rnn.cudnn_cases import run as run_padded

T, B, I, H = 5, 3, 4, 6
LENGTHS = np.array([2, 5, 3])
NETWORKS = [
    Network("rnn_relu", 1, H, I),
    Network("lstm", 2, H, I, "bidirectional"),
    Network("lstm", 2, H, I, "bidirectional", num_proj=2),
    Network("gru", 2, H, H, "bidirectional", "auto_select"),
]
networks = pytest.mark.parametrize("net", NETWORKS, ids=name_of)


def random_masks(net: Network, kind: str, rng: np.random.Generator) -> Any:
    return random_masks_of(net, kind, rng, T, B)


def run(net: Network, inputs: list[mr.Tensor], masks: Any, lengths: Any = LENGTHS, **more: Any) -> list[mr.Tensor]:
    return run_padded(net, inputs, lengths, zoneout_masks=masks, **more)


# ---- forms of the masks


@pytest.mark.slow_elsewhere
@networks
@pytest.mark.parametrize("kind", ["masks", "numbers", "shared"])
def test_raw_backprop_with_the_same_masks_is_the_gradient(
    net: Network, kind: str, rng: np.random.Generator, device: str
) -> None:
    masks, inputs = random_masks(net, kind, rng), random_call(rng, net, T, B, device)
    for training in (True, False):
        chosen = {**attributes_of(net), "zoneout_masks": masks}
        y = ops.cudnn_rnn_v3(*inputs, LENGTHS, is_training=training, **chosen)
        n = 3 if net.rnn_mode == "lstm" else 2
        dy = [mr.tensor(rng.standard_normal(t.shape), device=device) for t in y[:3]]
        raw = ops.cudnn_rnn_backprop_v3(*inputs, LENGTHS, *y[:3], *dy, *y[3:], **chosen)
        wanted = mr.grad(list(y[:n]), used(net, inputs), dy[:n])
        found = list(raw) if n == 3 else [raw[0], raw[1], raw[3]]
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_none_in_a_pair_is_zero_and_zero_is_no_zoneout(rng: np.random.Generator, device: str) -> None:
    net = NETWORKS[1]
    inputs = random_call(rng, net, T, B, device)
    plain = run(net, inputs, None)
    for masks in ((None, None), (0.0, 0.0), (0.0, None), (np.zeros((1, 1, 1, 1)), None)):
        for a, b in zip(run(net, inputs, masks), plain, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13, atol=1e-14)


def test_masks_may_be_bools_and_integers(rng: np.random.Generator, device: str) -> None:
    net = NETWORKS[1]
    zh, zc = random_masks(net, "masks", rng)
    inputs = random_call(rng, net, T, B, device)
    want = run(net, inputs, (zh, zc))
    for dtype in (bool, int, np.uint8, np.float16):
        for a, b in zip(run(net, inputs, (zh.astype(dtype), zc.astype(dtype))), want, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    for masks in ((1, 0), [True, False], (np.float32(1), 0)):
        np.testing.assert_array_equal(run(net, inputs, masks)[1].numpy(), inputs[1].numpy())


# ---- the reserve space, devices, draws


@networks
def test_backprop_notices_forgotten_masks(net: Network, rng: np.random.Generator, device: str) -> None:
    masks, inputs = random_masks(net, "masks", rng), random_call(rng, net, T, B, device)
    for given, forgotten in ((masks, None), (None, masks)):
        y = ops.cudnn_rnn_v3(*inputs, LENGTHS, zoneout_masks=given, **attributes_of(net))
        with pytest.raises(ValueError, match="reserve_space has shape"):
            ops.cudnn_rnn_backprop_v3(
                *inputs, LENGTHS, *y[:3], *y[:3], *y[3:], zoneout_masks=forgotten, **attributes_of(net)
            )


class Lacking(CPU):
    """A device whose kernels do not run cells with masks."""

    name = "lacking"

    def runs_plan(self, plan: Plan) -> bool:
        return not plan.masks


def test_a_device_that_does_not_run_the_plan_composes_and_counts_it(rng: np.random.Generator) -> None:
    net = NETWORKS[1]
    masks, device = random_masks(net, "masks", rng), Lacking()
    values = [t.numpy() for t in random_call(rng, net, T, B, "cpu")]
    results = []
    for place in (device, "cpu"):
        inputs = [mr.tensor(v, True, place) for v in values]
        y = run(net, inputs, masks)
        results.append([*y, *mr.grad(y, inputs, [mr.tensor(np.ones(t.shape), device=place) for t in y])])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-11, atol=1e-12)
    assert device.fallbacks == {"cell_sequence": net.L}
    device.fallbacks.clear()
    inputs = [mr.tensor(v, True, device) for v in values]
    run(net, inputs, None)
    assert not device.fallbacks
    y = ops.cudnn_rnn_v3(*inputs, LENGTHS, zoneout_masks=masks, **attributes_of(net))
    ops.cudnn_rnn_backprop_v3(*inputs, LENGTHS, *y[:3], *y[:3], *y[3:], zoneout_masks=masks, **attributes_of(net))
    assert device.fallbacks == {"cell_sequence": 2 * net.L}  # the Backprop op composes the layers again


def test_masks_are_drawn_by_their_own_bits_and_share_no_stream() -> None:
    net = Network("lstm", 2, H, I, "bidirectional", num_proj=2)
    like = mr.tensor(np.zeros(1, "f4"))
    masks = drawn_zoneout(net, 50, 20, 0.3, 0.6, (5, 7), like)
    assert [(zh.shape, zc.shape) for zh, zc in masks] == [((2, 50, 20, 2), (2, 50, 20, H))] * 2
    key = 5 << 32 | 7
    for layer, (zh, zc) in enumerate(masks):
        for d in range(2):
            for z, p, stream in ((zh, 0.3, 2 * layer + d), (zc, 0.6, 4 + 2 * layer + d)):
                words = np.random.Philox(key=key, counter=[0, 0, 0, stream]).random_raw(z[d].size // 2)
                u = words.astype("<u8").view("<u4").reshape(z[d].shape)
                np.testing.assert_array_equal(z[d], (u < p * 2**32) + 0.0)
                assert z.dtype == np.float32
                assert abs(z[d].mean() - p) < 5 * (p * (1 - p) / z[d].size) ** 0.5  # five standard deviations
    assert (drawn_zoneout(net, 3, 2, 1.0, 1.0, (5, 7), like)[0][0] == 1).all()
    assert drawn_zoneout(net, 3, 2, 0.0, 0.5, (5, 7), like)[0][0] == 0.0
    assert expected_zoneout(net, 0.3, 0.6) == [(0.3, 0.6)] * 2
    assert expected_zoneout(Network("gru", 2, H, I), 0.3, 0.0) == [(0.3, None)] * 2
