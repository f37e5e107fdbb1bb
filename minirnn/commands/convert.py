"""``minirnn convert``: convert weights from the layout of one library to that of another, or find their layout."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.io.arrays import read_arrays, write_arrays
from minirnn.io.atomic import check_target
from minirnn.io.conversion import Converted, convert, convert_weights
from minirnn.io.finder import Finding, find_layout
from minirnn.io.layouts import LAYOUTS, Settings
from minirnn.io.layouts.hub import GRU_KINDS
from minirnn.ops.cudnn_rnn.params import DIRECTIONS, GATES, INPUT_MODES

SETTINGS = tuple(field.name for field in fields(Settings))
PAIR = ("input", "output", "initial_h", "initial_c")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"Layouts: {', '.join(LAYOUTS)}."
    add = parser.add_argument
    add("weights", metavar="IN", help="safetensors or npz file with the weights")
    add("out", metavar="OUT", nargs="?", help="safetensors file to write (written completely or not at all)")
    add("--to", metavar="LAYOUT", help="layout of OUT")
    add("--from", dest="source", metavar="LAYOUT", help="layout of IN (default: what IN says, or what its names fit)")
    pair = "find the layout of IN: PAIR is an npz or safetensors file with the arrays input, output (and initial_h, "
    add("--find", metavar="PAIR", help=f"{pair}initial_c) of one layer")
    add("--prefix", default="", help="only arrays whose names begin with PREFIX, such as one module of a larger model")
    facts = parser.add_argument_group("what neither the arrays nor the metadata of IN say")
    add = facts.add_argument
    add("--rnn-mode", choices=tuple(GATES))
    add("--num-layers", type=int, metavar="L")
    add("--num-units", type=int, metavar="H")
    add("--input-size", type=int, metavar="I")
    add("--num-proj", type=int, metavar="P", help="width of the projection (0: none)")
    add("--direction", choices=tuple(DIRECTIONS))
    add("--gru", choices=GRU_KINDS, help="where the reset gate acts: after or before the matrix product")
    add("--input-mode", choices=INPUT_MODES, help="for cuDNN layouts: of IN if IN does not say it, otherwise of OUT")
    add(
        "--forget-bias",
        type=float,
        metavar="X",
        help="forget bias of tf.lstm_block_cell when it runs; of IN or OUT, like --input-mode",
    )
    add("--cell-clip", type=float, metavar="X", help="limit of the cell state that IN was run with (0: none)")


def run(args: argparse.Namespace) -> int:
    """Convert, find, or find and convert. Prints which files were read and written, and notes about them."""
    if args.out is None and (args.find is None or args.to is not None):
        raise UserError("OUT is missing\n  expected IN OUT --to LAYOUT, or IN --find PAIR")
    if args.out is not None and args.to is None:
        raise UserError(f"--to is missing\n  expected a layout for OUT: {', '.join(LAYOUTS)}")
    settings = {name: getattr(args, name) for name in SETTINGS if getattr(args, name) is not None}
    if args.find is None:
        with mistakes():
            arrays, metadata = read_arrays(args.weights)
            result = convert(arrays, args.to, source=args.source, metadata=metadata, prefix=args.prefix, **settings)
    else:
        refuse_with_find(args, settings)
        with mistakes():
            finding = find(args.weights, args.prefix, args.find)
        print(finding)
        if args.out is None:
            return 0
        if finding.status != "found" or finding.best is None:
            raise UserError(f"{args.out} is not written: the layout of {args.weights} is not clear")
        with mistakes():
            wanted = {name: settings[name] for name in settings if name in ("forget_bias", "input_mode")}
            result = convert_weights(finding.best.weights(), args.to, source="as found", **wanted)
    with mistakes():
        check_target(Path(os.path.realpath(args.out)))
        write_arrays(args.out, result.arrays, result.metadata)
    print(report(args.weights, args.out, result))
    return 0


def refuse_with_find(args: argparse.Namespace, settings: Mapping[str, Any]) -> None:
    """Raise UserError for facts about IN: --find tries everything, so it takes none of them."""
    useless = [name for name in settings if args.out is None or name not in ("forget_bias", "input_mode")]
    if args.source is not None:
        useless.insert(0, "from")
    if useless:
        raise UserError(
            f"--{useless[0].replace('_', '-')} cannot be used with --find\n  --find itself determines what IN holds"
        )


def find(weights: str, prefix: str, pair: str) -> Finding:
    """The answer of `find_layout` about two files."""
    arrays, _ = read_arrays(weights)
    arrays = {name: a for name, a in arrays.items() if name.startswith(prefix)}
    given, _ = read_arrays(pair)
    if not {"input", "output"} <= given.keys() or not given.keys() <= set(PAIR):
        raise ValueError(
            f"{pair!r} has the arrays {', '.join(given) or '(none)'}\n"
            f"  expected input and output, and perhaps {PAIR[2]} and {PAIR[3]}"
        )
    h, c = (given.get(name) for name in PAIR[2:])
    return find_layout(arrays, given["input"], given["output"], initial_h=h, initial_c=c)


@contextmanager
def mistakes() -> Iterator[None]:
    """`user_mistakes`, without the name of the function, which the command line shows already."""
    try:
        with user_mistakes():
            yield
    except UserError as error:
        raise UserError(re.sub(r"^(convert|find_layout): ", "", str(error))) from error


def report(weights: str, out: str, result: Converted) -> str:
    """The output of the command after it has written OUT."""
    lines = [f"{weights}: {result.source}: {result.weights}", f"{out}: {result.target}"]
    width = max(len(name) for name in result.arrays)
    shown = list(result.arrays.items())
    lines += [f"  {name:{width}}  {describe(a)}" for name, a in shown[:12]]
    if len(shown) > 12:
        lines.append(f"  ... and {len(shown) - 12} more")
    return "\n".join(lines + [f"note: {note}" for note in result.notes])


def describe(a: np.ndarray) -> str:
    """The dtype and the shape of an array, in words."""
    return f"{a.dtype} {' x '.join(map(str, a.shape))}"
