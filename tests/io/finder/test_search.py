"""The finder's limits, on networks so small that each reading's error is known.

A relu network with one unit and one input has the output w x, and each of its two weights may be the w.
Tests `minirnn/io/finder/search.py` and `minirnn/io/finder/readings.py`.
"""

from typing import Any

import numpy as np
import pytest

from minirnn.io import find_layout
from minirnn.io.layouts.hub import LayerWeights
from minirnn.io.layouts.plain import run_layer
from tests.slow import slow_unless

ONE = np.ones((1, 1, 1))  # (T, B, I)


def one_unit(a: float, b: float, y: float, **more: Any) -> Any:
    """The result for the weights `a` and `b`, the input 1 and the output `y`: relu or tanh of one or the other."""
    return find_layout([[[a]], [[b]]], ONE, y * ONE, **more)


def test_the_first_output_of_one_unit_is_its_weight() -> None:
    finding = one_unit(0.5, 3.0, 0.5)
    assert {trial.reading.rnn_mode for trial in finding.fits} == {"rnn_relu"}
    assert {trial.reading.storage.W.item() for trial in finding.fits} == {0.5}
    assert finding.best.error == 0


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_the_tolerance_is_a_part_of_the_largest_output(size: float) -> None:
    assert one_unit(-9, 1.00009 * size, size).status != "none"
    assert one_unit(-9, 1.00011 * size, size).status == "none"
    assert one_unit(-9, 1.09 * size, size, tolerance=0.1).status != "none"
    assert one_unit(-9, 1.11 * size, size, tolerance=0.1).status == "none"


def test_the_tolerance_of_outputs_that_are_all_zero_is_a_number_itself() -> None:
    assert one_unit(0.9e-4, 0.9e-4, 0.0).status != "none"
    assert one_unit(1.1e-4, 1.1e-4, 0.0).status == "none"


@pytest.mark.parametrize("which", ["weights", "output"])
def test_something_in_float16_widens_the_tolerance(which: str) -> None:
    half, single = np.float16, np.float32
    for w, found in ((1.0098, True), (1.0107, False)):
        weights = np.array(
            [[w]], half if which == "weights" else single
        )  # 1.0098 and 1.0107 are float16 numbers, nearly
        y = np.ones((1, 1, 1), single if which == "weights" else half)
        assert (find_layout([weights, -9 * np.ones_like(weights)], ONE, y).status != "none") == found


def test_an_error_as_large_as_the_tolerance_fits() -> None:
    alone = one_unit(0.75, 0.75, 1.0, tolerance=0.25)
    assert alone.status == "ambiguous" and alone.best.error == 0.25  # relu; tanh is further away
    both = one_unit(0.25, 0.25, 0.0, tolerance=0.25)
    assert len(both.fits) == both.tried  # tanh is nearer, relu has an error of 0.25


def test_all_that_fits_is_given_however_many() -> None:
    nothing = one_unit(0.0, 0.0, 0.0)
    assert len(nothing.fits) == nothing.tried > 8 and nothing.runner_up is None


@pytest.mark.parametrize(("other", "fits"), [(0.599, True), (0.601, False)])
def test_errors_above_ten_times_the_smallest_are_chance(other: float, fits: bool) -> None:
    finding = one_unit(0.51, other, 0.5, tolerance=1.0)
    assert finding.best.error == pytest.approx(0.01)
    assert (other in {trial.reading.storage.W.item() for trial in finding.fits if is_relu(trial)}) == fits


def is_relu(trial: Any) -> bool:
    return trial.reading.rnn_mode == "rnn_relu"


@pytest.mark.parametrize(("steps", "fits"), [(8, True), (9, False)])
def test_errors_up_to_eight_roundings_of_the_largest_output_are_no_chance(steps: int, fits: bool) -> None:
    """This reading competes with one without any error."""
    eps = np.finfo(np.float64).eps
    finding = one_unit(0.5, 0.5 + 0.5 * steps * eps, 0.5)
    assert finding.best.error == 0
    assert (len({trial.reading.storage.W.item() for trial in finding.fits}) == 2) == fits


def test_when_nothing_fits_the_runner_up_is_not_the_best() -> None:
    finding = one_unit(5.0, 7.0, 6.4)
    assert (finding.status, finding.fits) == ("none", ())
    assert finding.best.error == pytest.approx(0.6) and finding.runner_up is not finding.best


def lstm(rng: np.random.Generator, I: int = 3, H: int = 2) -> tuple[list[np.ndarray], LayerWeights]:
    W, R, b = rng.standard_normal((4 * H, I)), rng.standard_normal((4 * H, H)), rng.standard_normal(4 * H)
    return [W, R, b], LayerWeights(W, R, b, 0 * b)


def outputs(layer: LayerWeights, x: np.ndarray, h: Any = None, c: Any = None) -> np.ndarray:
    zeros = np.zeros((x.shape[1], layer.R.shape[1]))
    return run_layer("lstm", None, layer, x, zeros if h is None else h, zeros if c is None else c)


def test_late_steps_and_late_rows_of_the_batch_also_count(rng: np.random.Generator) -> None:
    arrays, layer = lstm(rng)
    x = rng.standard_normal((9, 4, 3))
    y = outputs(layer, x)
    assert find_layout(arrays, x, y).status == "found"
    for place in ((8, 0), (0, 3)):
        wrong = y.copy()
        wrong[place] += 0.1
        assert find_layout(arrays, x, wrong).status == "none"


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_the_last_output_of_a_long_sequence_suffices(
    rng: np.random.Generator, reverse: bool, batch_first: bool
) -> None:
    arrays, layer = lstm(rng)
    x = rng.standard_normal((9, 4, 3))
    y = outputs(layer, x[::-1] if reverse else x)[-1]
    finding = find_layout(arrays, x.swapaxes(0, 1) if batch_first else x, y)
    assert finding.status == "found"
    direction = ", reverse direction" if reverse else ""
    assert finding.best.arrangement == ("batch first" if batch_first else "time first") + direction


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("which", ["initial_h", "initial_c"])
def test_one_initial_state_may_be_given_and_its_batch_tells_the_axes(
    rng: np.random.Generator, which: str, batch_first: bool
) -> None:
    arrays, layer = lstm(rng)
    x, state = rng.standard_normal((5, 3, 3)), rng.standard_normal((3, 2))
    y = outputs(layer, x, **{which[-1]: state})
    if batch_first:
        x, y = x.swapaxes(0, 1), y.swapaxes(0, 1)
    finding = find_layout(arrays, x, y, **{which: state})
    assert finding.status == "found"
    assert finding.best.arrangement == ("batch first" if batch_first else "time first")
    assert find_layout(arrays, x, y, **{which: np.ones((7, 2))}).status == "none"


def test_a_state_of_one_sequence_needs_no_batch_axis(rng: np.random.Generator) -> None:
    arrays, layer = lstm(rng)
    x, h = rng.standard_normal((5, 1, 3)), rng.standard_normal((1, 2))
    y = outputs(layer, x, h)
    assert find_layout(arrays, x[:, 0], y[:, 0], initial_h=h[0]).status == "found"


@pytest.mark.parametrize("mode", ["gru", "rnn_tanh", "rnn_relu", "lstm"])
def test_a_layer_without_biases_is_found(rng: np.random.Generator, mode: str) -> None:
    G, H, I = {"gru": 3, "lstm": 4}.get(mode, 1), 2, 3
    W, R = rng.standard_normal((G * H, I)), rng.standard_normal((G * H, H))
    x, zeros = rng.standard_normal((5, 2, I)), np.zeros((2, H))
    gru = "reset_after" if mode == "gru" else None
    finding = find_layout([W, R], x, run_layer(mode, gru, LayerWeights(W, R), x, zeros, zeros))
    assert {trial.reading.rnn_mode for trial in finding.fits} == {mode}
    assert finding.best.reading.storage.biases == {}


@pytest.mark.parametrize(
    "stack", [lambda p, q: [p, q], lambda p, q: [np.stack([p, q])], lambda p, q: [np.append(p, q)]]
)
def test_two_biases_stand_in_one_array_or_in_two(rng: np.random.Generator, stack: Any) -> None:
    W, R, p, q = (rng.standard_normal(shape) for shape in ((4, 2), (4, 4), 4, 4))
    x, zeros = rng.standard_normal((5, 2, 2)), np.zeros((2, 4))
    y = run_layer("rnn_tanh", None, LayerWeights(W, R, p, q), x, zeros, zeros)
    finding = find_layout([W, R, *stack(p, q)], x, y)
    assert finding.status == "found" and len(finding.best.reading.storage.biases) == 2


@pytest.mark.parametrize(
    ("mode", "I", "H", "columns"),
    slow_unless(
        [("lstm", 1, 2, True), ("lstm", 3, 1, False), ("rnn_tanh", 1, 2, False), ("rnn_tanh", 3, 1, True)],
        [(m, I, H, c) for m in ("lstm", "rnn_tanh") for I, H in ((1, 1), (1, 2), (3, 1)) for c in (False, True)],
    ),
)
def test_a_matrix_of_one_row_is_not_a_bias(rng: np.random.Generator, mode: str, I: int, H: int, columns: bool) -> None:
    """A series of single numbers has kernels (1, G*H) in Keras; a single unit has such matrices everywhere."""
    GH = {"lstm": 4, "rnn_tanh": 1}[mode] * H
    W, R, b = rng.standard_normal((GH, I)), rng.standard_normal((GH, H)), rng.standard_normal(GH)
    x, zeros = rng.standard_normal((8, 2, I)), np.zeros((2, H))
    y = run_layer(mode, None, LayerWeights(W, R, b, 0 * b), x, zeros, zeros)
    for bias in (b, b[None]):
        finding = find_layout([W.T, R.T, bias] if columns else [W, R, bias], x, y)
        assert finding.status != "none" and {trial.reading.rnn_mode for trial in finding.fits} == {mode}
        np.testing.assert_array_equal(finding.best.weights().layers[0].W, W)
        np.testing.assert_array_equal(finding.best.weights().layers[0].bias(), b)
