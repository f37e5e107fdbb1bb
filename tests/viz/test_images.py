"""A few pictures as images, without their text: fonts differ between machines, shapes and colors must not.

New baselines, after looking at them: ``pytest tests/viz/test_images.py --mpl-generate-path=tests/viz/baseline``.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.viz import gradient_flow, jacobian_spectrum, parameter_buffer, thread_map

compare = pytest.mark.mpl_image_compare(baseline_dir="baseline", remove_text=True, tolerance=12, style="classic")


@compare
def test_gradient_flow():
    t = np.arange(30)
    return gradient_flow([0.8 ** (29 - t), 1.1 ** (29 - t)]).figure


@compare
def test_parameter_buffer():
    return parameter_buffer(2, 6, 4, rnn_mode="gru", direction="bidirectional").figure


@compare
def test_thread_map():
    return thread_map(5, 12, grid=(2, 2), block=(8, 4)).figure


@compare
def test_jacobian_spectrum():
    return jacobian_spectrum([np.diag([0.9**k, 0.5**k, 0.2**k]) for k in range(20, -1, -1)]).figure
