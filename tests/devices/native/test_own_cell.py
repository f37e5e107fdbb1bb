"""Custom cells on `native` agree with torch and cpu in float64, with equal bits for any number of threads.

Tests `minirnn/devices/native/own_cell.py` and `minirnn/devices/cells/header.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.base import WrongSize
from minirnn.devices.cells.header import LINE, header, wrapped
from minirnn.devices.host_cpp.compiler import CompileError
from minirnn.devices.native import library, own_cell
from tests.devices.cells.own_layers import ALL, OwnLayer, assert_close

QUICK = ("many_gates",)
"""The cell of a plain run has more gates than a tile. Compiling one takes three seconds."""
cells = pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in ALL])


def layers(rng: np.random.Generator, name: str) -> list[OwnLayer]:
    """Sizes that leave vectors half empty; both directions, lengths, and a projection where the cell permits one."""
    found = [OwnLayer(rng, name, H=5), OwnLayer(rng, name, H=19, D=2, ragged=True), OwnLayer(rng, name, H=33, D=2)]
    if not found[0].plan.carries:
        found.append(OwnLayer(rng, name, H=7, D=2, P=3, ragged=True))
    return found


@cells
def test_a_layer_is_that_of_torch(rng: np.random.Generator, name: str) -> None:
    native = mr.devices.get("native")
    for layer in layers(rng, name):
        found = layer.run(native)
        assert_close(found, layer.expected(), 1e-13)
        for n, a in layer.run(native, training=False).items():
            assert np.array_equal(a, found[n]), n


def test_a_layer_with_two_inner_states_and_a_product_is_that_of_cpu(rng: np.random.Generator) -> None:
    for layer in (OwnLayer(rng, "two_inner_states", H=5, D=2, ragged=True), OwnLayer(rng, "two_inner_states", H=9)):
        kernels = own_cell.kernels(layer.plan, np.dtype(np.float64))
        assert kernels is not None
        assert kernels.slots[layer.plan.saved :] == [layer.plan.saved, None, None, layer.plan.saved + 1]  # p alone
        found, expected = layer.run(mr.devices.get("native")), layer.run(mr.devices.get("cpu"))
        assert {"dx", "dh0", "dc0", "dU0.0", "dv0.0"} <= expected.keys()
        assert_close(found, expected, 1e-13)


def test_what_another_layer_saved_is_refused(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    native = mr.devices.get("native")
    sequence = native.cell_sequence

    def one_step_less(*args: Any, **options: Any) -> Any:
        *results, saved = sequence(*args, **options)
        return *results, saved[:, 1:]

    monkeypatch.setattr(native, "cell_sequence", one_step_less)
    with pytest.raises(WrongSize, match="saved has"):
        OwnLayer(rng, "two_inner_states", H=5).run(native)


@cells
@pytest.mark.slow
def test_a_layer_in_float32_is_near_that_of_torch(rng: np.random.Generator, name: str) -> None:
    for layer in layers(rng, name):
        assert_close(layer.run(mr.devices.get("native"), "float32"), layer.expected(), 3e-6)


@cells
def test_threads_do_not_change_bits(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("minirnn.devices.native.threads.usable_cores", lambda: 1)
    native = mr.devices.get("native")
    for layer in (OwnLayer(rng, name, H=150), OwnLayer(rng, name, H=133, D=2, ragged=True)):
        monkeypatch.setenv("MINIRNN_NUM_THREADS", "1")
        alone = layer.run(native)
        monkeypatch.setenv("MINIRNN_NUM_THREADS", "3")
        for n, a in layer.run(native).items():
            assert np.array_equal(a, alone[n]), n


def test_the_first_compilation_is_announced_and_then_kept(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    layer, native = OwnLayer(rng, "indrnn", H=5), mr.devices.get("native")
    monkeypatch.setattr(library, "library", lambda used: tmp_path / "whole.so")
    compiled: list[str] = []

    def kept(folder: Any, key: str, make: Any) -> Any:
        compiled.append(key)
        make(tmp_path / "cell.so")
        raise CompileError("it is not compiled here")

    monkeypatch.setattr("minirnn.devices.host_cpp.cache.kept", kept)
    monkeypatch.setattr("minirnn.devices.host_cpp.compiler.Compiler.library", lambda *args: None)
    own_cell.kernels_of.cache_clear()
    found = [layer.run(native), layer.run(native)]
    said = capsys.readouterr().err.splitlines()
    own_cell.kernels_of.cache_clear()
    assert said == [
        "minirnn: compiling the cell indrnn for the device native, once",
        "minirnn: the cell indrnn runs with the code of the device cpu: it is not compiled here",
    ]
    assert len(compiled) == 1
    for other in found:
        assert_close(other, layer.expected(), 1e-13)


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
    assert "real(0.5) * double_prev" in text
    assert not any(
        line.lstrip().startswith(("const V V =", "const V s =", "const V double =")) for line in text.split("\n")
    )
