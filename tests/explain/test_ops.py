"""What `minirnn explain` says about ops, cells and networks, and under which names it finds them.

Tests `minirnn/explain/ops.py`, `minirnn/explain/primitives.py`, `minirnn/explain/names.py` and
`minirnn/explain/network.py`.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.arguments.user_error import UserError
from minirnn.commands.cli import main
from minirnn.devices.base import PRIMITIVES
from minirnn.devices.cpu.sequence.step import text_of
from minirnn.devices.cpu.sequence.write_forward import loop_of
from minirnn.explain.names import LAYERS, explained, op_named, primitives, tensorflow_name
from minirnn.explain.network import Call, memory_lines, memory_tables, rung_lines
from minirnn.explain.ops import PAGES
from minirnn.explain.primitives import cuda_places, primitive_lines
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.primitives.declare import DECLARED
from tests.each import each


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


# ---- a primitive is explained by its node, its derivative, and what computes it


@each("op", primitives())
def test_every_primitive_is_explained(op: str) -> None:
    lines = "\n".join(primitive_lines(op))
    assert f"== {op}: formulas (minirnn/ops/" in lines
    assert f"\n{op}(" in lines
    assert "== where it is computed\n" in lines


def test_what_is_composed_says_of_what() -> None:
    assert DECLARED[ops.mm].calls == ("matmul",)
    assert "composed of where" in "\n".join(primitive_lines("masked_fill"))


def test_tanh_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "Tanh", "--source"]) == 0
    out = capsys.readouterr().out
    assert "Tanh: y = tanh(x)      dx = dy * (1 - y * y)" in out
    assert "        return (dy * (1 - y * y),)" in out
    assert "    NumPy  numpy.tanh\n    CUDA   minirnn/devices/cuda/kernels/primitives/functions.cu:" in out
    assert 'tanh = unary(Tanh, "Hyperbolic tangent.", activation=True)' in out


def test_most_primitives_of_a_device_have_a_line_of_cuda() -> None:
    without = {name for name in PRIMITIVES if not list(cuda_places(name))}
    assert {"exp", "add", "where", "clip", "matmul"}.isdisjoint(without)


# ---- an op is also found by TensorFlow's names


# As in tf.raw_ops.
TENSORFLOW = {
    "LSTMBlockCell": "lstm_block_cell",
    "LSTMBlockCellGrad": "lstm_block_cell_grad",
    "BlockLSTM": "block_lstm",
    "BlockLSTMV2": "block_lstm_v2",
    "BlockLSTMGrad": "block_lstm_grad",
    "BlockLSTMGradV2": "block_lstm_grad_v2",
    "GRUBlockCell": "gru_block_cell",
    "GRUBlockCellGrad": "gru_block_cell_grad",
    "CudnnRNN": "cudnn_rnn",
    "CudnnRNNV2": "cudnn_rnn_v2",
    "CudnnRNNV3": "cudnn_rnn_v3",
    "CudnnRNNBackprop": "cudnn_rnn_backprop",
    "CudnnRNNBackpropV2": "cudnn_rnn_backprop_v2",
    "CudnnRNNBackpropV3": "cudnn_rnn_backprop_v3",
    "CudnnRNNParamsSize": "cudnn_rnn_params_size",
    "CudnnRNNParamsToCanonical": "cudnn_rnn_params_to_canonical",
    "CudnnRNNParamsToCanonicalV2": "cudnn_rnn_params_to_canonical_v2",
    "CudnnRNNCanonicalToParams": "cudnn_rnn_canonical_to_params",
    "CudnnRNNCanonicalToParamsV2": "cudnn_rnn_canonical_to_params_v2",
}


def test_every_fused_op_has_its_name_of_tensorflow() -> None:
    assert {tensorflow_name(op): op for op in explained()} == TENSORFLOW


@each("name", [*TENSORFLOW, *LAYERS])
def test_an_op_is_found_by_its_names(name: str) -> None:
    op = {**TENSORFLOW, **LAYERS}[name]
    for spelling in (name, name.lower(), f"tf.raw_ops.{name}", op, f"mr.ops.{op}"):
        if not (name in LAYERS and spelling == f"tf.raw_ops.{name}"):
            assert op_named(spelling) == op


def test_primitives_are_also_found() -> None:
    assert op_named("MatMul") == "matmul" and op_named("tf.math.Tanh") == "tanh"
    assert sorted([*explained(), *primitives()]) == sorted(ops.__all__)


@pytest.mark.parametrize("name", ["", "_", ".", "x" * 10_000, "LSTM\n", "\u212a"])
def test_invalid_names_are_rejected_on_short_lines(name: str) -> None:
    with pytest.raises(UserError, match="no op is called") as error:
        op_named(name)
    assert len(str(error.value)) < 300


# ---- the memory table is the memory that an op really uses, and the rung of a layer is named with its reason


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
