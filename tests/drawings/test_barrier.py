"""Pictures of blocks that wait for each other: the order of a barrier's parts, and which block reads whose data.

Tests `docs/drawings/barrier.py`.
"""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from docs.drawings.barrier import grid_barrier, who_reads


def test_nobody_leaves_the_barrier_before_all_have_come_and_no_text_leaves_its_bar():
    picture = grid_barrier()
    assert picture.data["begin"].max() < picture.data["flag"] < picture.data["end"].min()
    picture.figure.draw_without_rendering()
    frames = [bar.get_window_extent() for bar in picture.artists["bars"]]
    named = [text.get_text() for text in picture.ax.texts]
    assert named.count("fence") == 3 + 1 + 3 and named.count("flag") == 1 and "3 of 3" in named
    for text in picture.ax.texts:
        if " of 3" not in text.get_text():
            extent = text.get_window_extent()
            assert any(f.x0 <= extent.x0 and extent.x1 <= f.x1 and f.y0 <= extent.y0 <= f.y1 for f in frames), text
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("columns", "slices"), [(4, 3), (1, 2), (3, 1)])
def test_who_reads_follows_the_indices_of_the_kernel(columns, slices):
    """Computed unit by unit, with the distribution of `persistent_grad.cu`."""
    picture = who_reads(columns, slices)
    H, blocks = columns * slices * slices, columns * slices
    units, slice_, deal = slices * slices, H // slices, slices
    gradients, shares = np.zeros((blocks, blocks), bool), np.zeros((blocks, blocks), bool)
    owner = {u: u // units * slices + u % units // deal for u in range(H)}
    for block in range(blocks):
        column, q = block // slices * units, block % slices
        for u in range(q * slice_, (q + 1) * slice_):
            gradients[block, owner[u]] = True
        for u in range(column, column + units):
            shares[owner[u], block] = True
    np.testing.assert_array_equal(picture.data["gradients"], gradients)
    np.testing.assert_array_equal(picture.data["shares"], shares)
    assert picture.data["forward"].all()
    shown = np.asarray(picture.artists["backward"].get_array())
    np.testing.assert_array_equal(shown, gradients + 2 * shares)
