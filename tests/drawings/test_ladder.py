"""Pictures of the CudnnRNN ladder: the counts that were published, and a sketch whose texts stay in their boxes.

Tests `docs/drawings/ladder.py` and `minirnn/viz/ladder_schematic.py`.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from docs.drawings.ladder import ladder_counts
from minirnn.viz import between_steps
from tests.slow import slow_unless

REPORT = Path(__file__).parents[2] / "docs" / "data" / "cuda-sim" / "cudnn_ladder.json"
RUNGS = {"steps", "steps, recorded", "barrier", "persistent"}
SUMS = {
    "bytes": ("product bytes", "kernel bytes", "gathered"),
    "launches": ("launches",),
    "barriers": ("block barriers",),
}


@pytest.mark.parametrize("which", slow_unless(2, ["forward", "backward"]))
def test_each_point_is_a_row_of_the_report(which):
    picture = ladder_counts(REPORT, which=which)
    rows = json.loads(REPORT.read_text())["rows"]
    sizes = {"T": lambda n: [n, 1, 64, 64], "B": lambda n: [16, n, 64, 64], "H": lambda n: [16, 1, n, n]}
    points = 0
    for axis, size in sizes.items():
        for rung in RUNGS:
            for at, *counts in zip(
                picture.data[f"{axis}.{rung}"], *(picture.data[f"{name}.{axis}.{rung}"] for name in SUMS), strict=True
            ):
                (row,) = [r for r in rows if (r["size"], r["rung"], r["pass"]) == (size(at), rung, which)]
                assert counts == [sum(row["counts"][part] for part in parts) for parts in SUMS.values()]
                points += 1
    assert points == 3 * 3 * len(RUNGS)


def test_lines_show_the_data_and_are_named():
    picture = ladder_counts(REPORT)
    for name, line in picture.artists.items():
        quantity, axis, rung = name.split(".")
        places = picture.data[f"{axis}.{rung}"]
        np.testing.assert_allclose(line.get_xdata(), places, rtol=0.3)  # slightly shifted from its place
        np.testing.assert_array_equal(line.get_ydata(), picture.data[name])
        assert line.get_label() == rung and line.axes is picture.ax[list(SUMS).index(quantity), "TBH".index(axis)]
        low, high = line.axes.get_ylim()
        assert low < min(line.get_ydata()) and max(line.get_ydata()) < high  # no mark is cut off
    assert {text.get_text() for text in picture.figure.legends[0].get_texts()} == RUNGS
    assert plt.get_fignums() == []


@pytest.mark.parametrize("which", slow_unless(["backward"], ["forward", "backward"]))
def test_no_mark_hides_another(which):
    picture = ladder_counts(REPORT, which=which)
    picture.figure.draw_without_rendering()
    for ax in picture.ax.flat:
        marks = np.concatenate([ax.transData.transform(line.get_xydata()) for line in ax.lines])  # pixels
        apart = np.linalg.norm(marks[:, None] - marks, axis=2)[~np.eye(len(marks), dtype=bool)]
        assert apart.min() > 5 / 72 * picture.figure.dpi  # 5 points: the size of a mark


def test_the_sketch_has_a_panel_for_each_rung_and_no_text_leaves_its_box():
    picture = between_steps()
    titles = [ax.get_title(loc="left").partition(": ")[0] for ax in picture.ax]
    assert titles == ["steps", "barrier", "persistent"] == [*picture.artists]
    picture.figure.draw_without_rendering()
    inside = 0
    for ax, boxes in zip(picture.ax, picture.artists.values(), strict=True):
        frames = [box.get_window_extent() for box in boxes]
        for text in [text for text in ax.texts if text.get_text()]:  # arrows are texts without words
            extent = text.get_window_extent()
            x, y = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
            around = [frame for frame in frames if frame.contains(x, y)]
            if around:
                inside += 1
                corners = [(extent.x0, extent.y0), (extent.x1, extent.y1)]
                assert any(all(frame.contains(*c) for c in corners) for frame in around), f"{text.get_text()!r}"
            assert ax.bbox.x0 - 1 <= extent.x0 and extent.x1 <= ax.bbox.x1 + 1, text.get_text()
    assert inside == 3 + (1 + 2 + 4 + 1) + (1 + 4 + 4)
    assert plt.get_fignums() == []
