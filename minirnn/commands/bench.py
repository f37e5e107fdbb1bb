"""``minirnn bench``: the time of the sequence ops compared with torch and with their matrix products alone."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import minirnn as mr
from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.bench import peers
from minirnn.bench.calls import Size
from minirnn.commands.arguments import try_file
from minirnn.io.atomic import atomic_write
from minirnn.machine import computer
from minirnn.nn.own.file import FORM, absolute, cell_in, names_a_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--mode", choices=peers.OPS, action="append", help="only this op (may be repeated); default: lstm and gru")
    own = "a custom cell instead, compared with its composition, its products and the ops of --mode, if given"
    add("--cell", metavar=FORM, type=absolute, help=own)
    add("--size", action="append", metavar="T,B,I,H", help="only this size (may be repeated); default: seven sizes")
    add("--samples", type=int, default=7, help="samples per measurement (default 7)")
    add("--threads", type=int, default=os.cpu_count(), help="threads of each peer (default: all cores)")
    add("--device", default="cpu", help="device to measure: cpu (default), native, ...")
    add("--dtype", choices=peers.DTYPES, default="float32", help="(default float32)")
    add("--json", metavar="FILE", help="write all numbers, versions and the machine to FILE")


def run(args: argparse.Namespace) -> int:
    """Print the measurements and write them to ``--json``."""
    sizes = [parse_size(text) for text in args.size] if args.size else peers.SIZES
    for name in ("samples", "threads"):
        if getattr(args, name) < 1:
            raise UserError(f"--{name} is {getattr(args, name)}\n  expected 1 or more")
    if args.cell:
        if not names_a_file(args.cell):
            raise UserError(f"--cell {args.cell}: a custom cell is {FORM}\n  --mode measures minirnn's own ops")
        if cell_in(args.cell).step.keys is not None:
            raise UserError(f"--cell {args.cell}: the cell has keys\n  expected one without keys")
    if args.json:
        try_file("--json", args.json)
    where = args.device
    with user_mistakes():
        mr.devices.get(where)
    present = [*peers.OWN, *dict.fromkeys(args.mode or ())] if args.cell else peers.present()
    if not args.cell and "torch" not in present:
        print("torch is not installed: comparing only with the matrix products", file=sys.stderr)
    options = args.samples, args.threads, where, args.dtype
    modes = [args.cell] if args.cell else args.mode or peers.MODES
    measured = peers.compare(present, modes, sizes, *options)
    rows = shown(peers.header(present), measured, partial(peers.line, present))
    if args.json:
        about = {"machine": computer.describe(args.threads), "device": where, "dtype": args.dtype, "results": rows}
        with atomic_write(Path(args.json), "w") as file:
            json.dump(about, file, indent=1)
    return 0


def shown(header: str, rows: Iterable[dict[str, Any]], line: Callable[[dict[str, Any]], str]) -> list[dict[str, Any]]:
    """The rows of a table, each printed when it is measured."""
    print(header)
    found = []
    for row in rows:
        found.append(row)
        print(line(row), flush=True)
    return found


def parse_size(text: str) -> Size:
    """``T,B,I,H``: four positive integers."""
    try:
        T, B, I, H = (int(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"--size {text}\n  expected T,B,I,H, such as 50,32,64,128") from None
    if min(T, B, I, H) < 1:
        raise UserError(f"--size {text}\n  expected sizes of 1 or more")
    return T, B, I, H
