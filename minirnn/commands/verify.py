"""``minirnn verify``: check every op in several independent ways on every device, and print one table.

The ways: stored values of TensorFlow and torch, central differences, the composition from primitives, also for
gradients of gradients, and for the CUDA kernels the simulator's check mode. The stored values are in the repository;
without them nothing is compared with other libraries. The error that is allowed follows from the dtype and the number
of roundings (`minirnn.proving.tolerance`). The exit status is 1 if a cell failed, or is worse than in the table of
``--against``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import minirnn as mr
from minirnn.arguments.messages import meant
from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.commands.arguments import try_file
from minirnn.devices.registry import BUILT_IN
from minirnn.machine.terminal import styled
from minirnn.proving import table
from minirnn.proving.report import text
from minirnn.proving.table import FAILED, OPS
from minirnn.train.progress import Doing
from minirnn.verify import stored
from minirnn.verify.against import compare
from minirnn.verify.comparisons import all_comparisons, compute, head, labels_of, relabeled


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    devices = "only on these devices (default: cpu, native, cuda-sim and cuda)"
    add("--device", nargs="+", action="extend", metavar="NAME", help=devices)
    rows = "only these rows, such as gru_block_cell or primitives"
    add("--op", nargs="+", action="extend", metavar="OP", help=rows)
    add("--quick", action="store_true", help="a few cases of every row")
    add("--out", metavar="FILE.json", help="write the table to a file")
    add("--against", metavar="FILE.json", help="fail if a cell of this table is gone or ten times worse")
    add("--golden", metavar="DIR", help="stored values of other libraries (default: a clone's tests/golden)")


def run(args: argparse.Namespace) -> int:
    """Print the table. The exit status is 0 if nothing failed and nothing is worse, otherwise 1."""
    ops = chosen_ops(args.op)
    devices = chosen_devices(args.device)
    golden = stored.find(args.golden)
    if args.out:
        try_file("--out", args.out)
    baseline = table.read(Path(args.against))[1] if args.against else []

    labels = labels_of(devices)
    listed = [one for one in relabeled(all_comparisons(devices, golden), labels) if one.cell.op in ops]
    chosen = [one for one in listed if one.quick or not args.quick]
    with Doing(f"making {len(chosen):,} comparisons", sys.stderr.isatty(), stream=sys.stderr):
        results = compute(chosen)
    said = head(devices, args.quick)
    print(re.sub(rf"(?<!\b0 ){FAILED}", styled(FAILED, "red"), text(results, said["devices"])))
    if args.out:
        table.write(Path(args.out), said, results)
    worse, notes = compare(baseline, table.count_cases(listed), results, labels.values(), ops)
    if args.against:
        print("\n".join(f"not compared: {note}" for note in notes))
        print("\n".join([*(f"WORSE {line}" for line in worse), f"{len(worse)} cells are worse than in {args.against}"]))
    return 1 if worse or any(result.status == FAILED for result in results) else 0


def chosen_ops(names: Sequence[str] | None) -> Sequence[str]:
    """The rows that the user asked for."""
    for name in names or ():
        if name not in OPS:
            raise UserError(f"--op {name}\n  expected one of {', '.join(OPS)}{meant(name, OPS, most=3)}")
    return names or OPS


def chosen_devices(names: Sequence[str] | None) -> dict[str, str | None]:
    """Maps each device to None if it works here, or to the reason why not. A device that was named must work."""
    if names is None:
        reasons = mr.devices.available()
        return {name: reasons[name] for name in BUILT_IN}
    with user_mistakes():
        for name in names:
            mr.devices.get(name)
    return dict.fromkeys(names)
