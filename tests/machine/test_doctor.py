"""The doctor's findings are true, also on machines unlike this one."""

import shlex
import subprocess

import numpy as np
import pytest

import minirnn as mr
from minirnn import __version__
from minirnn.machine import doctor


def test_the_command_to_try_next_can_be_run() -> None:
    command = doctor.next_command({"cpu": None}).removesuffix(" train")
    done = subprocess.run([*shlex.split(command), "--version"], capture_output=True, text=True)
    assert done.stdout == f"minirnn {__version__}\n"


def test_a_device_with_wrong_gradients_does_not_count_as_working(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = mr.devices.get("cpu")
    monkeypatch.setattr(cpu, "asarray", lambda host: np.zeros_like(host), raising=False)
    reason = doctor.try_device("cpu")
    assert reason is not None
    assert "wrong gradients" in reason


def test_a_device_that_raises_does_not_end_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> mr.devices.Device:
        raise RuntimeError("out of order")

    monkeypatch.setattr(mr.devices, "available", lambda: {"cpu": None, "odd": None})
    monkeypatch.setattr(mr.devices.registry, "_factories", {"cpu": None, "odd": broken})
    assert doctor.examine_devices()["odd"] == "RuntimeError: out of order"


def test_the_debug_switch_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIRNN_DEVICE", raising=False)
    for value, count in (("1", 1), ("0", 0), ("", 0)):
        monkeypatch.setenv("MINIRNN_DEBUG", value)
        assert len(doctor.warnings({"cpu": None})) == count


@pytest.mark.parametrize("default", ["tpu", "cuda"])
def test_a_default_device_that_cannot_be_used_is_warned_of(monkeypatch: pytest.MonkeyPatch, default: str) -> None:
    monkeypatch.setenv("MINIRNN_DEVICE", default)
    (warning,) = doctor.warnings({"cpu": None, "cuda": "no driver"})
    assert warning.startswith(f"MINIRNN_DEVICE is {default}")
