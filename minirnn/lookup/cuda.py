"""torch's functions about GPUs: `is_available`, `manual_seed_all` and others."""

from __future__ import annotations

from minirnn import devices
from minirnn.engine.random import manual_seed
from minirnn.lookup.later import imported_later

__getattr__, __dir__ = imported_later(__name__, {})  # these give the names in minirnn of torch's other names

__path__: list[str] = []  # so that ``import minirnn.cuda.amp`` also says what to write

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "synchronize"]


def is_available() -> bool:
    """Whether the device `cuda` works here. ``mr.devices.available()`` says why not."""
    return devices.available()["cuda"] is None


def device_count() -> int:
    """1 if the device `cuda` works, else 0, because minirnn uses one GPU."""
    return int(is_available())


def manual_seed_all(seed: int) -> None:
    """``mr.manual_seed(seed)``: one stream serves all devices."""
    manual_seed(seed)


def synchronize() -> None:
    """Wait until the device `cuda` has finished its work. Without this device, do nothing."""
    if is_available():
        devices.get("cuda").synchronize()


def empty_cache() -> None:
    """Do nothing. It exists for programs written for torch."""
