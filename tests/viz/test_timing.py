from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn.bench.times import Clock, sequences
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
    with pytest.raises(ValueError, match=r"no results for rnn, forward\+backward, float32\n  expected one of"):
        timings(report, mode="rnn")


def test_a_report_of_a_checked_device_is_drawn_too():
    row = {"op": "lstm", "pass": "forward", "size": [7, 2, 3, 5], "dtype": "float32", "seconds": 0.25}
    sequences = [
        row | {"torch_seconds": 0.5},
        row | {"size": [9, 2, 3, 5], "seconds": 0.75},  # torch was not measured here
        row | {"dtype": "float16", "seconds": 0.125},
        row | {"op": "block_lstm"},
    ]
    report = {"machine": {"limits": {"name": "A GPU"}, "date": "2026-12-01"}, "times": {"sequences": sequences}}
    picture = timings(report, which="forward")
    np.testing.assert_array_equal(picture.data["sizes"], [[7, 2, 3, 5], [9, 2, 3, 5]])
    np.testing.assert_array_equal(picture.data["minirnn"], [250, 750])
    np.testing.assert_array_equal(picture.data["torch"], [500, np.nan])
    assert "A GPU, 2026-12-01" in picture.ax.get_title()
    half = timings(report, which="forward", dtype="float16")
    np.testing.assert_array_equal(half.data["minirnn"], [125])
    assert "float16" in half.ax.get_title()
    assert timings(report, mode="block_lstm", which="forward").data["minirnn"] == [250]


def test_what_bench_check_measures_can_be_drawn():
    rows = list(sequences(Clock(mr.devices.get("cpu"), 1, 0.0), quick=True))
    picture = timings({"times": {"sequences": rows}}, mode="gru")
    assert (picture.data["minirnn"] > 0).all() and picture.data["sizes"].tolist() == [[4, 2, 8, 8]]
