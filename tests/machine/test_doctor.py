"""The doctor's findings are true, also on machines unlike this one."""

import shlex
import subprocess

import numpy as np
import pytest

import minirnn as mr
from minirnn import __version__
from minirnn.machine import doctor
from minirnn.machine.toolchain import Tool


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
    for name in (*doctor.SLOWS_NUMPY, "MINIRNN_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    for value, count in (("1", 1), ("0", 0), ("", 0)):
        monkeypatch.setenv("MINIRNN_DEBUG", value)
        assert len(doctor.warnings({"cpu": None})) == count


@pytest.mark.parametrize("name", doctor.SLOWS_NUMPY)
def test_a_variable_that_slows_numpy_down_is_warned_of(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for other in doctor.SLOWS_NUMPY:
        monkeypatch.delenv(other, raising=False)
    assert doctor.warnings({"cpu": None}) == []
    monkeypatch.setenv(name, "Haswell")
    (warning,) = doctor.warnings({"cpu": None})
    assert warning.endswith(f"unset {name}")


@pytest.mark.parametrize("default", ["tpu", "cuda"])
def test_a_default_device_that_cannot_be_used_is_warned_of(monkeypatch: pytest.MonkeyPatch, default: str) -> None:
    for name in doctor.SLOWS_NUMPY:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MINIRNN_DEVICE", default)
    (warning,) = doctor.warnings({"cpu": None, "cuda": "no driver"})
    assert warning.startswith(f"MINIRNN_DEVICE is {default}")


def test_a_missing_tool_is_shown_with_the_command_that_brings_it_or_the_reason_why_none_can() -> None:
    assert doctor.tool_line(vars(Tool("g++", None, fix="apt g++"))) == "missing. To get it: apt g++"
    assert doctor.tool_line(vars(Tool("nvcc", None, why_not="no GPU"))) == "missing: no GPU"
    assert doctor.tool_line(vars(Tool("nvcc", "13.0"))) == "13.0"
