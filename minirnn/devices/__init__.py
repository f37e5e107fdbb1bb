"""Devices: arrays in, arrays out. See `base` for the contract."""

from minirnn.devices.base import Device
from minirnn.devices.registry import DeviceUnavailable, available, get, register, use_device

__all__ = ["Device", "DeviceUnavailable", "available", "get", "register", "use_device"]
