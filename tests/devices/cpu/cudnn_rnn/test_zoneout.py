"""The layers with zoneout against the plain version, finite differences and a loop of their own.

Tests `minirnn/devices/cpu/columns/zoneout.py` and what `minirnn/devices/cpu/cudnn_rnn/reference.py` has for it.
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
    Layer,
    assert_identical,
    assert_same,
    both_directions,
    fast,
    plain,
    random_layer,
    variants,
    with_and_without_lengths,
)
from tests.devices.cpu.kernel_checks import assert_within

KINDS = pytest.mark.parametrize("kind", ["masks", "numbers", "fractions"])


def zoned_layer(rnn_mode: str, kind: str, seed: int, **options: Any) -> Layer:
    n = random_layer(rnn_mode, seed=seed, **options)
    rng = np.random.default_rng(seed + 100)
    widths = [n.h0.shape[2], *([] if n.c0 is None else [n.c0.shape[2]])]
    if kind == "numbers":
        found: list[Any] = [0.3, 0.6][: len(widths)]
    else:
        found = [rng.random((len(n.h0), *n.x.shape[:2], width)) for width in widths]
        if kind == "masks":
            found = [(z < 0.5) + 0.0 for z in found]
        found = [z.astype(n.x.dtype) for z in found]
    return n._replace(zoneout=(found[0], found[1] if len(found) > 1 else None))


@variants
@both_directions
@with_and_without_lengths
@KINDS
def test_fast_equals_plain_for_all_variants(rnn_mode, options, D, lengths, kind):
    n = zoned_layer(rnn_mode, kind, 3, D=D, lengths=lengths, **options)
    assert_same(fast(n), plain(n), 1e-12)


@pytest.mark.parametrize("rnn_mode", MODES)
@pytest.mark.parametrize(
    "sizes", [(1, 3, 4, 5), (7, 1, 4, 5), (7, 3, 1, 1), (1, 1, 1, 1), (37, 2, 300, 3), (3, 40, 5, 6)]
)
@both_directions
@pytest.mark.parametrize("ragged", [False, True], ids=["full", "ragged"])
def test_fast_equals_plain_for_all_shapes(rnn_mode, sizes, D, ragged):
    T, B, I, H = sizes
    lengths = np.random.default_rng(T).integers(1, T + 1, B) if ragged else None
    n = zoned_layer(rnn_mode, "masks", 2, T=T, B=B, I=I, H=H, D=D, lengths=lengths)
    assert_same(fast(n), plain(n), 1e-11)


@pytest.mark.parametrize("rnn_mode", MODES)
@both_directions
@pytest.mark.parametrize("cells", [1, 4 * B * H])
def test_length_of_the_pieces_does_not_matter(rnn_mode, D, cells, monkeypatch):
    monkeypatch.setattr(visit, "CACHED_CELLS", cells)
    for lengths in (None, LENGTHS):
        n = zoned_layer(rnn_mode, "fractions", 4, D=D, lengths=lengths)
        assert_same(fast(n), plain(n), 1e-12)


@variants
@both_directions
@with_and_without_lengths
def test_inference_gives_what_training_gives(rnn_mode, options, D, lengths):
    n = zoned_layer(rnn_mode, "fractions", 5, D=D, lengths=lengths, **options)
    got = rnn_sequence(n.x, n.h0, n.c0, n.weights, training=False, **n.attributes)
    want = fast(n)
    for a, name in zip(got[:3], ("y", "h_n", "c_n"), strict=True):
        assert_within(name, a, want[name], 1e-15)


@variants
@both_directions
@with_and_without_lengths
@KINDS
def test_gradients_equal_finite_differences(rnn_mode, options, D, lengths, kind):
    n = zoned_layer(rnn_mode, kind, 6, D=D, lengths=lengths, **options)  # with this seed no relu lies near its corner

    def loss() -> float:
        y, h_n, c_n, _ = rnn_sequence(n.x, n.h0, n.c0, n.weights, training=False, **n.attributes)
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


@variants
@both_directions
@with_and_without_lengths
def test_nothing_kept_is_the_layer_without_zoneout_and_all_kept_the_first_state(rnn_mode, options, D, lengths):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=8, **options)
    none = n._replace(zoneout=(0.0, None if n.c0 is None else 0.0))
    assert_same(fast(none), fast(n), 1e-13)
    got = fast(n._replace(zoneout=(1.0, None if n.c0 is None else 1.0)))
    assert got["h_n"].tobytes() == n.h0.tobytes()
    assert n.c0 is None or got["c_n"].tobytes() == n.c0.tobytes()
    for name, a in got.items():
        assert a is None or name in ("y", "h_n", "c_n", "dh0", "dc0") or not a.any(), name


@pytest.mark.parametrize("rnn_mode", MODES)
@both_directions
def test_what_stands_at_padding_does_not_matter(rnn_mode, D):
    n = zoned_layer(rnn_mode, "masks", 9, D=D, lengths=LENGTHS)
    want = fast(n)
    for b, length in enumerate(LENGTHS):
        n.x[length:, b], n.dy[length:, b] = np.nan, np.nan
        for z in n.zoneout or ():
            if z is not None:
                z[:, length:, b] = 1 - z[:, length:, b]
    assert_identical(fast(n), want)


def test_the_lstm_shows_c_before_it_is_zoned(rng: np.random.Generator) -> None:
    n = zoned_layer("lstm", "masks", 11, T=1)
    (W, R, _, bW, bR), (zh, zc) = n.weights[0], n.zoneout or ()
    a = n.x[0] @ W.T + bW + n.h0[0] @ R.T + bR
    i, f, candidate, o = (a[:, k * H : (k + 1) * H] for k in range(4))
    s = [1 / (1 + np.exp(-v)) for v in (i, f, o)]
    c_new = s[1] * n.c0[0] + s[0] * np.tanh(candidate)
    y, _, c_n, _ = rnn_sequence(n.x, n.h0, n.c0, n.weights, training=False, **n.attributes)
    np.testing.assert_allclose(c_n[0], np.where(zc[0, 0] == 1, n.c0[0], c_new), rtol=1e-13)
    np.testing.assert_allclose(y[0], np.where(zh[0, 0] == 1, n.h0[0], s[2] * np.tanh(c_new)), rtol=1e-13)
