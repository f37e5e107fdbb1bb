import numpy as np

from minirnn.viz import roofline

NAN = float("nan")


def test_bounds_are_memory_processor_or_waiting():
    work = {"memory": (1e6, 1e6, 1.0), "processor": (1e12, 1e6, 2.0), "waits": (1e3, 1e2, NAN)}
    picture = roofline(work, peak=1e12, bandwidth=1e9, latency=0.0)
    np.testing.assert_allclose(picture.data["intensity"], [1, 1e6, 10])
    np.testing.assert_allclose(picture.data["bound"], [1e9, 1e12, 1e10])
    np.testing.assert_allclose(picture.data["achieved"][:2], [1e6, 5e11])
    assert np.isnan(picture.data["achieved"][2])
    slow = roofline(work, peak=1e12, bandwidth=1e9, latency=1e-5)
    np.testing.assert_allclose(slow.data["bound"][2], 1e3 / (1e-5 + 1e-7))


def test_the_roof_bends_where_processor_and_memory_meet():
    picture = roofline({"a": (1.0, 1.0, 1.0)}, peak=100.0, bandwidth=10.0)
    x, y = picture.artists["roof"].get_data()
    np.testing.assert_allclose(y, np.minimum(100, 10 * x))
    assert x[0] < 10 < x[-1]
    assert {t.get_text() for t in picture.ax.texts} == {"a"}
    assert "byte" in picture.ax.get_xlabel() and "second" in picture.ax.get_ylabel()
