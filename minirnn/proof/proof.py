"""A proof: the results of all comparisons, and the table that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minirnn import devices as registry
from minirnn.arguments.user_error import one_line
from minirnn.machine.computer import blas, installed_version
from minirnn.proof.report import text
from minirnn.proof.table import FAILED, Comparison, Result, compare_all, row_of, without_folders, write


class Proof:
    """The result of a proof: true if nothing failed; ``str(proof)`` is the table of `minirnn verify`."""

    def __init__(self, results: Sequence[Result], devices: Mapping[str, str]) -> None:
        self.results, self.devices = list(results), dict(devices)

    def __bool__(self) -> bool:
        return all(r.status != FAILED for r in self.results)

    def __str__(self) -> str:
        return text(self.results, self.devices)

    def write(self, path: Path, about: Mapping[str, Any]) -> None:
        """Write the table to a file, with more entries `about` this run, also instead of the versions of now."""
        versions = {"numpy": np.__version__, "torch": installed_version("torch")}
        write(path, {**about, **versions, **about, "devices": self.devices}, self.results)


def proof_of(comparisons: Iterable[Comparison], devices: Mapping[str, str]) -> Proof:
    """Make the comparisons. `devices` describes each device."""
    return merged(compare_all(comparisons), devices)


def merged(results: Iterable[Result], devices: Mapping[str, str]) -> Proof:
    """The proof that has these results, in the order of the devices."""
    order = list(devices)
    return Proof(sorted(results, key=lambda r: (order.index(r.cell.device), row_of(r.cell.op), r.cell)), devices)


def described(devices: Mapping[str, str | None]) -> dict[str, str]:
    """Descriptions of devices that apply to every machine of the kind, or the reasons why they do not work here."""
    return {name: _describe(name, absent) for name, absent in devices.items()}


def _describe(name: str, absent: str | None) -> str:
    if absent is not None:
        return f"not available: {one_line(without_folders(absent))}"
    if name == "cpu":
        return f"NumPy {np.__version__}, {blas()}"
    device = registry.get(name)
    if name == "native":
        return f"C++, vectors of {device.vector_bits} bits; NumPy {np.__version__} for the rest"
    driver = getattr(device, "driver", None)
    return driver.limits.name if driver else "an additional device"
