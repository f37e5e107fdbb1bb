"""The dropout masks: a pure function of the seeds, by the published generator, with the promised distribution."""

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.ops.cudnn_rnn.dropout import dropout_mask
from minirnn.ops.cudnn_rnn.params import Network
from tests.ops.cudnn_rnn.cudnn_cases import random_call

_MASK = 2**64 - 1


def philox4x64(counter: tuple[int, int, int, int], key: tuple[int, int]) -> list[int]:
    """Philox4x64-10 after Salmon et al. 2011, written here from the paper."""
    c, k = list(counter), list(key)
    for step in range(10):
        if step:
            k = [(k[0] + 0x9E3779B97F4A7C15) & _MASK, (k[1] + 0xBB67AE8584CAA73B) & _MASK]
        first, second = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
        c = [(second >> 64) ^ c[1] ^ k[0], second & _MASK, (first >> 64) ^ c[3] ^ k[1], first & _MASK]
    return c


@pytest.mark.parametrize(("seed", "seed2", "layer"), [(0, 0, 0), (5, -7, 2), (2**40 + 3, 9, 1), (-1, 2**32 - 1, 4)])
def test_each_element_is_made_of_its_own_bits(seed: int, seed2: int, layer: int) -> None:
    shape, dropout = (3, 4, 5), 0.3
    mask = dropout_mask(shape, dropout, layer, seed, seed2).ravel()
    key = (seed & 0xFFFFFFFF) << 32 | (seed2 & 0xFFFFFFFF)
    for k, value in enumerate(mask):
        word = philox4x64((1 + k // 8, 0, 0, layer), (key, 0))[k // 2 % 4]
        u = word >> 32 * (k % 2) & 0xFFFFFFFF
        assert value == (0 if u < round(dropout * 2**32) else 1 / (1 - dropout)), k


def test_the_ends_are_all_and_nothing() -> None:
    assert (dropout_mask((2, 3, 4), 1.0, 0, 1, 2) == 0).all()
    assert (dropout_mask((2, 3, 4), 0.0, 0, 1, 2) == 1).all()


@pytest.mark.parametrize("time_major", [True, False])
def test_a_mask_with_one_step_serves_all_steps(time_major: bool, rng: np.random.Generator, device: str) -> None:
    T, B, H = 5, 3, 6
    net = Network("gru", 3, H, 4, "bidirectional")
    first = random_call(rng, net, T, B, device)
    if not time_major:
        first = [mr.tensor(t.numpy().swapaxes(0, 1) if t.ndim == 3 else t.numpy(), True, device) for t in first]
    masks = rng.choice([0.0, 1.6], (2, 1, B, 2 * H) if time_major else (2, B, 1, 2 * H))
    steps = np.broadcast_to(masks, (2, T, B, 2 * H) if time_major else (2, B, T, 2 * H))
    found = []
    for given in (masks, steps):
        y = ops.cudnn_rnn_v3(
            *first,
            np.full(B, T),
            rnn_mode="gru",
            direction="bidirectional",
            time_major=time_major,
            dropout=0.4,
            dropout_masks=given,
        )
        gradients = [mr.tensor(np.cos(np.arange(t.size)).reshape(t.shape), device=device) for t in y[:2]]
        raw = ops.cudnn_rnn_backprop_v3(
            *first,
            np.full(B, T),
            *y[:3],
            *gradients,
            None,
            *y[3:],
            rnn_mode="gru",
            direction="bidirectional",
            time_major=time_major,
            dropout=0.4,
        )
        inputs = [first[0], first[1], first[3]]
        found.append([*y[:2], *mr.grad(list(y[:2]), inputs, gradients), raw[0], raw[1], raw[3], y[3]])
    for a, b in zip(found[0][:-1], found[1][:-1], strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert found[1][-1].size - found[0][-1].size == 2 * (T - 1) * B * 2 * H
