"""Every op is explained: its formulas, its arguments, its cell, and what computes it.

Tests `minirnn/explain/ops.py`.
"""

from __future__ import annotations

import re

import pytest

from minirnn.commands.cli import main
from minirnn.devices.cpu.sequence.step import text_of
from minirnn.devices.cpu.sequence.write_forward import loop_of
from minirnn.explain.names import explained
from minirnn.explain.ops import PAGES


@pytest.mark.parametrize("op", explained())
def test_every_op_is_explained_with_formulas_arguments_and_places(op: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", op]) == 0
    out = capsys.readouterr().out
    assert f"== {op}: formulas" in out
    assert f"{op}(" in out
    assert "minirnn/ops/" in out


def sections(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    """The sections by their titles, without places in brackets. Of equal titles the last one."""
    assert main(["explain", *arguments]) == 0
    parts = re.split(r"^== (.*)$", capsys.readouterr().out, flags=re.MULTILINE)
    titles = (re.sub(r" \(.*", "", title) for title in parts[1::2])
    return {title: text.strip("\n") for title, text in zip(titles, parts[2::2], strict=True)}


def test_an_op_that_is_a_package_too_is_explained_by_its_function(capsys: pytest.CaptureFixture[str]) -> None:
    found = sections(capsys, "cudnn_rnn")
    assert "CudnnRNN, V2 and V3" in found["cudnn_rnn: formulas"]
    assert "\nReturns\n-------\nCudnnRNNOutput\n" in found["cudnn_rnn: arguments"]


CHOICES = {
    "lstm": ["--mode", "lstm"], "gru": ["--mode", "gru"], "rnn_tanh": ["--mode", "rnn_tanh"],
    "rnn_relu": ["--mode", "rnn_relu"], "lstm_zoned": ["--zoneout"], "gru_zoned": ["--mode", "gru", "--zoneout"],
    "lstm_zoned_c": ["--zoneout", "-P", "2"],
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_the_cell_of_a_network_is_that_of_its_mode(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    [cell] = [c for c in PAGES["cudnn_rnn"] if c.__name__ == name]
    found = sections(capsys, "cudnn_rnn_v3", *CHOICES[name], "--device", "cpu", "--source")
    assert found[f"{name}: one step"].endswith(cell.forward_formulas())
    assert found["its backward pass, by hand"] == cell.backward_formulas(products=True)
    plan = cell.plan(name == "lstm_zoned_c")
    assert found["NumPy: one step, and its backward pass"] == f"{text_of(plan, False)}\n{text_of(plan, True)}".rstrip()
    assert found["NumPy: the steps of a piece, forward"] == (loop_of(plan).run.__doc__ or "").rstrip()
    assert "devices/cpu/sequence/layer.py" in found["where it is computed"]


def test_source_has_the_cell_that_cpp_and_cuda_share(capsys: pytest.CaptureFixture[str]) -> None:
    for op, line in (
        ("cudnn_rnn", "const V c = f * c_prev + i * n;"),
        ("block_lstm_grad_v2", "const V dcs = cs_grad + dh * o * (real(1) - co * co) + dz_o * wco;"),
        ("gru_block_cell", "const V u = sigmoid(z_u);"),
    ):
        assert line in sections(capsys, op, "--source")["the header, for C++ and CUDA"]


def test_the_step_of_an_op_of_one_step_has_no_loop(capsys: pytest.CaptureFixture[str]) -> None:
    found = sections(capsys, "lstm_block_cell", "--source")
    assert {"lstm_block: one step", "lstm_block_peephole: one step"} <= found.keys()
    assert not [title for title in found if "piece" in title]
    assert "devices/cpu/sequence/step.py" in found["where it is computed"]
