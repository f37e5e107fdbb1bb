import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from minirnn.viz import loss_curve
from tests.slow import slow_unless


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_curve_is_the_given_losses_with_labels_and_units():
    picture = loss_curve([10, 20, 30], [4.0, 3.0, 2.5])
    np.testing.assert_array_equal(picture.artists["train"].get_xydata(), [[10, 4], [20, 3], [30, 2.5]])
    assert picture.ax.get_xlabel() == "training step"
    assert picture.ax.get_ylabel() == "loss (nats per character)"
    assert picture.ax.get_title() == "Loss while training"
    assert legend(picture.ax) == ["training"]
    assert picture.ax.get_ylim()[0] == 0


def test_many_losses_get_the_mean_of_their_neighbors_in_the_middle_of_its_window():
    rng = np.random.default_rng(9)
    steps, losses = np.arange(100, 300), rng.normal(3, 0.5, 200)
    picture = loss_curve(steps, losses)
    window = 5
    mean = [losses[k : k + window].sum() / window for k in range(200 - window + 1)]
    np.testing.assert_allclose(picture.data["mean_loss"], mean, rtol=1e-12)
    np.testing.assert_array_equal(picture.data["mean_steps"], steps[2:-2])
    np.testing.assert_array_equal(picture.artists["mean"].get_ydata(), picture.data["mean_loss"])
    assert legend(picture.ax) == ["training", "training, mean of 5 neighbors"]


def test_few_losses_are_not_averaged():
    picture = loss_curve(np.arange(79), np.ones(79))
    assert "mean_loss" not in picture.data
    assert "mean" not in picture.artists


def test_validation_and_baselines_are_drawn_and_named():
    picture = loss_curve(
        [1, 2, 3], [4, 3, 2], validation=([1, 3], [4.5, 2.5]), baselines={"uniform": 4.6, "unigram entropy": 3.125}
    )
    np.testing.assert_array_equal(picture.artists["validation"].get_xydata(), [[1, 4.5], [3, 2.5]])
    np.testing.assert_array_equal(picture.data["baselines"], [4.6, 3.125])
    assert set(picture.artists["unigram entropy"].get_ydata()) == {3.125}
    assert [text.get_text() for text in picture.ax.texts] == ["uniform: 4.60", "unigram entropy: 3.12"]
    assert picture.ax.get_title() == "How far does the loss fall below the baselines?"
    assert legend(picture.ax) == ["training", "validation"]


def test_names_of_close_baselines_do_not_overlap():
    picture = loss_curve([1, 2], [4, 1], baselines={"one": 3.0, "two": 3.01})
    picture._repr_png_()
    below, above = (text.get_window_extent() for text in picture.ax.texts)
    assert below.y1 < above.y0


def test_bits_are_nats_divided_by_log_2():
    picture = loss_curve([1, 2], [math.log(2), 3 * math.log(2)], bits=True)
    picture._repr_png_()
    right = picture.artists["bits"]
    assert right.get_ylabel() == "bits per character"
    np.testing.assert_allclose(right.get_ylim(), np.array(picture.ax.get_ylim()) / math.log(2))
    # 1 bit on the right is level with log 2 nats on the left
    heights = (
        right.yaxis.get_transform().transform([0.0, 1.0]),
        picture.ax.yaxis.get_transform().transform([0.0, math.log(2)]),
    )
    np.testing.assert_allclose(*heights)


def test_the_first_loss_that_is_not_finite_is_marked():
    losses = np.linspace(4, 2, 100)
    losses[60:] = np.nan
    losses[50] = np.inf
    picture = loss_curve(np.arange(1_234_000, 1_234_100), losses, baselines={"unigram entropy": 3.1})
    assert set(picture.artists["not finite"].get_xdata()) == {1_234_050}
    assert "first NaN or infinite: step 1234050" in legend(picture.ax)
    # the mean of neighbors exists where its whole window does
    expected = [all(math.isfinite(x) for x in losses[k : k + 2]) for k in range(99)]
    np.testing.assert_array_equal(np.isfinite(picture.data["mean_loss"]), expected)
    picture._repr_png_()


@pytest.mark.parametrize("losses", slow_unless(2, [[np.inf, np.nan], [np.nan], [3e38] * 90, [-1.0, -2.0]]))
def test_strange_losses_are_drawn_without_a_warning(losses):
    loss_curve(np.arange(len(losses)), losses, bits=True)._repr_png_()


def test_losses_below_zero_are_not_cut_off():
    assert loss_curve([1, 2], [1, -3]).ax.get_ylim()[0] < -3


def test_one_loss_is_a_point():
    assert loss_curve([1], [4.6]).artists["train"].get_marker() == "o"


def test_it_draws_into_given_axes():
    ax = Figure().add_subplot()
    assert loss_curve([1, 2], [3, 2], ax=ax).ax is ax
