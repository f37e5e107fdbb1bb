"""What is installed, which devices work, and one command to try next: the report of ``minirnn doctor``."""

from __future__ import annotations

import os
import platform
import sys

import numpy as np

import minirnn as mr
from minirnn import __version__
from minirnn.arguments.user_error import one_line
from minirnn.devices.precision import VARIABLE, chosen
from minirnn.learn.sandbox import protection
from minirnn.learn.sandbox.system_locks import in_force
from minirnn.machine import toolchain
from minirnn.machine.computer import blas, installed_version, python, short, this_program

PACKAGES = ("numpy", "matplotlib", "tqdm", "safetensors", "torch")
LINES = 4
"""The largest number of lines shown of the reason why a device does not work, because a compiler may print many."""


def examine_devices() -> dict[str, str | None]:
    """Name -> None if the device computes a gradient right, else why not."""
    reasons = mr.devices.available()
    for name, reason in reasons.items():
        reasons[name] = reason if reason is not None else try_device(name)
    return reasons


def try_device(name: str) -> str | None:
    """One gradient on the device: d(x * x)/dx = 2x."""
    data = np.array([1.5, -2.0, 0.25], dtype=np.float32)
    try:
        x = mr.tensor(data, requires_grad=True, device=name)
        (x * x).sum().backward()
        gradient = x.grad.numpy()  # type: ignore[union-attr]
    except Exception as error:  # whatever the error is, it belongs in the report
        return f"{type(error).__name__}: {error}"
    return None if np.array_equal(gradient, 2 * data) else f"computes wrong gradients: {gradient} instead of {2 * data}"


def default_device() -> str:
    """The name of the default device."""
    return os.environ.get("MINIRNN_DEVICE") or "cpu"


def warnings(devices: dict[str, str | None]) -> list[str]:
    """A line for each environment variable whose value is probably a mistake."""
    found = []
    if os.environ.get("MINIRNN_DEBUG", "0") not in ("", "0"):
        found.append("MINIRNN_DEBUG is set: the CUDA devices wait for every launch. Try: unset MINIRNN_DEBUG")
    default = default_device()
    if default not in devices:
        found.append(f"MINIRNN_DEVICE is {default}: no such device. Try: unset MINIRNN_DEVICE")
    elif devices[default] is not None and default != "cpu":
        found.append(f"MINIRNN_DEVICE is {default}: that device does not work here. Try: unset MINIRNN_DEVICE")
    return found


def precision_line(name: str) -> str:
    """How float32 matrices are multiplied."""
    if name == "tf32":
        return f"tf32: the CUDA devices round float32 to TF32 before they multiply ({VARIABLE}=1)"
    return "ieee: all digits of float32 are multiplied (minirnn.use_precision)"


def next_command(devices: dict[str, str | None]) -> str:
    """The command to try next."""
    if devices["cpu"] is not None:
        return f"{python()} -m pip install --force-reinstall numpy"
    return f"{this_program()} train"


def report(devices: dict[str, str | None]) -> str:
    """The report as text. `devices` is what `examine_devices` found."""
    warned = warnings(devices)
    lines = [
        ("minirnn", __version__),
        ("Python", f"{platform.python_version()}  {short(sys.executable)}"),
        ("platform", f"{platform.platform()}, {os.cpu_count()} cores"),
        *((name, package_line(name)) for name in PACKAGES),
        "",
        "What the CUDA devices need (cuda-sim and native: only the C++ compiler)",
        *((tool.name, str(tool.found) if tool.works else toolchain.missing(tool)) for tool in toolchain.find_all()),
        "",
        "Devices",
        *((name, device_line(name, reason)) for name, reason in devices.items()),
        ("precision", precision_line(chosen.precision)),
        "",
        "Sandbox for student answers and for reading submissions (minirnn check, minirnn grade)",
        ("locks", in_force()),
        *(("missing", sentence) for sentence in protection()),
        "",
        *(f"Warning: {warning}" for warning in warned),
        *([""] if warned else []),
        f"Next, try: {next_command(devices)}",
    ]
    return "\n".join(line if isinstance(line, str) else f"  {line[0]:<14} {line[1]}" for line in lines)


def package_line(name: str) -> str:
    version = installed_version(name)
    if name == "torch":
        return f"{version}  (only some tests compare with it)" if version else "not installed; only some tests use it"
    if version is None:
        return f"missing. To get it: {python()} -m pip install {name}"
    return f"{version}  BLAS: {blas()}" if name == "numpy" else version


def device_line(name: str, reason: str | None) -> str:
    if reason is not None:
        return one_line("\n".join(reason.removeprefix(f"{name}: ").splitlines()[:LINES]))
    works = "works (default)" if name == default_device() else "works"
    return f"{works}: {native_line()}" if name == "native" else works


def native_line() -> str:
    """Facts about the device `native` on this machine."""
    from minirnn.devices.native import threads

    bits = getattr(mr.devices.get("native"), "vector_bits")  # noqa: B009
    said = f"C++ for vectors of {bits} bits, threads: {threads.count()}"
    if installed_version("threadpoolctl"):
        return said
    return f"{said}. NumPy's threads may slow it down; to limit them: {toolchain.pip_install('native')}"
