"""The library of a cell: when it is compiled, what it is called in, and what happens if it cannot be compiled.

Tests `minirnn/devices/native/sequence/compiled.py`, `minirnn/devices/cells/header.py` and the headers next to it.
"""

import re
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices import cells
from minirnn.devices.cells.header import LINE, header, wrapped
from minirnn.devices.host_cpp.compiler import CompileError
from minirnn.devices.native import library
from minirnn.devices.native.sequence.compiled import LayerKernels, StepKernels, kernels, made
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import lstm_block
from tests.devices.cells.own_layers import ALL, OwnLayer, assert_close, cell_of
from tests.devices.cpu.sequence.test_step import Case


def test_the_first_compilation_is_announced_and_then_kept(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    layer, native = OwnLayer(rng, "residual", H=5), mr.devices.get("native")
    monkeypatch.setattr(library, "library", lambda used: tmp_path / "whole.so")
    compiled: list[str] = []

    def kept(folder: Any, key: str, make: Any) -> Any:
        compiled.append(key)
        make(tmp_path / "cell.so")
        raise CompileError("it is not compiled here")

    monkeypatch.setattr("minirnn.devices.host_cpp.cache.built", kept)
    monkeypatch.setattr("minirnn.devices.host_cpp.compiler.Compiler.library", lambda *args: None)
    made.cache_clear()
    found = [layer.run(native), layer.run(native)]
    layer.plan.made.clear()
    said = capsys.readouterr().err.splitlines()
    made.cache_clear()
    assert said == [
        "minirnn: compiling the cell residual for the device native, once",
        "minirnn: the cell residual runs with the code of the device cpu: it is not compiled here",
    ]
    assert len(compiled) == 1
    for other in found:
        assert_close(other, layer.run(mr.devices.get("cpu")), 0)


def test_a_step_that_cannot_be_compiled_is_that_of_cpu(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any) -> None:
        raise CompileError("x.cpp:1: error: no room")

    monkeypatch.setattr(library, "of_one_cell", fails)
    made.cache_clear()
    case = Case(rng, gru_block.with_constants().plan(), 3, 5)
    case.plan.made.clear()
    found = case.run("native")
    case.plan.made.clear()
    made.cache_clear()
    for a, b in zip(found, case.run("cpu"), strict=True):
        np.testing.assert_array_equal(a, b)
    assert capsys.readouterr().err == (
        "minirnn: the cell gru_block runs with the code of the device cpu: x.cpp:1: error: no room\n"
    )


def test_cells_that_differ_only_in_constants_share_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    keep = library.cache.built
    monkeypatch.setattr(library.cache, "built", lambda folder, key, make: asked.append(key) or keep(folder, key, make))
    for constants in ({"forget_bias": 0.5}, {"forget_bias": 0.25, "cell_clip": 2.0}):
        plan = lstm_block.with_constants(**constants).plan()
        assert kernels(StepKernels, plan, np.dtype("f8")) is not kernels(LayerKernels, plan, np.dtype("f8"))
    keys = {key for key in asked if key.startswith("cell-")}
    assert len(asked) == 8 and len(keys) == 2  # a layer, and a step


def test_a_statement_is_split_where_the_line_ends_and_loses_no_word() -> None:
    words = [f"NAME_{k} = {k}" for k in range(40)]
    lines = list(wrapped("static constexpr int ", words))
    assert len(lines) > 2
    assert all(line.startswith("static constexpr int ") and line.endswith(";") for line in lines)
    assert ", ".join(line.removeprefix("static constexpr int ").removesuffix(";") for line in lines) == ", ".join(words)
    inside = LINE - 4  # a line of a struct
    for line, after in zip(lines, lines[1:], strict=False):
        first = after.removeprefix("static constexpr int ").rstrip(";").split(", ")[0]
        assert len(line) <= inside < len(f"{line}, {first}")
    assert list(wrapped("int ", ["a = 1"])) == ["int a = 1;"]


def test_a_header_is_named_after_nothing_that_means_something_in_cpp() -> None:
    @mr.cell(states=("double", "h"))
    def new(z_new, double, h, *, s, real=0.5):
        V = mr.sigmoid(z_new) * s
        exp = mr.exp(-V * V)
        return real * double + exp, mr.tanh(double) * V

    text = header(new.plan())
    assert "const V sigmoid_z_new = sigmoid(z_new);" in text
    assert "const V V_ = sigmoid_z_new * s_;" in text
    assert "const V exp_ = exp(" in text
    assert "real real_;" in text and "real_ * double_prev + exp_" in text
    assert not any(
        line.lstrip().startswith(("const V V =", "const V s =", "const V double =")) for line in text.split("\n")
    )


def test_every_header_states_the_whole_form() -> None:
    form = (cells.FOLDER / "form.h").read_text()
    numbers = re.findall(r"^//   ([A-Z][A-Z_, ]+?)  ", form, re.MULTILINE)
    stated = {name for line in numbers for name in line.split(", ")}
    assert {"OF_BOTH", "STATES", "CARRIES", "PRODUCTS"} <= stated
    for name in ALL:
        assert stated <= set(re.findall(r"\b[A-Z_]{4,}\b", header(cell_of(name).plan()))), name
