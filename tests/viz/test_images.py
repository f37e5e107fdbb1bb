"""A few pictures as images, without their text: fonts differ between machines, shapes and colors must not.

New baselines, after looking at them: ``pytest tests/viz/test_images.py --mpl-generate-path=tests/viz/baseline``.

Tests `minirnn/viz/`.
"""

import numpy as np
import pytest

from minirnn.viz import gradient_flow, parameter_buffer, thread_map


def plain(picture):
    """The figure with its axes at Matplotlib's default positions, because a layout would depend on the widths
    of fonts.
    """
    picture.figure.set_layout_engine("none")
    return picture.figure


compare = pytest.mark.mpl_image_compare(baseline_dir="baseline", remove_text=True, tolerance=12, style="classic")


@compare
def test_gradient_flow():
    t = np.arange(30)
    return plain(gradient_flow([0.8 ** (29 - t), 1.1 ** (29 - t)]))


@compare
def test_parameter_buffer():
    return plain(parameter_buffer(2, 6, 4, rnn_mode="gru", direction="bidirectional"))


@compare
def test_thread_map():
    return plain(thread_map(5, 12, grid=(2, 2), block=(8, 4)))
