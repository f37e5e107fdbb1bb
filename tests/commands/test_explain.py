"""`minirnn explain`: every op is explained, and its memory table is the memory that the op really uses.

Tests `minirnn/commands/explain.py` and `minirnn/explain/`.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.cli import main
from minirnn.explain.ops import explained


@pytest.mark.parametrize("op", explained())
def test_every_op_is_explained_with_formulas_arguments_and_places(op: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", op]) == 0
    out = capsys.readouterr().out
    assert f"== {op}: formulas" in out
    assert f"{op}(" in out
    assert "minirnn/ops/" in out


def test_an_op_that_is_a_package_too_is_explained_by_its_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "cudnn_rnn"]) == 0
    arguments = capsys.readouterr().out.partition("== cudnn_rnn: arguments")[2]
    assert "\nReturns\n-------\nCudnnRNNOutput\n" in arguments
    assert "minirnn/devices/cuda/kernels/cudnn_rnn/steps.cu" in arguments


def test_source_prints_the_numpy_lines_of_the_formula(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "lstm_block_cell", "--source"]) == 0
    out = capsys.readouterr().out
    assert "def lstm_block_cell(" in out and "def lstm_block_cell_grad(" in out


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_the_memory_table_is_what_the_op_returns(
    mode: str, dropout: float, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    T, B, I, H, L = 6, 2, 3, 5, 3
    size = ops.cudnn_rnn_params_size(L, H, I, rnn_mode=mode, input_mode="linear_input", direction="bidirectional")
    x, h, params = (rng.standard_normal(s) for s in ((T, B, I), (L * 2, B, H), (size,)))
    y = ops.cudnn_rnn(x, h, h, params, rnn_mode=mode, direction="bidirectional", dropout=dropout)
    sizes = [f"-{letter}={n}" for letter, n in zip("TBIHL", (T, B, I, H, L), strict=True)]
    options = ["--mode", mode, "--direction", "bidirectional", "--dropout", str(dropout), "--dtype", "float64"]
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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["lstm"], "no op is called 'lstm'"),
        (["cudnn_rnn", "-T", "0"], "-T is 0"),
        (["cudnn_rnn", "-H", "0"], "num_units is 0"),
        (["cudnn_rnn", "-P", "9"], "num_proj is 9"),
        (["cudnn_rnn", "--dropout", "2"], "--dropout is 2"),
        (["cudnn_rnn", "--mode", "gruu"], "invalid choice"),
        (["cudnn_rnn", "--device", "tpu"], "no device is called 'tpu'"),
        (["gru_block_cell", "--json"], "--json"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["explain", *arguments])
    except SystemExit as stop:
        status = int(stop.code or 0)
    captured = capsys.readouterr()
    assert status == 2
    assert text in captured.err and captured.err.count("\n") == 1


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
    assert "  forward   steps       not persistent: with a projection" in capsys.readouterr().out
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
