import matplotlib
import numpy as np
import pytest

from minirnn.viz import loss_curve, style
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, PURPLE, RED


def test_the_style_is_taken_by_rc_context_and_only_there():
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context(style):
        assert matplotlib.rcParams["axes.titlelocation"] == "left"
        assert matplotlib.rcParams["axes.prop_cycle"].by_key()["color"][0] == "#0072B2"
        assert loss_curve([1, 2], [3, 2]).ax.get_title(loc="left") == "Loss while training"
    assert dict(matplotlib.rcParams) == before


SEEN = {
    "everyone": np.eye(3),
    "deuteranopes": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "protanopes": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopes": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""Red, green and blue as they are seen, from Machado, Oliveira and Fernandes (2009), for the full severity."""


@pytest.mark.parametrize("who", SEEN)
def test_the_colors_are_told_apart_with_any_color_vision(who):
    """Distances in CIELAB, where 2.3 is a just noticeable difference."""
    srgb = np.array([matplotlib.colors.to_rgb(c) for c in (BLUE, ORANGE, GREEN, RED, PURPLE, GRAY)])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = np.clip(linear @ np.transpose(SEEN[who]), 0, 1) @ np.transpose(to_xyz) / [0.95047, 1, 1.08883]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116).T
    lab = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)
    distances = np.linalg.norm(lab[:, None] - lab, axis=2)[np.triu_indices(6, 1)]
    assert distances.min() > 5 * 2.3
