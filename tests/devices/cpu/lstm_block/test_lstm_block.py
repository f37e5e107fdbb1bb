"""LSTMBlockCell and BlockLSTM in NumPy: against TensorFlow, finite differences, and the loop over the cell."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.devices.cpu.columns import visit
from minirnn.devices.cpu.lstm_block import cell, reference, sequence
from tests.devices.cpu.kernel_checks import (
    LAYOUTS,
    TOLERANCE,
    assert_all_close,
    assert_close,
    differences,
    golden,
    load,
)


def exchange_f_and_ci(a: np.ndarray) -> np.ndarray:
    """The last axis of w or b from i, ci, f, o to i, f, ci, o or back."""
    first, second, third, fourth = np.split(a, 4, axis=-1)
    return np.concatenate([first, third, second, fourth], axis=-1)


def as_the_op_calls_it(kernel: Any) -> Any:
    """A kernel with what the op settles before it: numbers of the dtype, an infinite clip for none, the gate order."""

    def call(*arrays: np.ndarray, gate_order: str = "icfo", **attributes: Any) -> tuple[np.ndarray, ...]:
        with np.errstate(over="ignore"):
            for name in attributes.keys() & {"forget_bias", "cell_clip"}:
                number = attributes[name]
                none = name == "cell_clip" and number <= 0
                attributes[name] = np.inf if none else float(arrays[0].dtype.type(number))
        if gate_order == "icfo":
            return kernel(*arrays, **attributes)
        weights = exchange_f_and_ci(arrays[3]), *arrays[4:7], exchange_f_and_ci(arrays[7])
        results = list(kernel(*arrays[:3], *weights, *arrays[8:], **attributes))
        for k in (3, 7) if len(arrays) > 8 else ():  # w_grad, b_grad
            results[k] = exchange_f_and_ci(results[k])
        return tuple(results)

    return call


lstm_block_cell, lstm_block_cell_grad = map(as_the_op_calls_it, (cell.lstm_block_cell, cell.lstm_block_cell_grad))
block_lstm, block_lstm_grad = map(as_the_op_calls_it, (sequence.block_lstm, sequence.block_lstm_grad))
block_lstm_reference = as_the_op_calls_it(reference.block_lstm_reference)
block_lstm_grad_reference = as_the_op_calls_it(reference.block_lstm_grad_reference)

INPUTS = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
OUTPUTS = ("i", "cs", "f", "o", "ci", "co", "h")
CELL_GRADIENTS = ("cs_prev_grad", "dicfo", "wci_grad", "wcf_grad", "wco_grad")
GRADIENTS = tuple(f"{name}_grad" for name in INPUTS)
VERSIONS = {"fast": (block_lstm, block_lstm_grad), "reference": (block_lstm_reference, block_lstm_grad_reference)}
FULL = {"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": True}
ORDERS = ("icfo", "ifco")
DTYPES = ("float16", "float32", "float64")
T, B, I, H = 7, 3, 4, 5


def inputs(rng: np.random.Generator, lead: tuple[int, ...], I: int = I, H: int = H, dtype: str = "float64") -> list:
    B = lead[-1]
    shapes = [(*lead, I), (B, H), (B, H), (I + H, 4 * H), (H,), (H,), (H,), (4 * H,)]
    scales = [1, 1, 0.5, 1 / np.sqrt(I + H), 0.7, 0.7, 0.7, 0.5]
    return [(rng.standard_normal(s) * scale).astype(dtype) for s, scale in zip(shapes, scales, strict=True)]


def draw(rng: np.random.Generator, count: int, shape: tuple[int, ...], dtype: str = "float64") -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype(dtype) for _ in range(count)]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of two or three steps at the sizes used here, so that their edges lie inside the sequence."""
    monkeypatch.setattr(visit, "CACHED_CELLS", 40)


# --- TensorFlow's values --------------------------------------------------------------------------------------------


def golden_attributes(case: dict[str, np.ndarray]) -> dict[str, Any]:
    return {
        "forget_bias": float(case.get("forget_bias", 0.0)),
        "cell_clip": float(case["cell_clip"]),
        "use_peephole": bool(case["use_peephole"]),
    }


def test_all_golden_files_are_there() -> None:
    assert len(golden("lstm_cell")) == 7
    assert len(golden("block_lstm")) == 13


@pytest.mark.parametrize("path", golden("lstm_cell"))
def test_cell_equals_tensorflow(path: Path) -> None:
    case = load(path)
    args = [case[name] for name in INPUTS]
    if str(case["meta_op"]):
        assert_all_close(OUTPUTS, lstm_block_cell(*args, **golden_attributes(case)), case)
    saved = [case[name] for name in OUTPUTS[:-1]]
    upstream = case["cs_grad"], case["h_grad"]
    got = lstm_block_cell_grad(*args, *saved, *upstream, use_peephole=bool(case["use_peephole"]))
    assert_all_close(CELL_GRADIENTS, got, case)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", golden("block_lstm"))
def test_sequence_equals_tensorflow(path: Path, version: str) -> None:
    forward, backward = VERSIONS[version]
    case = load(path)
    args = [case[name] for name in INPUTS]
    where = {
        "seq_len_max": int(case["seq_len_max"]),
        "gate_order": "ifco" if str(case["meta_grad_op"]) == "BlockLSTMGradV2" else "icfo",
    }
    if str(case["meta_op"]):
        assert_all_close(OUTPUTS, forward(*args, **where, **golden_attributes(case)), case)
    saved = [case[name] for name in OUTPUTS]
    upstream = case["cs_grad"], case["h_grad"]
    got = backward(*args, *saved, *upstream, **where, use_peephole=bool(case["use_peephole"]))
    assert_all_close(GRADIENTS, got, case)


# --- finite differences ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use_peephole", [False, True])
def test_cell_gradient_equals_finite_differences(rng: np.random.Generator, use_peephole: bool) -> None:
    args = inputs(rng, (B,))
    cs_grad, h_grad = draw(rng, 2, (B, H))
    attributes = {"forget_bias": 0.7, "cell_clip": 0.0, "use_peephole": use_peephole}  # the clip has no derivative

    def loss() -> float:
        _, cs, _, _, _, _, h = lstm_block_cell(*args, **attributes)
        return float((cs * cs_grad).sum() + (h * h_grad).sum())

    saved = lstm_block_cell(*args, **attributes)[:-1]
    got = lstm_block_cell_grad(*args, *saved, cs_grad, h_grad, use_peephole=use_peephole)
    cs_prev_grad, dicfo, wci_grad, wcf_grad, wco_grad = got
    x, _, h_prev, w, *_ = args
    xh, xh_grad = np.concatenate([x, h_prev], axis=1), dicfo @ w.T
    gradients = [xh_grad[:, :I], cs_prev_grad, xh_grad[:, I:], xh.T @ dicfo]
    gradients += [wci_grad, wcf_grad, wco_grad, dicfo.sum(axis=0)]
    for name, a, gradient in zip(GRADIENTS, args, gradients, strict=True):
        assert_close(name, gradient, differences(loss, a), tolerance=1e-8)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("gate_order", ORDERS)
@pytest.mark.parametrize("use_peephole", [False, True])
def test_sequence_gradient_equals_finite_differences(
    rng: np.random.Generator, small_chunks: None, version: str, gate_order: str, use_peephole: bool
) -> None:
    forward, backward = VERSIONS[version]
    args = inputs(rng, (T, B))
    cs_grad, h_grad = draw(rng, 2, (T, B, H))
    where = {"seq_len_max": 5, "gate_order": gate_order, "use_peephole": use_peephole}

    def run() -> tuple[np.ndarray, ...]:
        return forward(*args, **where, forget_bias=0.7, cell_clip=-1.0)  # the clip has no derivative

    def loss() -> float:
        _, cs, _, _, _, _, h = run()
        return float((cs * cs_grad).sum() + (h * h_grad).sum())

    got = backward(*args, *run(), cs_grad, h_grad, **where)
    for name, a, gradient in zip(GRADIENTS, args, got, strict=True):
        assert_close(name, gradient, differences(loss, a), tolerance=1e-8)


# --- the fast version against the loop ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("gate_order", ORDERS)
@pytest.mark.parametrize("use_peephole", [False, True])
@pytest.mark.parametrize("cell_clip", [0.0, 0.4])
def test_fast_equals_reference(
    rng: np.random.Generator, small_chunks: None, dtype: str, gate_order: str, use_peephole: bool, cell_clip: float
) -> None:
    for lengths in [(T, T), (T, T - 1), (T, 2), (T, 1), (T, 0), (1, 1), (T, 3)]:
        T_, L = lengths
        B_, I_, H_ = (int(rng.integers(1, high)) for high in (5, 9, 11))
        args = inputs(rng, (T_, B_), I_, H_, dtype)
        where = {"seq_len_max": L, "gate_order": gate_order, "use_peephole": use_peephole}
        attributes = {"forget_bias": float(rng.normal()), "cell_clip": cell_clip}
        want = block_lstm_reference(*args, **where, **attributes)
        got = block_lstm(*args, **where, **attributes)
        assert_all_close(OUTPUTS, got, want)
        upstream = draw(rng, 2, (T_, B_, H_), dtype)
        want = block_lstm_grad_reference(*args, *got, *upstream, **where)
        assert_all_close(GRADIENTS, block_lstm_grad(*args, *got, *upstream, **where), want)


@pytest.mark.parametrize("gate_order", ORDERS)
def test_fast_equals_reference_where_weights_are_copied_in_blocks(rng: np.random.Generator, gate_order: str) -> None:
    T, B, I, H = 3, 2, 71, 37
    args = inputs(rng, (T, B), I, H)
    where = {"seq_len_max": T, "gate_order": gate_order, "use_peephole": True}
    want = block_lstm_reference(*args, **where, forget_bias=1.0, cell_clip=3.0)
    got = block_lstm(*args, **where, forget_bias=1.0, cell_clip=3.0)
    assert_all_close(OUTPUTS, got, want)


@pytest.mark.parametrize("column_layout", [False, True])
@pytest.mark.parametrize("gate_order", ORDERS)
@pytest.mark.parametrize("use_peephole", [False, True])
def test_gradient_is_a_function_of_whatever_was_saved(
    rng: np.random.Generator, small_chunks: None, column_layout: bool, gate_order: str, use_peephole: bool
) -> None:
    args = inputs(rng, (T, B))
    saved = draw(rng, 7, (T, B, H))
    upstream = draw(rng, 2, (T, B, H))
    where = {"seq_len_max": 6, "gate_order": gate_order, "use_peephole": use_peephole}
    want = block_lstm_grad_reference(*args, *saved, *upstream, **where)
    if column_layout:
        saved = [LAYOUTS["columns"](a) for a in saved]
    assert_all_close(GRADIENTS, block_lstm_grad(*args, *saved, *upstream, **where), want)


def test_saved_outputs_reach_the_gradient_without_a_copy(rng: np.random.Generator) -> None:
    outputs = block_lstm(*inputs(rng, (T, B)), **FULL, seq_len_max=T, gate_order="icfo")
    for a in outputs:
        assert np.shares_memory(sequence.column_layout(a), a)
        assert not np.shares_memory(sequence.column_layout(a.copy("C")), a)


@pytest.mark.parametrize("zero", ["cs_grad", "h_grad"])
def test_a_missing_upstream_gradient_counts_as_zeros(rng: np.random.Generator, zero: str) -> None:
    args = inputs(rng, (T, B))
    upstream = dict(zip(("cs_grad", "h_grad"), draw(rng, 2, (T, B, H)), strict=True))
    upstream[zero] = np.broadcast_to(np.float64(0), (T, B, H))
    where = {"seq_len_max": T, "gate_order": "icfo", "use_peephole": True}
    saved = block_lstm(*args, **where, forget_bias=1.0, cell_clip=0.5)
    want = block_lstm_grad_reference(*args, *saved, *upstream.values(), **where)
    assert_all_close(GRADIENTS, block_lstm_grad(*args, *saved, *upstream.values(), **where), want)


@pytest.mark.parametrize("version", VERSIONS)
def test_ifco_is_icfo_with_two_column_blocks_exchanged(rng: np.random.Generator, version: str) -> None:
    forward, backward = VERSIONS[version]
    *args, b = inputs(rng, (T, B))
    exchanged = [*args[:3], exchange_f_and_ci(args[3]), *args[4:], exchange_f_and_ci(b)]
    rest = {**FULL, "seq_len_max": T}
    saved = forward(*args, b, **rest, gate_order="icfo")
    assert_all_close(OUTPUTS, forward(*exchanged, **rest, gate_order="ifco"), saved)
    upstream = draw(rng, 2, (T, B, H))
    where = {"seq_len_max": T, "use_peephole": True}
    want = list(backward(*args, b, *saved, *upstream, **where, gate_order="icfo"))
    want[3], want[7] = exchange_f_and_ci(want[3]), exchange_f_and_ci(want[7])
    assert_all_close(GRADIENTS, backward(*exchanged, *saved, *upstream, **where, gate_order="ifco"), want)
    assert np.abs(want[3] - exchange_f_and_ci(want[3])).max() > 0.1  # the two orders do differ


# --- what is never read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("use_peephole", [False, True])
@pytest.mark.parametrize("L", [0, 1, 4, T])
def test_nothing_past_seq_len_max_is_read_and_all_outputs_are_zero_there(
    rng: np.random.Generator, small_chunks: None, version: str, use_peephole: bool, L: int
) -> None:
    forward, backward = VERSIONS[version]
    args = inputs(rng, (T, B))
    where = {"seq_len_max": L, "gate_order": "icfo", "use_peephole": use_peephole}
    attributes = {"forget_bias": 1.0, "cell_clip": 3.0}
    clean = forward(*args, **where, **attributes)
    args[0][L:] = np.nan
    outputs = forward(*args, **where, **attributes)
    for name, a, b in zip(OUTPUTS, outputs, clean, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
        assert not a[L:].any(), name
        assert a[:L].all(), name

    upstream = draw(rng, 2, (T, B, H))
    saved = [np.array(a) for a in outputs]
    want = backward(*args, *saved, *upstream, **where)
    for a in (*saved, *upstream):
        a[L:] = np.nan
    got = backward(*args, *saved, *upstream, **where)
    for name, a, b in zip(GRADIENTS, got, want, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
        assert np.isfinite(a).all(), name
    assert not got[0][L:].any()
    if L == 0:
        assert not any(a.any() for a in got)


@pytest.mark.parametrize("version", VERSIONS)
def test_gradient_ignores_values_it_has_no_use_for(rng: np.random.Generator, version: str) -> None:
    _, backward = VERSIONS[version]
    args, saved, upstream = inputs(rng, (T, B)), draw(rng, 7, (T, B, H)), draw(rng, 2, (T, B, H))
    where = {"seq_len_max": T, "gate_order": "icfo"}
    for use_peephole in (True, False):
        want = backward(*args, *saved, *upstream, **where, use_peephole=use_peephole)
        args[INPUTS.index("b")][:] = np.nan
        saved[OUTPUTS.index("h")][T - 1] = np.nan
        if not use_peephole:
            saved[OUTPUTS.index("cs")][T - 1] = np.nan
            for name in ("wci", "wcf", "wco"):
                args[INPUTS.index(name)][:] = np.nan
        got = backward(*args, *saved, *upstream, **where, use_peephole=use_peephole)
        for name, a, b in zip(GRADIENTS, got, want, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)
            assert np.isfinite(a).all(), name


def test_cell_gradient_ignores_values_it_has_no_use_for(rng: np.random.Generator) -> None:
    args, saved, upstream = inputs(rng, (B,)), draw(rng, 6, (B, H)), draw(rng, 2, (B, H))
    for use_peephole in (True, False):
        want = lstm_block_cell_grad(*args, *saved, *upstream, use_peephole=use_peephole)
        for name in ("x", "h_prev", "w", "b", *(() if use_peephole else ("wci", "wcf", "wco"))):
            args[INPUTS.index(name)][:] = np.nan
        if not use_peephole:
            saved[OUTPUTS.index("cs")][:] = np.nan
        got = lstm_block_cell_grad(*args, *saved, *upstream, use_peephole=use_peephole)
        for name, a, b in zip(CELL_GRADIENTS, got, want, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)
            assert np.isfinite(a).all(), name


def test_without_peephole_the_peephole_weights_do_not_matter(rng: np.random.Generator) -> None:
    args = inputs(rng, (T, B))
    off = {**FULL, "use_peephole": False}
    sequence = block_lstm(*args, **off, seq_len_max=T, gate_order="icfo")
    cell = lstm_block_cell(args[0][0], *args[1:], **off)
    for name in ("wci", "wcf", "wco"):
        args[INPUTS.index(name)][:] = np.nan
    for a, b in zip(block_lstm(*args, **off, seq_len_max=T, gate_order="icfo"), sequence, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(lstm_block_cell(args[0][0], *args[1:], **off), cell, strict=True):
        np.testing.assert_array_equal(a, b)


# --- clip, bias, saturation -----------------------------------------------------------------------------------------


def run(version: str, args: list, **attributes: Any) -> tuple[np.ndarray, ...]:
    """One step by the cell, or several by a sequence version, on inputs of a sequence."""
    if version == "cell":
        return lstm_block_cell(args[0][0], *args[1:], **attributes)
    return VERSIONS[version][0](*args, **attributes, seq_len_max=len(args[0]), gate_order="icfo")


FORWARD = ("cell", *VERSIONS)


@pytest.mark.parametrize("version", FORWARD)
@pytest.mark.parametrize("off", [0.0, -0.0, -1.0, -np.inf, np.inf])
def test_a_clip_that_is_not_positive_or_infinite_clips_nothing(
    rng: np.random.Generator, version: str, off: float
) -> None:
    args = inputs(rng, (T, B))
    args[1] *= 100
    attributes = {"forget_bias": 3.0, "use_peephole": True}
    want = run(version, args, **attributes, cell_clip=1e30)
    assert np.abs(want[1]).max() > 50
    assert_all_close(OUTPUTS, run(version, args, **attributes, cell_clip=off), want)


@pytest.mark.parametrize("version", FORWARD)
def test_the_output_cs_is_the_clipped_one_on_both_sides(rng: np.random.Generator, version: str) -> None:
    args = inputs(rng, (T, B))
    args[1] *= 10
    _, cs, _, _, _, co, _ = run(version, args, forget_bias=3.0, cell_clip=0.5, use_peephole=False)
    assert (cs.min(), cs.max()) == (-0.5, 0.5)
    np.testing.assert_allclose(co, np.tanh(cs), rtol=1e-15)


@pytest.mark.parametrize("version", FORWARD)
def test_nan_passes_the_clip(rng: np.random.Generator, version: str) -> None:
    args = inputs(rng, (T, B))
    args[1][1, 2] = np.nan
    _, cs, *_ = run(version, args, forget_bias=1.0, cell_clip=0.1, use_peephole=False)
    first = cs if version == "cell" else cs[0]
    assert np.isnan(first[1, 2])
    assert np.isnan(first).sum() == 1


@pytest.mark.parametrize("version", FORWARD)
def test_half_attributes_are_rounded_to_half_first(rng: np.random.Generator, version: str) -> None:
    args = inputs(rng, (T, B), dtype="float16")
    attributes = {"cell_clip": 0.0, "use_peephole": True}
    want = run(version, args, **attributes, forget_bias=2048.0)  # 2049 is halfway to the next float16, 2050
    for a, b in zip(run(version, args, **attributes, forget_bias=2049.0), want, strict=True):
        np.testing.assert_array_equal(a, b)
    attributes = {"forget_bias": 1.0, "use_peephole": True}
    want = run(version, args, **attributes, cell_clip=0.25)
    for a, b in zip(run(version, args, **attributes, cell_clip=0.25 + 1e-5), want, strict=True):
        np.testing.assert_array_equal(a, b)
    assert np.abs(want[1]).max() == 0.25


@pytest.mark.parametrize("version", FORWARD)
def test_a_positive_clip_that_rounds_to_zero_in_half_clips_to_zero(rng: np.random.Generator, version: str) -> None:
    args = inputs(rng, (T, B), dtype="float16")
    i, cs, _, o, _, co, h = run(version, args, forget_bias=1.0, cell_clip=1e-9, use_peephole=True)
    assert i.all() and o.all()
    assert not cs.any() and not co.any() and not h.any()


@pytest.mark.parametrize("version", FORWARD)
def test_half_overflow_is_infinite_without_a_warning(rng: np.random.Generator, version: str) -> None:
    args = inputs(rng, (2, B), dtype="float16")
    args[1][:] = 65504.0
    args[3][:], args[7][:] = 0, 10  # i = f = 1, ci = 1: each step adds one ulp of a quarter
    _, cs, *_ = run(version, args, forget_bias=1e6, cell_clip=1e6, use_peephole=False)
    assert cs.dtype == np.float16
    assert (cs >= 65472).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("version", FORWARD)
@pytest.mark.parametrize("sign", [-1, 1])
def test_saturated_gates_are_exactly_zero_or_one(version: str, dtype: str, sign: int) -> None:
    x = np.full((T, B, I), 1.0, dtype)
    w = np.full((I + H, 4 * H), sign * 1e4, dtype)
    args = [x, *np.zeros((2, B, H), dtype), w, *np.zeros((3, H), dtype), np.zeros(4 * H, dtype)]
    with np.errstate(all="raise"):
        i, cs, f, o, ci, co, h = run(version, args, forget_bias=1.0, cell_clip=-1.0, use_peephole=True)
    for gate in (i, f, o):
        assert (gate == (sign > 0)).all()
    assert (ci == sign).all()


# --- dtypes, layouts, sizes, memory ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_result_has_the_dtype_of_the_inputs(rng: np.random.Generator, dtype: str) -> None:
    args = inputs(rng, (T, B), dtype=dtype)
    upstream = draw(rng, 2, (T, B, H), dtype)
    for use_peephole in (False, True):
        attributes = {**FULL, "use_peephole": use_peephole}
        step = [args[0][0], *args[1:]]
        cell = lstm_block_cell(*step, **attributes)
        cell_grad = lstm_block_cell_grad(*step, *cell[:-1], *(a[0] for a in upstream), use_peephole=use_peephole)
        assert [a.dtype.name for a in (*cell, *cell_grad)] == [dtype] * 12
        for forward, backward in VERSIONS.values():
            for L in (0, T):
                saved = forward(*args, **attributes, seq_len_max=L, gate_order="icfo")
                where = {"seq_len_max": L, "gate_order": "icfo", "use_peephole": use_peephole}
                grads = backward(*args, *saved, *upstream, **where)
                assert [a.dtype.name for a in (*saved, *grads)] == [dtype] * 15


def test_half_is_computed_in_single_precision(rng: np.random.Generator) -> None:
    args, upstream = inputs(rng, (T, B), dtype="float16"), draw(rng, 2, (T, B, H), "float16")
    saved = draw(rng, 7, (T, B, H), "float16")

    def wide(arrays: list[np.ndarray]) -> list[np.ndarray]:
        return [a.astype(np.float32) for a in arrays]

    where = {"seq_len_max": T, "gate_order": "icfo"}
    pairs = [(f(*args, **where, **FULL), f(*wide(args), **where, **FULL)) for f in (block_lstm,)]
    for f in (block_lstm_grad, block_lstm_grad_reference):
        got = f(*args, *saved, *upstream, **where, use_peephole=True)
        pairs.append((got, f(*wide(args), *wide(saved), *wide(upstream), **where, use_peephole=True)))
    step, rest = [args[0][0], *args[1:]], [a[0] for a in (*saved[:-1], *upstream)]
    pairs.append((lstm_block_cell(*step, **FULL), lstm_block_cell(*wide(step), **FULL)))
    got = lstm_block_cell_grad(*step, *rest, use_peephole=True)
    pairs.append((got, lstm_block_cell_grad(*wide(step), *wide(rest), use_peephole=True)))
    for got, want in pairs:
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b.astype(np.float16))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_layout_does_not_matter(rng: np.random.Generator, small_chunks: None, layout: str, dtype: str) -> None:
    other = LAYOUTS[layout]
    args, upstream = inputs(rng, (T, B), dtype=dtype), draw(rng, 2, (T, B, H), dtype)
    step, step_upstream = [args[0][0], *args[1:]], [a[0] for a in upstream]
    where = {"seq_len_max": 5, "gate_order": "ifco", "use_peephole": True}
    tolerance = 0.1 * TOLERANCE[dtype]

    want = lstm_block_cell(*step, **FULL)
    got = lstm_block_cell(*map(other, step), **FULL)
    assert_all_close(OUTPUTS, got, want, tolerance)
    want_grad = lstm_block_cell_grad(*step, *want[:-1], *step_upstream, use_peephole=True)
    got_grad = lstm_block_cell_grad(*map(other, (*step, *got[:-1], *step_upstream)), use_peephole=True)
    assert_all_close(CELL_GRADIENTS, got_grad, want_grad, tolerance)

    want = block_lstm(*args, **where, forget_bias=1.0, cell_clip=3.0)
    got = block_lstm(*map(other, args), **where, forget_bias=1.0, cell_clip=3.0)
    assert_all_close(OUTPUTS, got, want, tolerance)
    want_grad = block_lstm_grad(*args, *want, *upstream, **where)
    got_grad = block_lstm_grad(*map(other, (*args, *got, *upstream)), **where)
    assert_all_close(GRADIENTS, got_grad, want_grad, tolerance)


@pytest.mark.parametrize("use_peephole", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_are_never_modified(rng: np.random.Generator, dtype: str, use_peephole: bool) -> None:
    args, upstream = inputs(rng, (T, B), dtype=dtype), draw(rng, 2, (T, B, H), dtype)
    attributes = {**FULL, "use_peephole": use_peephole}
    before = [a.copy() for a in (*args, *upstream)]
    step = [args[0][0], *args[1:]]
    cell = lstm_block_cell(*step, **attributes)
    saved = block_lstm(*args, **attributes, seq_len_max=T, gate_order="icfo")
    saved_before = [a.copy() for a in (*cell, *saved)]
    lstm_block_cell_grad(*step, *cell[:-1], *(a[0] for a in upstream), use_peephole=use_peephole)
    where = {"seq_len_max": T, "gate_order": "icfo", "use_peephole": use_peephole}
    block_lstm_grad(*args, *saved, *upstream, **where)
    for a, b in zip((*args, *upstream, *cell, *saved), before + saved_before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("T, B", [(0, 3), (4, 0), (0, 0)])
def test_no_time_and_no_batch_give_empty_outputs_and_zero_gradients(
    rng: np.random.Generator, version: str, T: int, B: int
) -> None:
    forward, backward = VERSIONS[version]
    args, upstream = inputs(rng, (T, B)), draw(rng, 2, (T, B, H))
    saved = forward(*args, **FULL, seq_len_max=T, gate_order="icfo")
    assert [a.shape for a in saved] == [(T, B, H)] * 7
    got = backward(*args, *saved, *upstream, seq_len_max=T, gate_order="icfo", use_peephole=True)
    assert [a.shape for a in got] == [a.shape for a in args]
    assert not any(a.any() for a in got)


def test_cell_accepts_an_empty_batch(rng: np.random.Generator) -> None:
    args = inputs(rng, (0,))
    saved = lstm_block_cell(*args, **FULL)
    assert [a.shape for a in saved] == [(0, H)] * 7
    got = lstm_block_cell_grad(*args, *saved[:-1], *draw(rng, 2, (0, H)), use_peephole=True)
    assert [a.shape for a in got] == [(0, H), (0, 4 * H), (H,), (H,), (H,)]


def train_step(seed: int) -> tuple[np.ndarray, ...]:
    """Forward and backward at a size whose buffers come from the pool."""
    rng = np.random.default_rng(seed)
    T, B, I, H = 8, 40, 30, 128
    args, upstream = inputs(rng, (T, B), I, H, "float32"), draw(rng, 2, (T, B, H), "float32")
    saved = block_lstm(*args, **FULL, seq_len_max=T - 1, gate_order="icfo")
    grads = block_lstm_grad(*args, *saved, *upstream, seq_len_max=T - 1, gate_order="icfo", use_peephole=True)
    return (*saved, *grads)


def test_results_survive_later_calls() -> None:
    kept = train_step(0)
    copies = [a.copy() for a in kept]
    for seed in range(1, 4):
        train_step(seed)
    for a, b in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(a, b)


def test_threads_do_not_disturb_each_other() -> None:
    alone = [train_step(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(train_step, [0, 1, 2, 3] * 4))
    for k, results in enumerate(together):
        for a, b in zip(results, alone[k % 4], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
