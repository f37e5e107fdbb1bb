"""The finder of layouts: the meaning of unlabeled weights, from one input and its output."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from minirnn.io import convert_weights, find_layout
from tests.io.layouts.cases import MODES, H, I, Kind, dyadic, in_layout, layouts_of
from tests.io.layouts.forwards import forward, run, sigmoid, torch_gru, torch_lstm
from tests.slow import slow_unless

T, B = 6, 2
CASES = [
    (mode, gru, layout)
    for mode, gru in MODES
    for layout in layouts_of(Kind(mode, gru, 1, 1))
    # one row of numbers, and one matrix per gate, are recognized by their form
    if layout not in ("cudnn.params", "tf.canonical")
]


def outputs(rng: np.random.Generator, mode: str, gru: str | None, layout: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Converted weights, an input, and the output of the layout's library."""
    got = in_layout(rng, Kind(mode, gru, 1, 1), layout, np.float64)
    x, zeros = rng.standard_normal((T, B, I)), np.zeros((1, B, H))
    return got, x, forward(layout, mode, gru, got.arrays, 1, 1, x, zeros, zeros)


@pytest.mark.parametrize(("mode", "gru", "layout"), slow_unless(2, CASES))
def test_every_layout_is_found_whatever_the_order_of_its_arrays(
    rng: np.random.Generator, mode: str, gru: str | None, layout: str
) -> None:
    got, x, y = outputs(rng, mode, gru, layout)
    for arrays in (list(got.arrays.values()), list(got.arrays.values())[::-1]):
        finding = find_layout(arrays, x, y)
        assert finding.status == "found", str(finding)
        best, other = finding.best, finding.runner_up
        assert best is not None
        assert (best.reading.rnn_mode, best.reading.gru, best.arrangement) == (mode, gru, "time first")
        assert best.error < 1e-10
        assert other is None or other.error > 1e-3
        assert layout in best.layouts, str(finding)
    assert best is not None
    found = best.weights().layers[0]
    np.testing.assert_array_equal(found.W, got.weights.layers[0].W)
    np.testing.assert_array_equal(found.R, got.weights.layers[0].R)
    np.testing.assert_allclose(found.bias(), got.weights.layers[0].bias(), rtol=0, atol=1e-15)


@pytest.mark.parametrize("order", slow_unless(7, map("".join, permutations("ifno"))))
def test_all_24_gate_orders_of_an_lstm_are_told_apart(rng: np.random.Generator, order: str) -> None:
    gates = {
        g: (dyadic(rng, H, I, dtype="f8"), dyadic(rng, H, H, dtype="f8"), dyadic(rng, H, dtype="f8")) for g in "ifno"
    }
    W, R, b = (np.concatenate([gates[g][k] for g in "ifno"]) for k in range(3))
    x = rng.standard_normal((T, B, I))
    torch_names = {"weight_ih": W, "weight_hh": R, "bias_ih": b, "bias_hh": np.zeros(4 * H)}
    y = run(torch_lstm, [[torch_names]], x, np.zeros((1, B, H)), np.zeros((1, B, H)))
    given = [np.concatenate([gates[g][k] for g in order]).T for k in range(3)]
    finding = find_layout(given, x, y)
    assert finding.status == "found"
    assert finding.best is not None and finding.best.reading.order == order


@pytest.mark.parametrize(
    ("order", "new"),
    slow_unless(5, [(order, new) for order in map("".join, permutations("rzn")) for new in (False, True)]),
)
def test_all_gate_orders_of_a_gru_and_both_meanings_of_z_are_told_apart(
    rng: np.random.Generator, order: str, new: bool
) -> None:
    gates = {g: [dyadic(rng, *s, dtype="f8") for s in ((H, I), (H, H), (H,), (H,))] for g in "rzn"}
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    sign = {"z": -1 if new else 1}  # 1 - sigmoid(z) = sigmoid(-z)
    stacked = [np.concatenate([sign.get(g, 1) * gates[g][k] for g in "rzn"]) for k in range(4)]
    x = rng.standard_normal((T, B, I))
    y = run(torch_gru, [[dict(zip(names, stacked, strict=True))]], x, np.zeros((1, B, H)), None)
    given = {name: np.concatenate([gates[g][k] for g in order]) for k, name in enumerate(names)}
    finding = find_layout(given, x, y)
    assert finding.status == "found", str(finding)
    assert finding.best is not None
    assert (finding.best.reading.order, finding.best.reading.update_is_new) == (order, new)
    assert new or finding.best.layouts == {"rzn": ("torch.nn",), "zrn": ("onnx",)}.get(order, ())
    np.testing.assert_array_equal(finding.best.weights().layers[0].W, stacked[0])


def test_which_of_two_biases_is_the_recurrent_one_is_found(rng: np.random.Generator) -> None:
    got, x, y = outputs(rng, "gru", "reset_after", "torch.nn")
    arrays = dict(sorted(got.arrays.items()))  # bias_hh first, as safetensors sorts them
    finding = find_layout(arrays, x, y)
    assert "bW is bias_ih_l0, bR is bias_hh_l0" in str(finding)
    assert finding.best is not None and finding.best.layouts == ("torch.nn",)
    got, x, y = outputs(rng, "gru", "reset_after", "keras")
    finding = find_layout(got.arrays | {"bias": got.arrays["bias"][::-1]}, x, y)
    assert "bW is bias[1], bR is bias[0]" in str(finding)
    assert finding.best is not None and finding.best.layouts == ()  # no library stacks them so


def test_batch_first_and_reverse_direction_are_found(rng: np.random.Generator) -> None:
    got, x, y = outputs(rng, "lstm", None, "keras")
    turned = forward("keras", "lstm", None, got.arrays, 1, 1, x[::-1], np.zeros((1, B, H)), np.zeros((1, B, H)))
    swap = lambda a: np.swapaxes(a, 0, 1)  # noqa: E731
    expected = {
        "batch first": (swap(x), swap(y)),
        "time first, reverse direction": (x, turned[::-1]),
        "batch first, reverse direction": (swap(x), swap(turned[::-1])),
        "time first, reverse direction, outputs in the order of computing": (x, turned),
    }
    for arrangement, pair in expected.items():
        finding = find_layout(got.arrays, *pair)
        assert finding.status == "found", str(finding)
        assert finding.best is not None and finding.best.arrangement == arrangement


def test_the_last_output_and_a_single_sequence_suffice(rng: np.random.Generator) -> None:
    got, x, y = outputs(rng, "gru", "reset_after", "torch.nn")
    for pair in ((x, y[-1]), (np.swapaxes(x, 0, 1), y[-1]), (x[:, 0], y[:, 0]), (x[:, 0], y[-1, 0])):
        finding = find_layout(got.arrays, *pair)
        assert finding.status == "found", str(finding)
        assert finding.best is not None and finding.best.layouts == ("torch.nn",)


def test_initial_states_are_used(rng: np.random.Generator) -> None:
    got = in_layout(rng, Kind("lstm", None, 1, 1), "keras", np.float64)
    x, h, c = rng.standard_normal((T, B, I)), rng.standard_normal((B, H)), rng.standard_normal((B, H))
    y = forward("keras", "lstm", None, got.arrays, 1, 1, x, h[None], c[None])
    assert find_layout(got.arrays, x, y, initial_h=h, initial_c=c).status == "found"
    assert find_layout(got.arrays, x, y).status == "none"


def test_square_matrices_are_also_distinguished(rng: np.random.Generator) -> None:
    """I = H: W and R have one shape, and of a plain RNN even the transposed ones."""
    a = {"k": dyadic(rng, H, H, dtype="f8"), "r": dyadic(rng, H, H, dtype="f8"), "b": dyadic(rng, H, dtype="f8")}
    x, h = rng.standard_normal((T, B, H)), np.zeros((B, H))
    y = []
    for x_t in x:
        h = np.tanh(x_t @ a["k"] + h @ a["r"] + a["b"])
        y.append(h)
    finding = find_layout(a, x, np.stack(y))
    assert finding.status == "found"
    assert finding.tried >= 48
    assert "W is k as columns, R is r as columns" in str(finding)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_rounded_weights_and_outputs_are_found_and_keep_their_dtype(rng: np.random.Generator, dtype: Any) -> None:
    got, x, y = outputs(rng, "lstm", None, "tf.lstm_block_cell")
    arrays = {key: a.astype(dtype) for key, a in got.arrays.items()}
    finding = find_layout(arrays, x.astype(dtype), y.astype(dtype))
    assert finding.status == "found", str(finding)
    assert finding.best is not None and finding.best.layouts == ("tf.lstm_block_cell",)
    out = convert_weights(finding.best.weights(), "tf.lstm_block_cell").arrays
    for key in arrays:
        assert out[key].dtype == dtype
        np.testing.assert_array_equal(out[key], arrays[key])


def test_what_cannot_be_known_is_called_ambiguous(rng: np.random.Generator) -> None:
    """One step from zero states: the forget gate multiplies 0, and time has no direction."""
    got, x, y = outputs(rng, "lstm", None, "torch.nn")
    finding = find_layout(got.arrays, x[:1], y[:1])
    assert finding.status == "ambiguous"
    orders = {candidate.reading.order for candidate in finding.fits}
    assert orders == {"ifno"}
    assert {candidate.reading.forget_bias for candidate in finding.fits} == {0.0, 1.0}
    assert str(finding).startswith(f"ambiguous: {len(finding.fits)} of ")
    finding = find_layout([np.zeros((4 * H, I)), np.zeros((4 * H, H))], x, np.zeros((T, B, H)))
    assert finding.status == "ambiguous"


def test_a_reading_that_nearly_fits_is_not_taken_for_one_that_does(rng: np.random.Generator) -> None:
    """The wrong forget bias changes only units that are 1e-5 of the largest: within the tolerance, above rounding."""
    W, R, b = (rng.standard_normal(s) for s in ((4 * H, I), (4 * H, H), (4 * H,)))
    b[H] = 40  # the forget gate of unit 0 is 1 with and without a forget bias
    for a in (W, R, b):
        a[2 * H + 1 : 3 * H] *= 1e-5  # n of the other units
    x = rng.standard_normal((T, B, I))
    arrays = {"weight_ih": W, "weight_hh": R, "bias_ih": b, "bias_hh": np.zeros(4 * H)}
    y = run(torch_lstm, [[arrays]], x, np.zeros((1, B, H)), np.zeros((1, B, H)))
    finding = find_layout([W, R, b], x, y)
    assert finding.runner_up is not None and finding.runner_up.reading.forget_bias == 1.0
    assert 1e-9 < finding.runner_up.error < 1e-4 * np.abs(y).max()
    assert finding.status == "found", str(finding)


def test_that_nothing_fits_is_an_answer(rng: np.random.Generator) -> None:
    got, x, y = outputs(rng, "lstm", None, "torch.nn")
    finding = find_layout(got.arrays, x, y + 0.01 * rng.standard_normal(y.shape))
    assert finding.status == "none" and finding.fits == ()
    assert finding.best is not None and finding.best.reading.order == "ifno"  # still the nearest one
    assert str(finding).startswith("none fits")
    assert find_layout(got.arrays, x, y + 0.01, tolerance=0.1).status == "found"
    nothing = find_layout([np.zeros((7, 11))], x, y)
    assert (nothing.status, nothing.tried, nothing.best) == ("none", 0, None)
    assert "no cell has weights of these shapes" in str(nothing)


def test_a_peephole_lstm_fits_nothing(rng: np.random.Generator) -> None:
    _, x, y = outputs(rng, "lstm", None, "torch.nn")
    arrays = [sigmoid(rng.standard_normal(s)) for s in ((I + H, 4 * H), (4 * H,), (H,), (H,), (H,))]
    assert find_layout(arrays, x, y).status == "none"
