"""``minirnn verify``: check every op in several independent ways on every device, and print one table.

The ways: central differences, the composition from primitives, also for gradients of gradients, and for the CUDA
kernels the simulator's check mode. In a clone, ``python -m tests.verified`` also compares with stored values of
TensorFlow and torch. The error that is allowed follows from the dtype and the number of roundings
(`minirnn.proof.tolerance`). The exit status is 1 if a cell failed, or is worse than in the table of ``--against``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tqdm import tqdm

import minirnn as mr
from minirnn.arguments.messages import meant
from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.commands.arguments import try_file
from minirnn.devices.registry import BUILT_IN
from minirnn.machine.terminal import styled
from minirnn.proof import table
from minirnn.proof.against import compare
from minirnn.proof.cases import all_comparisons
from minirnn.proof.proof import described, proof_of
from minirnn.proof.table import FAILED, OPS, Comparison
from minirnn.train.progress import Doing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    devices = "only on these devices (default: cpu, native, cuda-sim and cuda)"
    add("--device", nargs="+", action="extend", metavar="NAME", help=devices)
    add("--op", nargs="+", action="extend", metavar="OP", help="only these rows, such as gru_block_cell or primitives")
    add("--quick", action="store_true", help="a few cases of every row")
    add("--out", metavar="FILE.json", help="write the table to a file")
    add("--against", metavar="FILE.json", help="fail if a cell of this table is gone or ten times worse")


def run(args: argparse.Namespace) -> int:
    """Print the table. The exit status is 0 if nothing failed and nothing is worse, otherwise 1."""
    devices = chosen_devices(args.device)
    return answer(args, all_comparisons(devices), described(devices))


def answer(args: argparse.Namespace, comparisons: Sequence[Comparison], devices: Mapping[str, str]) -> int:
    """Make those of the comparisons that the user asked for. `devices` describes each device."""
    ops = chosen_ops(args.op)
    if args.out:
        try_file("--out", args.out)
    baseline = table.read(Path(args.against))[1] if args.against else []

    listed = [one for one in comparisons if one.cell.op in ops]
    chosen = [one for one in listed if one.quick or not args.quick]
    with Doing(f"making {len(chosen):,} comparisons", sys.stderr.isatty(), stream=sys.stderr):
        proof = proof_of(tqdm(chosen, unit=" checks", disable=None, leave=False), devices)
    print(re.sub(rf"(?<!\b0 ){FAILED}", styled(FAILED, "red"), str(proof)))
    if args.out:
        proof.write(Path(args.out), {"minirnn": mr.__version__, "quick": args.quick})
    worse, notes = compare(baseline, table.count_cases(listed), proof.results, devices, ops)
    if args.against:
        print("\n".join(f"not compared: {note}" for note in notes))
        print("\n".join([*(f"WORSE {line}" for line in worse), f"{len(worse)} cells are worse than in {args.against}"]))
    return 0 if proof and not worse else 1


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
