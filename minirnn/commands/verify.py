"""``minirnn verify``: check every op in several independent ways on every device, and print one table.

The ways: central differences, the composition from primitives, also for gradients of gradients, and for the CUDA
kernels the simulator's check mode. In a clone, ``python -m tests.verified`` also compares with stored values of
TensorFlow and torch. The error that is allowed follows from the dtype and the number of roundings
(`minirnn.proof.tolerance`). The exit status is 1 if a cell failed.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tqdm import tqdm

import minirnn as mr
from minirnn.arguments.messages import meant
from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.commands.arguments import try_file
from minirnn.devices.registry import BUILT_IN
from minirnn.machine.terminal import say, styled
from minirnn.proof import table
from minirnn.proof.cases import all_comparisons
from minirnn.proof.proof import described, merged, proof_of
from minirnn.proof.table import FAILED, OPS, Cell, Comparison, Result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    devices = "only on these devices (default: cpu, native, cuda-sim and cuda)"
    add("--device", nargs="+", action="extend", metavar="NAME", help=devices)
    ops = "only these rows, such as gru_block_cell, primitives, or exp of the primitives"
    add("--op", nargs="+", action="extend", metavar="OP", help=ops)
    add("--quick", action="store_true", help="a few cases of every row")
    add("--out", metavar="FILE.json", help="write the table to a file; with --op, into its table")


def run(args: argparse.Namespace) -> int:
    """Print the table. The exit status is 0 if nothing failed, otherwise 1."""
    devices = chosen_devices(args.device)
    return answer(args, all_comparisons(devices), described(devices))


def answer(args: argparse.Namespace, comparisons: Sequence[Comparison], devices: Mapping[str, str]) -> int:
    """Make those of the comparisons that the user asked for. `devices` describes each device."""
    ops = chosen_ops(args.op, {one.cell.variant for one in comparisons if one.cell.op in OF_MANY})
    about, kept = {"minirnn": mr.__version__, "quick": args.quick, "devices": devices}, list[Result]()
    if args.out:
        try_file("--out", args.out)
        if args.op and Path(args.out).exists():
            about, kept = table.read(Path(args.out))  # what it says of its devices and versions stays
            kept = [one for one in kept if not (is_of(one.cell, ops) and one.cell.device in devices)]
            devices = {**about["devices"], **devices}

    chosen = [one for one in comparisons if is_of(one.cell, ops) and (one.quick or not args.quick)]
    say(f"making {len(chosen):,} comparisons")
    proof = proof_of(tqdm(chosen, unit=" checks", disable=None, leave=False), devices)
    print(re.sub(rf"(?<!\b0 ){FAILED}", styled(FAILED, "red"), str(proof)))
    if args.out:
        merged([*kept, *proof.results], {**devices, **about["devices"]}).write(Path(args.out), about)
    return 0 if proof else 1


OF_MANY = ("primitives", "functional")
"""Rows with many ops. A variant is the name of an op."""


def chosen_ops(names: Sequence[str] | None, variants: Collection[str]) -> Collection[str]:
    """The rows that the user asked for, or single ops of a row."""
    for name in names or ():
        if name not in OPS and name not in variants:
            likely = meant(name, [*OPS, *variants], most=3)
            raise UserError(f"--op {name}\n  expected one of {', '.join(OPS)}, or one op of the last two{likely}")
    return names or OPS


def is_of(cell: Cell, ops: Collection[str]) -> bool:
    """Whether the cell belongs to one of these rows or ops."""
    return cell.op in ops or cell.op in OF_MANY and cell.variant in ops


def chosen_devices(names: Sequence[str] | None) -> dict[str, str | None]:
    """Maps each device to None if it works here, or to the reason why not. A device that was named must work."""
    if names is None:
        reasons = mr.devices.available()
        return {name: reasons[name] for name in BUILT_IN}
    with user_mistakes():
        for name in names:
            mr.devices.get(name)
    return dict.fromkeys(names)
