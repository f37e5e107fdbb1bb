"""The whole-sequence recurrent kernels against torch (stored and live), the plain version and finite differences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from minirnn.devices.cpu.columns import visit
from minirnn.devices.cpu.cudnn_rnn import reference as cudnn_rnn_reference
from minirnn.devices.cpu.cudnn_rnn.layer import rnn_sequence, rnn_sequence_grad, rnn_sequence_reserve_layout

GOLDEN = Path(__file__).parents[3] / "golden" / "cudnn_rnn"
MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}
T, B, I, H = 7, 3, 4, 5
LENGTHS = (4, 6, 1)  # nobody reaches T: the kernels shorten the sequence


def assert_close(name: str, got: Any, want: Any, tolerance: float) -> None:
    """Within tolerance * max(1, max|want|): rounding grows with the largest term of a sum, not with each result."""
    if want is None:
        assert got is None, f"{name} should be None"
        return
    assert got.shape == want.shape, f"{name} has shape {got.shape}, expected {want.shape}"
    if want.size == 0:
        return
    a, b = got.astype(np.float64), want.astype(np.float64)
    limit = tolerance * max(1.0, float(np.abs(b).max()))
    wrong = np.argwhere(~(np.abs(a - b) <= limit))
    if len(wrong):
        at = tuple(int(k) for k in wrong[0])
        raise AssertionError(
            f"{name}{list(at)} = {a[at]!r}, expected {b[at]!r} (limit {limit:.1e}, {len(wrong)} of {b.size})"
        )


# ---------------------------------------------------------------------------- one layer, random inputs


class Layer(NamedTuple):
    """Inputs of one layer and a cotangent for every output."""

    rnn_mode: str
    x: np.ndarray
    h0: np.ndarray
    c0: np.ndarray | None
    weights: list[tuple[Any, ...]]
    lengths: np.ndarray | None
    dy: np.ndarray
    dh_n: np.ndarray
    dc_n: np.ndarray | None


def random_layer(
    rnn_mode: str,
    *,
    T: int = T,
    B: int = B,
    I: int = I,
    H: int = H,
    D: int = 1,
    lengths: Any = None,
    skip: bool = False,
    projection: int = 0,
    dtype: Any = np.float64,
    seed: int = 0,
) -> Layer:
    rng = np.random.default_rng(seed)

    def array(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(dtype)

    GH, P, width = GATES[rnn_mode] * H, projection or H, H if skip else I
    lstm = rnn_mode == "lstm"
    weights = [
        (
            None if skip else array(GH, width),
            array(GH, P),
            array(P, H) if projection else None,
            array(GH),
            array(GH),
        )
        for _ in range(D)
    ]
    return Layer(
        rnn_mode,
        array(T, B, width),
        array(D, B, P),
        array(D, B, H) if lstm else None,
        weights,
        None if lengths is None else np.asarray(lengths, np.int32),
        array(T, B, D * P),
        array(D, B, P),
        array(D, B, H) if lstm else None,
    )


def reserve_size(layer: Layer) -> int:
    W, R, Wp, _, _ = layer.weights[0]
    T, B, width = layer.x.shape
    H = len(R) // GATES[layer.rnn_mode]
    projected, skip = Wp is not None, W is None
    return size_of(layer.rnn_mode, T, B, width, H, R.shape[1], len(layer.weights), projected, skip)


def size_of(*arguments: Any) -> int:
    """Number of elements of the reserve array."""
    return sum(int(np.prod(shape)) for _, shape in rnn_sequence_reserve_layout(*arguments))


def fast(layer: Layer, *, need_dx: bool = True) -> dict[str, Any]:
    """All outputs and gradients of the fast kernels, by name; scratch that is read before written would be NaN."""
    n, attrs = layer, {"rnn_mode": layer.rnn_mode, "lengths": layer.lengths}
    reserve = np.full(reserve_size(n), np.nan, n.x.dtype)
    y, h_n, c_n = rnn_sequence(n.x, n.h0, n.c0, n.weights, reserve, training=True, **attrs)
    dweights = [tuple(None if a is None else np.full_like(a, np.nan) for a in parts) for parts in n.weights]
    dx, dh0, dc0 = rnn_sequence_grad(
        n.x, n.h0, n.c0, n.weights, reserve, y, n.dy, n.dh_n, n.dc_n, dweights, need_dx=need_dx, **attrs
    )
    return named(y, h_n, c_n, dx, dh0, dc0, dweights)


def plain(layer: Layer) -> dict[str, Any]:
    """The same by the reference."""
    n, attrs = layer, {"rnn_mode": layer.rnn_mode, "lengths": layer.lengths}
    y, h_n, c_n, saved = cudnn_rnn_reference.rnn_sequence_reference(n.x, n.h0, n.c0, n.weights, **attrs)
    dx, dh0, dc0, dweights = cudnn_rnn_reference.rnn_sequence_grad_reference(
        n.x, n.weights, saved, n.dy, n.dh_n, n.dc_n, **attrs
    )
    return named(y, h_n, c_n, dx, dh0, dc0, dweights)


def named(y: Any, h_n: Any, c_n: Any, dx: Any, dh0: Any, dc0: Any, dweights: Any) -> dict[str, Any]:
    results = {"y": y, "h_n": h_n, "c_n": c_n, "dx": dx, "dh0": dh0, "dc0": dc0}
    for d, parts in enumerate(dweights):
        results |= {f"d{name}[{d}]": a for name, a in zip(("W", "R", "Wp", "bW", "bR"), parts, strict=True)}
    return results


def assert_same(got: dict[str, Any], want: dict[str, Any], tolerance: float) -> None:
    assert got.keys() == want.keys()
    for name in want:
        assert_close(name, got[name], want[name], tolerance)


def assert_identical(got: dict[str, Any], want: dict[str, Any]) -> None:
    for name, value in want.items():
        assert value is None or got[name].tobytes() == value.tobytes(), f"{name} differs"


VARIANTS = [
    pytest.param(mode, options, id="-".join([mode, *options]))
    for mode in MODES
    for options in ({}, {"skip": True}, {"projection": 2}, {"projection": 2, "skip": True})
    if mode == "lstm" or "projection" not in options
]
variants = pytest.mark.parametrize(("rnn_mode", "options"), VARIANTS)
both_directions = pytest.mark.parametrize("D", [1, 2])
with_and_without_lengths = pytest.mark.parametrize(
    "lengths", [None, LENGTHS, (7, 2, 7)], ids=["full", "short", "mixed"]
)


# -------------------------------------------------- stored values: a model of the op above the kernels


def parameter_views(params: np.ndarray, a: dict[str, Any], skip: bool) -> list[list[tuple[Any, ...]]]:
    """Views of the flat parameter buffer, [layer][direction] -> (W, R, Wp, bW, bR): matrices first, then biases."""
    H, P = a["num_units"], a["num_proj"] or a["num_units"]
    GH, D = GATES[a["rnn_mode"]] * H, 2 if a["direction"] == "bidirectional" else 1
    at = 0

    def take(*shape: int) -> np.ndarray:
        nonlocal at
        at += int(np.prod(shape))
        return params[at - int(np.prod(shape)) : at].reshape(shape)

    matrices = []
    for layer in range(a["num_layers"]):
        width = a["input_size"] if layer == 0 else D * P
        for _ in range(D):
            W = None if layer == 0 and skip else take(GH, width)
            matrices.append((W, take(GH, P), take(P, H) if a["num_proj"] else None))
    flat = [(*m, take(GH), take(GH)) for m in matrices]
    assert at == params.size
    return [flat[layer * D : (layer + 1) * D] for layer in range(a["num_layers"])]


def run_layers(stored: dict[str, np.ndarray], a: dict[str, Any], dtype: Any) -> dict[str, np.ndarray]:
    """Stack layers as CudnnRNNV3 does: states by pseudo-layer l*D + d, masks between layers, the buffer in views."""
    lstm, D = a["rnn_mode"] == "lstm", 2 if a["direction"] == "bidirectional" else 1
    skip = a["input_mode"] == "skip_input" or (a["input_mode"] == "auto_select" and a["input_size"] == a["num_units"])

    def load(name: str) -> np.ndarray:
        value = stored[name].astype(dtype)
        return value if a["time_major"] or value.ndim < 3 else value.swapaxes(-3, -2)

    def store(value: np.ndarray) -> np.ndarray:
        return value if a["time_major"] else value.swapaxes(0, 1)

    x, h0 = load("input"), load("input_h")
    c0 = load("input_c") if lstm else None
    params = stored["params"].astype(dtype)
    params.flags.writeable = False
    weights = parameter_views(params, a, skip)
    masks = load("dropout_masks") if "dropout_masks" in stored else None
    attrs = {"rnn_mode": a["rnn_mode"], "lengths": stored.get("sequence_lengths")}

    inputs, outputs, reserves, states = [x], [], [], []
    for layer, parts in enumerate(weights):
        mine = slice(layer * D, (layer + 1) * D)
        c = None if c0 is None else c0[mine]
        one = Layer(a["rnn_mode"], inputs[-1], h0[mine], c, parts, None, x, x, None)
        reserves.append(np.full(reserve_size(one), np.nan, dtype) if a["is_training"] else None)
        y, h_n, c_n = rnn_sequence(inputs[-1], h0[mine], c, parts, reserves[-1], training=a["is_training"], **attrs)
        outputs.append(y)
        states.append((h_n, c_n))
        inputs.append(y * masks[layer] if masks is not None and layer + 1 < len(weights) else y)
    results = {
        "output": store(outputs[-1]),
        "output_h": store(np.concatenate([h for h, _ in states])),
        "output_c": store(np.concatenate([c for _, c in states])) if lstm else np.zeros(0),
    }
    if not a["is_training"]:
        return results

    dparams = np.full_like(params, np.nan)
    dweights = parameter_views(dparams, a, skip)
    dy, dh_n = load("output_backprop"), load("output_h_backprop")
    dc_n = load("output_c_backprop") if lstm else None
    dh0, dc0 = [], []
    for layer in reversed(range(len(weights))):
        mine = slice(layer * D, (layer + 1) * D)
        c, dc = (None, None) if c0 is None or dc_n is None else (c0[mine], dc_n[mine])
        if masks is not None and layer + 1 < len(weights):
            dy = dy * masks[layer]
        dy, dh, dc = rnn_sequence_grad(
            inputs[layer], h0[mine], c, weights[layer], reserves[layer], outputs[layer], dy, dh_n[mine], dc,
            dweights[layer], **attrs,
        )  # fmt: skip
        dh0.insert(0, dh)
        dc0.insert(0, dc)
    return results | {
        "input_backprop": store(dy),
        "input_h_backprop": store(np.concatenate(dh0)),
        "input_c_backprop": store(np.concatenate(dc0)) if lstm else np.zeros(0),
        "params_backprop": dparams,
    }


CASES = [
    pytest.param(path, id=path.stem)
    for path in sorted(GOLDEN.glob("*.npz"))
    if not path.stem.startswith(("canonical_", "params_size"))
]


def test_golden_cases_are_there():
    assert len(CASES) > 60


@pytest.mark.parametrize("path", CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 3e-5), ("float16", 1e-2)])
def test_layers_match_stored_torch_values(path, dtype, tolerance):
    with np.load(path) as file:
        stored = {name: file[name] for name in file.files}
    attributes = json.loads(str(stored.pop("attributes")))
    results = run_layers(stored, attributes, np.dtype(dtype))
    for name in results if dtype != "float16" else ("output", "output_h", "output_c"):
        assert results[name].dtype == dtype or results[name].size == 0
        assert_close(name, results[name], stored[name], tolerance)


# ------------------------------------------------------------------------------------------ live torch


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
        assert_close(name, got[name], None if a is None else a.detach().numpy(), 1e-12)
    for name, a in {"dx": x, "dh0": h0, "dc0": c0}.items():
        assert_close(name, got[name], None if a is None else a.grad.numpy(), 1e-12)
    names = {"W": "weight_ih", "R": "weight_hh", "Wp": "weight_hr", "bW": "bias_ih", "bR": "bias_hh"}
    for d in range(D):
        for ours, theirs in names.items():
            parameter = getattr(net, f"{theirs}_l0{'_reverse' * d}", None)
            assert_close(f"d{ours}", got[f"d{ours}[{d}]"], None if parameter is None else parameter.grad.numpy(), 1e-12)


# ----------------------------------------------------------------------------------- the plain version


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
    got = rnn_sequence(n.x, n.h0, n.c0, n.weights, None, rnn_mode=rnn_mode, lengths=n.lengths, training=False)
    want = fast(n)
    for a, name in zip(got, ("y", "h_n", "c_n"), strict=True):
        assert_close(name, a, want[name], 1e-15)


# ---------------------------------------------------------------------------------- finite differences


@variants
@both_directions
@with_and_without_lengths
def test_gradients_equal_finite_differences(rnn_mode, options, D, lengths):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=6, **options)  # with this seed no relu lies near its corner

    def loss() -> float:
        y, h_n, c_n = rnn_sequence(
            n.x, n.h0, n.c0, n.weights, None, rnn_mode=rnn_mode, lengths=n.lengths, training=False
        )
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


# --------------------------------------------------------------------------------------------- lengths


@variants
@both_directions
@pytest.mark.parametrize("lengths", [LENGTHS, (7, 2, 7)], ids=["short", "mixed"])
@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_values_in_the_padding_change_no_bit(rnn_mode, options, D, lengths, poison):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=9, **options)
    want = fast(n)
    past = np.arange(T)[:, None] >= np.asarray(lengths)
    n.x[past] = poison
    n.dy[past] = poison
    got = fast(n)
    assert all(a is None or np.isfinite(a).all() for a in got.values())
    assert_identical(got, want)
    assert not got["y"][past].any()
    assert not got["dx"][past].any()
    y, h_n, c_n = rnn_sequence(n.x, n.h0, n.c0, n.weights, None, rnn_mode=rnn_mode, lengths=n.lengths, training=False)
    assert_same({"y": y, "h_n": h_n, "c_n": c_n}, {name: want[name] for name in ("y", "h_n", "c_n")}, 1e-15)


@variants
@both_directions
def test_full_lengths_equal_no_lengths(rnn_mode, options, D):
    n = random_layer(rnn_mode, D=D, seed=10, **options)
    assert_identical(fast(n._replace(lengths=np.full(B, T, np.int32))), fast(n))


@variants
@both_directions
@with_and_without_lengths
def test_each_sample_computes_as_if_alone(rnn_mode, options, D, lengths):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=11, **options)
    together = fast(n)
    for b, length in enumerate(lengths or (T,) * B):
        one = slice(b, b + 1)
        alone = fast(
            n._replace(
                x=n.x[:length, one], h0=n.h0[:, one], c0=None if n.c0 is None else n.c0[:, one], lengths=None,
                dy=n.dy[:length, one], dh_n=n.dh_n[:, one], dc_n=None if n.dc_n is None else n.dc_n[:, one],
            )
        )  # fmt: skip
        for name in ("y", "dx"):
            assert_close(name, together[name][:length, one], alone[name], 1e-12)
        for name in ("h_n", "c_n", "dh0", "dc0"):
            assert_close(name, None if together[name] is None else together[name][:, one], alone[name], 1e-12)


@both_directions
def test_growing_relu_of_a_long_neighbor_does_not_reach_a_short_sample(D):
    n = random_layer("rnn_relu", T=400, B=2, D=D, lengths=(2, 400), dtype=np.float32, seed=12)
    for _, R, _, _, _ in n.weights:
        R[...] = np.eye(H) * 1.3  # 1.3 ** 400 overflows float32
    n.x[2:, 1] = -1e9  # keeps the long sample at 0
    for W, _, _, _, _ in n.weights:
        W[...] = np.abs(W)
    with np.errstate(all="raise", under="ignore"):
        got = fast(n)
    assert all(a is None or np.isfinite(a).all() for a in got.values())


# ---------------------------------------------------------------------------- dtypes, memory, contract


@pytest.mark.parametrize("rnn_mode", MODES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@with_and_without_lengths
def test_results_have_the_dtype_of_x(rnn_mode, dtype, lengths):
    got = fast(random_layer(rnn_mode, D=2, lengths=lengths, dtype=dtype, seed=13))
    assert {a.dtype.name for a in got.values() if a is not None} == {dtype}


@variants
def test_float16_is_float32_rounded(rnn_mode, options):
    half = random_layer(rnn_mode, D=2, lengths=LENGTHS, dtype=np.float16, seed=14, **options)

    def widen(a: Any) -> Any:
        if isinstance(a, (list, tuple)):
            return type(a)(widen(b) for b in a)
        return a.astype(np.float32) if getattr(a, "dtype", None) == np.float16 else a

    got, want = fast(half), fast(Layer(*(widen(a) for a in half)))
    for name in ("y", "h_n", "c_n"):
        if want[name] is not None:
            assert got[name].tobytes() == want[name].astype(np.float16).tobytes(), name
    # The way back reads the reserve and y, both rounded to 11 bits.
    assert_same(got, want, 5e-3)


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
        dh_n=locked(n.dh_n), dc_n=locked(n.dc_n), weights=[tuple(locked(a) for a in parts) for parts in n.weights],
    )  # fmt: skip
    assert_same(fast(frozen), fast(n), 1e-14)


@variants
@both_directions
def test_backward_twice_from_one_reserve_gives_the_same(rnn_mode, options, D):
    n = random_layer(rnn_mode, D=D, lengths=LENGTHS, seed=16, **options)
    attrs = {"rnn_mode": rnn_mode, "lengths": n.lengths}
    reserve = np.empty(reserve_size(n))
    y, _, _ = rnn_sequence(n.x, n.h0, n.c0, n.weights, reserve, training=True, **attrs)
    reserve.flags.writeable = False
    y.flags.writeable = False
    results = []
    for _ in range(2):
        dweights = [tuple(None if a is None else np.full_like(a, np.nan) for a in parts) for parts in n.weights]
        back = rnn_sequence_grad(n.x, n.h0, n.c0, n.weights, reserve, y, n.dy, n.dh_n, n.dc_n, dweights, **attrs)
        results.append(named(None, None, None, *back, dweights))
    assert_identical(*results)


@variants
def test_without_need_dx_everything_else_is_the_same(rnn_mode, options):
    n = random_layer(rnn_mode, D=2, lengths=LENGTHS, seed=17, **options)
    got, want = fast(n, need_dx=False), fast(n)
    assert got.pop("dx") is None
    del want["dx"]
    assert_identical(got, want)


@pytest.mark.parametrize("rnn_mode", MODES)
@both_directions
def test_reserve_layout_covers_the_reserve_exactly(rnn_mode, D):
    arguments = (rnn_mode, T, B, I, H, H, D, False, False)
    layout = rnn_sequence_reserve_layout(*arguments)
    size = size_of(*arguments)
    assert sum(int(np.prod(shape)) for _, shape in layout) == size
    reserve = np.zeros(size)
    views = reserve_views(reserve, rnn_mode, T, B, H, D)
    for name, _ in layout:
        assert np.shares_memory(views[name], reserve)
        views[name][...] += 1
    assert (reserve == 1).all()


def test_reserve_of_lstm_holds_the_gates_by_name():
    n = random_layer("lstm", D=2, seed=18)
    reserve = np.full(reserve_size(n), np.nan)
    y, _, c_n = rnn_sequence(n.x, n.h0, n.c0, n.weights, reserve, rnn_mode="lstm", lengths=None, training=True)
    v = {name: a.swapaxes(-1, -2) for name, a in reserve_views(reserve, "lstm", T, B, H, 2).items()}  # (.., B, H)
    c = v["f"] * v["c_prev"] + v["i"] * v["n"]
    assert_close("c after a step", c[0, :-1], v["c_prev"][0, 1:], 1e-15)
    assert_close("c after a step, reverse", c[1, 1:], v["c_prev"][1, :-1], 1e-15)
    assert_close("c_n", np.stack([c[0, -1], c[1, 0]]), c_n, 1e-15)
    assert_close("y", np.concatenate(list(v["o"] * np.tanh(c)), axis=2), y, 1e-15)


def test_reserve_of_gru_holds_the_gates_by_name():
    n = random_layer("gru", D=2, seed=19)
    reserve = np.full(reserve_size(n), np.nan)
    y, _, _ = rnn_sequence(n.x, n.h0, None, n.weights, reserve, rnn_mode="gru", lengths=None, training=True)
    v = {name: a.swapaxes(-1, -2) for name, a in reserve_views(reserve, "gru", T, B, H, 2).items()}  # (.., B, H)
    h = v["n"] + v["z"] * v["h_minus_n"]
    h_prev = v["h_minus_n"] + v["n"]
    assert_close("y", np.concatenate(list(h), axis=2), y, 1e-15)
    assert_close("h'", h_prev[0], np.concatenate([n.h0[:1], y[:-1, :, :H]]), 1e-15)
    assert_close("h', reverse", h_prev[1], np.concatenate([y[1:, :, H:], n.h0[1:]]), 1e-15)
    for d, (_, R, _, _, bR) in enumerate(n.weights):
        assert_close("q", v["q"][d], h_prev[d] @ R[2 * H :].T + bR[2 * H :], 1e-14)
