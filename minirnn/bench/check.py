"""``minirnn bench --check --device NAME``: what a machine with a GPU has to say, in one command and one file.

Values of other libraries, gradients of every op, then times of kernels, launches, products and sequences, with the
machine and all versions. The exit status is 1 if a value or a gradient is wrong.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import minirnn as mr
from minirnn import toolchain
from minirnn._version import __version__
from minirnn.bench import layout as bench_layout
from minirnn.bench import rungs as bench_rungs
from minirnn.bench import times as bench_times
from minirnn.bench import values as bench_values
from minirnn.bench.machine import machine
from minirnn.devices.base import Device
from minirnn.io.atomic import atomic_write
from minirnn.user_error import UserError, user_mistakes

GOLDEN = Path("tests") / "golden"
PACKAGES = (
    "numpy",
    "pycuda",
    "nvmath-python",
    "cuda-bindings",
    "nvidia-cublas",
    "nvidia-cublas-cu12",
    "torch",
    "triton",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("checking a device")
    group.add_argument("--check", action="store_true", help="check all ops on a device, then measure it")
    group.add_argument("--device", default="cuda", help="which one --check is for (default cuda)")
    group.add_argument("--golden", metavar="DIR", help="stored values of other libraries (default: tests/golden)")
    group.add_argument("--quick", action="store_true", help="fewer checks and tiny sizes: does --check run at all?")


def run(args: argparse.Namespace) -> int:
    """Print what was found; write it to ``--json``. 0: all checks passed, 1: some failed."""
    with user_mistakes():
        device = mr.devices.get(args.device)
    folder = golden_folder(args.golden)
    report: dict[str, Any] = {"machine": machine_with(device), "quick": args.quick}
    checks = list(run_checks(device, folder, args.quick))
    report["checks"] = [finite(asdict(check)) for check in checks]
    failed = [check.name for check in checks if not check.ok]
    report["failed"] = failed
    if args.json:
        write(args.json, report)  # should a measurement crash the process, the checks are there
    try:
        report["cudnn_layout"] = list(bench_layout.layouts(device.name))
        for row in report["cudnn_layout"]:
            said = "as in our parameter buffer" if row["equal"] else "elsewhere than in our parameter buffer"
            print(f"cuDNN keeps the weights of {row['mode']} {row['direction']}, H {row['H']}, {said}")
        report["times"] = bench_times.all_times(device, args.quick)
        report["times"]["ladder"] = list(bench_rungs.ladder(device, args.quick))
        print_times(report["times"])
    except Exception as error:
        failed.append("times")
        report["times_error"] = f"{type(error).__name__}: {error}"
        print(f"FAILED times: {report['times_error']}")
    if args.json:
        write(args.json, report)
    print(f"{device}: {len(checks)} checks, {len(failed)} failed")
    return 1 if failed else 0


def golden_folder(given: str | None) -> Path | None:
    """Where the stored values are; None, with a word about it, if there are none."""
    folder = Path(given) if given else GOLDEN
    if (folder / "block_ops").is_dir() and (folder / "cudnn_rnn").is_dir():
        return folder
    if given:
        raise UserError(f"--golden {given}: there are no folders block_ops and cudnn_rnn in it")
    print("no folder tests/golden here: stored values are left out (--golden DIR, of a clone)", file=sys.stderr)
    return None


def run_checks(device: Device, folder: Path | None, quick: bool) -> Any:
    """All checks, those that fail printed as they come."""
    groups = [bench_values.gradients(device.name, quick)]
    if folder is not None:
        groups.insert(0, bench_values.golden(folder, device.name, quick))
    for group in groups:
        for check in group:
            if not check.ok:
                reason = check.why or f"off by {check.difference:.3g}, allowed {check.allowed:.3g}"
                print(f"FAILED {check.name}: {reason}", flush=True)
            yield check


def machine_with(device: Device) -> dict[str, Any]:
    """The device, and the versions of all that had a part in it."""
    found = machine(os.cpu_count() or 1)
    installed = {d.metadata["Name"].lower(): d.version for d in distributions() if d.metadata["Name"]}
    found["versions"] = {name: installed.get(name) for name in PACKAGES} | {"minirnn": __version__}
    found["device"] = device.name
    found["time"] = time.strftime("%Y-%m-%d %H:%M:%S")
    driver = getattr(device, "driver", None)
    if driver is not None:
        found["limits"] = asdict(driver.limits)
        found["tf32"] = getattr(driver, "tf32", None)
        found["tools"] = {tool.name: tool.found for tool in toolchain.find_all()}
    return found


def write(path: str, report: dict[str, Any]) -> None:
    with atomic_write(Path(path), "w") as file:
        json.dump(report, file, indent=1)


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """JSON knows no infinity."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}


def print_times(tables: dict[str, Any]) -> None:
    """A line for each number."""
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
        torch = f"   torch {row['torch_seconds'] * 1e3:9.3f} ms" if "torch_seconds" in row else ""
        print(f"{row['op']:10} {size:20} {row['dtype']:8} {row['pass']:17} {row['seconds'] * 1e3:9.3f} ms{torch}")
    for row in tables["ladder"]:
        size, used = ",".join(map(str, row["size"])), ", ".join(row["used"])
        rung = f"{row['rung']}, graphs" if row["graphs"] else row["rung"]
        name = f"{row['op']:5} {size:20} {row['precision']:8} {row['pass']:17} {rung:14}"
        torch = f"   torch {row['torch_seconds'] * 1e3:9.3f} ms" if "torch_seconds" in row else ""
        print(f"{name} {row['seconds'] * 1e3:9.3f} ms{torch}   {used}")
