"""The whole-sequence kernels against torch as it runs here, the plain version and finite differences.

Tests `minirnn/devices/cpu/cudnn_rnn/layer.py`, `minirnn/devices/cpu/columns/direction.py` and
`minirnn/devices/cpu/columns/lstm.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minirnn.devices.cpu.columns import visit
from minirnn.devices.cpu.cudnn_rnn.layer import rnn_sequence
from tests.devices.cpu.cudnn_rnn.layer_cases import (
    LENGTHS,
    MODES,
    B,
    H,
    I,
    T,
    assert_same,
    both_directions,
    fast,
    plain,
    random_layer,
    variants,
    with_and_without_lengths,
)
from tests.devices.cpu.kernel_checks import assert_within


@variants
@both_directions
@with_and_without_lengths
def test_outputs_and_gradients_equal_torch(rnn_mode, options, D, lengths):
    torch = pytest.importorskip("torch")
    if "skip" in options:
        pytest.skip("torch.nn has no skip_input; the stored cases cover it")
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=1, **options)
    keywords = {"bidirectional": D == 2, "dtype": torch.float64}
    if rnn_mode == "lstm":
        net = torch.nn.LSTM(I, H, proj_size=options.get("projection", 0), **keywords)
    elif rnn_mode == "gru":
        net = torch.nn.GRU(I, H, **keywords)
    else:
        net = torch.nn.RNN(I, H, nonlinearity=rnn_mode[4:], **keywords)
    with torch.no_grad():
        for d, parts in enumerate(n.weights):
            for name, value in zip(("weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh"), parts, strict=True):
                if value is not None:
                    getattr(net, f"{name}_l0{'_reverse' * d}").copy_(torch.from_numpy(value))
    x, h0 = (torch.from_numpy(a).requires_grad_() for a in (n.x, n.h0))
    c0 = None if n.c0 is None else torch.from_numpy(n.c0).requires_grad_()
    fed: Any = x
    if lengths is not None:
        fed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
    y, last = net(fed, h0 if c0 is None else (h0, c0))
    h_n, c_n = (last, None) if c0 is None else last
    if lengths is not None:
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=T)
    loss = (y * torch.from_numpy(n.dy)).sum() + (h_n * torch.from_numpy(n.dh_n)).sum()
    if c_n is not None:
        loss = loss + (c_n * torch.from_numpy(n.dc_n)).sum()
    loss.backward()
    got = fast(n)
    for name, a in {"y": y, "h_n": h_n, "c_n": c_n}.items():
        assert_within(name, got[name], None if a is None else a.detach().numpy(), 1e-12)
    for name, a in {"dx": x, "dh0": h0, "dc0": c0}.items():
        assert_within(name, got[name], None if a is None else a.grad.numpy(), 1e-12)
    names = {"W": "weight_ih", "R": "weight_hh", "Wp": "weight_hr", "bW": "bias_ih", "bR": "bias_hh"}
    for d in range(D):
        for ours, theirs in names.items():
            parameter = getattr(net, f"{theirs}_l0{'_reverse' * d}", None)
            assert_within(
                f"d{ours}", got[f"d{ours}[{d}]"], None if parameter is None else parameter.grad.numpy(), 1e-12
            )


SIZES = [
    (7, 3, 4, 5),
    (1, 3, 4, 5),
    (7, 1, 4, 5),
    (7, 3, 1, 5),
    (7, 3, 4, 1),
    (1, 1, 1, 1),
    (37, 2, 300, 3),
    (3, 40, 5, 6),
]


@pytest.mark.parametrize("rnn_mode", MODES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@both_directions
@pytest.mark.parametrize("ragged", [False, True], ids=["full", "ragged"])
def test_fast_equals_plain_for_all_shapes(rnn_mode, sizes, D, ragged):
    T, B, I, H = sizes
    lengths = np.random.default_rng(T).integers(1, T + 1, B) if ragged else None
    n = random_layer(rnn_mode, T=T, B=B, I=I, H=H, D=D, lengths=lengths, seed=2)
    assert_same(fast(n), plain(n), 1e-11)


@variants
@both_directions
@with_and_without_lengths
def test_fast_equals_plain_for_all_variants(rnn_mode, options, D, lengths):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=3, **options)
    assert_same(fast(n), plain(n), 1e-12)


@pytest.mark.parametrize("rnn_mode", MODES)
@both_directions
@pytest.mark.parametrize("cells", [1, 4 * B * H])
def test_length_of_the_pieces_does_not_matter(rnn_mode, D, cells, monkeypatch):
    monkeypatch.setattr(visit, "CACHED_CELLS", cells)
    for lengths in (None, LENGTHS):
        n = random_layer(rnn_mode, D=D, lengths=lengths, seed=4)
        assert_same(fast(n), plain(n), 1e-12)


@variants
@both_directions
@with_and_without_lengths
def test_inference_gives_what_training_gives(rnn_mode, options, D, lengths):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=5, **options)
    got = rnn_sequence(n.x, n.h0, n.c0, n.weights, rnn_mode=rnn_mode, lengths=n.lengths, training=False)
    want = fast(n)
    for a, name in zip(got[:3], ("y", "h_n", "c_n"), strict=True):
        assert_within(name, a, want[name], 1e-15)


@variants
@both_directions
@with_and_without_lengths
def test_gradients_equal_finite_differences(rnn_mode, options, D, lengths):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=6, **options)  # with this seed no relu lies near its corner

    def loss() -> float:
        y, h_n, c_n, _ = rnn_sequence(n.x, n.h0, n.c0, n.weights, rnn_mode=rnn_mode, lengths=n.lengths, training=False)
        return float((y * n.dy).sum() + (h_n * n.dh_n).sum() + (0 if c_n is None else (c_n * n.dc_n).sum()))

    got = fast(n)
    inputs = {"dx": n.x, "dh0": n.h0, "dc0": n.c0}
    for d, parts in enumerate(n.weights):
        inputs |= {f"d{name}[{d}]": a for name, a in zip(("W", "R", "Wp", "bW", "bR"), parts, strict=True)}
    rng = np.random.default_rng(7)
    for name, a in inputs.items():
        if a is None:
            continue
        direction = rng.standard_normal(a.shape)
        keep, losses = a.copy(), []
        for step in (1e-6, -1e-6):
            a[...] = keep + step * direction
            losses.append(loss())
        a[...] = keep
        slope = (losses[0] - losses[1]) / 2e-6
        assert abs(slope - (got[name] * direction).sum()) <= 1e-7 * max(1, abs(slope)), name


def test_relu_passes_no_gradient_at_zero():
    n = random_layer("rnn_relu", seed=8)
    W, R, _, bW, bR = n.weights[0]
    for a in (n.h0, W, bW, bR):
        a[...] = 0
    got = fast(n)
    assert not got["y"].any()
    for name in ("dx", "dh0", "dW[0]", "dR[0]", "dbW[0]", "dbR[0]"):
        assert not got[name].any(), name
