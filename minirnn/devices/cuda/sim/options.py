"""The options of the simulator: checks, thread order, limits; from code or from the variable ``MINIRNN_SIM``."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace

RANGES = {
    "seed": (0, 2**32 - 1),
    "preempt": (0, 2**32 - 1),
    "resident": (1, 2**20),
    "shared_limit": (1, 227 << 10),
    "memory_mb": (1, 2**18),
    "stack_kb": (16, 2**20),
    "watchdog_ms": (10, 2**31),
}


@dataclass(frozen=True)
class SimOptions:
    """Options of the simulated device.

    Attributes
    ----------
    check : bool
        Check every access to memory (bounds, use after free, races within a block and between blocks, shared memory
        never written) and every barrier. About ten times slower.
    seed : int
        0: threads run in index order. Otherwise they take turns in a random order with this seed.
    preempt : int
        In check mode: a thread yields at each access with probability 1/preempt. 0: never.
    resident : int
        The number of blocks on the device at once.
    shared_limit : int
        Bytes of shared memory a block may use.
    memory_mb : int
        Size of the simulated device's memory, in MiB.
    stack_kb : int
        Stack of each simulated thread, in KiB.
    watchdog_ms : int
        Processor time without progress after which a launch fails, in milliseconds.
    opt : str
        The optimization level: "-O0" .. "-O3". By default "-O2", and "-O1" in check mode, where most time is spent
        on checking accesses, so that faster compilation (two thirds of the time) is worth more.
    """

    check: bool = False
    seed: int = 0
    preempt: int = 0
    resident: int = 132
    shared_limit: int = 48 << 10
    memory_mb: int = 4096
    stack_kb: int = 64
    watchdog_ms: int = 10_000
    opt: str = ""

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"SimOptions: {name} is {getattr(self, name)}\n  expected {low} .. {high}")
        if self.opt not in ("", "-O0", "-O1", "-O2", "-O3"):
            raise ValueError(f"SimOptions: opt is {self.opt!r}\n  expected -O0, -O1, -O2 or -O3")
        if self.preempt and not self.check:
            raise ValueError(
                "SimOptions: preempt without check\n  expected both: threads yield only where accesses are checked"
            )


def parse(text: str) -> SimOptions:
    """``"check,seed=3"`` as options. Raises ValueError for an unknown word."""
    options = SimOptions()
    kinds = {field.name: type(getattr(options, field.name)) for field in fields(SimOptions)}
    given: dict[str, bool | int | str] = {}
    for word in filter(None, (word.strip() for word in text.split(","))):
        name, has_value, value = word.partition("=")
        kind = kinds.get(name)
        if kind is None:
            raise ValueError(f"MINIRNN_SIM: there is no option {name!r}\n  known: {', '.join(kinds)}")
        try:
            if kind is bool:
                given[name] = {"": True, "1": True, "0": False}[value]
            else:
                given[name] = kind(value)
                if not has_value:
                    raise ValueError
        except (KeyError, ValueError):
            example = {bool: name, int: f"{name}=3", str: f"{name}=-O1"}[kind]
            raise ValueError(f"MINIRNN_SIM: got {word!r}\n  expected something like {example}") from None
    return replace(options, **given)  # type: ignore[arg-type]


def from_environment() -> SimOptions:
    """The options in ``MINIRNN_SIM``."""
    return parse(os.environ.get("MINIRNN_SIM", ""))
