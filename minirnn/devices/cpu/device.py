"""The `cpu` device: NumPy arrays, NumPy kernels."""

from __future__ import annotations

from minirnn.devices.base import Device
from minirnn.devices.cpu import adam, gru_block, losses
from minirnn.devices.cpu.lstm_block import cell, sequence
from minirnn.devices.cpu.primitives import Primitives
from minirnn.devices.cpu.sequence import layer


class CPU(Primitives, Device, kernels_in=(cell, sequence, gru_block, layer, losses, adam)):
    """NumPy on the host, which is always available."""

    name = "cpu"
