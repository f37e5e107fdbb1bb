"""The `cpu` device: NumPy arrays, NumPy kernels."""

from __future__ import annotations

from minirnn.devices.base import Device
from minirnn.devices.cpu import adam, keyed, losses
from minirnn.devices.cpu.primitives import Primitives
from minirnn.devices.cpu.sequence import layer, step


class CPU(Primitives, Device, kernels_in=(layer, step, keyed, losses, adam)):
    """NumPy on the host, which is always available."""

    name = "cpu"
