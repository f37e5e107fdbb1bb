"""The host's C++ compiler for the simulator."""

from __future__ import annotations

from minirnn.devices.host_cpp import compiler
from minirnn.devices.host_cpp.compiler import Compiler as Compiler


def find() -> Compiler:
    """The compiler to use. Raises `DeviceUnavailable`, with the command that installs one."""
    return compiler.find("cuda-sim")
