"""`Cell.verify` proves a cell, and notices a kernel that is wrong.

Tests `minirnn/nn/own_proof.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

import minirnn as mr
import minirnn.verify
from minirnn import cell, clip, sigmoid, sqrt, tanh, unit_mean
from minirnn.devices.cpu.device import CPU
from minirnn.proving.table import ABSENT, FAILED, PASSED
from tests.cells.with_torch import gallery
from tests.slow import slow_unless


@cell(states=("h",))
def normalized(z_a, h, *, g, b, eps=1e-5):
    centered = z_a - unit_mean(z_a)
    h = tanh(centered / sqrt(unit_mean(centered * centered) + eps) * g + b) + 0.5 * h
    return h


@cell(states=("c", "h"))
def straight(z_a, z_b, c, h, mask_c):
    c = clip(mask_c * c + z_a, -1, 1, straight_through=True)
    h = sigmoid(z_b) * c
    return c, h


def ways(proof: Any) -> set[str]:
    return {r.cell.way for r in proof.results}


@pytest.mark.parametrize("name", slow_unless(["normalized"], ["gru_block", "slstm", "sru", "normalized"]))
def test_a_cell_is_proved(name: str) -> None:
    own: Any = normalized if name == "normalized" else gallery(name)
    proof = own.verify(["cpu"])
    assert proof, proof
    assert type(proof) is mr.verify.Proof  # the mechanism of `minirnn verify`
    assert ways(proof) == {"definition", "differences", "second order"}
    assert {r.cell.dtype for r in proof.results} == {"float64", "float32", "float16"}
    assert all(0 < r.ratio < 1 for r in proof.results if r.cell.variant != "recorded backward pass")
    head, row = str(proof).splitlines()[1:3]
    assert head.split() == ["differences", "definition", "second", "order"] and row.split()[0] == name


def test_what_is_no_derivative_is_not_compared_with_differences() -> None:
    proof = straight.verify(["cpu"])
    assert proof
    assert ways(proof) == {"definition", "second order"}


def test_a_wrong_kernel_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = CPU.cell_sequence_grad

    def wrong(*args: Any, **kwargs: Any) -> Any:
        dx, dh0, dc0, dweights = right(*args, **kwargs)
        return dx, dh0 * 1.0001, dc0, dweights

    monkeypatch.setattr(CPU, "cell_sequence_grad", staticmethod(wrong))
    proof = gallery("gru").verify(["cpu"])
    assert not proof
    assert {r.cell.way for r in proof.results if r.status == FAILED} >= {"definition", "differences"}
    row = "FAILED gru, two directions, lengths 2, 4, 3, float64, cpu, definition"
    assert f"{row}: T4 B3 I2 H5, gradient of h0" in str(proof)


def test_a_kernel_that_raises_ends_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        if args[0].dtype == "float32":
            raise RuntimeError("no such thing")
        return right(*args, **kwargs)

    right = CPU.cell_sequence
    monkeypatch.setattr(CPU, "cell_sequence", staticmethod(broken))
    proof = gallery("gru").verify(["cpu"])
    failed = [r for r in proof.results if r.status == FAILED]
    assert {r.cell.dtype for r in failed} == {"float32", "float16"}  # a kernel sees no float16
    assert all(r.why.endswith("RuntimeError: no such thing") for r in failed)


@pytest.mark.slow
def test_a_cell_is_proved_on_every_device_at_hand() -> None:
    proof = gallery("lem").verify()
    assert proof, proof
    for name, reason in mr.devices.available().items():
        if name not in ("cpu", "native", "cuda-sim", "cuda"):  # devices of other tests
            continue
        found = {r.status for r in proof.results if r.cell.device == name}
        assert found == ({PASSED} if reason is None else {ABSENT})
    assert "mine" not in {r.cell.device for r in proof.results}, "a device that is made only by name"


def test_a_device_that_composes_the_cell_does_not_judge_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CPU, "kernels", CPU.kernels - {"cell_sequence", "cell_sequence_grad"})
    proof = gallery("gru").verify(["cpu"])
    assert {r.status for r in proof.results} == {ABSENT}
    assert "it has no kernel for this cell, and composes it" in str(proof)


def test_a_device_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown device|no device|expected"):
        gallery("gru").verify(["gpu"])
