from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from minirnn.viz import timings

REPORT = Path(__file__).parents[2] / "docs" / "data" / "cpu" / "sequence_ops.json"


@pytest.mark.parametrize("mode", ["lstm", "gru"])
@pytest.mark.parametrize("which", ["forward", "forward+backward"])
def test_bars_are_the_numbers_of_the_report(mode, which):
    picture = timings(REPORT, mode=mode, which=which)
    chosen = [r for r in json.loads(REPORT.read_text())["results"] if (r["mode"], r["pass"]) == (mode, which)]
    np.testing.assert_array_equal(picture.data["sizes"], [r["size"] for r in chosen])
    for library, bars in picture.artists.items():
        np.testing.assert_allclose([b.get_height() for b in bars], [r["ms"][library] for r in chosen])
    assert "2026" in picture.ax.get_title() and "ms" in picture.ax.get_ylabel()


def test_a_report_may_be_given_as_it_is_and_must_have_what_is_asked_for():
    report = json.loads(REPORT.read_text())
    assert timings(report).data["sizes"].shape[1] == 4
    with pytest.raises(ValueError, match=r"no results for rnn, forward\+backward\n  expected one of"):
        timings(report, mode="rnn")
