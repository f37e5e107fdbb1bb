"""Figures in words.

Tests `docs/drawings/alt.py`.
"""

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from docs.drawings.alt import described


def test_a_chart_has_its_title_its_axes_and_both_ends_of_each_labeled_curve() -> None:
    figure = Figure()
    ax = figure.subplots()
    ax.semilogy([0, 1, 2], [1e-6, np.nan, 100.0], label="the gradient")
    ax.semilogy([0, 1, 2], [1.0, 2.0, 3.0])
    ax.set(title="What arrives?", xlabel="step $t$", ylabel="norm of\nthe gradient", ylim=(1e-7, 1e3), xlim=(0, 2))
    assert described(figure) == (
        "Line chart: What arrives? Horizontal: step t, from 0 to 2. Vertical: norm of the gradient, from 1e-07 to "
        "1e+03, logarithmic. the gradient: 1e-06 at 0, 1e+02 at 2."
    )


def test_a_curve_without_a_value_says_so_and_many_curves_are_counted() -> None:
    figure = Figure()
    ax = figure.subplots()
    ax.plot([0, 1, 2], [np.nan] * 3, label="nothing")
    assert "nothing: no values" in described(figure)
    ax.plot(np.zeros((3, 20)))
    assert described(figure) == "Chart of 21 curves."


def test_a_heat_map_says_what_its_color_means() -> None:
    text = described(mr.viz.gradient_flow(np.ones((2, 5)), layers=["h", "c"], quantity="norm of dL/dh_t"))
    assert text.startswith("Heat map: How much of the loss's gradient reaches each step? Horizontal: time step t")
    assert "Color: norm of dL/dh_t" in text


def test_a_cell_is_described_by_its_formulas() -> None:
    picture = mr.viz.cell_graph("lstm")
    assert described(picture) == picture.alt and "c = f * c_prev + i * n" in picture.alt


def test_bars_with_names_and_rows_with_names_have_their_values() -> None:
    figure = Figure()
    bars, rows = figure.subplots(2)
    bars.bar(["RNN", "LSTM"], [3, 40])
    rows.imshow([[1.0, 2.0], [0.5, 8.0]])
    rows.set_yticks([0, 1], ["h", "c"])
    text = described(figure)
    assert "RNN: 3. LSTM: 40." in text
    assert "h: 1 at the left, 2 at the right. c: 0.5 at the left, 8 at the right." in text


def test_a_tape_is_described_by_its_boxes_and_arrows() -> None:
    w = mr.tensor(2.0, requires_grad=True)
    text = described(mr.viz.tape_graph(mr.tanh(w), names={"w": w}))
    assert "It shows w 2., Tanh 0.964. Arrows: w to Tanh." in text
