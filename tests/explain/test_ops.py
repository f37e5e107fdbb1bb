"""Every op is explained: its formulas, its arguments, and where it is written."""

from __future__ import annotations

import pytest

from minirnn.cli import main
from minirnn.explain.names import explained


@pytest.mark.parametrize("op", explained())
def test_every_op_is_explained_with_formulas_arguments_and_places(op: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", op]) == 0
    out = capsys.readouterr().out
    assert f"== {op}: formulas" in out
    assert f"{op}(" in out
    assert "minirnn/ops/" in out


def test_an_op_that_is_a_package_too_is_explained_by_its_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "cudnn_rnn"]) == 0
    formulas, _, arguments = capsys.readouterr().out.partition("== cudnn_rnn: arguments")
    assert "h = (1 - z) * n + z * h'" in formulas
    assert "\nReturns\n-------\nCudnnRNNOutput\n" in arguments
    assert "minirnn/devices/cuda/kernels/cudnn_rnn/steps.cu" in arguments


def test_source_has_the_cell_that_cpp_and_cuda_share(capsys: pytest.CaptureFixture[str]) -> None:
    for op, line in (
        ("cudnn_rnn", "const V n = tanh(a[2] + r * q);"),
        ("block_lstm", "V cs = i * ci + f * cs_prev;"),
        ("gru_block_cell", "const V u = sigmoid(zu);"),
    ):
        assert main(["explain", op, "--source"]) == 0
        out = capsys.readouterr().out
        assert line in out and "C++, CUDA minirnn/devices/cells/" in out


def test_source_prints_the_numpy_lines_of_the_formula(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "lstm_block_cell", "--source"]) == 0
    out = capsys.readouterr().out
    assert "def lstm_block_cell(" in out and "def lstm_block_cell_grad(" in out
