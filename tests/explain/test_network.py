"""The memory table is the memory that an op really uses, and the rung of a layer is named with its reason."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.cli import main
from minirnn.devices.cuda.launch.cudnn_rnn.plan import Sizes
from minirnn.explain.network import rung_lines
from minirnn.ops.cudnn_rnn.params import Network
from tests.devices.cuda.launch.cudnn_rnn.priced import priced_device


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("zoneout", [False, True])
def test_the_memory_table_is_what_the_op_returns(
    mode: str, dropout: float, zoneout: bool, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    T, B, I, H, L = 6, 2, 3, 5, 3
    size = ops.cudnn_rnn_params_size(L, H, I, rnn_mode=mode, input_mode="linear_input", direction="bidirectional")
    x, h, params = (rng.standard_normal(s) for s in ((T, B, I), (L * 2, B, H), (size,)))
    z = None if not zoneout else (0.5, 0.5) if mode == "lstm" else 0.5
    y = ops.cudnn_rnn(x, h, h, params, rnn_mode=mode, direction="bidirectional", dropout=dropout, zoneout_masks=z)
    sizes = [f"-{letter}={n}" for letter, n in zip("TBIHL", (T, B, I, H, L), strict=True)]
    options = ["--mode", mode, "--direction", "bidirectional", "--dropout", str(dropout), "--dtype", "float64"]
    options += ["--zoneout"] * zoneout
    assert main(["explain", "cudnn_rnn", "--json", *sizes, *options]) == 0
    tables = json.loads(capsys.readouterr().out)
    for title, array in (("params", params), ("reserve_space", y.reserve_space.numpy())):
        rows = tables[title]
        assert sum(r["elements"] for r in rows) == array.size
        assert sum(r["bytes"] for r in rows) == array.nbytes
        ends = [r["offset"] + r["elements"] for r in rows]
        assert [r["offset"] for r in rows] == [0, *ends[:-1]]  # without gaps
    masks = [r for r in tables["reserve_space"] if r["name"].startswith("mask")]
    assert len(masks) == (L - 1 if dropout else 0)
    for r in masks:
        kept = y.reserve_space.numpy()[r["offset"] : r["offset"] + r["elements"]]
        assert set(np.unique(kept.round(12))) == {0.0, round(1 / (1 - dropout), 12)}


def test_the_rung_of_a_layer_is_named_with_its_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = ["-T", "256", "-B", "1", "-I", "256", "-H", "256", "-L", "1"]
    assert main(["explain", "cudnn_rnn_v3", "--device", "cpu", *sizes]) == 0
    out = capsys.readouterr().out
    assert "cpu has no rungs" in out
    assert "  forward   cluster     its weights fit into 8 blocks" in out
    assert "1 clusters of 8 blocks of 16 warps, 2 units each at most" in out
    assert "  backward  cluster     its weights fit into 8 blocks" in out
    assert main(["explain", "cudnn_rnn_v3", "--device", "cpu", *sizes, "-P", "100"]) == 0
    out = capsys.readouterr().out
    assert "  forward   steps       with a projection the loop of one launch multiplies by R Wp" in out
    for rung in (
        "forward   persistent  64 blocks",
        "backward  cluster     1 clusters",
        "forward   tensor      64 blocks",
    ):
        assert f"  {rung}" in out
    assert "multiply o * tanh(c) by R Wp, 1024 x 256, and" in out and "R and Wp, 5 x 256 x 100" in out
    sizes = ["-T", "9", "-B", "8", "-I", "2048", "-H", "2048", "-L", "1"]
    assert main(["explain", "cudnn_rnn_v3", "--device", "cpu", *sizes]) == 0
    # 67.1 MB of weights, of which 43.7 find room: twice 23.5 MB at 5.5 TB/s, or all at 4.8 TB/s
    out = capsys.readouterr().out
    assert "computed, not measured: on an H200 that would take 10.0 microseconds a step for 8 rows, steps 15.5" in out
    assert "  forward   cluster     no: a cluster's registers hold the weights of 256 units" in out
    assert main(["explain", "cudnn_rnn_v3", "--device", "cpu", *sizes, "--zoneout"]) == 0
    assert "  forward   steps       zoneout needs masks at each step" in capsys.readouterr().out
    assert main(["explain", "gru_block_cell"]) == 0
    assert "rung" not in capsys.readouterr().out


def test_the_rung_of_the_simulator_can_be_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = mr.devices.available()["cuda-sim"]
    if reason is not None:
        pytest.skip(f"cuda-sim: {reason}")
    assert main(["explain", "cudnn_rnn", "--device", "cuda-sim"]) == 0
    assert "  forward   steps       the simulator runs one thread after another" in capsys.readouterr().out
    monkeypatch.setattr(mr.devices.get("cuda-sim"), "cudnn_rnn_rung", "persistent")
    assert main(["explain", "cudnn_rnn", "--device", "cuda-sim"]) == 0
    out = capsys.readouterr().out
    assert "cuda-sim, asked for persistent\n  forward   persistent  asked for\n" in out


def test_what_was_timed_on_a_gpu_is_shown_and_nothing_is_timed_for_it(tmp_path: Path) -> None:
    reason = mr.devices.available()["cuda-sim"]
    if reason is not None:
        pytest.skip(f"cuda-sim: {reason}")
    device = priced_device(tmp_path, step=1.0, graph=50.0, persistent=2.0, cluster=30.0)
    net = Network("lstm", 1, 8, 5, "bidirectional")
    before = "\n".join(rung_lines(device, net, 4, 3, "float32"))
    assert "  forward   cluster     its weights fit into 8 blocks" in before
    assert before.count("not timed yet: the first such layer times the rungs (MINIRNN_TUNE=0 forbids it)") == 2
    assert device.driver.timed == 0
    sizes = Sizes("lstm", 4, 3, 8, 8, 2, 4)
    device.tuner.choice(sizes, False)
    after = list(rung_lines(device, net, 4, 3, "float32"))
    assert "  forward   persistent  the fastest of 4 that were timed on this GPU" in after
    shown = (
        "timed with 4 steps: persistent 2,000,000.0 us, steps 8,000,000.0 us, cluster 30,000,000.0 us, steps as a graph"
    )
    assert any(shown in line for line in after)
    assert f"timings are kept in {device.tuner.timings.path}" in after
    assert sum("not timed yet" in line for line in after) == 1
    timing = device.tuner._known[device.tuner.class_of(sizes, False)]
    timing.dropped["cluster"] = "its results\n  differ"
    assert any("not used: cluster: its results   differ" in line for line in rung_lines(device, net, 4, 3, "float32"))
    device.tuner.enabled = False
    assert not any("not timed yet" in line for line in rung_lines(device, net, 4, 3, "float32"))
