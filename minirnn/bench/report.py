"""All results from a machine with a GPU in one file: the report of ``minirnn bench --check --device NAME``.

It has what `minirnn.verify` compares, then times of kernels, launches, products and sequences, with the machine and all
versions.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from minirnn import __version__
from minirnn.bench import cudnn_offsets, rungs, times
from minirnn.devices.base import Device
from minirnn.devices.precision import chosen
from minirnn.io.atomic import atomic_write
from minirnn.machine import computer, toolchain
from minirnn.proving.table import FAILED, compare_all
from minirnn.verify.comparisons import all_comparisons

PACKAGES = (
    *("numpy", "pycuda", "nvidia-cublas", "nvidia-cublas-cu12"),
    *("torch", "triton"),
)


PARTS = ("values", "ladder", "layout", "times")
"""The parts of a report, the most important first, because a machine with a GPU may be available only for minutes."""


def examine(device: Device, golden: Path | None, quick: bool, path: str | None, parts: Sequence[str] = PARTS) -> bool:
    """Print the results, and write them to the file at `path`, if one is given. Returns True if nothing failed.

    The file is rewritten after each part, and after each size of the ladder, so that no measurement is lost.
    """
    report: dict[str, Any] = {"machine": machine_with(device), "quick": quick, "parts": list(parts), "failed": []}
    for part in PARTS:
        if part in parts:
            try:
                for _ in MEASURE[part](device, golden, quick, report):
                    write(path, report)
            except Exception as error:
                report["failed"].append(part)
                report[f"{part}_error"] = f"{type(error).__name__}: {error}"
                print(f"FAILED {part}: {report[f'{part}_error']}")
            write(path, report)
    print(f"{device}: {', '.join(part for part in PARTS if part in parts)}; {len(report['failed'])} failed")
    return not report["failed"]


def values_of(device: Device, golden: Path | None, quick: bool, report: dict[str, Any]) -> Iterator[None]:
    """The comparisons of ``minirnn verify --quick`` on this device, and with all stored values of other libraries."""
    listed = all_comparisons({device.name: None}, golden)
    checks, failed = report.setdefault("checks", []), []
    for result in compare_all(one for one in listed if one.quick or (one.cell.way == "stored" and not quick)):
        name, ok = str(result.cell), result.status != FAILED
        row = {"name": name, "ok": ok, "difference": result.error, "allowed": result.tolerance, "why": result.why}
        checks.append(finite(row))
        if not ok:
            failed.append(name)
            print(f"FAILED {name}: {result.why}", flush=True)
    report["failed"] += failed
    print(f"{len(checks)} checks, {len(failed)} failed")
    yield


def ladder_of(device: Device, golden: Path | None, quick: bool, report: dict[str, Any]) -> Iterator[None]:
    """The rungs of CudnnRNN compared with cuDNN, size by size."""
    rows = report.setdefault("times", {}).setdefault("ladder", [])
    for row in rungs.ladder(device, quick):
        rows.append(row)
        print(ladder_line(row), flush=True)
        yield


def layout_of(device: Device, golden: Path | None, quick: bool, report: dict[str, Any]) -> Iterator[None]:
    """Where cuDNN keeps its weights."""
    report["cudnn_layout"] = list(cudnn_offsets.layouts(device.name))
    for row in report["cudnn_layout"]:
        said = (
            "at the same offsets as our parameter buffer"
            if row["equal"]
            else "at other offsets than our parameter buffer"
        )
        print(f"cuDNN keeps the weights of {row['mode']} {row['direction']}, H {row['H']}, {said}")
    yield


def times_of(device: Device, golden: Path | None, quick: bool, report: dict[str, Any]) -> Iterator[None]:
    """Copies, launches, kernels, products and sequences."""
    found = times.all_times(device, quick)
    report.setdefault("times", {}).update(found)
    print_times(found)
    yield


MEASURE: dict[str, Callable[[Device, Path | None, bool, dict[str, Any]], Iterator[None]]] = {
    "values": values_of,
    "ladder": ladder_of,
    "layout": layout_of,
    "times": times_of,
}


def machine_with(device: Device) -> dict[str, Any]:
    """The machine, the device, and the versions of all libraries involved."""
    found = computer.describe(os.cpu_count() or 1)
    installed = {d.metadata["Name"].lower(): d.version for d in distributions() if d.metadata["Name"]}
    found["versions"] = {name: installed.get(name) for name in PACKAGES} | {"minirnn": __version__}
    found["device"] = device.name
    found["time"] = time.strftime("%Y-%m-%d %H:%M:%S")
    driver = getattr(device, "driver", None)
    if driver is not None:
        found["limits"] = asdict(driver.limits)
        found["tf32"] = chosen.precision == "tf32"
        found["tools"] = {tool.name: tool.found for tool in toolchain.find_all()}
    return found


def write(path: str | None, report: dict[str, Any]) -> None:
    """Write a report to its file, if one was asked for."""
    if path is not None:
        with atomic_write(Path(path), "w") as file:
            json.dump(report, file, indent=1)


def finite(row: dict[str, Any]) -> dict[str, Any]:
    """The row with None for infinity, which JSON does not have."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


def print_times(tables: dict[str, Any]) -> None:
    """Print a line for each number."""
    for row in tables["copy"]:
        print(f"copy {row['bytes'] >> 20:6} MiB {row['gb_per_second']:10.1f} GB/s")
    best = max(row["gb_per_second"] for row in tables["copy"])
    for row in tables["latency"]:
        print(f"{row['what']:36} {row['seconds'] * 1e6:10.2f} us")
    for row in tables["kernels"]:
        name, size = f"{row['op']}: {row['kernel']}", ",".join(map(str, row["size"]))
        rate = f"{row['gb_per_second']:9.1f} GB/s {row['gb_per_second'] / best:6.0%} of copy"
        print(f"{name:44} {row['dtype']:8} {size:10} {row['seconds'] * 1e6:9.2f} us {rate}")
    for row in tables["products"]:
        print(f"product {row['n']:6} {row['dtype']:8} {row['tflop_per_second']:10.3f} TFLOP/s")
    for row in tables["sequences"]:
        size = ",".join(map(str, row["size"]))
        print(f"{row['op']:10} {size:20} {row['dtype']:8} {row['pass']:17} {milliseconds(row)}")


def ladder_line(row: dict[str, Any]) -> str:
    """A rung's time for one layer."""
    size, used = ",".join(map(str, row["size"])), ", ".join(row["used"])
    rung = f"{row['rung']}, graphs" if row["graphs"] else row["rung"]
    return f"{row['op']:5} {size:20} {row['precision']:8} {row['pass']:17} {rung:14} {milliseconds(row)}   {used}"


def milliseconds(row: dict[str, Any]) -> str:
    """Our time, and torch's if there is one."""
    torch = f"   torch {row['torch_seconds'] * 1e3:9.3f} ms" if "torch_seconds" in row else ""
    return f"{row['seconds'] * 1e3:9.3f} ms{torch}"
