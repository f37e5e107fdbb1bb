"""A primitive is explained by its node, its derivative, and what computes it."""

from __future__ import annotations

import pytest

from minirnn import ops
from minirnn.commands.cli import main
from minirnn.devices.base import PRIMITIVES
from minirnn.explain.names import primitives
from minirnn.explain.primitives import cuda_places, primitive_lines
from minirnn.ops.primitives.declare import DECLARED
from tests.each import each


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
