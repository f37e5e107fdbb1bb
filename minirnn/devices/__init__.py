"""Devices: arrays in, arrays out. See `base` for the contract."""

from minirnn.devices.base import Device, DeviceUnavailable
from minirnn.devices.precision import use_precision
from minirnn.devices.registry import available, get, register, use_device
from minirnn.devices.sources import CppSource, CudaSource

__all__ = ["CppSource", "CudaSource", "Device", "DeviceUnavailable", "available", "get", "register", "use_device"]
__all__ += ["use_precision"]
