import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure

from minirnn.viz import gradient_flow
from tests.slow import slow_unless

NORMS = np.array([[1e-5, 3e-3, 0.2], [2e-2, 0.5, 7.0]])


def test_each_norm_colors_its_layer_and_step():
    picture = gradient_flow(NORMS)
    mesh = picture.artists["mesh"]
    np.testing.assert_array_equal(mesh.get_array(), NORMS)
    np.testing.assert_array_equal(mesh.get_coordinates()[0, :, 0], [-0.5, 0.5, 1.5, 2.5])
    np.testing.assert_array_equal(mesh.get_coordinates()[:, 0, 1], [-0.5, 0.5, 1.5])
    np.testing.assert_array_equal(picture.data["norms"], NORMS)
    np.testing.assert_array_equal(picture.data["first_step"], [0, 1, 2])
    counted = gradient_flow(NORMS, first=1)
    np.testing.assert_array_equal(counted.artists["mesh"].get_coordinates()[0, :, 0], [0.5, 1.5, 2.5, 3.5])
    np.testing.assert_array_equal(counted.data["first_step"], [1, 2, 3])
    assert picture.data["steps_per_column"] == 1


def test_title_axes_and_color_bar_say_what_is_seen():
    picture = gradient_flow(NORMS)
    assert picture.ax.get_title() == "How much of the loss's gradient reaches each step?"
    assert picture.ax.get_xlabel() == "time step t   (\u2190 backpropagation goes this way)"
    assert [label.get_text() for label in picture.ax.get_yticklabels()] == ["layer 0", "layer 1"]
    assert picture.artists["color bar"].ax.get_ylabel() == "gradient norm of h\n(log scale)"


def test_names_can_be_given():
    picture = gradient_flow(NORMS, layers=["below", "above"], quantity="norm of dc")
    assert [label.get_text() for label in picture.ax.get_yticklabels()] == ["below", "above"]
    assert picture.artists["color bar"].ax.get_ylabel().startswith("norm of dc")


def test_zeros_show_the_hatched_ground_and_are_explained():
    norms = NORMS.copy()
    norms[0, 0] = 0
    picture = gradient_flow(norms)
    np.testing.assert_array_equal(np.ma.getmaskarray(picture.artists["mesh"].get_array()), norms == 0)
    assert picture.artists["mesh"].norm.vmin == 1e-3  # zero doesn't stretch the scale
    assert picture.ax.patch.get_hatch()
    assert picture.ax.get_xlabel().endswith("\nhatched: exactly zero")
    assert not gradient_flow(NORMS).ax.patch.get_hatch()


def test_numbers_that_are_not_finite_get_their_own_color_and_are_explained():
    norms = NORMS.copy()
    norms[1, 2], norms[0, 1] = np.nan, np.inf
    picture = gradient_flow(norms)
    np.testing.assert_array_equal(np.ma.getmaskarray(picture.artists["mesh"].get_array()), ~np.isfinite(norms))
    np.testing.assert_array_equal(np.ma.getmaskarray(picture.artists["not finite"].get_array()), np.isfinite(norms))
    assert picture.ax.get_xlabel().endswith("\norange-red: NaN or infinite")
    assert picture.artists["mesh"].norm.vmax == 1
    assert "not finite" not in gradient_flow(NORMS).artists


def test_a_long_sequence_is_drawn_by_the_largest_of_neighboring_steps():
    rng = np.random.default_rng(10)
    norms = rng.random((2, 23)) + 0.1
    norms[1, 17] = np.nan
    picture = gradient_flow(norms, max_columns=6)
    expected = [[max(norms[layer, t : t + 4]) for t in range(0, 23, 4)] for layer in (0, 1)]
    expected[1][4] = np.nan  # a NaN is never thinned out
    np.testing.assert_array_equal(picture.data["norms"], expected)
    np.testing.assert_array_equal(picture.data["first_step"], [0, 4, 8, 12, 16, 20])
    assert picture.data["steps_per_column"] == 4
    edges = picture.artists["mesh"].get_coordinates()[0, :, 0]
    np.testing.assert_array_equal(edges, [-0.5, 3.5, 7.5, 11.5, 15.5, 19.5, 22.5])  # the last column has 3 steps
    assert "each column: the largest of 4 steps; orange-red" in picture.ax.get_xlabel()


def test_no_more_columns_than_asked_for():
    for T in (400, 401, 801):
        assert gradient_flow(np.ones((1, T))).data["norms"].shape[1] <= 400


EXTREME = [[[5e-324, 1e308]], np.zeros((2, 3)), np.full((2, 3), 0.3), np.ones((1, 1)), np.full((1, 2), np.nan)]


@pytest.mark.parametrize("norms", slow_unless(4, EXTREME))
def test_extreme_norms_are_drawn_without_a_warning(norms):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = gradient_flow(norms)
        assert picture._repr_png_().startswith(b"\x89PNG")


def test_without_any_size_there_is_no_color_bar():
    assert "color bar" not in gradient_flow(np.zeros((2, 3))).artists


def test_it_draws_into_given_axes():
    figure = Figure()
    ax, other = figure.subplots(1, 2)
    picture = gradient_flow(NORMS, ax=ax)
    assert picture.ax is ax
    assert not other.collections
    assert picture.figure is figure


@pytest.mark.parametrize(
    ("norms", "ends"),
    [
        ([1e-5, 10.0], (1e-5, 10)),  # powers of ten are ends themselves
        ([2e-5, 11.0], (1e-5, 100)),
        ([0.3, 0.4], (0.1, 1)),
        ([1.0, 1.0], (1, 10)),  # never from a number to itself
        ([1e-310, 1e-250], (1e-200, 1e-199)),  # ticks are between 10**-200 and 10**200
        ([1e250, 1e300], (1e199, 1e200)),
        ([0.0, 0.0], (0.1, 1)),
    ],
)
def test_the_color_scale_goes_from_a_power_of_ten_to_a_larger_one(norms, ends):
    norm = gradient_flow([norms]).artists["mesh"].norm
    assert (norm.vmin, norm.vmax) == pytest.approx(ends, rel=1e-12, abs=0)
