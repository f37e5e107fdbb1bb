"""Every comparison of the verification table, in one list, and the work of making them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import minirnn as mr
from minirnn._version import __version__
from minirnn.machine import blas, installed_version
from minirnn.user_error import one_line
from minirnn.verify import block, canonical, cudnn, functional, primitives, rungs, stored, ways
from minirnn.verify.table import FAILED, Comparison, Result, compare_all, row_of, without_folders

STAND_IN = "stand-in GPU"
"""What the GPU of ``scripts/with_stand_in_gpu.sh`` calls itself."""


def all_comparisons(devices: dict[str, str | None], golden: Path | None) -> list[Comparison]:
    """The whole table, all ways of one case together.

    Parameters
    ----------
    devices : dict
        Name -> None, or why the device does not work here.
    golden : Path, optional
        The folder of stored values.
    """
    listed = [*stored.comparisons(devices, golden)]
    for module in (block, cudnn, canonical, primitives, functional):
        listed += ways.comparisons(module.cases(), devices)
    return [*listed, *rungs.comparisons(devices)]


def labels_of(devices: Mapping[str, str | None]) -> dict[str, str]:
    """Name of a device -> what the table calls it: a GPU that is acted out is ``cuda (stand-in)``, never ``cuda``."""
    return {
        name: f"{name} (stand-in)" if absent is None and gpu_name(name) == STAND_IN else name
        for name, absent in devices.items()
    }


def relabelled(comparisons: Sequence[Comparison], labels: Mapping[str, str]) -> list[Comparison]:
    """The same comparisons in cells whose devices bear these labels."""
    return [replace(one, cell=replace(one.cell, device=labels[one.cell.device])) for one in comparisons]


def gpu_name(name: str) -> str | None:
    """What the GPU, or the simulator, of a device calls itself; None for a device without a driver."""
    driver = getattr(mr.devices.get(name), "driver", None)
    return None if driver is None else driver.limits.name


def compute(comparisons: Sequence[Comparison]) -> list[Result]:
    """Make the comparisons, with a progress bar; the results in the order of the table's rows."""
    results: list[Result] = []
    with tqdm(total=len(comparisons), unit=" checks", disable=not sys.stderr.isatty(), leave=False) as bar:
        for result in compare_all(comparisons):
            bar.update(result.cases)
            results.append(result)
            if result.status == FAILED:
                bar.write(f"FAILED {result.cell}", file=sys.stderr)
    devices = list(dict.fromkeys(one.cell.device for one in comparisons))
    return sorted(results, key=lambda r: (devices.index(r.cell.device), row_of(r.cell.op), r.cell))


def head(devices: dict[str, str | None], quick: bool) -> dict[str, Any]:
    """What the file says before the table: versions, and what was computed on."""
    versions = {"minirnn": __version__, "numpy": np.__version__, "torch": installed_version("torch")}
    labels = labels_of(devices)
    return {**versions, "quick": quick, "devices": {labels[name]: describe(name, devices[name]) for name in devices}}


def describe(name: str, absent: str | None) -> str:
    """What a device is, without anything that belongs to this machine alone."""
    if absent is not None:
        return f"not at hand: {one_line(without_folders(absent))}"
    if name == "cpu":
        return f"NumPy {np.__version__}, {blas()}"
    if name == "native":
        return f"C++, vectors of {mr.devices.get(name).vector_bits} bits; NumPy {np.__version__} for the rest"
    found = gpu_name(name)
    if found == STAND_IN:
        return "no GPU: the real PyCUDA on a stand-in that acts out NVIDIA's driver and cuBLAS on the simulator"
    return found or "a device of its own"
