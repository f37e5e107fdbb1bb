"""The table of rungs compared with torch: all use the same precision, and all are sampled in turns."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from minirnn.bench import rungs
from minirnn.bench.calls import torch_rounding
from minirnn.devices.precision import chosen


class FakeDevice:
    """Records its calls."""

    def __init__(self) -> None:
        self.cudnn_rnn_rung: Any = "before"
        self.recordings = SimpleNamespace(enabled="before")
        self.rungs: dict[str, int] = {}
        self.driver = SimpleNamespace()
        self.asked: list[tuple[Any, ...]] = []

    def synchronize(self) -> None:
        pass

    def call(self) -> None:
        self.asked.append((self.cudnn_rnn_rung, self.recordings.enabled, chosen.precision == "tf32"))
        self.rungs[f"{self.cudnn_rnn_rung} forward"] = 1


@pytest.mark.parametrize("tf32", [False, True])
def test_every_way_is_sampled_in_turn_and_the_device_is_left_as_it_was(
    tf32: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rungs, "ROUNDS", 3)
    monkeypatch.setattr(rungs, "SECONDS", 0.0)
    device, torch = FakeDevice(), []
    rows = rungs.in_turns(device, device.call, (lambda: torch.append(len(device.asked)), int), tf32, quick=False)
    ways = [("steps", True), ("steps", False), ("barrier", False), ("persistent", False)]
    assert [(row["rung"], row["graphs"]) for row in rows] == ways
    assert device.asked == [(*way, tf32) for way in ways] * (2 + 3 + 1)  # warm-ups, samples, by the device's clock
    assert torch == [0, 4, 8, 12, 16]
    assert [row["used"] for row in rows] == [[f"{rung} forward"] for rung, _ in ways]
    for row in rows:
        assert row["spread"][0] <= row["seconds"] <= row["spread"][1]
        assert row["times_faster_than_torch"] == row["torch_seconds"] / row["seconds"]
    assert (device.cudnn_rnn_rung, device.recordings.enabled, chosen.precision) == ("before", "before", "ieee")


def test_without_torch_there_are_also_rows() -> None:
    device = FakeDevice()
    rows = rungs.in_turns(device, device.call, None, False, quick=True)
    assert len(rows) == 4 and not any("torch_seconds" in row for row in rows)
    assert list(rungs.ladder(object(), quick=True)) == []


@pytest.mark.parametrize("tf32", [False, True])
def test_torch_is_told_whether_it_may_round(tf32: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the names of torch 2.9 and later, and with those before: never with both."""
    products, layers = SimpleNamespace(fp32_precision="none"), SimpleNamespace(fp32_precision="tf32")
    new = SimpleNamespace(cuda=SimpleNamespace(matmul=products), cudnn=SimpleNamespace(rnn=layers))
    old = SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)))
    old.cudnn = SimpleNamespace(allow_tf32=True)
    torch: Any = ModuleType("torch")
    monkeypatch.setitem(sys.modules, "torch", torch)

    torch.backends = new
    with torch_rounding(tf32):
        assert products.fp32_precision == layers.fp32_precision == ("tf32" if tf32 else "ieee")
    assert (products.fp32_precision, layers.fp32_precision) == ("none", "tf32")
    assert not hasattr(products, "allow_tf32")

    torch.backends = old
    with torch_rounding(tf32):
        assert old.cuda.matmul.allow_tf32 is old.cudnn.allow_tf32 is tf32
    assert (old.cuda.matmul.allow_tf32, old.cudnn.allow_tf32) == (False, True)


def test_torch_has_these_flags() -> None:
    torch = pytest.importorskip("torch")
    before = torch.backends.cudnn.rnn.fp32_precision
    with torch_rounding(False):
        assert torch.backends.cudnn.rnn.fp32_precision == "ieee"
    assert torch.backends.cudnn.rnn.fp32_precision == before
