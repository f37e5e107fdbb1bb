from __future__ import annotations

import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure

from minirnn.viz import gate_activity

T, B, H = 7, 3, 5


@pytest.fixture
def gates():
    rng = np.random.default_rng(11)
    return {
        "f": rng.random((T, B, H)),
        "i": rng.beta(0.4, 0.4, (T, B, H)),
        "ci": np.tanh(2 * rng.normal(size=(T, B, H))),
    }


def test_statistics_are_those_of_all_values_of_a_step(gates):
    data = gate_activity(gates).data
    for name, y in gates.items():
        for t in range(T):
            values = sorted(y[t].ravel())  # 15: the quantiles lie between two of them
            assert data[f"{name}.mean"][t] == pytest.approx(sum(values) / 15)
            assert data[f"{name}.low"][t] == pytest.approx(values[1] + 0.4 * (values[2] - values[1]))
            assert data[f"{name}.high"][t] == pytest.approx(values[12] + 0.6 * (values[13] - values[12]))


def test_shares_count_gates_that_are_closed_or_open_and_candidates_near_their_ends(gates):
    data = gate_activity(gates).data
    for t in range(T):
        for name in ("f", "i"):
            assert data[f"{name}.closed"][t] == sum(v < 0.1 for v in gates[name][t].ravel()) / 15
            assert data[f"{name}.open"][t] == sum(v > 0.9 for v in gates[name][t].ravel()) / 15
        assert data["ci.saturated"][t] == sum(abs(v) > 0.9 for v in gates["ci"][t].ravel()) / 15
    assert "ci.open" not in data
    assert "f.saturated" not in data


def test_lines_show_the_data(gates):
    picture = gate_activity(gates)
    for name in gates:
        np.testing.assert_array_equal(picture.artists[f"{name}.mean"].get_ydata(), picture.data[f"{name}.mean"])
    np.testing.assert_array_equal(picture.artists["i.open"].get_ydata(), 100 * picture.data["i.open"])
    corners = picture.artists["f.band"].get_paths()[0].vertices
    for t in range(T):
        at_t = corners[corners[:, 0] == t, 1]
        assert at_t.min() == picture.data["f.low"][t]
        assert at_t.max() == picture.data["f.high"][t]


def test_rows_have_titles_units_and_fixed_ranges(gates):
    picture = gate_activity(gates)
    assert picture.ax.shape == (3, 2)
    assert [left.get_title() for left, _ in picture.ax] == ["f: forget gate", "i: input gate", "ci: candidate"]
    assert {left.get_ylabel() for left, _ in picture.ax} == {"value"}
    assert {right.get_ylabel() for _, right in picture.ax} == {"saturated (%)"}
    assert [ax.get_xlabel() for ax in picture.ax[-1]] == ["time step t"] * 2
    assert picture.ax[0, 0].get_ylim() == (-0.03, 1.03)
    assert picture.ax[2, 0].get_ylim() == (-1.05, 1.05)


def test_one_legend_explains_every_line_once(gates):
    (legend,) = gate_activity(gates).figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "10 to 90 % of values",
        "mean",
        "closed: below 0.1",
        "open: above 0.9",
        "below -0.9 or above 0.9",
    ]


def test_it_draws_into_given_axes_and_explains_each_line_there(gates):
    figure = Figure()
    axes = figure.subplots(3, 2)
    picture = gate_activity(gates, axes=axes)
    assert (picture.ax == axes).all()
    assert figure.legends == []
    assert [ax.get_legend() is not None for ax in axes.flat] == [True, True, False, False, False, True]


def test_what_is_a_candidate_can_be_said():
    y = np.linspace(-1, 1, 30).reshape(5, 2, 3)
    assert "mine.saturated" in gate_activity({"mine": y}, candidates=["mine"]).data
    assert "c.open" in gate_activity({"c": abs(y)}, candidates=[]).data


def test_a_step_that_is_not_finite_leaves_a_gap_and_the_title_says_so(gates):
    gates["f"][3:, 1, 2] = np.nan
    gates["ci"][5, 0, 0] = -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = gate_activity(gates)
        picture._repr_png_()
    for kind in ("mean", "low", "high", "open", "closed"):
        np.testing.assert_array_equal(np.isnan(picture.data[f"f.{kind}"]), np.arange(T) >= 3)
    np.testing.assert_array_equal(np.isnan(picture.data["ci.saturated"]), np.arange(T) == 5)
    assert picture.ax[0, 0].get_title() == "f: forget gate (NaN or infinite from step 3)"


def test_the_given_arrays_stay_as_they_are(gates):
    gates["f"][3, 1, 2] = np.nan
    before = gates["f"].copy()
    gate_activity(gates)
    np.testing.assert_array_equal(gates["f"], before)


def test_a_single_step_is_drawn_as_points():
    picture = gate_activity({"f": np.full((1, B, H), 0.5)})
    assert picture.artists["f.mean"].get_marker() == "o"
    picture._repr_png_()


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ({}, r"no gates\n"),
        ({"f": np.ones((T, H))}, r"gates\['f'\] has shape \(7, 5\)\n  expected \(T, B, H\)"),
        ({"f": np.ones((T, 0, H))}, r"gates\['f'\] has shape \(7, 0, 5\)"),
        (
            {"f": np.full((T, B, H), -0.5)},
            r"gates\['f'\] contains -0.5\n  expected 0 .. 1\n  outputs of a tanh\? name it in candidates",
        ),
        ({"ci": np.full((T, B, H), 1.5)}, r"gates\['ci'\] contains 1.5\n  expected -1 .. 1\n  a cell state"),
        (
            {"i": np.ones((T, B, H)), "f": np.ones((T + 1, B, H))},
            r"the gates have \{'i': 7, 'f': 8\} time steps\n  expected one T",
        ),
    ],
)
def test_what_is_no_gate_is_refused(gates, message):
    with pytest.raises(ValueError, match=f"gate_activity: {message}"):
        gate_activity(gates)


def test_two_axes_for_each_gate():
    figure = Figure()
    with pytest.raises(ValueError, match=r"axes has shape \(2,\)\n  expected \(G, 2\) = \(1, 2\)"):
        gate_activity({"f": np.ones((T, B, H))}, axes=figure.subplots(1, 2))
    with pytest.raises(TypeError, match="gate_activity: ax is int"):
        gate_activity({"f": np.ones((T, B, H))}, axes=[[1, 2]])


def test_the_ends_of_the_range_belong_to_it_and_what_lies_beyond_does_not():
    assert gate_activity({"f": [[[0.0, 1.0]]]}).data["f.mean"] == [0.5]
    assert gate_activity({"ci": [[[-1.0, 1.0]]]}).data["ci.saturated"] == [1.0]
    for name, value in {"f": 1.5, "i": -0.01, "ci": -1.5}.items():
        with pytest.raises(ValueError, match=f"'{name}'\\] contains {value:g}"):
            gate_activity({name: [[[0.5, value]]]})
