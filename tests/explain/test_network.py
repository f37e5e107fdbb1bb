"""The memory table is the memory that an op really uses, and the rung of a layer is named with its reason."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.commands.cli import main
from minirnn.explain.network import Call, memory_lines, memory_tables, rung_lines
from minirnn.ops.cudnn_rnn.params import Network


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("zoneout", [False, True])
def test_the_memory_table_is_what_the_op_returns(
    mode: str, dropout: float, zoneout: bool, rng: np.random.Generator
) -> None:
    T, B, I, H, L = 6, 2, 3, 5, 3
    size = ops.cudnn_rnn_params_size(L, H, I, rnn_mode=mode, input_mode="linear_input", direction="bidirectional")
    x, h, params = (rng.standard_normal(s) for s in ((T, B, I), (L * 2, B, H), (size,)))
    z = None if not zoneout else (0.5, 0.5) if mode == "lstm" else 0.5
    y = ops.cudnn_rnn(x, h, h, params, rnn_mode=mode, direction="bidirectional", dropout=dropout, zoneout_masks=z)
    net = Network(mode, L, H, I, "bidirectional")
    tables = memory_tables(mr.devices.get(), Call(net, T, B, dropout > 0, zoneout), "float64")
    for title, array in (("params", params), ("reserve_space", y.reserve_space.numpy())):
        parts = tables[title]
        ends = [part.offset + math.prod(part.shape) for part in parts]
        assert [part.offset for part in parts] == [0, *ends[:-1]] and ends[-1] == array.size  # without gaps
        said = list(memory_lines(parts, "float64"))[-1].replace(",", "").split()
        assert said == ["total", str(array.size), str(array.nbytes)]
    masks = [part for part in tables["reserve_space"] if part.name.startswith("mask")]
    assert len(masks) == (L - 1 if dropout else 0)
    for part in masks:
        kept = y.reserve_space.numpy()[part.offset : part.offset + math.prod(part.shape)]
        assert set(np.unique(kept.round(12))) == {0.0, round(1 / (1 - dropout), 12)}


def test_the_rung_of_a_layer_is_named_with_its_reason() -> None:
    def said(T: int, B: int, H: int, P: int = 0) -> str:
        net = Network("lstm", 1, H, H, num_proj=P)
        return "\n".join(rung_lines("cpu", Call(net, T, B, dropout=False, zoneout=False), "float32"))

    out = said(256, 1, 256)
    assert "cpu has no rungs" in out
    assert "  forward   persistent  its weights fit on the chip, its blocks on the device" in out
    assert "  backward  persistent  its weights fit on the chip, its blocks on the device" in out
    assert "  forward   64 blocks of 4 warps, 2 units each" in out
    assert "  backward  128 blocks of 2 warps of 8 units, 16 columns of units by 8 slices of terms" in out
    out = said(256, 1, 256, P=100)
    assert "  forward   steps       not persistent: with a projection a step has two products" in out
    assert "  backward  no: with a projection a step has two products" in out
    assert "  forward   steps       not persistent: its weights do not fit on the chip" in said(2, 8, 2048)


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
