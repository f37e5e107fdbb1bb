"""Layers of RNN, LSTM and GRU on cpu and native against their composition in float64.

Tests `minirnn/devices/cpu/sequence/layer.py`, `minirnn/devices/cpu/sequence/forward.py`,
`minirnn/devices/cpu/sequence/backward.py` and `minirnn/devices/cpu/sequence/visit.py`. The kernels
`minirnn/devices/native/kernels/forward.h` and `minirnn/devices/native/kernels/backward.h` have the same tests.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.base import Weights
from minirnn.devices.cpu.sequence import visit
from minirnn.devices.cpu.sequence.layer import cell_sequence, cell_sequence_grad
from tests.devices.cpu.kernel_checks import assert_within
from tests.devices.cpu.sequence.layer_cases import (
    LENGTHS,
    MODES,
    VARIANTS,
    B,
    H,
    T,
    assert_identical,
    assert_same,
    both_directions,
    fast,
    in_float64,
    named,
    plain,
    random_layer,
    scaled,
    variants,
    zoned_layer,
)

TOLERANCE = {"float32": 2e-6, "float64": 2e-14}  # of the largest value, as in the verification table
SIZES = [  # T, B, I, H: the last vector of a row is half empty
    (1, 1, 1, 1),
    (5, 1, 3, 7),
    (4, 2, 16, 15),
    (6, 7, 20, 17),
    (1, 13, 5, 33),
    (9, 6, 8, 64),
    (2, 5, 70, 66),
    (3, 25, 9, 130),
    (70, 2, 3, 5),  # W x is computed ahead, in several pieces: few samples
    (7, 40, 1, 3),
]
LARGE = (6, 7, 150, 260)
LAYERS = [
    pytest.param(
        place, *variant.values, zoned, id=f"{place}-{variant.id}{'-zoned' * zoned}", marks=[pytest.mark.slow] * slow
    )
    for place in ("cpu", "native")
    for variant in VARIANTS
    for zoned in (False, True)
    if not (slow := place == "native" and zoned and variant.values[0] != "lstm") or "skip" not in variant.values[1]
]


@pytest.mark.parametrize(("place", "rnn_mode", "options", "zoned"), LAYERS)
@both_directions
def test_a_layer_is_its_composition_whatever_is_in_the_padding(
    place: str, rnn_mode: str, options: dict[str, Any], zoned: bool, D: int
) -> None:
    if mr.devices.available()[place] is not None:
        pytest.skip(f"{place}: {mr.devices.available()[place]}")
    rng = np.random.default_rng(D)
    large = [LARGE] * (place == "native" and D == 2 and not zoned and not options)
    for k, (T_, B_, I_, H_) in enumerate(SIZES + large):
        more = options | ({"projection": H_ // 2} if "projection" in options else {})
        if more.get("projection") == 0:
            continue
        dtype, kind = ("float64", "float32")[k % 2], ("masks", "numbers", "fractions")[k % 3] if zoned else ""
        lengths = (rng.integers(1, T_ + 1, B_), None, np.full(B_, max(1, T_ - 1)))[(k + D) % 3]
        n = zoned_layer(rnn_mode, kind, k, T=T_, B=B_, I=I_, H=H_, D=D, lengths=lengths, dtype=dtype, **more)
        n = scaled(n)
        want = plain(in_float64(n))
        past = np.arange(T_)[:, None] >= (np.full(B_, T_) if lengths is None else lengths)
        n.x[past] = n.dy[past] = np.nan
        for z in n.zoneout or ():
            if isinstance(z, np.ndarray):
                z[:, past] = 1 - z[:, past]
        got = fast(n, place)
        assert got.keys() == want.keys()
        for name, a in want.items():
            if a is None:
                assert got[name] is None
                continue
            largest = max(np.abs(a).max(initial=0), 1e-3)
            what = f"{(T_, B_, I_, H_)} {dtype} {kind}: {name}"
            assert_within(what, got[name] / largest, a / largest, TOLERANCE[dtype])
        assert not got["y"][past].any() and not got["dx"][past].any()
        device: Any = mr.devices.get(place)
        inferred = device.cell_sequence(*n[1:5], training=False, **n.attributes)
        for name, a in zip(("y", "h_n", "c_n"), inferred, strict=False):
            assert_within(name, a, got[name], 1e-15 if dtype == "float64" else 1e-6)


@pytest.mark.parametrize("rnn_mode", MODES)
@both_directions
@pytest.mark.parametrize("cells", [1, 4 * B * H])
def test_length_of_the_pieces_does_not_matter(rnn_mode, D, cells, monkeypatch):
    monkeypatch.setattr(visit, "CACHED_CELLS", cells)
    for lengths in (None, LENGTHS):
        for zoneout in ("", "fractions"):
            n = zoned_layer(rnn_mode, zoneout, 4, D=D, lengths=lengths)
            assert_same(fast(n), plain(n), 1e-12)


@variants
@both_directions
def test_full_lengths_equal_no_lengths(rnn_mode, options, D):
    n = random_layer(rnn_mode, D=D, seed=10, **options)
    assert_identical(fast(n._replace(lengths=np.full(B, T, np.int32))), fast(n))


@both_directions
def test_growing_relu_of_a_long_neighbor_does_not_reach_a_short_sample(D):
    n = random_layer("rnn_relu", T=400, B=2, D=D, lengths=(2, 400), dtype=np.float32, seed=12)
    for own in n.weights:
        own.R[...] = np.eye(H) * 1.3  # 1.3 ** 400 overflows float32
    n.x[2:, 1] = -1e9  # keeps the long sample at 0
    for own in n.weights:
        own.W[...] = np.abs(own.W)
    with np.errstate(all="raise", under="ignore"):
        got = fast(n)
    assert all(a is None or np.isfinite(a).all() for a in got.values())


def test_relu_passes_no_gradient_at_zero():
    n = random_layer("rnn_relu", seed=8)
    W, _, _, bW, bR, *_ = n.weights[0]
    for a in (n.h0, W, bW, bR):
        a[...] = 0
    got = fast(n)
    assert not got["y"].any()
    for name in ("dx", "dh0", "dW[0]", "dR[0]", "dbW[0]", "dbR[0]"):
        assert not got[name].any(), name


@variants
@both_directions
def test_inputs_are_not_changed_and_may_be_read_only_and_strided(rnn_mode, options, D):
    n = random_layer(rnn_mode, D=D, lengths=LENGTHS, seed=15, **options)

    def locked(a: np.ndarray | None, *, strided: bool = True) -> np.ndarray | None:
        if a is None:
            return None
        if strided and a.ndim == 3:
            a = np.ascontiguousarray(a.swapaxes(0, 1)).swapaxes(0, 1)
        a = a.view()
        a.flags.writeable = False
        return a

    frozen = n._replace(
        x=locked(n.x), h0=locked(n.h0), c0=locked(n.c0), lengths=locked(n.lengths), dy=locked(n.dy),
        dh_n=locked(n.dh_n), dc_n=locked(n.dc_n), weights=[Weights(*map(locked, parts[:5])) for parts in n.weights],
    )  # fmt: skip
    assert_same(fast(frozen), fast(n), 1e-14)


@variants
@both_directions
def test_backward_twice_from_what_was_saved_gives_the_same(rnn_mode, options, D):
    n = random_layer(rnn_mode, D=D, lengths=LENGTHS, seed=16, **options)
    attrs = n.attributes
    y, _, _, saved = cell_sequence(n.x, n.h0, n.c0, n.weights, training=True, **attrs)
    if saved is not None:
        saved.flags.writeable = False
    y.flags.writeable = False
    results = []
    for _ in range(2):
        back = cell_sequence_grad(n.x, n.h0, n.c0, n.weights, saved, y, n.dy, n.dh_n, n.dc_n, **attrs)
        results.append(named(None, None, None, *back))
    assert_identical(*results)


@variants
def test_without_need_dx_everything_else_is_the_same(rnn_mode, options):
    n = random_layer(rnn_mode, D=2, lengths=LENGTHS, seed=17, **options)
    got, want = fast(n, need_dx=False), fast(n)
    assert got.pop("dx") is None
    del want["dx"]
    assert_identical(got, want)
