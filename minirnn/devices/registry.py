"""The known devices, the default device, and adding a device."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any

from minirnn.arguments.messages import meant, shown
from minirnn.devices.base import Device

Factory = Callable[[], Device]


def _new(module: str, kind: str) -> Any:
    return getattr(importlib.import_module(f"minirnn.devices.{module}"), kind)()


def _cuda(module: str, kind: str) -> Device:
    driver = _new(module, kind)
    if os.environ.get("MINIRNN_DEBUG", "0") not in ("", "0"):
        driver = importlib.import_module("minirnn.devices.cuda.debug").DebugDriver(driver)
    return importlib.import_module("minirnn.devices.cuda.device").Cuda(driver)


OTHER_WORDS = {
    **dict.fromkeys(("gpu", "nvidia", "pycuda"), "cuda"),
    **dict.fromkeys(("sim", "simulator", "simulated"), "cuda-sim"),
    **dict.fromkeys(("numpy", "host"), "cpu"),
}
"""Other names for devices, for error messages."""
_factories: dict[str, Factory] = {
    "cpu": partial(_new, "cpu.device", "CPU"),
    "native": partial(_new, "native.device", "Native"),
    "cuda-sim": partial(_cuda, "cuda.sim.driver", "SimDriver"),
    "cuda": partial(_cuda, "cuda.gpu.driver", "PyCudaDriver"),
}
BUILT_IN = tuple(_factories)
_made: dict[str, Device] = {}
_lock = threading.RLock()
_entry_points_read = False


def _new_lock() -> None:
    global _lock
    _lock = threading.RLock()  # a forked child must not wait for a thread that only its parent has


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


class _Use:
    """Marks a device as the default one of a thread. It is in thread-local memory, so it ends with the thread."""

    def __init__(self, device: Device) -> None:
        device.put_to_use()
        self.device = device

    # A default argument, because the names of the module may be gone at the end of the process.
    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if hasattr(self, "device") and not ending():
            self.device.put_away()


class _Default(threading.local):
    device: Device | None = None
    use: _Use | None = None


_default = _Default()


def register(name: str, factory: Factory) -> None:
    """Add a device under `name`. `factory()` makes it on first use and raises `DeviceUnavailable` if it cannot work.

    Installed packages register theirs by an entry point of the group ``minirnn.devices`` instead. Raises TypeError if
    `name` is not a string or `factory` is not callable, and ValueError if the name is taken.
    """
    if not isinstance(name, str) or not callable(factory):
        raise TypeError(
            f"register: got name {shown(name)}, factory {shown(factory)}\n  expected a string and a callable"
        )
    if not name:
        raise ValueError("register: got name ''\n  expected a string that names the device")
    with _lock:
        if name in _factories:
            raise ValueError(f"register: a device named {shown(name)} already exists\n  known: {', '.join(_factories)}")
        _factories[name] = factory


class _Installed:
    """The factory that an entry point names; it is imported when it is needed."""

    def __init__(self, entry: Any) -> None:
        self.entry = entry

    def __call__(self) -> Device:
        device: Device = self.entry.load()()
        return device

    @property
    def only_by_name(self) -> str | None:
        return getattr(self.entry.load(), "only_by_name", None)


def _read_entry_points() -> None:
    global _entry_points_read
    if not _entry_points_read:
        from importlib.metadata import entry_points  # slow to import, and `import minirnn` should be quick

        _entry_points_read = True
        for entry in entry_points(group="minirnn.devices"):
            _factories.setdefault(entry.name, _Installed(entry))


def get(name: str | Device | None = None) -> Device:
    """The device called `name`; without a name the default device.

    Raises ValueError if no device of that name is known, and DeviceUnavailable if it is known but cannot work on this
    machine.
    """
    if isinstance(name, Device):
        return name
    if name is None:
        if _default.device is not None:
            return _default.device
        name = os.environ.get("MINIRNN_DEVICE") or "cpu"
    if not isinstance(name, str):
        hint = "\n  likely a dtype: use .astype()" if isinstance(name, type) else ""
        raise TypeError(
            f"device {shown(name)} is a {type(name).__name__}\n  expected a device or its name, such as 'cpu'{hint}"
        )
    device = _made.get(name)
    if device is not None:
        return device
    with _lock:
        if name not in _factories:
            _read_entry_points()
        if name not in _factories:
            hint = meant(name.split(":")[0], _factories, OTHER_WORDS)
            raise ValueError(f"no device is called {shown(name)}\n  known: {', '.join(sorted(_factories))}{hint}")
        if name not in _made:
            _made[name] = _factories[name]()
        return _made[name]


def available() -> dict[str, str | None]:
    """All known devices: maps a name to None if it works here, or to the reason why not.

    A device whose factory has a text ``only_by_name`` is not tried: the text is the reason.
    """
    with _lock:
        _read_entry_points()
        names = sorted(_factories)
    reasons: dict[str, str | None] = {}
    for name in names:
        try:
            reasons[name] = None if name in _made else getattr(_factories[name], "only_by_name", None)
            if reasons[name] is None:
                get(name)
        except Exception as error:  # a broken plug-in must not hide the working devices
            reasons[name] = str(error) or type(error).__name__
    return reasons


class use_device:
    """Make a device the default of this thread: ``mr.use_device("cpu")``, or for a block ``with
    mr.use_device("cpu"):``.

    Later Tensors without ``device=`` are created there. Raises as `get` does; then nothing changes.
    """

    def __init__(self, name: str | Device) -> None:
        self.device = get(name)
        self._before = _default.device
        _make_default(self.device)

    def __enter__(self) -> Device:
        return self.device

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _make_default(self._before)


def _make_default(device: Device | None) -> None:
    if device is not _default.device:
        _default.use, _default.device = None if device is None else _Use(device), device


def _reduce(device: Device) -> tuple[Any, ...]:
    return get, (device.name,)


Device.__reduce__ = _reduce  # type: ignore[assignment, method-assign]  # a copied or pickled Tensor stays on its device
