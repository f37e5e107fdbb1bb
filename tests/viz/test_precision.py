from __future__ import annotations

import numpy as np

from minirnn.viz import precision_over_time


def test_errors_are_the_largest_of_each_step_relative_to_the_largest_value():
    exact = np.array([[1.0, -4.0], [2.0, 3.0]])
    picture = precision_over_time({"float32": exact + [[0.1, 0.2], [0.0, -0.4]]}, exact)
    np.testing.assert_allclose(picture.data["float32"], [0.05, 0.1])
    np.testing.assert_allclose(picture.artists["float32"].get_ydata(), [0.05, 0.1])
    assert picture.ax.get_yscale() == "log" and "time step t" in picture.ax.get_xlabel()


def test_what_is_exact_stays_on_the_picture(rng):
    exact = rng.normal(size=(5, 2, 3))
    picture = precision_over_time({"float32": exact.astype(np.float32), "same": exact}, exact)
    assert (picture.artists["same"].get_ydata() > 0).all() and (picture.data["same"] == 0).all()
    assert (picture.data["float32"] < 1e-7).all()
