"""`Cell.verify` proves a cell, and notices a kernel that is wrong.

Tests `minirnn/nn/own_proof.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

import minirnn as mr
from minirnn import cell, clip, sigmoid, sqrt, tanh, unit_mean
from minirnn.devices.cpu.device import CPU
from tests.cells.with_torch import gallery


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


@pytest.mark.parametrize("name", ["gru_block", "slstm", "sru", "normalized"])
def test_a_cell_is_proved(name: str) -> None:
    own: Any = normalized if name == "normalized" else gallery(name)
    proof = own.verify(["cpu"])
    assert proof, proof
    assert list(proof.entries["cpu"]) == ["composition", "float32", "differences", "second order"]
    assert all(e.comparisons > 0 and 0 < e.ratio < 1 for e in proof.entries["cpu"].values())
    assert str(proof).splitlines()[0].split() == [name, "differences", "composition", "float32", "second", "order"]


def test_what_does_not_apply_is_said() -> None:
    proof = straight.verify(["cpu"])
    assert proof
    assert list(proof.entries["cpu"]) == ["composition", "float32"]
    assert "straight_through passes on what is no derivative" in str(proof)


def test_a_wrong_kernel_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = CPU.cell_sequence_grad

    def wrong(*args: Any, **kwargs: Any) -> Any:
        dx, dh0, dc0, dweights = right(*args, **kwargs)
        return dx, dh0 * 1.0001, dc0, dweights

    monkeypatch.setattr(CPU, "cell_sequence_grad", staticmethod(wrong))
    proof = gallery("gru").verify(["cpu"])
    assert not proof
    assert "FAILED gru composition cpu" in str(proof) and "FAILED gru differences cpu" in str(proof)


def test_a_kernel_that_raises_ends_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        if args[0].dtype == "float32":
            raise RuntimeError("no such thing")
        return right(*args, **kwargs)

    right = CPU.cell_sequence
    monkeypatch.setattr(CPU, "cell_sequence", staticmethod(broken))
    proof = gallery("gru").verify(["cpu"])
    assert proof.failed == ["FAILED gru float32 cpu: RuntimeError: no such thing"]


@pytest.mark.slow
def test_a_cell_is_proved_on_every_device_at_hand() -> None:
    proof = gallery("lem").verify()
    assert proof, proof
    for name, reason in mr.devices.available().items():
        assert name in proof.entries or (reason is not None and f"not at hand: {name}" in str(proof))


def test_a_device_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown device|no device|expected"):
        gallery("gru").verify(["gpu"])
