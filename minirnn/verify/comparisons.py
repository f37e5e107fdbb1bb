"""Every comparison of the verification table, in one list, and the work of making them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from minirnn import __version__
from minirnn.machine.computer import installed_version
from minirnn.proving import ways
from minirnn.proving.places import STAND_IN, describe, gpu_name
from minirnn.proving.table import FAILED, Comparison, Result, compare_all, row_of
from minirnn.verify import block, canonical, cudnn, functional, primitives, rungs, stored


def all_comparisons(devices: dict[str, str | None], golden: Path | None) -> list[Comparison]:
    """All comparisons of the table; the ways of one case are neighbors.

    Parameters
    ----------
    devices : dict
        Maps a device to None, or to the reason why it does not work here.
    golden : Path, optional
        The folder of stored values.
    """
    listed = [*stored.comparisons(devices, golden)]
    for module in (block, cudnn, canonical, primitives, functional):
        listed += ways.comparisons(module.cases(), devices)
    return [*listed, *rungs.comparisons(devices)]


def labels_of(devices: Mapping[str, str | None]) -> dict[str, str]:
    """Maps a device to its name in the table: an imitated GPU is ``cuda (stand-in)``, never ``cuda``."""
    return {
        name: f"{name} (stand-in)" if absent is None and gpu_name(name) == STAND_IN else name
        for name, absent in devices.items()
    }


def relabeled(comparisons: Sequence[Comparison], labels: Mapping[str, str]) -> list[Comparison]:
    """The same comparisons in cells whose devices bear these labels."""
    return [replace(one, cell=replace(one.cell, device=labels[one.cell.device])) for one in comparisons]


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
    """The head of the file, before the table: versions and devices."""
    versions = {"minirnn": __version__, "numpy": np.__version__, "torch": installed_version("torch")}
    labels = labels_of(devices)
    return {**versions, "quick": quick, "devices": {labels[name]: describe(name, devices[name]) for name in devices}}
