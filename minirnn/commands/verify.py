"""``minirnn verify``: every op in every way of proving it, on every device, as one table.

The ways: stored values of TensorFlow and torch, central differences, the composition from primitives, torch, and for
the CUDA kernels the simulator's check mode. How large an error may be follows from the dtype and the number of
roundings (`verify_tolerance`). The exit status is 1 if a cell failed, or is worse than in the table of ``--against``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import minirnn as mr
from minirnn import toolchain
from minirnn._version import __version__
from minirnn.commands.doctor import blas
from minirnn.user_error import UserError, one_line, user_mistakes
from minirnn.verify import against as verify_against
from minirnn.verify import block as verify_block
from minirnn.verify import cudnn as verify_cudnn
from minirnn.verify import layout as verify_layout
from minirnn.verify import primitives as verify_primitives
from minirnn.verify import report as verify_report
from minirnn.verify import rungs as verify_rungs
from minirnn.verify import stored as verify_stored
from minirnn.verify import table as verify_table
from minirnn.verify import ways as verify_ways
from minirnn.verify.table import FAILED, OPS, Check, Result

DEVICES = ("cpu", "cuda-sim", "cuda")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", nargs="+", action="extend", metavar="NAME", help="only on these (default: cpu, cuda-sim and cuda)"
    )
    parser.add_argument(
        "--op", nargs="+", action="extend", metavar="OP", help="only these rows, such as gru_block_cell or primitives"
    )
    parser.add_argument("--quick", action="store_true", help="a few cases of every row")
    parser.add_argument("--out", metavar="FILE.json", help="write the table to a file")
    parser.add_argument(
        "--against", metavar="FILE.json", help="fail if a cell of this table is gone or ten times worse"
    )
    parser.add_argument(
        "--golden", metavar="DIR", help="stored values of other libraries (default: a clone's tests/golden)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the table. 0: nothing failed and nothing is worse, 1: something is."""
    ops = chosen_ops(args.op)
    devices = chosen_devices(args.device)
    golden = verify_stored.find(args.golden)
    if args.golden and golden is None:
        raise UserError(f"--golden {args.golden}: there are no folders block_ops and cudnn_rnn in it")
    if args.out and not Path(args.out).absolute().parent.is_dir():
        raise UserError(f"--out {args.out}: there is no such folder")
    if args.out and Path(args.out).is_dir():
        raise UserError(f"--out {args.out}: this is a folder\n  expected a file")
    baseline = verify_table.read(Path(args.against))[1] if args.against else []

    listed = [check for check in all_checks(devices, golden) if check.cell.op in ops]
    results = compute([check for check in listed if check.quick or not args.quick])
    head = {**versions(), "quick": args.quick, "devices": {name: describe(name, devices[name]) for name in devices}}
    print(verify_report.text(results, head["devices"]))
    if args.out:
        verify_table.write(Path(args.out), head, results)
    counts = verify_table.count_cases(listed)
    worse, notes = verify_against.compare(baseline, counts, results, devices, ops)
    if args.against:
        print("\n".join(f"not compared: {note}" for note in notes))
        print("\n".join([*(f"WORSE {line}" for line in worse), f"{len(worse)} cells are worse than in {args.against}"]))
    return 1 if worse or any(result.status == FAILED for result in results) else 0


def all_checks(devices: dict[str, str | None], golden: Path | None) -> list[Check]:
    """Every check of the table, those of one case together. `devices`: name -> None, or why it does not work here."""
    checks = list(verify_stored.checks(devices, golden))
    checks += verify_layout.size_checks(devices)
    for module in (verify_block, verify_cudnn, verify_layout, verify_primitives):
        for case in module.cases():
            checks += verify_ways.checks(case, devices)
    return [*checks, *verify_rungs.checks(devices)]


def compute(checks: Sequence[Check]) -> list[Result]:
    """Run the checks; the results in the order of the table's rows."""
    results: list[Result] = []
    with tqdm(total=len(checks), unit=" checks", disable=not sys.stderr.isatty(), leave=False) as bar:
        for result in verify_table.run_checks(checks):
            bar.update(result.cases)
            results.append(result)
            if result.status == FAILED:
                bar.write(f"FAILED {result.cell}", file=sys.stderr)
    devices = list(dict.fromkeys(check.cell.device for check in checks))
    return sorted(results, key=lambda r: (devices.index(r.cell.device), OPS.index(r.cell.op), r.cell))


def chosen_ops(names: Sequence[str] | None) -> Sequence[str]:
    for name in names or ():
        if name not in OPS:
            raise UserError(f"--op {name}\n  expected one of {', '.join(OPS)}")
    return names or OPS


def chosen_devices(names: Sequence[str] | None) -> dict[str, str | None]:
    """Name -> None if it works here, else why not. A device that was asked for must work."""
    if names is None:
        reasons = mr.devices.available()
        return {name: reasons[name] for name in DEVICES}
    with user_mistakes():
        for name in names:
            mr.devices.get(name)
    return dict.fromkeys(names)


def versions() -> dict[str, Any]:
    return {"minirnn": __version__, "numpy": np.__version__, "torch": toolchain.installed_version("torch")}


def describe(name: str, absent: str | None) -> str:
    """What a device is, without anything that belongs to this machine alone."""
    if absent is not None:
        return f"not at hand: {one_line(verify_table.without_folders(absent))}"
    if name == "cpu":
        return f"NumPy {np.__version__}, {blas()}"
    driver = getattr(mr.devices.get(name), "driver", None)
    return driver.limits.name if driver is not None else "a device of its own"
