from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn.bench.times import Clock, sequences
from minirnn.viz import timings
from minirnn.viz.timing import COLORS

REPORT = Path(__file__).parents[2] / "docs" / "data" / "cpu" / "sequence_ops.json"


@pytest.mark.parametrize("mode", ["lstm", "gru"])
@pytest.mark.parametrize("which", ["forward", "forward+backward"])
def test_marks_are_multiples_of_torchs_times_with_all_samples_around_them(mode, which):
    picture = timings(REPORT, mode=mode, which=which)
    chosen = [r for r in json.loads(REPORT.read_text())["results"] if (r["mode"], r["pass"]) == (mode, which)]
    np.testing.assert_array_equal(picture.data["sizes"], [r["size"] for r in chosen])
    assert set(picture.artists) == {"minirnn", "torch", "gemm", "1"}
    for library in ("minirnn", "torch", "gemm"):
        np.testing.assert_array_equal(picture.data[library], [r["ms"][library] for r in chosen])
        drawn = picture.artists[library].get_ydata()
        np.testing.assert_allclose(drawn, [r["ms"][library] / r["ms"]["torch"] for r in chosen])
        np.testing.assert_array_equal(drawn, picture.data[f"{library}, drawn"])
        samples = [np.array(r["samples_ms"][library]) / r["ms"]["torch"] for r in chosen]
        np.testing.assert_allclose(picture.data[f"{library}, samples"], samples)
        dots = [line for line in picture.ax.lines if line.get_marker() == "o" and line.get_color() == COLORS[library]]
        np.testing.assert_allclose(np.concatenate([line.get_ydata() for line in dots]), np.ravel(samples))
    np.testing.assert_allclose([r["ratio"]["torch"] for r in chosen], picture.data["minirnn, drawn"])  # bench's own
    assert set(picture.artists["1"].get_ydata()) == {1} and picture.artists["1"].get_label() == "torch = 1"
    assert "2026" in picture.ax.get_title() and "samples" in picture.ax.get_title()
    low, high = picture.ax.get_ylim()
    everything = np.concatenate([picture.data[f"{name}, samples"].ravel() for name in ("minirnn", "torch", "gemm")])
    assert low < everything.min() and everything.max() < high  # the spread is not cut off


def test_without_torch_the_products_are_1_and_without_both_it_is_milliseconds():
    row = {"mode": "lstm", "size": [7, 2, 3, 5], "pass": "forward", "ms": {"minirnn": 6.0, "gemm": 4.0}}
    picture = timings({"results": [row]}, which="forward")
    assert picture.data["minirnn, drawn"] == [1.5] and picture.artists["1"].get_label() == "matrix products alone = 1"
    assert [t.get_text() for t in picture.ax.get_xticklabels()] == ["T 7, B 2\nI 3, H 5\n1 = 4.0 ms"]
    alone = timings({"results": [row | {"ms": {"minirnn": 6.0}}]}, which="forward")
    assert alone.data["minirnn, drawn"] == [6] and set(alone.artists) == {"minirnn"}
    assert "ms" in alone.ax.get_ylabel()


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
    np.testing.assert_array_equal(picture.data["minirnn, drawn"], [0.5, np.nan])
    assert "1 = not measured" in picture.ax.get_xticklabels()[1].get_text()
    assert "A GPU, 2026-12-01" in picture.ax.get_title()
    half = timings(report, which="forward", dtype="float16")
    np.testing.assert_array_equal(half.data["minirnn"], [125])
    assert "float16" in half.ax.get_title()
    assert timings(report, mode="block_lstm", which="forward").data["minirnn"] == [250]


def test_what_bench_check_measures_can_be_drawn():
    rows = list(sequences(Clock(mr.devices.get("cpu"), 1, 0.0), quick=True))
    picture = timings({"times": {"sequences": rows}}, mode="gru")
    assert (picture.data["minirnn"] > 0).all() and picture.data["sizes"].tolist() == [[4, 2, 8, 8]]
